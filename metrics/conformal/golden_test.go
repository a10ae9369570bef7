package conformal_test

import (
	"math"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/conformal"
)

type goldenSets struct {
	Peer, Method string
	Coverage     float64
	Sets         []string
	Threshold    *float64
	CalibrationU []float64 `json:"calibration_u"`
	U            []float64
	Kept         []int
	Scores       []float64
	Mean         *float64
	Covered      float64
	SSC          []*float64
}

type goldenFile struct {
	Classes []struct {
		K    int
		P, Q [][]float64
		Y, Z []int32
		Sets []goldenSets
	}
	Numbers []struct {
		X, T      [][]float64
		Y, Z      []float64
		Intervals []struct {
			Peer, Method             string
			Coverage, Covered, Width float64
			Winkler                  float64
			Intervals                [][]float64
			SSC                      []float64
		}
	}
}

func flat(rows [][]float64) (l []float64) {
	for _, r := range rows {
		l = append(l, r...)
	}
	return l
}

// crepesRank returns the rank of crepes' threshold among n scores. For classes it asks for p-values of at least 1 - coverage, and not above it;
// and it multiplies in float64, so that 0.1 of 100 is 9.999999999999998, which it cuts to 9.
func crepesRank(n int64, coverage float64, classes bool) int64 {
	if !classes {
		return n + 1 - int64((1-coverage)*float64(n+1))
	}
	// The largest rank whose p-value, (number of scores as large + 1) / (n + 1), suffices.
	for r := n + 1; ; r-- {
		if float64(n-r+2)/float64(n+1) >= 1-coverage {
			return r
		}
	}
}

// TestGoldenSets compares sets with those of MAPIE and crepes.
func TestGoldenSets(t *testing.T) {
	var g goldenFile
	check.Golden(t, "../../testdata/golden", "conformal.json.gz", &g)
	compared, apart := 0, 0
	for _, c := range g.Classes {
		width := c.K
		p, q := flat(c.P), flat(c.Q)
		for _, s := range c.Sets {
			m := metrics.Must(conformal.Parse(s.Method))
			fit := func() *conformal.Map {
				preds := &metrics.Predictions{Labels: c.Y}
				preds.Rows, preds.Classes, preds.F64 = len(c.Y), width, p
				if s.Kept != nil {
					preds.Rows, preds.F64, preds.Labels = len(s.Kept), nil, nil
					for _, i := range s.Kept {
						preds.F64 = append(preds.F64, c.P[i]...)
						preds.Labels = append(preds.Labels, c.Y[i])
					}
				}
				f, _, err := conformal.Fit(metrics.InMemory(preds), m, s.Coverage, nil)
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			f := fit()
			if s.Peer == "crepes" {
				differs := false
				for _, part := range f.Parts() {
					differs = differs || crepesRank(part.Rows, s.Coverage, true) != conformal.Rank(part.Rows, s.Coverage)
				}
				if differs {
					apart++
					// Its sets are then the larger ones.
					got := setsOf(t, f, q, len(c.Z), width)
					for i := range got {
						for j := range got[i] {
							if got[i][j] == '1' && s.Sets[i][j] == '0' {
								t.Errorf("%s %v of %d: row %d has class %d, and crepes' has not", s.Method, s.Coverage, len(c.Y), i, j)
							}
						}
					}
					continue
				}
			}
			if s.U != nil || s.Scores != nil {
				// MAPIE's random numbers are others: give the same threshold, and its own random numbers.
				f = conformal.WithRandom(f, *s.Threshold, s.U)
			}
			if s.CalibrationU != nil {
				if got := conformal.ThresholdWith(m, p, c.Y, width, s.Coverage, s.CalibrationU); math.Abs(got-*s.Threshold) > 1e-12 {
					t.Errorf("%s %v: threshold %v, and MAPIE's %v", s.Method, s.Coverage, got, *s.Threshold)
				}
			} else if s.Threshold != nil && s.Scores == nil {
				if got := f.Parts()[0].Threshold; math.Abs(got-*s.Threshold) > 1e-12 {
					t.Errorf("%s %v: threshold %v, and MAPIE's %v", s.Method, s.Coverage, got, *s.Threshold)
				}
			}
			got := setsOf(t, f, q, len(c.Z), width)
			for i := range got {
				if got[i] != s.Sets[i] {
					t.Errorf("%s %s %v of %d x %d: row %d is %s, want %s", s.Peer, s.Method, s.Coverage, len(c.Y), width, i, got[i], s.Sets[i])
				}
			}
			compared++
			if s.Mean == nil {
				continue
			}
			tally := conformal.NewSetTally(width)
			for i, w := range s.Sets {
				set := make([]bool, width)
				for j := range w {
					set[j] = w[j] == '1'
				}
				tally.Add(set, int(c.Z[i]))
			}
			if got := tally.MeanSize(); math.Abs(got-*s.Mean) > 1e-13 {
				t.Errorf("mean size %v, want %v", got, *s.Mean)
			}
			if got := tally.All().Value(); math.Abs(got-s.Covered) > 1e-13 {
				t.Errorf("coverage %v, want %v", got, s.Covered)
			}
			for size, want := range s.SSC {
				switch got := tally.BySize[size].Value(); {
				case want == nil && got == got, want != nil && math.Abs(got-*want) > 1e-13:
					t.Errorf("coverage of sets of %d: %v", size, got)
				}
			}
		}
	}
	if compared < 30 || apart < 1 {
		t.Errorf("%d sets were compared, %d are apart", compared, apart)
	}
	t.Logf("%d equal, %d apart", compared, apart)
}

// setsOf returns the sets of rows as texts of 0 and 1.
func setsOf(t *testing.T, f *conformal.Map, p []float64, rows, width int) (l []string) {
	t.Helper()
	preds := &metrics.Predictions{Labels: make([]int32, rows)}
	preds.Rows, preds.Classes, preds.F64 = rows, width, p
	fill := f.Sets()
	w := metrics.NewWalker(nil, metrics.NeedRows, func(b *metrics.Block) {
		dst := make([]bool, b.Rows*f.Classes())
		fill(dst, b)
		for i := range b.Rows {
			var s strings.Builder
			for _, in := range dst[i*f.Classes():][:f.Classes()] {
				if in {
					s.WriteByte('1')
				} else {
					s.WriteByte('0')
				}
			}
			l = append(l, s.String())
		}
	})
	w.Add(&metrics.Chunk{Predictions: *preds})
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestGoldenIntervals compares intervals with those of MAPIE and crepes, and measures of them.
func TestGoldenIntervals(t *testing.T) {
	var g goldenFile
	check.Golden(t, "../../testdata/golden", "conformal.json.gz", &g)
	compared, apart := 0, 0
	for _, c := range g.Numbers {
		rows := func(x [][]float64, y []float64, m conformal.Method) *metrics.Predictions {
			p := &metrics.Predictions{}
			p.Rows, p.Classes, p.Kind = len(x), 3, metrics.Normals
			if m.Score == conformal.CQR {
				p.Classes, p.Kind, p.Observed = 2, metrics.Quantiles, y
			}
			for i, r := range x {
				if m.Score == conformal.CQR {
					p.F64 = append(p.F64, r[2], r[3])
				} else {
					p.F64 = append(p.F64, r[0], r[1], y[i])
				}
			}
			return p
		}
		for _, s := range c.Intervals {
			m := metrics.Must(conformal.Parse(s.Method))
			f, _, err := conformal.Fit(metrics.InMemory(rows(c.X, c.Y, m)), m, s.Coverage, nil)
			if err != nil {
				t.Fatal(err)
			}
			var got []float64
			w := metrics.NewWalker(nil, metrics.NeedRows, func(b *metrics.Block) {
				got = make([]float64, 2*b.Rows)
				f.Intervals(got, b)
			})
			w.Add(&metrics.Chunk{Predictions: *rows(c.T, c.Z, m)})
			differs := s.Peer == "crepes" && crepesRank(int64(len(c.Y)), s.Coverage, false) != conformal.Rank(int64(len(c.Y)), s.Coverage)
			var tally conformal.IntervalTally
			for i, r := range s.Intervals {
				low, high := got[2*i], got[2*i+1]
				if differs {
					if !(low > r[0] && high < r[1]) {
						t.Errorf("crepes %s %v: row %d is [%v, %v], within %v", s.Method, s.Coverage, i, low, high, r)
					}
				} else if math.Abs(low-r[0]) > 1e-12 || math.Abs(high-r[1]) > 1e-12 {
					t.Errorf("%s %s %v of %d: row %d is [%v, %v], want %v", s.Peer, s.Method, s.Coverage, len(c.Y), i, low, high, r)
				}
				if err := tally.Add(r[0], r[1], c.Z[i]); err != nil {
					t.Fatal(err)
				}
			}
			if differs {
				apart++
			} else {
				compared++
			}
			for _, v := range []struct {
				name      string
				got, want float64
			}{{"coverage", tally.All.Value(), s.Covered}, {"width", tally.MeanWidth(), s.Width}, {"winkler", tally.Winkler(s.Coverage), s.Winkler}} {
				if math.Abs(v.got-v.want) > 1e-12*math.Max(1, v.want) {
					t.Errorf("%s: %v, want %v", v.name, v.got, v.want)
				}
			}
			if s.SSC == nil {
				continue
			}
			strata := tally.ByWidth(3)
			if len(strata) != 3 {
				t.Fatalf("%d strata", len(strata))
			}
			for i, o := range strata {
				if math.Abs(o.Value()-s.SSC[i]) > 1e-13 {
					t.Errorf("%s %v: stratum %d covers %v, want %v", s.Method, s.Coverage, i, o.Value(), s.SSC[i])
				}
			}
		}
	}
	if compared < 20 || apart < 1 {
		t.Errorf("%d were compared, %d are apart", compared, apart)
	}
	t.Logf("%d equal, %d apart", compared, apart)
}
