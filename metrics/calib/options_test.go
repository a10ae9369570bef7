package calib_test

import (
	"math"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"pgregory.net/rapid"
)

var systems = []string{"um", "tfp", "torchmetrics", "guo", "blog"}

// every returns all valid combinations of option values, with a few numbers of bins.
func every() (l []calib.Options) {
	for _, bins := range []int{0, 1, 2, 15, 30, 1 << 20} {
		for _, edges := range []bool{false, true} {
			for event := calib.TopLabel; event <= calib.AllClasses; event++ {
				for side := kernel.LeftClosed; side <= kernel.RightClosed; side++ {
					for one := calib.LastBin; one <= calib.LastBinOnly; one++ {
						for zero := calib.FirstBin; zero <= calib.OwnBin; zero++ {
							for index := calib.EdgeMul; index <= calib.EdgeTorch; index++ {
								o := calib.Options{Bins: bins, Event: event, Side: side, One: one, Zero: zero, Index: index,
									BlogEdges: edges}
								if o.Validate() == nil {
									l = append(l, o)
								}
							}
						}
					}
				}
			}
		}
	}
	return l
}

// parse reads the result of String.
func parse(t interface{ Fatal(...any) }, s string) (o calib.Options) {
	if s == "" {
		return o
	}
	for _, f := range strings.Split(s, ",") {
		name, value, _ := strings.Cut(f, "=")
		if err := o.Set(name, value); err != nil {
			t.Fatal(s, err)
		}
	}
	return o
}

func TestStringAndSet(t *testing.T) {
	l := every()
	if len(l) < 2000 {
		t.Fatalf("only %d options", len(l))
	}
	strs, texts := map[string]calib.Options{}, map[string]calib.Options{}
	for _, o := range l {
		if o.Bins == 0 {
			o.Bins = calib.DefaultBins
		}
		s := o.String()
		p := parse(t, s)
		if p.Bins == 0 {
			p.Bins = calib.DefaultBins
		}
		if p != o || p.String() != s {
			t.Fatalf("%+v is %q, which is %+v", o, s, p)
		}
		if q, ok := strs[s]; ok && q != o {
			t.Fatalf("%+v and %+v are both %q", o, q, s)
		}
		strs[s] = o
		// BlogEdges only lowers the number of bins. Otherwise different options have different texts.
		same := o
		if same.BlogEdges {
			same.BlogEdges = false
			same.Bins--
		}
		if q, ok := texts[o.Text()]; ok && q != same {
			t.Fatalf("%+v and %+v are both %q", same, q, o.Text())
		}
		texts[o.Text()] = same
	}
	for _, o := range l { // Fields omits only the number of bins.
		q := calib.Options{Bins: o.Bins}
		for _, f := range o.Fields() {
			if err := q.Set(f[0], f[1]); err != nil {
				t.Fatal(err)
			}
		}
		if q != o {
			t.Fatalf("%v has the fields of %v", o, q)
		}
	}
	if s := (calib.Options{}).String(); s != "" {
		t.Errorf("the default is %q", s)
	}
	if s := (calib.Options{Bins: 15}).String(); s != "" {
		t.Errorf("the default is %q", s)
	}
}

func TestStringAndSetDrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := calib.Options{
			Bins:      rapid.IntRange(1, 1<<20).Draw(t, "bins"),
			Event:     calib.Event(rapid.IntRange(0, 2).Draw(t, "event")),
			Side:      kernel.Side(rapid.IntRange(0, 1).Draw(t, "side")),
			One:       calib.OneRule(rapid.IntRange(0, 2).Draw(t, "one")),
			Zero:      calib.ZeroRule(rapid.IntRange(0, 3).Draw(t, "zero")),
			Index:     calib.Index(rapid.IntRange(0, 4).Draw(t, "index")),
			BlogEdges: rapid.Bool().Draw(t, "edges"),
		}
		p := parse(t, o.String())
		if p.Bins == 0 {
			p.Bins = calib.DefaultBins
		}
		if p != o {
			t.Fatalf("%+v is %q, which is %+v", o, o, p)
		}
	})
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		o    calib.Options
		want string
	}{
		{calib.Options{}, "top label, or of a binary task the positive class; 15 equal-width bins; left-closed; the last bin closed; p = 0 counted; edges i*(1/B)"},
		{calib.Options{Bins: 10, Event: calib.Positive, Index: calib.EdgeDiv, Zero: calib.NoBin},
			"positive class; 10 equal-width bins; left-closed; the last bin closed; p = 0 in no bin; edges i/B"},
		{like(t, "um", 30), "top label; 30 equal-width bins; left-closed; p >= 1 in an overflow bin; p = 0 dropped; edges i*(1/B)"},
		{like(t, "tfp", 15), "top label; 15 equal-width bins; left-closed; the last bin closed; p = 0 counted; bin floor(B*p)"},
		{like(t, "torchmetrics", 15), "top label, or of a binary task the positive class; 15 equal-width bins; left-closed; p >= 1 in an overflow bin; p = 0 counted; edges of torch.linspace, of the positive class in the type of the scores, of the top label in float32"},
		{like(t, "guo", 15), "top label; 15 equal-width bins; right-closed; the last bin closed, p > 1 in no bin; p = 0 in no bin; float32 edges of torch.linspace"},
		{like(t, "blog", 15), "top label; 14 equal-width bins; right-closed; the last bin closed, p > 1 in no bin; p = 0 in its own bin; edges i*(1/B)"},
		{calib.Options{Event: calib.AllClasses}, "every class of every row; 15 equal-width bins; left-closed; the last bin closed; p = 0 counted; edges i*(1/B)"},
	} {
		if got := c.o.Text(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.o, got, c.want)
		}
	}
}

func TestSetErrors(t *testing.T) {
	for _, c := range [][3]string{
		{"bins", "0", "positive whole number"}, {"bins", "-3", "positive whole number"}, {"bins", "", "positive whole number"},
		{"bins", "1e2", "positive whole number"}, {"event", "bottom", "one of shape, top, positive, all"}, {"closed", "", "one of left, right"},
		{"one", "first", "one of last, overflow, last_only"}, {"zero", "0", "one of first, dropped, nobin, own"},
		{"index", "linspace", "one of edges, divided, floor, edges32, torch"}, {"blog_edges", "maybe", "switch"},
		{"half_is_zero", "", "there is no option"}, {"width", "3", "there is no option \"width\""}, {"", "", "there is no option"},
	} {
		o := calib.Options{Bins: 7, Event: calib.Positive, Side: kernel.RightClosed, One: calib.OverflowBin, Zero: calib.DropZero,
			Index: calib.EdgeDiv, BlogEdges: true}
		before := o
		err := o.Set(c[0], c[1])
		if err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("%s=%s: %v", c[0], c[1], err)
		}
		if o != before {
			t.Errorf("%s=%s: %+v", c[0], c[1], o)
		}
	}
	var o calib.Options
	for _, v := range []string{"", "false", "true"} {
		if err := o.Set("blog_edges", v); err != nil || o.BlogEdges != (v != "false") {
			t.Error(v, err, o.BlogEdges)
		}
	}
}

func TestValidate(t *testing.T) {
	for _, o := range []calib.Options{
		{Bins: -1}, {Bins: 1<<20 + 1}, {Bins: 1, BlogEdges: true}, {Event: 4}, {Side: 2}, {One: 3}, {Zero: 4}, {Index: 5},
		{Index: calib.FloorMul, Side: kernel.RightClosed},
	} {
		err := o.Validate()
		if err == nil {
			t.Errorf("%#v is valid", o)
			continue
		}
		if b, got := calib.NewBins(&o); b != nil || got == nil || got.Error() != err.Error() {
			t.Errorf("%#v: %v", o, got)
		}
	}
	for _, s := range systems {
		o, err := calib.Like(s)
		if err != nil || o.Validate() != nil {
			t.Errorf("%s: %v %v", s, err, o.Validate())
		}
	}
	for _, s := range []string{"", "UM", "keras"} {
		o, err := calib.Like(s)
		if err == nil || !strings.Contains(err.Error(), "um, tfp, torchmetrics, guo, blog") || o != (calib.Options{}) {
			t.Errorf("%q: %v %+v", s, err, o)
		}
	}
}

// TestEdgesRise checks that edges of every kind are ascending, for many numbers of bins.
func TestEdgesRise(t *testing.T) {
	p := &metrics.Predictions{Labels: []int32{1, 0, 1, 1}}
	p.F64, p.Rows, p.Classes = []float64{0, 0.3, 0.5, 1}, 4, 1
	for _, n := range []int{1, 2, 3, 7, 49, 100, 1000, 99_991, 1<<17 - 1, 1 << 17} {
		for index := calib.EdgeMul; index <= calib.EdgeTorch; index++ {
			if n > 1000 && testing.Short() && index != calib.EdgeMul+calib.Index(n%5) {
				continue
			}
			b := metrics.Must(calib.NewBins(&calib.Options{Bins: n, Index: index, Event: calib.Positive}))
			if err := metrics.NewPass(nil, b).Add(p); err != nil {
				t.Fatal(err)
			}
			bars := b.Bins(0.95)
			if len(bars) != n || bars[0].Lower != 0 || bars[n-1].Upper != 1 || b.Len() != 4 {
				t.Fatalf("%d bins: %d bars", n, len(bars))
			}
			for i := range bars {
				if !(bars[i].Lower < bars[i].Upper) || i > 0 && bars[i].Lower != bars[i-1].Upper {
					t.Fatalf("%d bins, %d: %+v", n, i, bars[i])
				}
			}
		}
	}
}

// TestZeroAndOne checks scores of 0 and 1 under every rule.
func TestZeroAndOne(t *testing.T) {
	p := &metrics.Predictions{Labels: []int32{1, 0, 1, 0, 1}}
	p.F64, p.Rows, p.Classes = []float64{0, 0, 0.5, 1, 1}, 5, 1
	for zero := calib.FirstBin; zero <= calib.OwnBin; zero++ {
		for one := calib.LastBin; one <= calib.LastBinOnly; one++ {
			for _, weighted := range []bool{false, true} {
				p.Weights = nil
				if weighted {
					p.Weights = []float64{2, 2, 2, 2, 2}
				}
				b := metrics.Must(calib.NewBins(&calib.Options{Bins: 2, Event: calib.Positive, Zero: zero, One: one}))
				if err := metrics.NewPass(nil, b).Add(p); err != nil {
					t.Fatal(err)
				}
				n := int64(5)
				if zero == calib.DropZero {
					n = 3
				}
				if b.Len() != n {
					t.Errorf("zero %d, one %d: %d scores", zero, one, b.Len())
				}
				var counts []int64
				for _, bar := range b.Bins(0.95) {
					counts = append(counts, bar.Count)
				}
				want := []int64{2, 3}
				if zero != calib.FirstBin {
					want[0] = 0
				}
				if zero == calib.OwnBin {
					want = append([]int64{2}, want...)
				}
				if one == calib.OverflowBin {
					want[len(want)-1] = 1
					want = append(want, 2)
				}
				if len(counts) != len(want) {
					t.Errorf("zero %d, one %d: bars of %v, want %v", zero, one, counts, want)
					continue
				}
				for i := range want {
					if counts[i] != want[i] {
						t.Errorf("zero %d, one %d: bars of %v, want %v", zero, one, counts, want)
					}
				}
				// |sum (p-y)| is 1 for the zeros. For 0.5 and the ones it is 0.5 together, and 0.5 and 1 separately.
				gap := 0.5
				if one == calib.OverflowBin {
					gap = 1.5
				}
				if zero == calib.FirstBin || zero == calib.OwnBin {
					gap++
				}
				if got := b.ECE(); got != gap/float64(n) {
					t.Errorf("zero %d, one %d, weighted %v: ece %v, want %v / %d", zero, one, weighted, got, gap, n)
				}
			}
		}
	}
}

// TestHalf checks that a score of 1/2 predicts class 0, as does the arg max of [1/2, 1/2].
func TestHalf(t *testing.T) {
	for _, label := range []int32{0, 1} {
		p := &metrics.Predictions{Labels: []int32{label, label}}
		p.F32, p.Rows, p.Classes = []float32{0.5, 0.5}, 2, 1
		want := float64(1 - label)
		b, err := calib.BinsOf(p, &calib.Options{Event: calib.TopLabel})
		if err != nil {
			t.Fatal(err)
		}
		if l := b.Bins(0.95); b.ECE() != 0.5 || l[7].Count != 2 || l[7].Frequency != want {
			t.Errorf("label %d: ece %v, %+v", label, b.ECE(), l[7])
		}
		g, err := calib.Named["TopLabelConditional"](p, nil)
		if err != nil || g.Partitions[0].Len() != 2 || g.Value != 0.5 {
			t.Errorf("label %d: %v %v", label, g, err)
		}
	}
}

// TestByShape checks that by default a vector is judged by the positive class and a matrix by the top label.
func TestByShape(t *testing.T) {
	vector := &metrics.Predictions{Labels: []int32{0, 1, 0}}
	vector.F64, vector.Rows, vector.Classes = []float64{0.1, 0.3, 0.8}, 3, 1
	matrix := &metrics.Predictions{Labels: []int32{0, 1, 0}}
	matrix.F64, matrix.Rows, matrix.Classes = []float64{0.9, 0.1, 0.7, 0.3, 0.2, 0.8}, 3, 2
	for _, c := range []struct {
		p    *metrics.Predictions
		e    calib.Event
		want float64
	}{
		{vector, calib.ByShape, (0.1 + 0.7 + 0.8) / 3}, {vector, calib.Positive, (0.1 + 0.7 + 0.8) / 3}, {vector, calib.TopLabel, (0.1 + 0.7 + 0.8) / 3},
		{matrix, calib.ByShape, (0.1 + 0.7 + 0.8) / 3}, {matrix, calib.Positive, (0.1 + 0.7 + 0.8) / 3},
	} {
		b, err := calib.BinsOf(c.p, &calib.Options{Event: c.e})
		if err != nil {
			t.Fatal(err)
		}
		if got := b.ECE(); math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%d classes, event %d: %v, want %v", c.p.Classes, c.e, got, c.want)
		}
		// The scores distinguish the events: that of the first row is 0.1 for the positive class and 0.9 for the top label.
		positive := c.e == calib.Positive || c.e == calib.ByShape && c.p.Classes == 1
		if first := b.Bins(0.95)[1].Count == 1; first != positive {
			t.Errorf("%d classes, event %d: a score of 0.1 is there: %v", c.p.Classes, c.e, first)
		}
	}
}

// FuzzBinsUnmarshal checks that any state that can be read is written back as the same bytes, and that all its answers can be
// computed. The data are sealed, or the checksum would stop the fuzzer.
func FuzzBinsUnmarshal(f *testing.F) {
	p := &metrics.Predictions{Labels: []int32{1, 0, 1}}
	p.F64, p.Rows, p.Classes = []float64{0, 0.3, 1e30}, 3, 1
	for _, o := range []calib.Options{{Bins: 1}, {Bins: 2, Zero: calib.NoBin, Event: calib.Positive}, {Bins: 2, BlogEdges: true, One: calib.LastBinOnly}} {
		for _, w := range [][]float64{nil, {1, 2, 0x1p32}} {
			p.Weights = w
			b := metrics.Must(calib.NewBins(&o))
			if err := metrics.NewPass(&metrics.Options{Unchecked: true}, b).Add(p); err != nil {
				f.Fatal(err)
			}
			s, err := b.AppendBinary(nil)
			if err != nil {
				f.Fatal(err)
			}
			_, payload, _, err := exact.Open("cBIN", s)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(payload)
		}
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		var b calib.Bins
		_ = b.UnmarshalBinary(payload)
		s := exact.Seal("cBIN", 2, payload)
		if b.UnmarshalBinary(s) != nil {
			return
		}
		if again, err := b.AppendBinary(nil); err != nil || string(again) != string(s) {
			t.Errorf("written in another way: %v", err)
		}
		b.ECE()
		b.RMSCE()
		b.MCE()
		b.Floor()
		b.Interval(0.95)
		b.Bins(0.95)
		_ = b.Options().Text()
		c := b.Empty()
		if err := c.Merge(&b); err != nil {
			t.Error(err)
		}
	})
}
