package calib_test

import (
	"errors"
	"math"
	"testing"

	"github.com/candor-go/candor/internal/exact"
	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// TestOneShot checks that the functions of predictions in memory equal the accumulator's answers.
func TestOneShot(t *testing.T) {
	o := &calib.Options{Bins: 4, Event: calib.Positive}
	b, err := calib.BinsOf(testrows.Ten(), o)
	if err != nil {
		t.Fatal(err)
	}
	ece, err1 := calib.ECE(testrows.Ten(), o)
	rmsce, err2 := calib.RMSCE(testrows.Ten(), o)
	mce, err3 := calib.MCE(testrows.Ten(), o)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	wantM, wantN := b.MCE()
	if ece != b.ECE() || rmsce != b.RMSCE() || mce != wantM {
		t.Error(ece, rmsce, mce)
	}
	// Four bins with sums of p - y of 0.2, -0.35, -0.15 and -0.15 over 2, 2, 3 and 3 rows.
	for _, c := range [][2]float64{{ece, 0.085}, {rmsce, math.Sqrt((0.02 + 0.06125 + 0.0075 + 0.0075) / 10)}, {mce, 0.175}, {float64(wantN), 2}} {
		if math.Abs(c[0]-c[1]) > 1e-15 {
			t.Error(c)
		}
	}

	p := testrows.Ten()
	p.Labels[2] = 2
	if x, err := calib.ECE(p, &calib.Options{Data: metrics.Options{Drop: true}}); err != nil || !(x > 0) {
		t.Error(x, err)
	}
	if x, err := calib.SCE(p, &calib.ClassOptions{Data: metrics.Options{Drop: true}}); err != nil || !(x > 0) {
		t.Error(x, err)
	}
	for _, o := range []calib.Options{{Bins: -1}, {Index: 9}} {
		if x, err := calib.ECE(p, &o); err == nil || x == x {
			t.Error(x, err)
		}
	}
	var d *metrics.DataError
	if x, err := calib.ECE(p, nil); !errors.As(err, &d) || x == x {
		t.Error(x, err)
	}
	if x, err := calib.RMSCE(p, nil); !errors.As(err, &d) || x == x {
		t.Error(x, err)
	}
	if x, err := calib.MCE(p, nil); !errors.As(err, &d) || x == x {
		t.Error(x, err)
	}
}

// TestNegativeCounts checks that well-formed states that no rows can produce are refused.
func TestNegativeCounts(t *testing.T) {
	b, err := calib.BinsOf(testrows.Ten(), &calib.Options{Bins: 1})
	if err != nil {
		t.Fatal(err)
	}
	s, err := b.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, payload, _, err := exact.Open("cBIN", s)
	if err != nil {
		t.Fatal(err)
	}
	// The options take 10 bytes and the classes 4. Then come the rows in no bin: 8 bytes and two sums of 25.
	for _, at := range []int{14 + 7, 14 + 8 + 50 + 8 + 7} {
		bad := append([]byte{}, payload...)
		bad[at] |= 0x80
		var c calib.Bins
		if err := c.UnmarshalBinary(exact.Seal("cBIN", 2, bad)); !errors.Is(err, exact.ErrDamaged) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
}

// TestNoInterval checks when neither interval nor floor is known.
func TestNoInterval(t *testing.T) {
	p := testrows.Ten()
	p.Weights = make([]float64, p.Rows)
	for i := range p.Weights {
		p.Weights[i] = 2
	}
	b, err := calib.BinsOf(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if i, f := b.Interval(0.95), b.Floor(); i.Low == i.Low || i.High == i.High || f == f {
		t.Error("weighted:", i, f)
	}
	one := testrows.Ten()
	one.F64, one.Labels, one.Rows = one.F64[:1], one.Labels[:1], 1
	if b, err = calib.BinsOf(one, nil); err != nil {
		t.Fatal(err)
	}
	if i := b.Interval(0.95); i.Low == i.Low || i.High == i.High {
		t.Error("one row:", i)
	}
}
