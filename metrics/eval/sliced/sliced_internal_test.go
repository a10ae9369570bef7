package sliced

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/eval"
)

// coded is a source of rows with values of columns, in chunks of some rows.
type coded struct {
	p      *metrics.Predictions
	values func(column, row int) string
	list   []Column
	size   int
	at     int
	index  map[string]int32
	tuples [][]string
}

func (c *coded) Next() (*metrics.Chunk, error) {
	if c.at >= c.p.Rows {
		return nil, io.EOF
	}
	n := min(c.size, c.p.Rows-c.at)
	k := &metrics.Chunk{Predictions: c.p.Slice(c.at, c.at+n), First: int64(c.at)}
	for i := c.at; i < c.at+n; i++ {
		var tuple []string
		key := ""
		for j := range c.list {
			if !c.list[j].Score {
				v := string(c.list[j].Coder()([]byte(c.values(j, i))))
				tuple, key = append(tuple, v), key+strconv.Quote(v)
			}
		}
		g, ok := c.index[key]
		if !ok {
			g = int32(len(c.tuples))
			c.index[key] = g
			c.tuples = append(c.tuples, tuple)
		}
		k.Groups = append(k.Groups, g)
	}
	c.at += n
	return k, nil
}

// read returns the evaluation of rows from to to.
func read(t testing.TB, s eval.Spec, columns []Column, p *metrics.Predictions, values func(column, row int) string, from, to, size int) *Evaluation {
	t.Helper()
	e, err := New(s, columns)
	if err != nil {
		t.Fatal(err)
	}
	q := p.Slice(from, to)
	src := &coded{p: &q, values: func(c, r int) string { return values(c, from+r) }, list: e.Columns, size: size, index: map[string]int32{}}
	if err := e.AddSource(src, func(g int32) []string { return src.tuples[g] }, &metrics.Options{Threads: 1 + size%3}); err != nil {
		t.Fatal(err)
	}
	return e
}

func specOf(t testing.TB, list string) eval.Spec {
	t.Helper()
	s := eval.Spec{Classes: 1}
	var err error
	if s.Metrics, err = eval.ParseMetrics(list, s.Shape()); err != nil {
		t.Fatal(err)
	}
	return s
}

// firstRead returns columns whose numbers have bins of equal mass.
func firstRead(names []string, rows int, values func(column, row int) string) []Column {
	l := make([]Column, len(names))
	for i, n := range names {
		var v Values
		for r := range rows {
			v.Add([]byte(values(i, r)))
		}
		l[i].Name = n
		if v.Numeric() && v.Distinct() > EqualMass {
			l[i].Edges, l[i].Thirds = v.Edges(EqualMass), v.Edges(thirds)
		}
	}
	return l
}

type oracle struct {
	Cases []struct {
		Name             string
		Texts, Numbers   []string
		Rows             int64
		Data             map[string][]any
		Error, Sigma, P  float64
		Relative, Global float64
		GlobalP          float64 `json:"global_p"`
		Segments         int
	}
	ECCE []struct {
		Prediction  []float64
		Label       []int32
		ECCE, Sigma float64
	}
	PValue [][2]float64
}

func near(a, b, tolerance float64) bool {
	return a == b || math.Abs(a-b) <= tolerance*max(1, math.Abs(b))
}

// TestMulticalibrationIsMCGrads compares with the package's own answers, among them those to its tests.
func TestMulticalibrationIsMCGrads(t *testing.T) {
	b, err := os.ReadFile("../../../testdata/oracle/multicalibration.json")
	if err != nil {
		t.Fatal(err)
	}
	var o oracle
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatal(err)
	}
	if len(o.Cases) < 8 || len(o.ECCE) < 3 || len(o.PValue) < 9 {
		t.Fatal("cases are missing")
	}
	spec := specOf(t, "multicalibration_error,multicalibration_error_sigma")
	for _, c := range o.Cases {
		names := append(append([]string{}, c.Texts...), c.Numbers...)
		text := func(i, r int) string {
			switch v := c.Data[names[i]][r].(type) {
			case string:
				return v
			case float64:
				return strconv.FormatFloat(v, 'g', -1, 64)
			}
			return ""
		}
		p := &metrics.Predictions{Scores: metrics.Scores{Classes: 1}}
		for i, s := range c.Data["prediction"] {
			p.F64 = append(p.F64, s.(float64))
			p.Labels = append(p.Labels, int32(c.Data["label"][i].(float64)))
		}
		p.Rows = len(p.F64)
		e := read(t, spec, firstRead(names, p.Rows, text), p, text, 0, p.Rows, 64)
		a := e.worst(e.answers().segments, c.Rows)
		if a.Segments != c.Segments {
			t.Errorf("%s: %d segments, want %d", c.Name, a.Segments, c.Segments)
		}
		if !near(a.Error, c.Error, 1e-12) || !near(a.Sigma, c.Sigma, 1e-12) || !near(a.Relative, c.Relative, 1e-12) || !near(a.P, c.P, 1e-13) {
			t.Errorf("%s: %+v, want %+v %+v %+v %+v", c.Name, *a, c.Error, c.Sigma, c.Relative, c.P)
		}
		e.eachSegment(e.answers().segments, c.Rows, func(s segment) {
			if len(s.columns) == 0 && (!near(s.ecce, c.Global, 1e-13) || !near(binfree.KuiperTail(s.sigma), c.GlobalP, 1e-13)) {
				t.Errorf("%s: the ECCE of all rows is %v with p %v, want %v and %v", c.Name, s.ecce, binfree.KuiperTail(s.sigma), c.Global, c.GlobalP)
			}
		})
	}
	for _, c := range o.ECCE {
		p := &metrics.Predictions{Scores: metrics.Scores{Rows: len(c.Label), Classes: 1, F64: c.Prediction}, Labels: c.Label}
		e := read(t, spec, []Column{{Name: "score", Score: true}}, p, nil, 0, p.Rows, 3)
		e.eachSegment(nil, 1, func(s segment) {
			if !near(s.ecce, c.ECCE, 1e-7) || math.Abs(s.sigma-c.Sigma) > 1e-5 {
				t.Errorf("ECCE %v, sigma %v, want %v and %v", s.ecce, s.sigma, c.ECCE, c.Sigma)
			}
		})
	}
	for _, x := range o.PValue {
		if got := binfree.KuiperTail(x[0]); math.Abs(got-x[1]) > 1e-14 {
			t.Errorf("p of %v is %v, want %v", x[0], got, x[1])
		}
	}
}

// random returns rows of a calibrated model, and values of three columns.
func random(rows int, seed uint64) (*metrics.Predictions, func(column, row int) string) {
	x := seed*2 + 1
	next := func() float64 {
		x = x*6364136223846793005 + 1442695040888963407
		return float64(x>>11) / (1 << 53)
	}
	p := &metrics.Predictions{Scores: metrics.Scores{Rows: rows, Classes: 1}}
	values := make([][3]string, rows)
	for i := range rows {
		s := next()
		if i%3 == 0 {
			s = math.Round(16*s) / 16 // ties
		}
		y := int32(0)
		if next() < s {
			y = 1
		}
		p.F64, p.Labels = append(p.F64, s), append(p.Labels, y)
		values[i] = [3]string{string(rune('a' + int(3*next()))), strconv.Itoa(int(1000 * next())), strconv.Itoa(int(4 * next()))}
	}
	return p, func(c, r int) string { return values[r][c] }
}

func bytesOf(t testing.TB, e *Evaluation) []byte {
	t.Helper()
	b, err := e.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestParts: shards in any order, chunks and threads give the same bytes and the same answers, and a state is read as it was written.
func TestParts(t *testing.T) {
	spec := specOf(t, "default,multicalibration_error,multicalibration_gap")
	p, values := random(3000, 7)
	columns := []Column{{Name: "site"}, {Name: "age", Edges: []float64{0, 100, 250, 800}}, {Name: "score", Score: true}, {Name: "kind"}}
	of := func(c, r int) string { return values([]int{0, 1, 0, 2}[c], r) }
	whole := read(t, spec, columns, p, of, 0, 3000, 5000)
	want := bytesOf(t, whole)
	for _, size := range []int{1, 64, 700} {
		if !bytes.Equal(bytesOf(t, read(t, spec, columns, p, of, 0, 3000, size)), want) {
			t.Errorf("chunks of %d rows give another state", size)
		}
	}
	a, b, c := read(t, spec, columns, p, of, 0, 100, 64), read(t, spec, columns, p, of, 100, 2000, 64), read(t, spec, columns, p, of, 2000, 3000, 64)
	for _, e := range []*Evaluation{a, b} {
		if err := c.Merge(e); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(bytesOf(t, c), want) {
		t.Error("merged shards give another state")
	}
	var again Evaluation
	if err := again.UnmarshalBinary(want); err != nil || !bytes.Equal(bytesOf(t, &again), want) {
		t.Error("a state read is another:", err)
	}
	for i := range again.Whole().Spec.Metrics {
		m := again.Whole().Spec.Metrics[i]
		if x, y := whole.Whole().Value(m), again.Whole().Value(m); x.Value != y.Value && (x.Value == x.Value || y.Value == y.Value) {
			t.Errorf("%v is %v and %v", m, x, y)
		}
	}
	for i := 0; i < len(want); i += 7 {
		d := bytes.Clone(want)
		d[i] ^= 1
		if new(Evaluation).UnmarshalBinary(d) == nil {
			t.Fatalf("byte %d changed, and read", i)
		}
	}
	other := read(t, spec, []Column{{Name: "site"}, {Name: "age", Edges: []float64{0, 100, 250}}, {Name: "score", Score: true}, {Name: "kind"}}, p, of, 0, 100, 64)
	if err := c.Merge(other); err == nil || !bytes.Equal(bytesOf(t, c), want) {
		t.Error("edges differ, and merged:", err)
	}
}

// TestSums: the sums of slices are those of their rows, and the ECCE of all rows is kuiper, to the bit.
func TestSums(t *testing.T) {
	spec := specOf(t, "kuiper,kuiper_p")
	p, values := random(2500, 3)
	columns := []Column{{Name: "site"}, {Name: "age", Edges: []float64{100, 250, 800}}, {Name: "kind"}, {Name: "score", Score: true, Edges: []float64{0, 0.25, 1}}}
	of := func(c, r int) string { return values(c, r) }
	e := read(t, spec, columns, p, of, 0, 2500, 100)
	e.eachSegment(nil, 1, func(s segment) {
		if want := e.Whole().Value(spec.Metrics[0]).Value; s.ecce != want {
			t.Errorf("the ECCE of all rows is %v, kuiper %v", s.ecce, want)
		}
		if want := e.Whole().Value(spec.Metrics[1]).Value; math.Abs(binfree.KuiperTail(s.sigma)-want) > 1e-14 {
			t.Errorf("its p is %v, kuiper_p %v", binfree.KuiperTail(s.sigma), want)
		}
	})
	name := func(c, r int) string {
		switch c {
		case 1:
			x, _ := strconv.ParseFloat(values(1, r), 64)
			return binName(columns[1].Edges, bin(columns[1].Edges, x))
		case 3:
			return binName(columns[3].Edges, bin(columns[3].Edges, p.F64[r]))
		}
		return values(c, r)
	}
	list, left, reason := e.List(ListOptions{MinRows: 20})
	if reason != "" || left == 0 || len(list) < 100 {
		t.Fatal(len(list), left, reason)
	}
	index := map[string]int{"site": 0, "age": 1, "kind": 2, "score": 3}
	for _, s := range list {
		n, y, sum, variance := int64(0), int64(0), 0.0, 0.0
		var q metrics.Predictions
		q.Classes = 1
		for r := range p.Rows {
			in := true
			for i, c := range s.Columns {
				in = in && name(index[c], r) == s.Values[i]
			}
			if in {
				n, y, sum, variance = n+1, y+int64(p.Labels[r]), sum+p.F64[r], variance+p.F64[r]*(1-p.F64[r])
				q.F64, q.Labels = append(q.F64, p.F64[r]), append(q.Labels, p.Labels[r])
			}
		}
		if q.Rows = int(n); n != s.Rows || y != s.Events || math.Abs(sum/float64(n)-s.Mean) > 1e-12 {
			t.Fatalf("slice %v %v has %d rows, %d events and the mean %v, want %d, %d and %v", s.Columns, s.Values, s.Rows, s.Events, s.Mean, n, y, sum/float64(n))
		}
		if !(s.P > 0 && s.P <= 1 && s.Adjusted >= s.P && s.Interval.Low <= s.Gap && s.Gap <= s.Interval.High) {
			t.Errorf("%+v", s)
		}
		// The interval is no narrower than that of calibrated scores, as that of bias.
		if half := (s.Interval.High - s.Interval.Low) / 2; n > 1 && half < 1.95996*math.Sqrt(variance)/float64(n) {
			t.Errorf("slice %v %v of %d rows: the interval is +-%v, that of calibrated scores +-%v", s.Columns, s.Values, n, half, 1.95996*math.Sqrt(variance)/float64(n))
		}
	}
	// The ECCE of every slice is kuiper of its rows.
	seen := 0
	e.eachSegment(e.answers().views, 10, func(g segment) {
		if len(g.columns) != 2 {
			return
		}
		var q metrics.Predictions
		q.Classes = 1
		for r := range p.Rows {
			if name(index[g.columns[0]], r) == g.values[0] && name(index[g.columns[1]], r) == g.values[1] {
				q.F64, q.Labels = append(q.F64, p.F64[r]), append(q.Labels, p.Labels[r])
			}
		}
		q.Rows = len(q.F64)
		s, err := cells.Sort(&q, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := binfree.PartialSumsOf(s).Kuiper(); want != g.ecce {
			t.Errorf("%v: ECCE %v, kuiper %v", g.values, g.ecce, want)
		}
		seen++
	})
	if seen < 20 {
		t.Error(seen)
	}
}

// TestGrid: beyond the largest number of cells scores are on a grid, which depends on the rows alone. Sums of slices stay exact, and the
// metrics of segments are within their bounds.
func TestGrid(t *testing.T) {
	spec := specOf(t, "multicalibration_error,multicalibration_error_sigma,multicalibration_gap")
	p, values := random(4000, 5)
	columns := []Column{{Name: "site"}, {Name: "age", Edges: []float64{0, 500, 1000}}}
	exact := read(t, spec, columns, p, values, 0, p.Rows, 300)
	defer func(n int) { most = n }(most)
	for _, most = range []int{1000, 300, 40, 5} {
		e := read(t, spec, columns, p, values, 0, p.Rows, 300)
		if e.Exact() || len(e.table.list) > most && e.table.shift < lastShift {
			t.Fatalf("%d cells of at most %d, exact: %v", len(e.table.list), most, e.Exact())
		}
		want := bytesOf(t, e)
		parts := read(t, spec, columns, p, values, 0, 90, 50)
		for from := 90; from < p.Rows; from += 782 {
			if err := parts.Merge(read(t, spec, columns, p, values, from, min(from+782, p.Rows), 64)); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(bytesOf(t, parts), want) {
			t.Errorf("with %d cells the grid depends on how rows are divided", most)
		}
		var again Evaluation
		if err := again.UnmarshalBinary(want); err != nil || !bytes.Equal(bytesOf(t, &again), want) {
			t.Error("a state read is another:", err)
		}
		x, _, _ := exact.List(ListOptions{MinRows: 30})
		y, _, _ := e.List(ListOptions{MinRows: 30})
		sums := map[string]Slice{}
		for _, s := range x {
			sums[strconv.Quote(s.Values[0])+strconv.Itoa(len(s.Values))+s.Columns[0]+s.Values[len(s.Values)-1]] = s
		}
		for _, s := range y {
			w := sums[strconv.Quote(s.Values[0])+strconv.Itoa(len(s.Values))+s.Columns[0]+s.Values[len(s.Values)-1]]
			if s.Rows != w.Rows || s.Gap != w.Gap || s.Interval != w.Interval || !s.Exact {
				t.Errorf("%v: %+v, want %+v", s.Values, s, w)
			}
		}
		for i, m := range spec.Metrics {
			v, w := e.Whole().Value(m), exact.Whole().Value(m)
			if i < 2 && (!(v.Bound > 0) || math.Abs(v.Value-w.Value) > v.Bound) || i == 2 && v.Bound == v.Bound {
				t.Errorf("with %d cells %v is %v within %v, and exactly %v", most, m, v.Value, v.Bound, w.Value)
			}
		}
	}
}

// TestValues: the bins of a first read have equal mass, whatever the order of the rows, and beyond the limit too.
func TestValues(t *testing.T) {
	for _, rows := range []int{11, 1000, 400_000} {
		var v, w Values
		for i := range rows {
			v.Add([]byte(strconv.Itoa(i * 7919 % rows)))
			w.Add([]byte(strconv.Itoa(rows - 1 - i)))
		}
		e := v.Edges(EqualMass)
		if f := w.Edges(EqualMass); len(e) != 11 || len(f) != 11 || !v.Numeric() {
			t.Fatal(rows, e, f)
		}
		count := make([]int, 12)
		for i := range rows {
			if f := w.Edges; i == 0 && f(1)[1] != float64(rows-1) {
				t.Error(f(1))
			}
			count[bin(e, float64(i))]++
		}
		for k, n := range count {
			if k > 0 && k < 11 && math.Abs(float64(n)-float64(rows)/10) > 1+float64(rows)/300 || (k == 0 || k == 11) && n > 0 {
				t.Errorf("%d rows: bin %d has %d, edges %v", rows, k, n, e)
			}
		}
		for i, x := range w.Edges(EqualMass) {
			if x != e[i] {
				t.Errorf("%d rows: edge %d is %v and %v", rows, i, e[i], x)
			}
		}
	}
	var v Values
	for _, s := range []string{"1", "", "nan", " 2 ", "-3e5", "inf", "-0", "0"} {
		v.Add([]byte(s))
	}
	if !v.Numeric() || v.Distinct() != 5 || v.low != -3e5 || !math.IsInf(v.high, 1) {
		t.Error(v.Numeric(), v.Distinct(), v.low, v.high)
	}
	if v.Add([]byte("x")); v.Numeric() {
		t.Error("texts are numbers")
	}
	for x, want := range map[float64]int{-1: 0, 0: 1, 1: 1, 1.5: 2, 2: 2, 3: 3} {
		if got := bin([]float64{0, 1, 2}, x); got != want {
			t.Errorf("%v is in bin %d, want %d", x, got, want)
		}
	}
}
