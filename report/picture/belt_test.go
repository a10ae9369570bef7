package picture

import (
	"math/rand/v2"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/report/scene"
)

func TestBelt(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 8))
	q := &metrics.Predictions{}
	for range 300 {
		p := 0.05 + 0.9*r.Float64()
		y := int32(0)
		if r.Float64() < p*p {
			y = 1
		}
		q.F64, q.Labels = append(q.F64, p), append(q.Labels, y)
	}
	q.Rows, q.Classes = 300, 1
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(q); err != nil {
		t.Fatal(err)
	}
	bins, _ := calib.EvenOf(c, 50)
	d := &Belt{Title: "t", Subtitle: "of ten months", Belt: binfree.BeltOf(c, nil), Bins: bins.Bins(0.95), Event: calib.Positive}
	s := d.Panel()
	limits := d.limits(0.95)
	if len(limits) != 101 || limits[0].Score < 0.02 || limits[100].Score > 0.98 {
		t.Fatalf("%d limits, %+v to %+v", len(limits), limits[0], limits[len(limits)-1])
	}
	found := 0
	for _, p := range all[scene.Path](s) {
		if p.Paint == stepLine {
			found++
			for i, l := range limits {
				near(t, "a score", p.Points[i].X, 32+320*l.Score)
				near(t, "a frequency", p.Points[i].Y, 22+320*(1-l.Frequency))
			}
		}
		if p.Paint == bandPaint {
			found++
			near(t, "the lower end", p.Points[50].Y, 22+320*(1-limits[50].Low))
			near(t, "the upper end", p.Points[151].Y, 22+320*(1-limits[50].High))
		}
		if p.Paint == joinLine {
			found++
		}
	}
	if found != 4 {
		t.Errorf("%d of the fit, the belt and the two ends of the inner belt", found)
	}
	says(t, d.Scene(), "of ten months", "300 rows; event: y = 1", "polynomial of degree", "95% belt", "80% belt", "↑ share of y = 1")
	says(t, (&Belt{Belt: binfree.BeltOf(metrics.Must(cells.New(nil)), nil)}).Scene(), "no belt: no rows")
}
