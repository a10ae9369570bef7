package calib_test

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
)

// peerSet is a set of testdata/oracle/calibration_peers.json.gz; see make_calibration_peers.py there.
type peerSet struct {
	Name   string
	Rows   int
	Scores []float64
	Labels []int32
	Kumar  [][2]float64 // bins, value
	ACE    [][2]float64

	Deciles [][3]json.RawMessage // groups, the test for held-out rows, and the test for fitted rows
	Width   [][2]json.RawMessage // groups, and the test for fitted rows

	Calzone float64
	Lowess  []struct{ Span, Delta, ICI, E50, E90 float64 }
}

func readPeers(t *testing.T) []peerSet {
	t.Helper()
	f, err := os.Open("../../testdata/oracle/calibration_peers.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var d struct{ Sets []peerSet }
	if err := json.NewDecoder(r).Decode(&d); err != nil {
		t.Fatal(err)
	}
	if len(d.Sets) < 7 {
		t.Fatalf("%d sets", len(d.Sets))
	}
	for i := range d.Sets {
		if s := &d.Sets[i]; s.Scores == nil {
			s.make()
		}
	}
	return d.Sets
}

// make follows the rule `made` of the script.
func (s *peerSet) make() {
	s.Scores, s.Labels = make([]float64, s.Rows), make([]int32, s.Rows)
	for i := range s.Rows {
		n := uint64(i)
		p, v := float64(n*2654435761%(1<<32))/(1<<32), float64((n*48271+11)%65537)/65537
		s.Scores[i] = p
		if v < float64(p*p)*(3-float64(2*p)) {
			s.Labels[i] = 1
		}
	}
}

func (s *peerSet) predictions() *metrics.Predictions {
	return &metrics.Predictions{Scores: metrics.Scores{F64: s.Scores, Rows: s.Rows, Classes: 1}, Labels: s.Labels}
}

// TestKumarsLibrary compares with uncertainty-calibration.
func TestKumarsLibrary(t *testing.T) {
	n := 0
	for _, s := range readPeers(t) {
		for _, c := range s.Kumar {
			b := of(t, s.predictions(), &calib.Options{Bins: int(c[0]), Event: calib.Positive, Side: kernel.RightClosed, Index: calib.EdgeDiv})
			if got := b.DebiasedKumar(); math.Abs(got-c[1]) > 1e-12 && math.Abs(got*got-c[1]*c[1]) > 1e-15 {
				t.Errorf("%s, %v bins: %v, want %v", s.Name, c[0], got, c[1])
			}
			if c[1] > 0 {
				n++
			}
		}
	}
	if n < 15 {
		t.Errorf("%d values above 0", n)
	}
}

// TestNetcalsACE compares with netcal, which moves scores of 0 and 1 by an ulp.
func TestNetcalsACE(t *testing.T) {
	for _, s := range readPeers(t) {
		for _, c := range s.ACE {
			b := of(t, s.predictions(), &calib.Options{Bins: int(c[0]), Event: calib.Positive})
			if got := b.EqualWeight(); math.Abs(got-c[1]) > 1e-13 {
				t.Errorf("%s, %v bins: %v, want %v", s.Name, c[0], got, c[1])
			}
		}
	}
}

// hosmerLemeshow holds a statistic, its p-value, which may be missing, and its degrees of freedom.
type hosmerLemeshow struct {
	statistic float64
	p         *float64
	degrees   int
}

func (h *hosmerLemeshow) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&h.statistic, &h.p, &h.degrees})
}

func unmarshal[T any](t *testing.T, b []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestHosmerLemeshowIsPeers compares with pycaleva, for held-out rows and for fitted rows, and with calzone.
func TestHosmerLemeshowIsPeers(t *testing.T) {
	n := 0
	for _, s := range readPeers(t) {
		c := metrics.Must(cells.New(&cells.Options{Event: calib.Positive}))
		if err := metrics.NewPass(nil, c).Add(s.predictions()); err != nil {
			t.Fatal(err)
		}
		check := func(want hosmerLemeshow, o calib.HosmerLemeshowOptions, tolerance float64) {
			t.Helper()
			n++
			h := calib.HosmerLemeshowOf(c, &o)
			if math.Abs(h.Statistic-want.statistic) > tolerance*want.statistic || h.Degrees != want.degrees || h.Bound != 0 || h.Reason != "" {
				t.Errorf("%s, %+v: %+v, want %v of %d degrees", s.Name, o, h, want.statistic, want.degrees)
			}
			if want.p == nil {
				if h.P == h.P || h.Degrees > 0 {
					t.Errorf("%s, %+v: p %v of %d degrees", s.Name, o, h.P, h.Degrees)
				}
			} else if !(math.Abs(h.P-*want.p) < tolerance) {
				t.Errorf("%s, %+v: p %v, want %v", s.Name, o, h.P, *want.p)
			}
		}
		for _, d := range s.Deciles {
			o := calib.HosmerLemeshowOptions{Groups: unmarshal[int](t, d[0])}
			check(unmarshal[hosmerLemeshow](t, d[1]), o, 1e-11)
			o.Fitted = true
			check(unmarshal[hosmerLemeshow](t, d[2]), o, 1e-11)
		}
		for _, d := range s.Width {
			check(unmarshal[hosmerLemeshow](t, d[1]), calib.HosmerLemeshowOptions{Groups: unmarshal[int](t, d[0]), Even: true, Fitted: true}, 1e-6) // calzone clips frequencies of 0 and 1
		}
	}
	if n < 35 {
		t.Errorf("%d tests", n)
	}
}

// TestICIIsCalzones compares with calzone's index, and for quantiles and other spans with statsmodels' lowess.
func TestICIIsCalzones(t *testing.T) {
	for _, s := range readPeers(t) {
		c := positiveCells(t, s.predictions())
		got, bound := binfree.ICIOf(c, &binfree.ICIOptions{Curve: binfree.LoessCurve, Delta: -1}).Mean()
		if !(math.Abs(got-s.Calzone) < 1e-10) || bound != 0 {
			t.Errorf("%s: %v, calzone %v", s.Name, got, s.Calzone)
		}
		for _, w := range s.Lowess {
			i := binfree.ICIOf(c, &binfree.ICIOptions{Curve: binfree.LoessCurve, Span: w.Span, Delta: w.Delta})
			mean, _ := i.Mean()
			e50, _ := i.Quantile(50)
			e90, _ := i.Quantile(90)
			if !(math.Abs(mean-w.ICI) < 1e-10 && math.Abs(e50-w.E50) < 1e-10 && math.Abs(e90-w.E90) < 1e-10) {
				t.Errorf("%s, span %v, delta %v: %v, %v, %v, want %v, %v, %v", s.Name, w.Span, w.Delta, mean, e50, e90, w.ICI, w.E50, w.E90)
			}
		}
	}
}

// TestKumarOfWeights checks that equal weights have no effect, and that for the frequency integer weights act like repeated
// rows.
func TestKumarOfWeights(t *testing.T) {
	s := readPeers(t)[1]
	p, o := s.predictions(), &calib.Options{Bins: 5, Event: calib.Positive}
	want := of(t, p, o).DebiasedKumar()
	p.Weights = make([]float64, s.Rows)
	for i := range p.Weights {
		p.Weights[i] = 0.3
	}
	if got := of(t, p, o).DebiasedKumar(); math.Abs(got-want) > 1e-14 {
		t.Errorf("equal weights: %v, without %v", got, want)
	}
	// With one bin: gap^2 - ybar(1-ybar)/(neff-1).
	var w, w2, wp, wy float64
	for i := range p.Weights {
		x := float64(1 + i%3)
		p.Weights[i] = x
		w, w2, wp, wy = w+x, w2+x*x, wp+x*s.Scores[i], wy+x*float64(s.Labels[i])
	}
	for i := range s.Scores { // creates a gap
		s.Scores[i] *= 0.5
	}
	g, y := wp/2/w-wy/w, wy/w
	want = math.Sqrt(g*g - y*(1-y)/(w*w/w2-1))
	if got := of(t, p, &calib.Options{Bins: 1, Event: calib.Positive}).DebiasedKumar(); !(math.Abs(got-want) < 1e-12) {
		t.Errorf("weights: %v, want %v", got, want)
	}
}
