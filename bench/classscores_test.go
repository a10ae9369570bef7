package bench

import (
	"math"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// manyClasses are rows of softmaxes of a thousand classes, a third of them confident.
func manyClasses(rows, k int) *metrics.Predictions {
	r := check.Rand(7)
	p := &metrics.Predictions{Labels: make([]int32, rows)}
	p.Rows, p.Classes, p.F32 = rows, k, make([]float32, rows*k)
	row := make([]float64, k)
	for i := range rows {
		sum := 0.0
		sharp := 1 + float64(i%3)
		for j := range row {
			row[j] = math.Exp(sharp * r.NormFloat64())
			sum += row[j]
		}
		for j, v := range row {
			p.F32[i*k+j] = float32(v / sum)
		}
		p.Labels[i] = int32(r.IntN(k))
	}
	return p
}

// BenchmarkClassScores: entries are kept, and answers are made of them, with one thread: ACE and TACE of 50,000 rows.
func BenchmarkClassScores(b *testing.B) {
	const rows, k, bins = 50_000, 1000, 15
	p := manyClasses(rows, k)
	for _, c := range []struct {
		name  string
		above *float64
	}{{"ace", nil}, {"ace_above_0", new(0.0)}, {"tace", new(0.01)}} {
		o := &calib.ClassScoresOptions{Above: c.above}
		feed := func(b *testing.B) *calib.ClassScores {
			s := metrics.Must(calib.NewClassScores(o))
			if err := metrics.NewPass(&metrics.Options{Threads: 1}, s).Add(p); err != nil {
				b.Fatal(err)
			}
			return s
		}
		b.Run(c.name+"/add", func(b *testing.B) {
			for b.Loop() {
				feed(b)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
		s := feed(b)
		b.Run(c.name+"/answer", func(b *testing.B) {
			for b.Loop() {
				s.ACE(bins)
			}
		})
		b.Run(c.name+"/state", func(b *testing.B) {
			n := 0
			for b.Loop() {
				state, err := s.AppendBinary(nil)
				if err != nil {
					b.Fatal(err)
				}
				n = len(state)
			}
			b.ReportMetric(float64(n)/float64(max(1, s.Kept())), "bytes/entry")
		})
		b.Run(c.name+"/end_to_end", func(b *testing.B) {
			for b.Loop() {
				feed(b).ACE(bins)
			}
		})
	}
}
