package compared

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// models returns predictions of the same rows, the later the noisier.
func models(seed uint64, n, classes, count int, weighted bool) []*metrics.Predictions {
	r := rand.New(rand.NewPCG(seed, 1))
	var l []*metrics.Predictions
	for range count {
		p := &metrics.Predictions{Labels: make([]int32, n)}
		p.F64, p.Rows, p.Classes = make([]float64, n*classes), n, classes
		l = append(l, p)
	}
	for i := range n {
		z := make([]float64, max(2, classes))
		for k := range z {
			z[k] = 2 * r.NormFloat64()
		}
		y := int32(0)
		u, sum := r.Float64(), 0.0
		for _, v := range z {
			sum += math.Exp(v)
		}
		for k, v := range z {
			if u -= math.Exp(v) / sum; u < 0 {
				y = int32(k)
				break
			}
		}
		w := 0.5 + r.Float64()
		for m, p := range l {
			p.Labels[i] = y
			if weighted {
				p.Weights = append(p.Weights, w)
			}
			sum := 0.0
			e := make([]float64, len(z))
			for k, v := range z {
				e[k] = math.Exp(v + 0.4*float64(m+1)*r.NormFloat64())
				sum += e[k]
			}
			if classes == 1 {
				p.F64[i] = e[1] / sum
				continue
			}
			for k := range e {
				p.F64[i*classes+k] = e[k] / sum
			}
		}
	}
	return l
}

func sources(l []*metrics.Predictions) (s []metrics.Source) {
	for _, p := range l {
		s = append(s, metrics.InMemory(p))
	}
	return s
}

func specOf(t *testing.T, classes int, list string) eval.Spec {
	t.Helper()
	m, err := eval.ParseMetrics(list, eval.Shape{Classes: classes})
	if err != nil {
		t.Fatal(err)
	}
	return eval.Spec{Classes: classes, Metrics: m}
}

func compare(t *testing.T, s eval.Spec, names []string, baseline string, l []*metrics.Predictions, o *metrics.Options) *Comparison {
	t.Helper()
	c, err := New(s, names, baseline)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AddSources(sources(l), o); err != nil {
		t.Fatal(err)
	}
	return c
}

func stateOf(t *testing.T, c *Comparison) []byte {
	t.Helper()
	b, err := c.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const listed = "default,perplexity,nll_skill,aurc,eaurc,overconfidence,confidence,entropy,calibration_error_squared,smooth_ece,nll_infinite_rows"

// Values are those of the models alone, differences are theirs, and states do not depend on how rows were divided.
func TestComparison(t *testing.T) {
	for _, classes := range []int{1, 3} {
		for _, weighted := range []bool{false, true} {
			l := models(5, 3000, classes, 3, weighted)
			s := specOf(t, classes, listed)
			names := []string{"a", "b", "c"}
			whole := compare(t, s, names, "", l, &metrics.Options{Threads: 1})
			first := stateOf(t, whole)
			for m, p := range l {
				e, err := eval.New(s)
				if err != nil {
					t.Fatal(err)
				}
				if err := e.Add(p, nil); err != nil {
					t.Fatal(err)
				}
				if e.SHA256() != whole.Models()[m].SHA256() {
					t.Errorf("classes %d: the evaluation of model %d is not that of the model alone", classes, m)
				}
			}
			if b := stateOf(t, compare(t, s, names, "", l, &metrics.Options{Threads: 3})); !bytes.Equal(b, first) {
				t.Error("threads change the state")
			}
			var parts *Comparison
			for from := 0; from < 3000; from += 700 {
				var some []*metrics.Predictions
				for _, p := range l {
					v := p.Slice(from, min(3000, from+700))
					some = append(some, &v)
				}
				c := compare(t, s, names, "", some, nil)
				var back Comparison
				if err := back.UnmarshalBinary(stateOf(t, c)); err != nil {
					t.Fatal(err)
				}
				if parts == nil {
					parts = &back
				} else if err := parts.Merge(&back); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(stateOf(t, parts), first) {
				t.Error("a merge of shards has another state")
			}
			all := whole.Differences(nil)
			if want := 3 * len(s.Metrics); len(all) != want {
				t.Fatalf("%d differences, want %d", len(all), want)
			}
			intervals := map[string]bool{}
			for _, d := range all {
				a, b := whole.Models()[d.A].Value(d.Metric).Value, whole.Models()[d.B].Value(d.Metric).Value
				if d.Value != b-a && !(math.IsNaN(a) || math.IsNaN(b)) {
					t.Errorf("%v of %d and %d: %v, want %v - %v", d.Metric, d.A, d.B, d.Value, b, a)
				}
				if i := d.Interval; i.Low == i.Low {
					intervals[d.Metric.Name] = true
					if !(i.Low <= d.Value && d.Value <= i.High) || !(d.P >= 0 && d.P <= 1) || d.Adjusted < d.P || d.Method == "" || d.Reason != "" {
						t.Errorf("%v: %+v", d.Metric, d)
					}
				} else if d.Reason == "" {
					t.Errorf("%v has neither an interval nor a reason", d.Metric)
				}
			}
			want := []string{"accuracy", "nll", "brier", "brier_skill", "augrc", "calibration_auc", "calibration_error_squared"}
			if classes == 1 {
				want = []string{"bias", "nll", "brier", "auroc", "calibration_slope", "calibration_intercept", "calibration_error_squared"}
			}
			for _, name := range want {
				if !intervals[name] {
					t.Errorf("classes %d, weighted %v: %s has no interval", classes, weighted, name)
				}
			}
			if intervals["ece"] || intervals["smooth_ece"] {
				t.Error("ece has an interval of its difference")
			}
		}
	}
}

// A model against itself differs by exactly 0.
func TestSame(t *testing.T) {
	for _, classes := range []int{1, 4} {
		l := models(6, 500, classes, 1, false)
		c := compare(t, specOf(t, classes, listed), []string{"a", "again"}, "", []*metrics.Predictions{l[0], l[0]}, nil)
		for _, d := range c.Differences(&Answers{Margins: map[string]float64{"nll": 0.01}}) {
			if d.Value != 0 || d.Interval.Low == d.Interval.Low && d.Interval != (metrics.Interval{}) && d.Metric.Name != "accuracy" || d.Outcome == Better || d.Outcome == Worse {
				t.Errorf("%v: %+v", d.Metric, d)
			}
			if d.P == d.P && d.P != 1 {
				t.Errorf("%v: p is %v", d.Metric, d.P)
			}
			if d.Metric.Name == "nll" && d.Margin.Outcome != Equivalent {
				t.Errorf("margin: %+v", d.Margin)
			}
		}
	}
}

// A row that is bad in one model is left out of all, and counted once.
func TestDrop(t *testing.T) {
	l := models(7, 1000, 3, 2, false)
	nan := math.NaN()
	l[0].F64[5*3], l[1].F64[900*3+1], l[1].F64[5*3] = nan, nan, nan
	c, err := New(specOf(t, 3, "default"), []string{"a", "b"}, "")
	if err != nil {
		t.Fatal(err)
	}
	var e *ModelError
	var d *metrics.DataError
	if err := c.AddSources(sources(l), nil); !errors.As(err, &e) || !errors.As(err, &d) || e.Name != "a" || d.Faults[0].Row != 5 || d.Rows != 1000 {
		t.Fatalf("bad rows: %v", err)
	}
	if c.Rows() != 0 {
		t.Error("rows after an error")
	}
	for _, threads := range []int{1, 3} {
		c := compare(t, specOf(t, 3, "default"), []string{"a", "b"}, "", l, &metrics.Options{Drop: true, Threads: threads})
		for _, m := range c.Models() {
			if a := m.Audit; a.Rows != 998 || a.Dropped != 2 {
				t.Errorf("%s: %d rows, %d dropped", m.Name, a.Rows, a.Dropped)
			}
		}
		if c.Rows() != 998 {
			t.Errorf("%d rows", c.Rows())
		}
	}
	// Rows of weight 0 are absent, whatever their scores.
	l = models(8, 1000, 3, 2, true)
	l[0].Weights[7], l[1].Weights[7], l[0].F64[7*3], l[1].F64[8*3] = 0, 0, nan, nan
	c = compare(t, specOf(t, 3, "default"), []string{"a", "b"}, "", l, &metrics.Options{Drop: true})
	for _, m := range c.Models() {
		if a := m.Audit; a.Rows != 998 || a.Dropped != 1 || a.Absent != 1 {
			t.Errorf("%s: %d rows, %d dropped, %d absent", m.Name, a.Rows, a.Dropped, a.Absent)
		}
	}
}

// picked is a source of rows of predictions, some at a time.
type picked struct {
	p    *metrics.Predictions
	rows [][]int32
}

func (s *picked) Next() (*metrics.Chunk, error) {
	if len(s.rows) == 0 {
		return nil, io.EOF
	}
	c := &metrics.Chunk{}
	c.Pick(&metrics.Chunk{Predictions: *s.p}, s.rows[0])
	s.rows = s.rows[1:]
	return c, nil
}

func TestRows(t *testing.T) {
	l := models(9, 10, 3, 2, true)
	row := func(change func(p *metrics.Predictions)) error {
		a := *l[0]
		b := *l[1]
		b.Labels, b.Weights = slices.Clone(b.Labels), slices.Clone(b.Weights)
		change(&b)
		c, err := New(specOf(t, 3, "nll"), []string{"a", "b"}, "")
		if err != nil {
			t.Fatal(err)
		}
		return c.AddSources([]metrics.Source{metrics.InMemory(&a), metrics.InMemory(&b)}, nil)
	}
	for what, c := range map[string]struct {
		change func(p *metrics.Predictions)
		row    int64
	}{
		"label":  {func(p *metrics.Predictions) { p.Labels[4] = (p.Labels[4] + 1) % 3 }, 4},
		"weight": {func(p *metrics.Predictions) { p.Weights[6] = 7 }, 6},
		"":       {func(p *metrics.Predictions) { *p = p.Slice(0, 8) }, 8},
	} {
		var e *RowError
		if err := row(c.change); !errors.As(err, &e) || e.What != what || e.Row != c.row || e.Model != "b" {
			t.Errorf("%q: %v", what, err)
		}
	}
	// Chunks of other sizes, and rows that one source leaves out.
	s := specOf(t, 3, "default")
	c, _ := New(s, []string{"a", "b"}, "")
	err := c.AddSources([]metrics.Source{
		&picked{l[0], [][]int32{{0, 1, 2}, {3, 5, 6, 7, 8, 9}}},
		&picked{l[1], [][]int32{{0, 1}, {2, 4}, {5}, {6, 7, 8, 9}}},
	}, &metrics.Options{Drop: true, Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	if m := c.Models()[1]; m.Audit.Rows != 8 || m.Audit.Dropped != 2 {
		t.Errorf("%d rows, %d dropped", m.Audit.Rows, m.Audit.Dropped)
	}
	c, _ = New(s, []string{"a", "b"}, "")
	var e *RowError
	err = c.AddSources([]metrics.Source{&picked{l[0], [][]int32{{0, 1, 2, 3}}}, &picked{l[1], [][]int32{{0, 2, 3}}}}, nil)
	if !errors.As(err, &e) || e.Row != 1 || e.Model != "b" {
		t.Errorf("a row that is missing: %v", err)
	}
}

func TestDamagedState(t *testing.T) {
	c := compare(t, specOf(t, 3, "default"), []string{"a", "b"}, "b", models(10, 200, 3, 2, false), nil)
	b := stateOf(t, c)
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		d := bytes.Clone(b)
		d[r.IntN(len(d))] ^= 1 << r.IntN(8)
		if err := new(Comparison).UnmarshalBinary(d); err == nil {
			t.Fatal("a damaged state was read")
		}
	}
	for n := range 100 {
		if err := new(Comparison).UnmarshalBinary(b[:n*len(b)/100]); err == nil {
			t.Fatal("a cut state was read")
		}
	}
	o := compare(t, specOf(t, 3, "default"), []string{"a", "c"}, "c", models(10, 200, 3, 2, false), nil)
	if err := c.Merge(o); !errors.Is(err, metrics.ErrMismatch) || !strings.Contains(err.Error(), `"b" and "c"`) {
		t.Errorf("other models: %v", err)
	}
	if !bytes.Equal(stateOf(t, c), b) {
		t.Error("a merge that failed changed the state")
	}
}

func TestNew(t *testing.T) {
	s := specOf(t, 3, "default")
	many := make([]string, 21)
	for i := range many {
		many[i] = string(rune('a' + i))
	}
	for what, c := range map[string]struct {
		names    []string
		baseline string
	}{"two models or more": {[]string{"a"}, ""}, "is empty, or that of another": {[]string{"a", "a"}, ""}, "none of the models": {[]string{"a", "b"}, "c"}, "name a baseline": {many, ""}} {
		if _, err := New(s, c.names, c.baseline); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	c, err := New(s, many, "c")
	if err != nil || len(c.pairs) != 20 {
		t.Fatalf("%v", err)
	}
	for _, p := range c.pairs {
		if p.a != 2 {
			t.Errorf("pair of %d and %d", p.a, p.b)
		}
	}
}

func TestHolm(t *testing.T) {
	nan := math.NaN()
	l := []Difference{{P: 0.04}, {P: nan}, {P: 0.01}, {P: 0.03}, {P: 0.9}}
	adjust(l, Holm)
	for i, want := range []float64{0.09, nan, 0.04, 0.09, 0.9} {
		if got := l[i].Adjusted; math.Abs(got-want) > 1e-15 && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("%d: %v, want %v", i, got, want)
		}
	}
}

// Margins: of equivalent models, of one that is not worse, and of one that is undecided.
func TestMargin(t *testing.T) {
	l := models(11, 4000, 3, 2, false)
	c := compare(t, specOf(t, 3, "nll,accuracy"), []string{"a", "b"}, "", l, nil)
	d := c.Differences(nil)[0] // B is noisier: a higher nll
	if d.Outcome != Worse || d.RowsToDecide != 0 {
		t.Fatalf("%+v", d)
	}
	for size, want := range map[float64]Outcome{10: Equivalent, d.Value: Undecided} {
		if got := c.Differences(&Answers{Margins: map[string]float64{"nll": size}})[0].Margin; got.Outcome != want || !(got.P >= 0) {
			t.Errorf("margin %v: %+v", size, got)
		}
	}
	c = compare(t, specOf(t, 3, "nll,accuracy"), []string{"b", "a"}, "", []*metrics.Predictions{l[1], l[0]}, nil)
	if got := c.Differences(&Answers{Margins: map[string]float64{"nll": d.Value / 2}})[0]; got.Outcome != Better || got.Margin.Outcome != NotWorse {
		t.Errorf("%+v %+v", got, got.Margin)
	}
	few := models(12, 40, 3, 2, false)
	c = compare(t, specOf(t, 3, "nll"), []string{"a", "b"}, "", few, nil)
	if got := c.Differences(nil)[0]; got.Outcome != Undecided || got.RowsToDecide <= 40 {
		t.Errorf("%+v", got)
	}
}

// A few rows that both models have right do not show that they are equally accurate.
func TestMarginOfFewRows(t *testing.T) {
	for rows, want := range map[int]Outcome{3: Undecided, 900: Equivalent} {
		l := []*metrics.Predictions{{}, {}}
		for m, p := range l {
			p.Rows, p.Classes, p.Labels = rows, 1, make([]int32, rows)
			for i := range rows {
				p.Labels[i] = int32(i % 2)
				p.F64 = append(p.F64, []float64{0.2, 0.7}[i%2]+0.1*float64(m))
			}
		}
		c := compare(t, specOf(t, 1, "accuracy"), []string{"a", "b"}, "", l, nil)
		d := c.Differences(&Answers{Margins: map[string]float64{"accuracy": 0.01}})[0]
		if d.Value != 0 || d.Margin.Outcome != want || (d.Margin.P < 0.05) != (want == Equivalent) {
			t.Errorf("%d rows: %+v %+v", rows, d, d.Margin)
		}
	}
}

// Two models that part a few rows perfectly have no spread of their areas, which is no proof that these are equal.
func TestNoSpread(t *testing.T) {
	rows := func(scores ...float64) *metrics.Predictions {
		p := &metrics.Predictions{}
		p.Classes, p.F64, p.Rows = 1, scores, len(scores)
		for i := range scores {
			p.Labels = append(p.Labels, int32(i%2))
		}
		p.Weights = []float64{1, 2, 1, 2, 1, 2}
		return p
	}
	a, b := rows(0.1, 0.7, 0.2, 0.8, 0.3, 0.9), rows(0.15, 0.71, 0.12, 0.88, 0.33, 0.92)
	for _, metric := range []string{"auroc", "accuracy"} {
		for _, other := range []*metrics.Predictions{a, b} {
			c := compare(t, specOf(t, 1, metric+",nll"), []string{"a", "b"}, "", []*metrics.Predictions{a, other}, nil)
			d := c.Differences(&Answers{Margins: map[string]float64{metric: 0.01}})[0]
			if other == a {
				if d.Value != 0 || d.Interval != (metrics.Interval{}) || d.P != 1 {
					t.Errorf("%s of the same model: %+v", metric, d)
				}
				continue
			}
			if d.Value != 0 || d.Interval.Low == d.Interval.Low || d.P == d.P || d.Outcome != NoOutcome || d.Margin.Outcome != NoOutcome || !strings.Contains(d.Reason, "no spread") {
				t.Errorf("%s: %+v %+v", metric, d, d.Margin)
			}
		}
	}
}

// Where a model gives probability 0 to a true class its nll is infinite, and so is the difference.
func TestInfinite(t *testing.T) {
	l := models(13, 100, 3, 2, false)
	y := int(l[0].Labels[3])
	copy(l[1].F64[9:12], []float64{0.5, 0.5, 0.5})
	l[1].F64[9+y] = 0
	c := compare(t, specOf(t, 3, "nll,nll(clip=1e-6),brier"), []string{"a", "b"}, "", l, nil)
	d := c.Differences(nil)
	if !math.IsInf(d[0].Value, 1) || d[0].OnlyB != 1 || !strings.Contains(d[0].Reason, "b gives probability 0 to the true class of 1 row") || d[0].Outcome != NoOutcome {
		t.Errorf("%+v", d[0])
	}
	if d[1].Reason != "" || d[2].Reason != "" {
		t.Errorf("%q, %q", d[1].Reason, d[2].Reason)
	}
}
