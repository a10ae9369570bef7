package sliced

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/clustered"
	"github.com/candor-go/candor/metrics/eval"
)

// ofClusters adds the clusters of rows to a source.
type ofClusters struct {
	coded
	cluster func(row int) int32
	from    int
}

func (s *ofClusters) Next() (*metrics.Chunk, error) {
	at := s.at
	c, err := s.coded.Next()
	if err == nil {
		for i := range c.Rows {
			c.Clusters = append(c.Clusters, s.cluster(s.from+at+i))
		}
		c.ClusterName = func(k int32) string { return "of " + strconv.Itoa(int(k)) }
	}
	return c, err
}

func readClusters(t testing.TB, s eval.Spec, columns []Column, p *metrics.Predictions, values func(column, row int) string, cluster func(row int) int32, from, to, size int) *Evaluation {
	t.Helper()
	s.Cluster = "patient"
	e, err := New(s, columns)
	if err != nil {
		t.Fatal(err)
	}
	q := p.Slice(from, to)
	src := &ofClusters{coded{p: &q, values: func(c, r int) string { return values(c, from+r) }, list: e.Columns, size: size, index: map[string]int32{}}, cluster, from}
	if err := e.AddSource(src, func(g int32) []string { return src.tuples[g] }, &metrics.Options{Threads: 1 + size%3}); err != nil {
		t.Fatal(err)
	}
	return e
}

var clusteredColumns = []Column{{Name: "site"}, {Name: "age", Edges: []float64{0, 100, 250, 800}}, {Name: "score", Score: true}, {Name: "kind"}}

// TestClusterParts: shards that divide clusters give the same bytes and answers as all rows, whatever the chunks and threads.
func TestClusterParts(t *testing.T) {
	spec := specOf(t, "multicalibration_error,multicalibration_error_p,multicalibration_gap,multicalibration_gap_p,bias")
	p, values := random(3000, 7)
	of := func(c, r int) string { return values([]int{0, 1, 0, 2}[c], r) }
	cluster := func(r int) int32 { return int32(r * 7 % 120) }
	part := func(from, to, size int) *Evaluation {
		return readClusters(t, spec, clusteredColumns, p, of, cluster, from, to, size)
	}
	whole := part(0, 3000, 5000)
	want := bytesOf(t, whole)
	for _, size := range []int{64, 701} {
		if !bytes.Equal(bytesOf(t, part(0, 3000, size)), want) {
			t.Errorf("chunks of %d rows give another state", size)
		}
	}
	a, b, c := part(0, 100, 64), part(100, 2000, 64), part(2000, 3000, 65)
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
		t.Fatal("a state read is another:", err)
	}
	x, _, _ := whole.List(ListOptions{MinRows: 30})
	y, _, _ := again.List(ListOptions{MinRows: 30})
	if len(x) < 20 || len(x) != len(y) {
		t.Fatal(len(x), len(y))
	}
	for i := range x {
		if x[i].Gap != y[i].Gap || x[i].Interval != y[i].Interval || x[i].P != y[i].P || x[i].Clusters != y[i].Clusters {
			t.Errorf("%+v after reading is %+v", x[i], y[i])
		}
	}
	if g, h := whole.LargestGap(), again.LargestGap(); g.Gap != h.Gap || g.GapP != h.GapP || !(g.Gap > 0) || !(g.GapP > 0) {
		t.Errorf("the largest gap is %+v and %+v", g, h)
	}
	for i := 0; i < len(want); i += 11 {
		d := bytes.Clone(want)
		d[i] ^= 1
		if new(Evaluation).UnmarshalBinary(d) == nil {
			t.Fatalf("byte %d changed, and read", i)
		}
	}
	plain := read(t, spec, clusteredColumns, p, of, 0, 100, 64)
	if c.Merge(plain) == nil || plain.Merge(c) == nil {
		t.Error("rows in clusters were merged with rows without")
	}
}

// TestClusterList: intervals and p-values of slices are those of the sums of their clusters, by the definition.
func TestClusterList(t *testing.T) {
	spec := specOf(t, "bias")
	p, values := random(2500, 3)
	columns := []Column{{Name: "site"}, {Name: "kind"}, {Name: "score", Score: true, Edges: []float64{0, 0.25, 1}}}
	cluster := func(r int) int32 { return int32(r % 90 * (r % 90) / 90) } // of unequal sizes
	of := func(c, r int) string {
		if c == 1 && cluster(r) < MinClusters-1 {
			return "few"
		}
		return values([]int{0, 2, 0}[c], r)
	}
	e := readClusters(t, spec, columns, p, of, cluster, 0, p.Rows, 100)
	name := func(c string, r int) string {
		if c == "score" {
			return binName(columns[2].Edges, bin(columns[2].Edges, p.F64[r]))
		}
		return of(map[string]int{"site": 0, "kind": 1}[c], r)
	}
	tested, few := 0, 0
	list, _, _ := e.List(ListOptions{MinRows: 20})
	for _, s := range list {
		sum, n, own := map[int32]float64{}, map[int32]float64{}, 0.0
		for r := range p.Rows {
			in := true
			for i, c := range s.Columns {
				in = in && name(c, r) == s.Values[i]
			}
			if in {
				k := cluster(r)
				sum[k] += p.F64[r] - float64(p.Labels[r])
				n[k]++
				own += p.F64[r] * (1 - p.F64[r])
			}
		}
		if s.Clusters != len(n) {
			t.Fatalf("%+v has %d clusters", s, len(n))
		}
		if len(n) < MinClusters {
			if few++; s.P == s.P || s.Adjusted == s.Adjusted || s.Interval.Low == s.Interval.Low {
				t.Errorf("%+v of few clusters is tested", s)
			}
			continue
		}
		tested++
		rows := float64(s.Rows)
		v, squares, apart, both := 0.0, 0.0, 0.0, 0.0
		for k, m := range n {
			d := sum[k] - m*s.Gap
			share := m / rows
			v += d * d / (1 - share)
			x := share * share / (1 - share)
			squares, apart, both = squares+share*share, apart+x, both+x*x
		}
		most := 1 / (squares + apart*apart - both) // the degrees of freedom of independent rows, which are not fewer
		se := math.Sqrt(math.Max(v, own)) / rows
		half := (s.Interval.High - s.Interval.Low) / 2
		if half < clustered.Quantile(0.95, most)*se*(1-1e-9) || half > clustered.Quantile(0.95, most/3)*se {
			t.Errorf("%+v: +-%v, with the error %v", s, half, se)
		}
		if !(s.P >= clustered.P(s.Gap/se, most)*(1-1e-9)) || !(s.Adjusted >= s.P) {
			t.Errorf("%+v: with the error %v", s, se)
		}
	}
	if tested < 20 || few == 0 {
		t.Error(tested, few)
	}
	if !slices.IsSortedFunc(list, func(a, b Slice) int { return rising(a.Adjusted, b.Adjusted) }) {
		t.Error("slices are not in order")
	}
}

// TestClusterSlices: of calibrated rows that are alike within clusters hardly ever a slice or a gap is found, where methods of independent
// rows find them; a slice that is far off is found.
func TestClusterSlices(t *testing.T) {
	const sets = 20
	var found [2]struct{ list, gap int } // by clusters, and of independent rows
	planted := 0
	for i := range sets {
		r := rand.New(rand.NewPCG(uint64(i), 9))
		p := &metrics.Predictions{}
		p.Classes = 1
		var site, kind []string
		for range 200 {
			score, u := r.Float64(), r.Float64()
			s := strconv.Itoa(r.IntN(4))
			for range 10 {
				y := int32(0)
				if u < score {
					y = 1
				}
				p.F64, p.Labels = append(p.F64, score), append(p.Labels, y)
				site, kind = append(site, s), append(kind, strconv.Itoa(r.IntN(3)))
			}
		}
		p.Rows = len(p.F64)
		of := func(c, row int) string {
			if c == 0 {
				return site[row]
			}
			return kind[row]
		}
		spec := specOf(t, "multicalibration_gap_p")
		columns := []Column{{Name: "site"}, {Name: "kind"}}
		cluster := func(row int) int32 { return int32(row / 10) }
		for k, e := range []*Evaluation{readClusters(t, spec, columns, p, of, cluster, 0, p.Rows, 999), read(t, spec, columns, p, of, 0, p.Rows, 999)} {
			if e.LargestGap().GapP <= 0.05 {
				found[k].gap++
			}
			if l, _, _ := e.List(ListOptions{MinRows: 30}); l[0].Adjusted < 0.05 {
				found[k].list++
			}
		}
		for row := range p.Rows {
			if site[row] == "1" {
				p.Labels[row] = 1
			}
		}
		e := readClusters(t, spec, columns, p, of, cluster, 0, p.Rows, 999)
		if l, _, _ := e.List(ListOptions{MinRows: 30}); l[0].Adjusted < 0.05 && l[0].Values[0] == "1" && e.LargestGap().GapP <= 0.05 {
			planted++
		}
	}
	if found[0].list > 4 || found[0].gap > 4 || found[1].list < sets*3/4 || found[1].gap < sets*3/4 || planted < sets-2 {
		t.Errorf("of %d sets by clusters %+v, of independent rows %+v; the slice that is off %d times", sets, found[0], found[1], planted)
	}
}
