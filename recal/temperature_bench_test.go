package recal_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// temperatureImageNet is 50,000 rows of 1,000 float32 logits: 200 MB.
func temperatureImageNet() *metrics.Predictions {
	const rows, classes = 50000, 1000
	r := rand.New(rand.NewPCG(1, 1))
	p := &metrics.Predictions{Kind: metrics.Logits, Labels: make([]int32, rows)}
	p.Rows, p.Classes, p.F32 = rows, classes, make([]float32, rows*classes)
	for i := range p.F32 {
		// About a normal deviate, of the sum of four.
		u := r.Uint64()
		p.F32[i] = float32(u&0xffff+u>>16&0xffff+u>>32&0xffff+u>>48)*(1.7/65536) - 3.4
	}
	for i := range rows {
		y := r.IntN(classes)
		p.Labels[i] = int32(y)
		p.F32[i*classes+y] += 12 * r.Float32()
	}
	return p
}

var temperatureSink uint64

// BenchmarkTemperatureFit fits to logits in memory on one goroutine, and compares a read of the fit with one that only
// adds. The least of several times count.
func BenchmarkTemperatureFit(b *testing.B) {
	p := temperatureImageNet()
	bytes := float64(4 * len(p.F32))
	reads, one := 0, 1e9
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		m, err := recal.Temperature{}.Fit(recal.InMemory(p), &recal.Options{Threads: 1})
		if err != nil {
			b.Fatal(err)
		}
		reads = m.Fit().Reads
		one = min(one, time.Since(start).Seconds()/float64(reads))
	}
	b.StopTimer()
	sum := 1e9
	for range 10 {
		start := time.Now()
		var a, b, c, d float32
		for x := p.F32; len(x) >= 4; x = x[4:] {
			a += x[0]
			b += x[1]
			c += x[2]
			d += x[3]
		}
		temperatureSink += uint64(a + b + c + d)
		sum = min(sum, time.Since(start).Seconds())
	}
	b.ReportMetric(float64(reads), "reads")
	b.ReportMetric(1000*one, "ms/read")
	b.ReportMetric(bytes/one/1e9, "GB/s")
	b.ReportMetric(bytes/sum/1e9, "GB/s-sum")
	b.ReportMetric(sum/one, "of-sum")
}

// BenchmarkTemperatureApply compares what a map takes for a matrix with what a copy takes.
func BenchmarkTemperatureApply(b *testing.B) {
	p := temperatureImageNet()
	dst := metrics.Scores{F32: make([]float32, len(p.F32)), Rows: p.Rows, Classes: p.Classes}
	m := recal.NewTemperature(1.5, p.Classes)
	m.Apply(&dst, &p.Scores, p.Kind)
	one, cp := 1e9, 1e9
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		m.Apply(&dst, &p.Scores, p.Kind)
		one = min(one, time.Since(start).Seconds())
	}
	b.StopTimer()
	for range 10 {
		start := time.Now()
		copy(dst.F32, p.F32)
		cp = min(cp, time.Since(start).Seconds())
	}
	b.ReportMetric(1000*one, "ms")
	b.ReportMetric(8*float64(len(p.F32))/one/1e9, "GB/s")
	b.ReportMetric(cp/one, "of-copy")
}
