package binfree

import (
	"compress/gzip"
	"encoding/json"
	"math"
	"os"
	"testing"
)

// TestBeltTail compares with pycaleva's distribution function; see testdata/oracle/make_belt.py.
func TestBeltTail(t *testing.T) {
	file, err := os.Open("../../testdata/oracle/belt.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var f struct {
		Laws []struct {
			T, Cdf float64
			Degree int
			Fitted bool
		}
	}
	if err := json.NewDecoder(z).Decode(&f); err != nil || len(f.Laws) != 70 {
		t.Fatal(err, len(f.Laws))
	}
	for _, c := range f.Laws {
		got := beltTail(c.T, c.Degree, c.Fitted)
		if math.Abs(got-(1-c.Cdf)) > 3e-9 {
			t.Errorf("%+v: %.12g, want %.12g", c, got, 1-c.Cdf)
		}
		if got > 0 && got < 1 {
			if back := beltQuantile(got, c.Degree, c.Fitted); math.Abs(back-c.T) > 1e-7*c.T {
				t.Errorf("%+v: the quantile of its tail is %v", c, back)
			}
		}
	}
	// Far out, the tail is that of the last term, with its digits.
	for _, t0 := range []float64{100, 600, 1200} {
		if a, b := beltTail(t0, 4, false), beltTail(t0+1, 4, false); !(a > 0 && b > 0 && b/a > 0.5 && b/a < 0.62) {
			t.Errorf("at %v: %v and %v", t0, a, b)
		}
	}
}
