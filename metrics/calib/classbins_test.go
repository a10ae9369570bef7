package calib_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/internal/isa/isatest"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// umClasses returns the class-wise bins of uncertainty_metrics: p >= 1 has a separate bin, and p = 0 is dropped.
func umClasses(n int, threshold float64) calib.ClassOptions {
	return calib.ClassOptions{Edges: append(kernel.Edges(n), 2), Above: &threshold}
}

func classBins(t *testing.T, p *metrics.Predictions, o calib.ClassOptions) *calib.ClassBins {
	t.Helper()
	b := metrics.Must(calib.NewClassBins(&o))
	if err := metrics.NewPass(&metrics.Options{Unchecked: true}, b).Add(p); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestGoldenClasses compares SCE with the reference's class-conditional errors, with its thresholds.
func TestGoldenClasses(t *testing.T) {
	inputs := smallInputs(t)
	n := 0
	for _, c := range smallCases(t) {
		if scheme, maxProb, classwise := c[1].(string), c[2].(bool), c[3].(bool); scheme != "even" || maxProb || !classwise || c[5] != "l1" {
			continue
		}
		if n++; testing.Short() && n%7 != 0 {
			continue
		}
		b := classBins(t, inputs[c[0].(string)].load(t), umClasses(int(c[6].(float64)), c[4].(float64)))
		if got := orZero(b.SCE()); !near(got, c[8].(float64), 1e-12) {
			t.Errorf("%v: %v", c, got)
		}
	}
	if t.Logf("%d cases", n); n < 500 {
		t.Errorf("only %d cases", n)
	}

	var a struct {
		Aliases []struct {
			Input   string
			Default float64 `json:"sce_default"`
			Fifteen float64 `json:"sce_15"`
		}
	}
	check.Golden(t, "../../testdata/golden", "gce_aliases.json", &a)
	if len(a.Aliases) != 21 {
		t.Errorf("%d aliases", len(a.Aliases))
	}
	for _, c := range a.Aliases {
		p := inputs[c.Input].load(t)
		if got := classBins(t, p, umClasses(30, 0)).SCE(); !near(got, c.Default, 1e-12) {
			t.Errorf("%s: %v, want %v", c.Input, got, c.Default)
		}
		if got := classBins(t, p, umClasses(15, 0)).SCE(); !near(got, c.Fifteen, 1e-12) {
			t.Errorf("%s, 15 bins: %v, want %v", c.Input, got, c.Fifteen)
		}
	}
}

func TestGoldenClassesBig(t *testing.T) {
	var g struct {
		Cases []struct {
			Input, Mode, Metric string
			Scheme              string `json:"binning_scheme"`
			MaxProb             bool   `json:"max_prob"`
			Classwise           bool   `json:"class_conditional"`
			Threshold           float64
			Norm                string
			NumBins             int `json:"num_bins"`
			Result              float64
		}
	}
	check.Golden(t, "../../testdata/golden", "gce_big.json", &g)
	n := 0
	for _, c := range g.Cases {
		if c.Metric != "gce" || c.Scheme != "even" || !c.Classwise || c.MaxProb || c.Norm != "l1" {
			continue
		}
		p := loadNPY(t, "../../testdata/golden/"+c.Input, c.Mode == "f64")
		if got := classBins(t, p, umClasses(c.NumBins, c.Threshold)).SCE(); !near(got, c.Result, 1e-12) {
			t.Errorf("%+v: %v", c, got)
		}
		n++
	}
	if t.Logf("%d cases", n); n < 5 {
		t.Errorf("only %d cases", n)
	}
}

// classData returns rows from a softmax of integers; some rows contain a 0 or a 1.
func classData(rows, k int, dtype metrics.DType, weights bool) *metrics.Predictions {
	r := rand.New(rand.NewPCG(uint64(rows), uint64(k)))
	p := &metrics.Predictions{}
	p.Rows, p.Classes, p.Stride = rows, k, k+r.IntN(3)*min(1, k-1)
	st := max(1, p.Stride)
	x := make([]float64, rows*st)
	for i := range rows {
		row := x[i*st : i*st+k]
		if k == 1 {
			row[0] = float64(r.IntN(257)) / 256
		} else if r.IntN(8) == 0 {
			row[r.IntN(k)] = 1
		} else {
			left := 256
			for range 5 {
				n := r.IntN(left + 1)
				row[r.IntN(k)] += float64(n) / 256
				left -= n
			}
			row[r.IntN(k)] += float64(left) / 256
		}
		p.Labels = append(p.Labels, int32(r.IntN(max(2, k))))
		if weights {
			p.Weights = append(p.Weights, float64(1+r.IntN(9))/4)
		}
	}
	switch dtype {
	case metrics.Float64:
		p.F64 = x
	case metrics.Float32:
		for _, v := range x {
			p.F32 = append(p.F32, float32(v))
		}
	case metrics.BFloat16:
		for _, v := range x {
			p.BF16 = append(p.BF16, uint16(math.Float32bits(float32(v))>>16))
		}
	}
	return p
}

// entry returns a probability of the predictions. Entries of one type are exact in all types.
func entry(p *metrics.Predictions, i, j int) float64 {
	st := max(p.Stride, p.Classes)
	at := func(j int) float64 {
		switch {
		case p.F64 != nil:
			return p.F64[i*st+j]
		case p.F32 != nil:
			return float64(p.F32[i*st+j])
		}
		return float64(math.Float32frombits(uint32(p.BF16[i*st+j]) << 16))
	}
	if p.Classes > 1 {
		return at(j)
	}
	if j == 0 {
		return 1 - at(0)
	}
	return at(0)
}

var classCases = map[string]calib.ClassOptions{
	"default":      {},
	"right":        {Bins: 4, Side: kernel.RightClosed},
	"one bin":      {Bins: 1},
	"above 0":      {Bins: 10, Above: new(0.0)},
	"above .25":    {Bins: 16, Above: new(0.25)},
	"edges":        {Edges: []float64{0, 0.125, 0.5, 0.5, 0.75, 1}, Side: kernel.RightClosed},
	"edges from 0": {Edges: []float64{-1, 0, 0.5, 2}, Above: new(0.0)},
}

// TestClassBinsDefinition compares each class's bins with exact sums over entries.
func TestClassBinsDefinition(t *testing.T) {
	isatest.Each(t, func(t *testing.T) {
		for name, o := range classCases {
			for _, k := range []int{1, 2, 3, 16, 40, 130} {
				for i, dtype := range []metrics.DType{metrics.Float32, metrics.Float64, metrics.BFloat16} {
					if k > 40 && dtype == metrics.BFloat16 { // eighths would not be exact
						continue
					}
					if !check.Full() && (k+i)%3 != 0 && (testing.Short() || (k+i)%3 != 1) {
						continue
					}
					p := classData(300+k, k, dtype, i == k%3)
					b := metrics.Must(calib.NewClassBins(&o))
					if err := metrics.NewPass(&metrics.Options{Unchecked: true, Threads: 1 + k%2}, b).Add(p); err != nil {
						t.Fatal(err)
					}
					holdClasses(t, name, b, p, o)
				}
			}
		}
	})
}

func holdClasses(t *testing.T, name string, b *calib.ClassBins, p *metrics.Predictions, o calib.ClassOptions) {
	t.Helper()
	edges := o.Edges
	if edges == nil {
		edges = kernel.Edges(b.Options().Bins)
	}
	n, width := len(edges)-1, max(2, p.Classes)
	if b.Classes() != width || b.Len() != int64(p.Rows) {
		t.Fatalf("%s: %d classes, %d rows", name, b.Classes(), b.Len())
	}
	sce := 0.0
	for j := range width {
		count, w, sp, sy := make([]int64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range p.Rows {
			v, weight, y := entry(p, i, j), 1.0, 0.0
			if o.Above != nil && !(v > *o.Above) {
				continue
			}
			bin := 0
			for _, e := range edges[1:n] {
				if e < v || o.Side == kernel.LeftClosed && e == v {
					bin++
				}
			}
			if p.Weights != nil {
				weight = p.Weights[i]
			}
			if int(p.Labels[i]) == j {
				y = weight
			}
			count[bin]++
			w[bin] += weight
			sp[bin] += weight * v
			sy[bin] += y
		}
		all, gaps := 0.0, 0.0
		for i, bar := range b.Class(j).Bins(0.95) {
			all += w[i]
			gaps += math.Abs(sp[i] - sy[i])
			same := func(a, b float64) bool { return a == b || a != a && b != b }
			if bar.Count != count[i] || bar.Weight != w[i] || bar.Lower != edges[i] || bar.Upper != edges[i+1] ||
				!same(bar.Confidence, sp[i]/w[i]) || !same(bar.Frequency, sy[i]/w[i]) {
				t.Fatalf("%s: class %d of %d, bin %d is %+v, want %d, %v, %v, %v", name, j, p.Classes, i, bar, count[i], w[i], sp[i]/w[i], sy[i]/w[i])
			}
		}
		if all > 0 {
			sce += gaps / all
		}
	}
	if got := b.SCE(); math.Abs(got-sce/float64(width)) > 1e-14 {
		t.Errorf("%s: sce of %d classes %v, want %v", name, p.Classes, got, sce/float64(width))
	}
}

// TestClassBinsOutside checks that entries below 0 and above 1 are in the outer bins, without rounding.
func TestClassBinsOutside(t *testing.T) {
	p := &metrics.Predictions{Labels: []int32{0, 1, 1}}
	p.F64, p.Rows, p.Classes = []float64{1 + 0x1p-52, -0x1p-52, -0.5, 1.5, -1.5, 2.5}, 3, 2
	b := classBins(t, p, calib.ClassOptions{Bins: 2})
	c0, c1 := b.Class(0).Bins(0.95), b.Class(1).Bins(0.95)
	if c0[0].Count != 2 || c0[0].Confidence != -1 || c0[0].Frequency != 0 || c0[1].Confidence != 1+0x1p-52 || c0[1].Frequency != 1 {
		t.Errorf("%+v", c0)
	}
	if c1[0].Confidence != -0x1p-52 || c1[1].Count != 2 || c1[1].Confidence != 2 || c1[1].Frequency != 1 {
		t.Errorf("%+v", c1)
	}
	if b = classBins(t, p, calib.ClassOptions{Bins: 2, Above: new(0.0)}); b.Class(0).Bins(0.95)[0].Count != 0 {
		t.Error("a negative entry is above 0")
	}
}

// TestClassBinsMany checks the sums beyond what a kernel adds before its sums are moved, and beyond 64 bits.
func TestClassBinsMany(t *testing.T) {
	const rows = 20000
	p := &metrics.Predictions{Labels: make([]int32, rows)}
	p.Rows, p.Classes, p.F32 = rows, 2, make([]float32, 2*rows)
	for i := range rows {
		p.F32[2*i], p.Labels[i] = 1, int32(i%2)
	}
	for _, bins := range []int{1, 2} {
		b := classBins(t, p, calib.ClassOptions{Bins: bins})
		c := b.Class(0).Bins(0.95)[bins-1]
		if c.Count != rows || c.Confidence != 1 || c.Frequency != 0.5 || b.Class(1).Bins(0.95)[0].Confidence != 0 || b.SCE() != 0.5 {
			t.Errorf("%d bins: %+v, sce %v", bins, c, b.SCE())
		}
	}
}

func classState(t *testing.T, b *calib.ClassBins) []byte {
	t.Helper()
	s, err := b.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestClassBinsMerge checks that parts in any order, threads and CPU levels give the same bytes, also after reading them back.
func TestClassBinsMerge(t *testing.T) {
	for name, o := range classCases {
		for _, weights := range []bool{false, true} {
			if testing.Short() && weights != (len(name)%2 == 0) {
				continue
			}
			p := classData(5000, 12, metrics.Float32, weights)
			part := func(from, to int) *metrics.Predictions {
				q := *p
				q.Rows, q.F32, q.Labels = to-from, p.F32[from*p.Stride:], p.Labels[from:to]
				if weights {
					q.Weights = p.Weights[from:to]
				}
				return &q
			}
			want := classState(t, classBins(t, p, o))
			cuts := []int{0, 1, 700, 2900, 5000}
			b := metrics.Must(calib.NewClassBins(&o))
			for _, i := range []int{2, 0, 3, 1} {
				q := classBins(t, part(cuts[i], cuts[i+1]), o)
				var r calib.ClassBins
				if err := r.UnmarshalBinary(classState(t, q)); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(classState(t, &r), classState(t, q)) || r.SCE() != q.SCE() {
					t.Fatalf("%s: a state is another when it has been read", name)
				}
				if err := b.Merge(&r); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(classState(t, b), want) {
				t.Errorf("%s, weights %v: merged parts differ from the whole", name, weights)
			}
			isatest.Each(t, func(t *testing.T) {
				c := metrics.Must(calib.NewClassBins(&o))
				if err := metrics.NewPass(&metrics.Options{Threads: 2}, c).Add(p); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(classState(t, c), want) {
					t.Errorf("%s, weights %v: another state", name, weights)
				}
			})
		}
	}
}

func TestClassBinsMismatch(t *testing.T) {
	p := classData(10, 3, metrics.Float64, false)
	of := func(o calib.ClassOptions) *calib.ClassBins { return classBins(t, p, o) }
	base := of(calib.ClassOptions{})
	before := classState(t, base)
	for _, o := range []metrics.Accumulator{
		metrics.Must(calib.NewBins(nil)), of(calib.ClassOptions{Bins: 14}), of(calib.ClassOptions{Side: kernel.RightClosed}), of(calib.ClassOptions{Above: new(0.0)}),
		of(calib.ClassOptions{Edges: kernel.Edges(15)}), classBins(t, classData(4, 4, metrics.Float64, false), calib.ClassOptions{}),
		classBins(t, classData(4, 3, metrics.Float64, true), calib.ClassOptions{}),
	} {
		if err := base.Merge(o); !errors.Is(err, metrics.ErrMismatch) {
			t.Errorf("%T: %v", o, err)
		}
	}
	if a, b := of(calib.ClassOptions{Above: new(0.0)}), of(calib.ClassOptions{Above: new(0.5)}); !errors.Is(a.Merge(b), metrics.ErrMismatch) {
		t.Error("thresholds of 0 and 0.5 merge")
	}
	if err := base.Merge(metrics.Must(calib.NewClassBins(nil))); err != nil || !slices.Equal(before, classState(t, base)) {
		t.Error("changed", err)
	}
}

// TestClassBinsDamaged checks that any changed byte of a state is detected, and that well-formed states that no rows can
// produce are refused.
func TestClassBinsDamaged(t *testing.T) {
	s := classState(t, classBins(t, classData(50, 3, metrics.Float32, false), calib.ClassOptions{Bins: 4, Above: new(0.0)}))
	_, payload, _, err := exact.Open("cCLS", s)
	if err != nil {
		t.Fatal(err)
	}
	var b calib.ClassBins
	for n := range payload {
		if err := b.UnmarshalBinary(exact.Seal("cCLS", 1, payload[:n])); err == nil {
			t.Errorf("%d bytes are enough", n)
		}
	}
	// The options take 4, 1, 1, 8 and 8 bytes, the classes 4 and the rows 8. Then come the number of cells and the first cell.
	for at, v := range map[int]byte{4: 2, 5: 4, 13: 0xFF, 22 + 3: 0x80, 26 + 7: 0x80, 42: 9, 46: 9, 50 + 7: 0x80, 58 + 7: 0x80} {
		bad := append([]byte{}, payload...)
		bad[at] |= v
		if err := b.UnmarshalBinary(exact.Seal("cCLS", 1, bad)); !errors.Is(err, exact.ErrDamaged) && !errors.Is(err, exact.ErrShort) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	for _, bits := range []int{0, 3} {
		for i := range s {
			bad := append([]byte{}, s...)
			bad[i] ^= 1 << bits
			if err := b.UnmarshalBinary(bad); err == nil {
				t.Errorf("byte %d changed", i)
			}
		}
	}
}

func TestClassOptions(t *testing.T) {
	for _, o := range []calib.ClassOptions{{Bins: -1}, {Bins: 1 << 21}, {Bins: 3, Edges: []float64{0, 1}}, {Edges: []float64{0}},
		{Edges: []float64{1, 0}}, {Edges: []float64{0, math.NaN()}}, {Edges: []float64{0, math.Inf(1)}}, {Side: 2}, {Above: new(-1.0)}, {Above: new(1.0)}, {Above: new(math.NaN())}} {
		if o.Validate() == nil {
			t.Errorf("%+v is valid", o)
		}
	}
	for want, o := range map[string]calib.ClassOptions{"": {Bins: 15}, "bins=3,closed=right,above=0": {Bins: 3, Side: kernel.RightClosed, Above: new(0.0)},
		"edges=0 0.5 1": {Edges: []float64{0, 0.5, 1}}} {
		if got := o.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if x, err := calib.SCE(&metrics.Predictions{Scores: metrics.Scores{F64: []float64{2, 0}, Rows: 1, Classes: 2}, Labels: []int32{0}}, nil); err == nil || x == x {
		t.Error(x, err)
	}
	if x := metrics.Must(calib.NewClassBins(nil)).SCE(); x == x {
		t.Error("of nothing:", x)
	}
}
