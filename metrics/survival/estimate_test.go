package survival

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/metrics"
)

// influenced are all estimates that have an influence at a horizon. Those that take the curve of censoring as known say so.
var influenced = []struct {
	name  string
	of    func(r *Rows, h float64) (Estimate, error)
	known bool
}{
	{"mean risk", func(r *Rows, _ float64) (Estimate, error) { return MeanRisk(r) }, false},
	{"share", EventShare, false},
	{"in the large", InTheLarge, false},
	{"brier", Brier, false},
	{"integrated", func(r *Rows, h float64) (Estimate, error) {
		later := slices.Clone(r.Risks)
		for i, p := range later {
			later[i] = math.Min(1, p+0.1)
		}
		return IntegratedBrier(r, &Curves{Times: []float64{h / 2, h}, Risks: [][]float64{r.Risks, later}})
	}, false},
	{"auroc", AUROC, true},
	{"uno", ConcordanceIPCW, true},
	{"harrell", func(r *Rows, _ float64) (Estimate, error) { return Concordance(r) }, false},
}

// TestInfluence compares the influence of rows with numerical derivatives by their weights.
func TestInfluence(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for run := range 20 {
		rows := tied(r, 30, true)
		for i := range rows.Times { // the last rows are not the only ones under observation
			rows.Times[i] = math.Min(rows.Times[i], 7)
		}
		for _, c := range influenced {
			own := *rows
			if c.known {
				own.Events = slices.Repeat([]bool{true}, len(rows.Times))
			}
			e, err := c.of(&own, 5)
			if err != nil {
				t.Fatal(err)
			}
			const eps = 1e-6
			for i := range own.Times {
				at := func(f float64) float64 {
					w := own
					w.Weights = slices.Clone(own.Weights)
					w.Weights[i] *= f
					v, err := c.of(&w, 5)
					if err != nil {
						t.Fatal(err)
					}
					return v.Value
				}
				if want := (at(1+eps) - at(1-eps)) / (2 * eps); !(math.Abs(e.Influence[i]-want) <= 1e-8) {
					t.Errorf("%s, run %d, row %d (time %v, event %v): influence %v, want %v", c.name, run, i, own.Times[i], own.Events[i], e.Influence[i], want)
				}
			}
		}
	}
}

// TestClusters: where each row is a cluster, errors are those of independent rows with G - 1 in place of G, and copies of rows as clusters count once.
func TestClusters(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	rows := (&law{m: curved, censoring: 1.5, end: math.Inf(1), even: true}).draw(r, 200)
	n := float64(len(rows.Times))
	single, copied := *rows, &Rows{}
	for i := range rows.Times {
		single.Clusters = append(single.Clusters, int32(3*i)) // not all numbers have rows
		for range 4 {
			copied.Risks, copied.Times, copied.Events = append(copied.Risks, rows.Risks[i]), append(copied.Times, rows.Times[i]), append(copied.Events, rows.Events[i])
			copied.Clusters = append(copied.Clusters, int32(i))
		}
	}
	for _, c := range influenced {
		e, err := c.of(rows, 1)
		if err != nil {
			t.Fatal(err)
		}
		if sum := 0.0; c.name != "share" { // Greenwood's is not that of the influence
			for _, v := range e.Influence {
				sum += v * v
			}
			if math.Abs(math.Sqrt(sum)-e.SE) > 1e-14 {
				t.Errorf("%s: the standard error is %v, and that of the influence %v", c.name, e.SE, math.Sqrt(sum))
			}
		}
		of := 0.0
		for _, v := range e.Influence {
			of += v * v
		}
		want := math.Sqrt(of * n / (n - 1))
		one, err := c.of(&single, 1)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(one.SE-want) > 1e-14 || one.Value != e.Value || !(one.DF > 0 && one.DF < n) || e.DF != 0 {
			t.Errorf("%s: each row a cluster: %v of %v, want %v", c.name, one.SE, one.DF, want)
		}
		if in, plain := one.Interval(0.95), e.Interval(0.95); in.Low > plain.Low+1e-3 || in.High < plain.High-1e-3 {
			t.Errorf("%s: %v by clusters and %v", c.name, in, plain)
		}
		if c.name == "uno" || c.name == "harrell" { // equal times are no pair
			continue
		}
		four, err := c.of(copied, 1)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(four.SE-want) > 1e-12 || math.Abs(four.Value-e.Value) > 1e-12 {
			t.Errorf("%s: copies: %v +- %v, want %v +- %v", c.name, four.Value, four.SE, e.Value, want)
		}
	}
	for what, clusters := range map[string]func(i int) int32{"one cluster": func(int) int32 { return 2 }, "events in one": func(i int) int32 {
		if rows.Events[i] {
			return 0
		}
		return int32(1 + i%9)
	}} {
		own := *rows
		for i := range own.Times {
			own.Clusters = append(own.Clusters, clusters(i))
		}
		if e, err := Brier(&own, 1); err != nil || !math.IsNaN(e.SE) || !math.IsNaN(e.Interval(0.95).Low) {
			t.Errorf("%s: %+v, %v", what, e.SE, err)
		}
	}
	d, err := ReliabilityOf(copied, 1, 5)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := ReliabilityOf(rows, 1, 5)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range d.Bins {
		if b.Observed == 0 || b.Observed == 1 { // no interval
			continue
		}
		if b.Observed != plain.Bins[i].Observed && math.Abs(b.Observed-plain.Bins[i].Observed) > 1e-12 || !(math.Abs(b.SE-plain.Bins[i].SE) < 0.03) || !(b.DF > 0) {
			t.Errorf("bin %d: %+v and %+v", i, b, plain.Bins[i])
		}
	}
	for _, bad := range [][]int32{make([]int32, 3), append(make([]int32, 199), -1)} {
		own := *rows
		if own.Clusters = bad; own.Validate(true) == nil {
			t.Errorf("clusters %v", len(bad))
		}
	}
}

// TestMinus: the difference of a model and itself is 0, and that of two is their paired one.
func TestMinus(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	rows := (&law{m: curved, censoring: 1.5, end: math.Inf(1), even: true}).draw(r, 400)
	other := *rows
	other.Risks = slices.Clone(rows.Risks)
	for i := range other.Risks {
		other.Risks[i] = math.Min(1, math.Max(0, rows.Risks[i]+0.05*r.NormFloat64()))
	}
	for _, c := range influenced {
		a, err := c.of(rows, 1)
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.of(&other, 1)
		if err != nil {
			t.Fatal(err)
		}
		if d := a.Minus(a, rows); d.Value != 0 || d.SE != 0 {
			t.Errorf("%s: itself: %+v", c.name, d.Value)
		}
		d := b.Minus(a, rows)
		if d.Value != b.Value-a.Value || c.name != "share" && !(d.SE > 0 && d.SE < a.SE && d.DF > 0 && d.DF < 400) {
			t.Errorf("%s: %v +- %v of %v; alone %v", c.name, d.Value, d.SE, d.DF, a.SE)
		}
		if d := b.Minus(Estimate{SE: 1}, rows); !math.IsNaN(d.SE) {
			t.Errorf("%s: without influence: %v", c.name, d.SE)
		}
	}
}

// TestKeptClusters: the names of clusters decide, whatever their numbers in each part, and sets keep the order of their columns.
func TestKeptClusters(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		p := rowsOf(3, 400, weighted)
		names := []string{"zoe", "amy", "bob", "", "amy2"}
		part := func(from, to int, turn int32) *Kept {
			var s [2]SetRows
			for k := range s {
				s[k].Columns = 4
				for i := from; i < to; i++ {
					row := slices.Clone(p.F64[4*i : 4*i+4])
					if k == 1 {
						row[0] /= 2
					}
					s[k].Values = append(s[k].Values, row...)
				}
			}
			var w []float64
			if weighted {
				w = p.Weights[from:to]
			}
			c := make([]int32, to-from)
			for i := range c {
				c[i] = (int32(from+i)*7 + turn) % 5
			}
			k := NewSets(2)
			k.AddSets(s[:], w, c, func(n int32) string { return names[(n+5-turn)%5] })
			return k
		}
		whole := part(0, 400, 0)
		want := stateOf(t, whole)
		sum := whole.Empty().(*Kept)
		for _, cut := range [][2]int{{300, 400}, {0, 10}, {10, 300}} {
			o := NewSets(1)
			if err := o.UnmarshalBinary(stateOf(t, part(cut[0], cut[1], int32(cut[0]%4)))); err != nil {
				t.Fatal(err)
			}
			if err := sum.Merge(o); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(stateOf(t, sum), want) {
			t.Errorf("weighted %v: another state", weighted)
		}
		// Rows that are added after a state was asked for.
		again := part(0, 200, 1)
		stateOf(t, again)
		more := part(200, 400, 2)
		if err := again.Merge(more); err != nil || !bytes.Equal(stateOf(t, again), want) {
			t.Errorf("weighted %v: another state after an answer, %v", weighted, err)
		}
		l := whole.Columns(0, 1, 2, 3)
		for i := range l[0].Times {
			if l[2].Risks[i] != l[0].Risks[i]/2 || l[3].Risks[i] != l[1].Risks[i] || l[0].Clusters[i] > 4 || weighted && l[0].Weights[i] < 0.5 {
				t.Fatalf("row %d: %v", i, l[2].Risks[i])
			}
		}
		for what, o := range map[string]*Kept{"one set": kept(t, p), "three": NewSets(3)} {
			if err := part(0, 10, 0).Merge(o); !errors.Is(err, metrics.ErrMismatch) {
				t.Errorf("%s: %v", what, err)
			}
		}
		plain := NewSets(2)
		plain.AddSets([]SetRows{{4, p.F64[:4]}, {4, p.F64[:4]}}, nil, nil, nil)
		if err := part(0, 10, 0).Merge(plain); !errors.Is(err, metrics.ErrMismatch) || !weighted && !strings.Contains(err.Error(), "clusters") {
			t.Errorf("without clusters: %v", err)
		}
	}
	// States that no rows have.
	k := NewSets(2)
	k.AddSets([]SetRows{{3, []float64{0.5, 1, 1, 0.5, 2, 0}}, {3, []float64{0.25, 1, 1, 0.75, 2, 0}}}, nil, []int32{0, 1}, func(c int32) string { return string('a' + rune(c)) })
	for what, change := range map[string]func(k *Kept){
		"a name without rows": func(k *Kept) { k.names = append(k.names, "c") },
		"no such name":        func(k *Kept) { k.sorted[4] = 7 },
		"half a name":         func(k *Kept) { k.sorted[4] = 0.5 },
		"names that fall":     func(k *Kept) { k.names[0], k.names[1] = "b", "a" },
		"a risk above 1":      func(k *Kept) { k.sorted[1] = 1.5 },
		"sets of other size":  func(k *Kept) { k.sets = 3 },
	} {
		var bad Kept
		if err := bad.UnmarshalBinary(stateOf(t, k)); err != nil {
			t.Fatal(err)
		}
		change(&bad)
		b, err := keptFormat.Append(nil, bad.fieldsAsIs)
		if err != nil {
			t.Fatal(err)
		}
		if err := new(Kept).UnmarshalBinary(b); !errors.Is(err, exact.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// fieldsAsIs writes a Kept of sets with clusters that no rows have, as fields writes those that they have.
func (k *Kept) fieldsAsIs(f *exact.Fields) {
	f.Int(&k.seen.Classes)
	several := true
	f.Flags(&k.seen.Weighted, &k.clustered, &several)
	f.Int(&k.sets)
	exact.Slice(f, &k.names, 8, f.Str)
	n := int(k.rows)
	f.Count(&n, 8*k.width())
	for i := range k.sorted {
		f.F64(&k.sorted[i])
	}
}
