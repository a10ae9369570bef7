package picture

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
)

// corpOf returns the diagram of binary predictions.
func corpOf(t testing.TB, score binfree.ProperScore, p []float64, y []int32) *CORP {
	t.Helper()
	q := &metrics.Predictions{Labels: y}
	q.Rows, q.Classes, q.F64 = len(p), 1, p
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(q); err != nil {
		t.Fatal(err)
	}
	fit := metrics.Must(binfree.CORPOf(c, &binfree.CORPOptions{Score: score}))
	bins, _ := calib.EvenOf(c, 50)
	band := fit.Band(0.9, &metrics.Resampling{Replicates: 20})
	return &CORP{Title: "t", Fit: fit, Band: band, Bins: bins.Bins(0.95), Event: calib.Positive}
}

// TestCORP: steps, what joins them, and the band are where the fit says, and the text has what it says.
func TestCORP(t *testing.T) {
	p, outcomes := []float64{0.1, 0.2, 0.2, 0.4, 0.6, 0.8, 0.8, 0.9}, []int32{0, 0, 1, 0, 1, 0, 1, 1}
	d := corpOf(t, binfree.Squared, p, outcomes)
	d.Subtitle = "of eight days"
	svg := write(t, "svg", d)
	for _, w := range []string{">of eight days<", ">8 rows; event: y = 1<",
		">MCB 0.046 - DSC 0.083 + UNC 0.250 = 0.213, the mean of (p - y)^2<",
		">recalibrated: the rising curve that fits best<", ">where 90% of calibrated curves lie, score by score<",
		">probability of y = 1<", ">share of y = 1<"} {
		if !bytes.Contains(svg, []byte(w)) {
			t.Errorf("the picture does not say %s", w)
		}
	}
	all := parse(t, svg)
	f := frames(all)
	if len(f) != 2 || f[0][0] != f[1][0] || f[0][2] != f[1][2] || f[0][1] <= f[1][3] {
		t.Fatalf("the panels are %v", f)
	}
	x := func(v float64) float64 { return f[0][0] + v*(f[0][2]-f[0][0]) }
	y := func(v float64) float64 { return f[0][1] + v*(f[0][3]-f[0][1]) }
	flat := with(all, 2, "stroke:#0072B2", "stroke-width:2.2")[1:] // the first is the key's
	joined := with(all, 8, "stroke:#0072B2", "stroke-width:0.9")
	if len(flat) != 2 || len(joined) != 1 {
		t.Fatalf("%d flat pieces and %d lines", len(flat), len(joined))
	}
	for i, s := range d.Fit.Steps() {
		for j, v := range []float64{s.Low, s.High} {
			near(t, "a step's end", joined[0].pts[2*i+j][0], x(v))
			near(t, "a step", joined[0].pts[2*i+j][1], y(s.Frequency))
			if i == 1 || i == 2 {
				near(t, "a flat piece's end", flat[i-1].pts[j][0], x(v))
				near(t, "a flat piece", flat[i-1].pts[j][1], y(s.Frequency))
			}
		}
	}
	band := with(all, 12, "fill-opacity:0.188")
	if len(band) != 1 || len(d.Band) != 6 {
		t.Fatalf("%d bands of %d points", len(band), len(d.Band))
	}
	for i, b := range d.Band {
		near(t, "the band", band[0].pts[i][0], x(b.Score))
		near(t, "the band's lower end", band[0].pts[i][1], y(b.Low))
		near(t, "the band's upper end", band[0].pts[11-i][1], y(b.High))
	}
	if n := len(with(all, 4, "fill:#9FB4C2")); n != 6 {
		t.Errorf("%d bars of six scores", n)
	}
	for format := range map[string]bool{"png": true, "svg": true, "pdf": true} {
		if !bytes.Equal(write(t, format, d), write(t, format, d)) {
			t.Errorf("two files in %s differ", format)
		}
	}
}

// TestCORPEdges: whatever there is to draw, it is on the page, and the text says what there is.
func TestCORPEdges(t *testing.T) {
	var p []float64
	var y []int32
	for i := range 300000 {
		p = append(p, (float64(i)+0.5)/300000)
		y = append(y, int32(i*7%10/(10-i/30000)))
		y[i] = min(y[i], 1)
	}
	log := corpOf(t, binfree.Logarithmic, []float64{0, 0.5, 1}, []int32{1, 0, 1})
	log.Event = calib.TopLabel
	none := corpOf(t, binfree.Squared, []float64{0.5, 0.25}, []int32{1, 0})
	none.Band, none.Bins, none.Event = nil, nil, calib.TopLabel
	level := corpOf(t, binfree.Squared, []float64{0, 1}, []int32{0, 1})
	level.Level = 0.5
	one := corpOf(t, binfree.Squared, []float64{0.3}, []int32{1})
	single := corpOf(t, binfree.Squared, []float64{0.3, 0.3, 0.3}, []int32{1, 0, 0})
	flat := corpOf(t, binfree.Squared, []float64{0.2, 0.4, 0.6, 0.8}, []int32{1, 0, 1, 0})
	for name, c := range map[string]struct {
		d     *CORP
		words []string
	}{
		"zero":        {&CORP{}, []string{">no rows<"}},
		"empty":       {corpOf(t, binfree.Squared, nil, nil), []string{">no rows<"}},
		"one row":     {one, []string{">1 row; event: y = 1<", ">MCB 0.490 - DSC 0.000 + UNC 0.000 = 0.490, the"}},
		"one score":   {single, []string{">3 rows; event: y = 1<", "score by score"}},
		"one step":    {flat, []string{"DSC 0.000 "}},
		"ends":        {level, []string{">where 50% of calibrated curves lie"}},
		"logarithmic": {log, []string{">3 rows; event: a right top label<", "MCB +Inf", "of what happened"}},
		"spherical":   {corpOf(t, binfree.Spherical, []float64{0, 0.5, 1}, []int32{0, 1, 1}), []string{"of the spherical loss<"}},
		"no bins":     {none, []string{">event: a right top label<"}},
		"grid":        {corpOf(t, binfree.Squared, p, y), []string{"on a grid of scores: MCB and DSC may be up to"}},
		"long":        {&CORP{Title: strings.Repeat("long ", 100), Subtitle: strings.Repeat("a\n", 20), Fit: level.Fit}, nil},
	} {
		svg := write(t, "svg", c.d)
		if err := xml.Unmarshal(svg, new(struct{})); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if bytes.Contains(svg, []byte("NaN")) {
			t.Errorf("%s: NaN is in the picture", name)
		}
		text := strings.Join(strings.Fields(string(svg)), " ")
		for _, w := range c.words {
			if !strings.Contains(text, w) {
				t.Errorf("%s: the picture does not say %s", name, w)
			}
		}
		w, h := c.d.size()
		for _, s := range parse(t, svg) {
			for _, q := range s.pts {
				if !(q[0] >= -0.01 && q[1] >= -0.01 && q[0] <= w.Points()+0.01 && q[1] <= h.Points()+0.01) {
					t.Fatalf("%s: a point at %v is beyond the page of %v x %v", name, q, w, h)
				}
			}
		}
		for _, f := range frames(parse(t, svg)) {
			if f[2]-f[0] < 80 || f[3]-f[1] < 70 {
				t.Errorf("%s: a panel is %v", name, f)
			}
		}
	}
}
