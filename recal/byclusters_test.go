package recal_test

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/clustered"
	"github.com/candor-go/candor/recal"
)

// inClusters is Data of one chunk whose rows have clusters.
type inClusters struct {
	p       *metrics.Predictions
	of      []int32
	weights []float64
	done    bool
}

func (s *inClusters) Open() (recal.Source, error) {
	return &inClusters{p: s.p, of: s.of, weights: s.weights}, nil
}
func (s *inClusters) Close() error { return nil }
func (s *inClusters) Next() (*metrics.Chunk, error) {
	if s.done {
		return nil, io.EOF
	}
	s.done = true
	c := &metrics.Chunk{Predictions: *s.p, Clusters: s.of}
	c.Weights = s.weights
	return c, nil
}

// TestByClusters compares standard errors with those of the definition, from logits row by row.
func TestByClusters(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, classes := range []int{1, 4} {
		for _, weighted := range []bool{false, true} {
			const clusters = 23
			d := &inClusters{p: &metrics.Predictions{Kind: metrics.Logits}}
			var shift [clusters]float64
			for i := range shift {
				shift[i] = 1.5 * r.NormFloat64()
			}
			for range 400 {
				g := int32(r.IntN(clusters))
				for k := range classes {
					d.p.F64 = append(d.p.F64, 2*r.NormFloat64()+float64(k%2)*shift[g])
				}
				z := d.p.F64[len(d.p.F64)-classes:]
				y := int32(r.IntN(max(2, classes)))
				if r.IntN(3) > 0 {
					if y = 0; classes == 1 && z[0] > 0 {
						y = 1
					}
					for k := range z {
						if z[k] > z[y%int32(classes)] {
							y = int32(k)
						}
					}
				}
				d.p.Labels, d.of = append(d.p.Labels, y), append(d.of, g)
				if weighted {
					d.weights = append(d.weights, float64(1+r.IntN(3)))
				}
			}
			d.p.Rows, d.p.Classes = 400, classes
			m, err := recal.Temperature{}.Fit(d, nil)
			if err != nil {
				t.Fatal(err)
			}
			beta := m.(*recal.TemperatureMap).Beta()
			var sum, size [clusters]float64
			curvature, n := 0.0, 0.0
			for i, y := range d.p.Labels {
				w, z := 1.0, d.p.F64[i*classes:(i+1)*classes]
				if weighted {
					w = d.weights[i]
				}
				if classes == 1 {
					z = []float64{0, z[0]}
				}
				norm, first, second := 0.0, 0.0, 0.0
				for _, v := range z {
					e := math.Exp(beta * v)
					norm, first, second = norm+e, first+e*v, second+e*v*v
				}
				first, second = first/norm, second/norm
				sum[d.of[i]] += w * (first - z[y])
				size[d.of[i]] += w
				curvature += w * (second - first*first)
				n += w
			}
			v := 0.0
			for g, s := range sum {
				v += s * s / (1 - size[g]/n)
			}
			se := math.Sqrt(v) / (beta * curvature)
			by, err := recal.ByClusters(m, d, &recal.Options{Threads: 2})
			if err != nil {
				t.Fatal(err)
			}
			got := by.(*recal.TemperatureMap)
			half := math.Log(got.Interval(0.9).High / got.T())
			df := 0.0 // the one at which the interval is Student's
			for df = 22; df > 15 && clustered.Quantile(0.9, df) < half/se; df -= 0.001 {
			}
			if other := math.Log(got.Interval(0.5).High / got.T()); got.T() != 1/beta || math.Abs(half/se-clustered.Quantile(0.9, df)) > 1e-3 ||
				math.Abs(other/se-clustered.Quantile(0.5, df)) > 1e-3 || !(df > 15 && df < 22) {
				t.Errorf("%d classes, weighted %v: %v and %v by %v and %v degrees of freedom", classes, weighted, half, other, se, df)
			}
			data, err := recal.Marshal(by)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := recal.Unmarshal(data); err != nil || again.(*recal.TemperatureMap).Interval(0.9) != got.Interval(0.9) {
				t.Errorf("read back: %v, %v", again, err)
			}
			for i := range d.of {
				d.of[i] = 3
			}
			if one, err := recal.ByClusters(m, d, nil); err != nil || one.(*recal.TemperatureMap).Interval(0.9).Low == one.(*recal.TemperatureMap).Interval(0.9).Low {
				t.Errorf("the interval of one cluster: %v", err)
			}
		}
	}
}

// TestSigmaByClusters: so for standard deviations. Clusters of equal rows are as many rows.
func TestSigmaByClusters(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 4))
	few, many := &metrics.Predictions{Kind: metrics.Normals}, &inClusters{p: &metrics.Predictions{Kind: metrics.Normals}}
	for i := range 60 {
		row := []float64{1.3 * r.NormFloat64(), 1}
		few.F64 = append(few.F64, row...)
		for range 5 {
			many.p.F64, many.of = append(many.p.F64, row...), append(many.of, int32(i))
		}
	}
	few.Rows, few.Classes, many.p.Rows, many.p.Classes = 60, 2, 300, 2
	for _, asCoded := range []bool{false, true} {
		method := recal.Sigma{AsCoded: asCoded}
		one, err := method.Fit(recal.InMemory(few), nil)
		if err != nil {
			t.Fatal(err)
		}
		m, err := method.Fit(many, nil)
		if err != nil {
			t.Fatal(err)
		}
		by, err := recal.ByClusters(m, many, nil)
		if err != nil {
			t.Fatal(err)
		}
		squared := func(v float64, m recal.Map) float64 { return v*v/math.Pow(m.(*recal.SigmaMap).Scale(), 2) - 1 }
		want := squared(one.(*recal.SigmaMap).Interval(0.9).High, one) / metrics.Z(0.9) * clustered.Quantile(0.9, 59)
		if got := squared(by.(*recal.SigmaMap).Interval(0.9).High, by); math.Abs(got-want) > 1e-9*want {
			t.Errorf("as coded %v: %v, want %v", asCoded, got, want)
		}
	}
	c, err := recal.Platt{}.Fit(recal.InMemory(&metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.2, 0.7, 0.6, 0.4}, Rows: 4, Classes: 1}, Labels: []int32{0, 1, 0, 1}}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if by, err := recal.ByClusters(c, nil, nil); by != c || err != nil {
		t.Errorf("another map: %v, %v", fmt.Sprint(by), err)
	}
}
