package eval_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// shownRows returns rows of classes whose labels follow the probabilities, but for class 0, which comes more often than it is given.
func shownRows(rows, classes int) *metrics.Predictions {
	r := rand.New(rand.NewPCG(7, uint64(rows)))
	p := &metrics.Predictions{}
	p.Rows, p.Classes = rows, classes
	for range rows {
		at, sum := len(p.F64), 0.0
		for range classes {
			v := math.Pow(r.ExpFloat64(), 2)
			p.F64, sum = append(p.F64, v), sum+v
		}
		for k := range classes {
			p.F64[at+k] /= sum
		}
		y, u := int32(0), r.Float64()
		if u > 0.15 {
			u = r.Float64()
			for k := range classes {
				if y = int32(k); u < p.F64[at+k] {
					break
				}
				u -= p.F64[at+k]
			}
		}
		p.Labels = append(p.Labels, y)
	}
	return p
}

func shown(t *testing.T, list string, p *metrics.Predictions) *eval.Evaluation {
	t.Helper()
	s := eval.Spec{Classes: p.Classes}
	var err error
	if s.Metrics, err = eval.ParseMetrics(list, s.Shape()); err != nil {
		t.Fatal(err)
	}
	e, err := eval.New(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Add(p, nil); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestSelection compares thresholds with the sorted rows.
func TestSelection(t *testing.T) {
	p := shownRows(1000, 3)
	if s := shown(t, "nll", p).Selection(200); s == nil {
		t.Fatal("there is none")
	}
	s := shown(t, "default", p).Selection(200)
	if len(s.Points) > 200 || s.Points[len(s.Points)-1].X != 1 || !s.Exact {
		t.Errorf("%d points to %v", len(s.Points), s.Points[len(s.Points)-1])
	}
	for i, c := range s.Cuts {
		kept, wrong := 0.0, 0.0
		for r := range p.Rows {
			row := p.F64[3*r : 3*r+3]
			top := 0
			for k := range row {
				if row[k] > row[top] {
					top = k
				}
			}
			if row[top] >= c.Threshold {
				kept++
				if int32(top) != p.Labels[r] {
					wrong++
				}
			}
		}
		if kept != c.Rows || wrong != c.Without || c.Share != kept/1000 || c.Share < eval.KeptShares[i] || c.Share > eval.KeptShares[i]+0.0011 ||
			!(s.Errors[i].Low <= wrong/kept && wrong/kept <= s.Errors[i].High) {
			t.Errorf("%v: %+v %v, want %v kept, %v wrong", eval.KeptShares[i], c, s.Errors[i], kept, wrong)
		}
	}
}

// TestClassTable checks that the class that comes too often is found, that calibrated ones are not, and that classes of few rows are not tested.
func TestClassTable(t *testing.T) {
	p := shownRows(4000, 4)
	if shown(t, "default", p).ClassTable() != nil {
		t.Error("there is a table without sce")
	}
	e := shown(t, "sce", p)
	c := e.ClassTable()
	if c.Tested != 4 || !c.Classes[0].Off || c.Classes[0].Z < 5 || c.Evidence()[0].Class != 0 {
		t.Errorf("%+v", c)
	}
	for k := range c.Classes {
		x := &c.Classes[k]
		rows, given, sd := 0.0, 0.0, 0.0
		for i, y := range p.Labels {
			q := p.F64[4*i+k]
			given, sd = given+q/4000, sd+q*(1-q)
			if y == int32(k) {
				rows++
			}
		}
		z := (rows - 4000*given) / math.Sqrt(sd)
		if x.Rows != rows || math.Abs(x.All.Confidence-given) > 1e-9 || math.Abs(x.Z-z) > 1e-6 {
			t.Errorf("class %d: %+v, want %v rows, given %v, z %v", k, x, rows, given, z)
		}
		for _, b := range x.Bins(0.95) {
			if b.Count < 20 {
				t.Errorf("class %d: a bin of %d rows", k, b.Count)
			}
		}
	}
	if few := shown(t, "sce", shownRows(30, 4)).ClassTable(); few.Tested != 0 || few.Reason == "" || few.Off != 0 {
		t.Errorf("%+v", few)
	}
}

// TestClassesOff checks that calibrated classes are called off in no more than 5% of data sets.
func TestClassesOff(t *testing.T) {
	sets, off := 300, 0
	for s := range sets {
		r := rand.New(rand.NewPCG(uint64(s), 11))
		p := &metrics.Predictions{}
		p.Rows, p.Classes = 300, 5
		for range p.Rows {
			at, sum := len(p.F64), 0.0
			for range 5 {
				v := r.ExpFloat64()
				p.F64, sum = append(p.F64, v), sum+v
			}
			y, u := 0, r.Float64()*sum
			for k := range 5 {
				if y = k; u < p.F64[at+k] {
					break
				}
				u -= p.F64[at+k]
			}
			for k := range 5 {
				p.F64[at+k] /= sum
			}
			p.Labels = append(p.Labels, int32(y))
		}
		if shown(t, "sce", p).ClassTable().Off > 0 {
			off++
		}
	}
	if off > 28 { // 15 expected; 28 is 3.4 standard deviations more
		t.Errorf("%d of %d calibrated sets have a class that is off", off, sets)
	}
}

// TestCertain counts rows of probability 1.
func TestCertain(t *testing.T) {
	p := &metrics.Predictions{Labels: []int32{0, 1, 2, 0}}
	p.Rows, p.Classes = 4, 3
	p.F64 = []float64{1, 0, 0, 1, 0, 0, 0, 0, 1, 0.5, 0.25, 0.25}
	if rows, wrong, ok := shown(t, "default", p).Certain(); rows != 3 || wrong != 1 || !ok {
		t.Errorf("%d rows, %d wrong, %v", rows, wrong, ok)
	}
	if c, share := shown(t, "default", p).Rates().Rarest(); c != 1 || share != 0.25 {
		t.Errorf("class %d of %v", c, share)
	}
}
