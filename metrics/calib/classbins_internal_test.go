package calib

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// TestSparseCells checks that cells kept one by one give the same bytes and answers as cells allocated at once.
func TestSparseCells(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	const rows, k = 30, 7
	p := &metrics.Predictions{}
	p.Rows, p.Classes = rows, k
	for range rows {
		row := make([]float32, k)
		row[r.IntN(k)] = float32(r.IntN(65)) / 64
		left := 1 - row[0] - row[1] - row[2] - row[3] - row[4] - row[5] - row[6]
		row[r.IntN(k)] += left
		p.F32 = append(p.F32, row...)
		p.Labels = append(p.Labels, int32(r.IntN(k)))
	}
	dense, sparse := metrics.Must(NewClassBins(nil)), metrics.Must(NewClassBins(nil))
	sparse.start(k, false)
	sparse.high = highCells{per: sparse.bins() - 1, place: map[int64]int32{}}
	for _, b := range []*ClassBins{dense, sparse} {
		w := metrics.NewPass(nil, b)
		if err := w.Add(p); err != nil { // its worker has cells allocated at once
			t.Fatal(err)
		}
		block := metrics.Block{Rows: rows, Classes: k, Labels: p.Labels, Probs: metrics.Tile{F32: p.F32, Width: k, Stride: k}}
		b.AddBlock(&block)
	}
	a, err1 := dense.AppendBinary(nil)
	b, err2 := sparse.AppendBinary(nil)
	if err1 != nil || err2 != nil || !bytes.Equal(a, b) || len(sparse.high.all) == len(dense.high.all) {
		t.Errorf("%v, %v, %d and %d bytes, %d and %d cells", err1, err2, len(a), len(b), len(dense.high.all), len(sparse.high.all))
	}
	if dense.SCE() != sparse.SCE() || dense.Len() != 2*rows {
		t.Error(dense.SCE(), sparse.SCE(), dense.Len())
	}
	if err := sparse.Merge(dense); err != nil {
		t.Fatal(err)
	}
	if err := dense.Merge(dense); err != nil {
		t.Fatal(err)
	}
	a, _ = dense.AppendBinary(nil)
	if b, _ = sparse.AppendBinary(nil); !bytes.Equal(a, b) {
		t.Error("merged, they differ")
	}
}
