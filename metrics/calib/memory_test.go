package calib_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// TestClassBinsMemory checks the documented memory of the state for 262,144 classes, and the number of its bytes.
func TestClassBinsMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it takes 262,144 classes")
	}
	const k, rows, bins = 262144, 8, 15
	r := rand.New(rand.NewPCG(1, 1))
	p := &metrics.Predictions{}
	p.Rows, p.Classes, p.F32, p.Labels = rows, k, make([]float32, rows*k), make([]int32, rows)
	for i := range rows {
		row := p.F32[i*k : (i+1)*k]
		for j := range row {
			row[j] = 0.5 / k
		}
		row[r.IntN(k)] += 0.25
		row[r.IntN(k)] += 0.25
		p.Labels[i] = int32(r.IntN(k))
	}
	live := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := live()
	b := metrics.Must(calib.NewClassBins(&calib.ClassOptions{Bins: bins}))
	if err := metrics.NewPass(&metrics.Options{Threads: 1}, b).Add(p); err != nil {
		t.Fatal(err)
	}
	if used, most := live()-before, 88*k+100*3*rows+1<<20; used > most {
		t.Errorf("%d bytes, declared %d", used, most)
	}
	s, err := b.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(s) > 72*(k+3*rows)+1000 {
		t.Errorf("the state has %d bytes", len(s))
	}
	var c calib.ClassBins
	err = c.UnmarshalBinary(s)
	if got, want := c.SCE(), b.SCE(); err != nil || got != want || !(got > 0) {
		t.Error(err, got, want)
	}
	for j := range 5 {
		if n := b.Class(j).Bins(0.95)[0].Count; n < rows-2 {
			t.Errorf("class %d has %d entries in the lowest bin", j, n)
		}
	}
	runtime.KeepAlive(p)
}
