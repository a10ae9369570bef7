package check

import (
	"hash/fnv"
	"math"
	"slices"
	"testing"
)

func TestRandRepeats(t *testing.T) {
	a, b, c := Rand(7), Rand(7), Rand(8)
	same := true
	for range 100 {
		x := a.Uint64()
		if x != b.Uint64() {
			t.Fatal("one seed, two sequences")
		}
		same = same && x == c.Uint64()
	}
	if same {
		t.Error("two seeds, one sequence")
	}
}

// The inputs have these bits on every architecture: a golden made from them on one holds on all.
func TestGeneratorsAreTheSameEverywhere(t *testing.T) {
	h := fnv.New64a()
	r := Rand(42)
	put := func(v []float32) {
		for _, x := range v {
			b := math.Float32bits(x)
			h.Write([]byte{byte(b), byte(b >> 8), byte(b >> 16), byte(b >> 24)})
		}
	}
	for k := range 200 {
		put(Logits32(r, k, 0.1*float64(k)))
		put(SimplexRow(r, k))
	}
	if got, want := h.Sum64(), uint64(0x6509FCAB06563D3B); got != want {
		t.Errorf("the generators' bits hash to %#x, want %#x", got, want)
	}
}

func TestLogits32(t *testing.T) {
	if got := Logits32(Rand(1), 0, 1); len(got) != 0 {
		t.Errorf("%d of 0 values", len(got))
	}
	const n, scale = 200000, 3.0
	v := Logits32(Rand(1), n, scale)
	var sum, square float64
	for _, x := range v {
		if f := float64(x); math.Abs(f) > 6*scale || f != f {
			t.Fatalf("value %v", x)
		}
		sum += float64(x)
		square += float64(x) * float64(x)
	}
	// Five standard errors of the mean, and of the variance.
	if mean := sum / n; math.Abs(mean) > 5*scale/math.Sqrt(n) {
		t.Errorf("mean %v", mean)
	}
	if sd := math.Sqrt(square / n); math.Abs(sd/scale-1) > 5/math.Sqrt(2*n) {
		t.Errorf("standard deviation %v, want %v", sd, scale)
	}
}

func TestSimplexRow(t *testing.T) {
	r := Rand(3)
	for _, k := range []int{0, 1, 2, 3, 10, 1000, 100000} {
		rows := 100000 / max(k, 50)
		peaked := 0
		for range rows {
			row := SimplexRow(r, k)
			if row == nil || len(row) != k {
				t.Fatalf("%d of %d values", len(row), k)
			}
			sum, top := 0.0, 0.0
			for _, p := range row {
				if !(p >= 0 && p <= 1) || math.Signbit(float64(p)) {
					t.Fatalf("k=%d: probability %v", k, p)
				}
				sum += float64(p)
				top = max(top, float64(p))
			}
			// Each rounds by half a unit of its own last place.
			if k > 0 && math.Abs(sum-1) > 0x1p-24+1e-12 {
				t.Fatalf("k=%d: sum %v", k, sum)
			}
			if top > 0.9 {
				peaked++
			}
		}
		if k == 10 && (peaked < rows/20 || peaked > rows/2) {
			t.Errorf("k=%d: %d of %d rows are confident", k, peaked, rows)
		}
		if k == 1 {
			if row := SimplexRow(r, 1); row[0] != 1 {
				t.Errorf("k=1: %v", row)
			}
		}
	}
}

// Orders are what their names say, in as many bits as they are told, and the same every time.
func TestOrders(t *testing.T) {
	for _, size := range []int{32, 64} {
		names := map[string]bool{}
		for _, o := range Orders(size) {
			if names[o.Name] {
				t.Errorf("%s is twice there", o.Name)
			}
			names[o.Name] = true
			for _, n := range []int{0, 1, 2, 3, 1000} {
				x, y := make([]uint64, n), make([]uint64, n)
				o.Fill(Rand(1), x)
				o.Fill(Rand(1), y)
				if !slices.Equal(x, y) {
					t.Errorf("%s: not the same again", o.Name)
				}
				if size == 32 && n > 0 && slices.Max(x)>>32 != 0 {
					t.Errorf("%s: more than 32 bits", o.Name)
				}
				distinct := map[uint64]bool{}
				for _, v := range x {
					distinct[v] = true
				}
				want := map[string]int{"equal": 1, "smallest": 1, "largest": 1, "two": 2, "three": 3, "twenty": 20, "one-other": 2}[o.Name]
				if n == 1000 && want > 0 && len(distinct) != want {
					t.Errorf("%s: %d values", o.Name, len(distinct))
				}
				if o.Name == "sorted" && !slices.IsSorted(x) {
					t.Errorf("%s: they are not", o.Name)
				}
				if slices.Reverse(y); o.Name == "reversed" && !slices.IsSorted(y) {
					t.Errorf("%s: they are not", o.Name)
				}
			}
		}
	}
}
