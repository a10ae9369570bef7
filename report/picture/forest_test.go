package picture

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/candor-go/candor/metrics"
)

// forest returns a picture with n rows in each of two panels, and one panel of one row.
func forest(n int, name string) *Forest {
	d := &Forest{Title: "t", Subtitle: "s", First: "one better", Other: "other better", Undecided: "open"}
	for range 2 {
		p := ForestPanel{Name: "metric", Margin: 0.02}
		for i := range n {
			v := 0.1 * float64(i-n/2)
			p.Rows = append(p.Rows, ForestRow{fmt.Sprint(name, i), v, metrics.Interval{Low: v - 0.2, High: v + 0.1}, Verdict(i % 3)})
		}
		d.Panels = append(d.Panels, p)
	}
	d.Panels = append(d.Panels, ForestPanel{Name: "alone", Rows: []ForestRow{{"its row", 1e-9, metrics.Interval{Low: -1e-9, High: 3e-9}, First}}})
	return d
}

// TestForest: rows have their names and numbers, and nothing is beyond the page or one upon another.
func TestForest(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	bad := forest(3, "x")
	bad.Panels[0].Rows[0].Value, bad.Panels[0].Rows[1].Interval = nan, metrics.Interval{Low: -inf, High: inf}
	bad.Panels[1].Rows[2].Interval = metrics.NoInterval()
	for name, d := range map[string]*Forest{"none": {}, "few": forest(2, "x"), "many": forest(40, strings.Repeat("a long name ", 9)), "bad": bad,
		"zero": {Panels: []ForestPanel{{Name: "m", Rows: []ForestRow{{"same", 0, metrics.Interval{}, Open}}}}}} {
		svg := write(t, "svg", d)
		if err := xml.Unmarshal(svg, new(struct{})); err != nil || bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) {
			t.Errorf("%s: %v, or a coordinate that is none", name, err)
		}
		w, h := d.size()
		for _, s := range parse(t, svg) {
			for _, p := range s.pts {
				if p[0] < -0.01 || p[1] < -0.01 || p[0] > w.Points()+0.01 || p[1] > h.Points()+0.01 {
					t.Fatalf("%s: a point at %v is beyond the page of %v x %v", name, p, w, h)
				}
			}
		}
		if !bytes.Equal(svg, write(t, "svg", d)) {
			t.Errorf("%s: other bytes", name)
		}
	}
	svg := string(write(t, "svg", forest(2, "row ")))
	for _, want := range []string{">metric<", ">alone<", ">row 1<", ">0.00 [-0.20, 0.10]<", ">one better<", ">open<", ">differences that do not matter<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	if strings.Contains(svg, "its row") || strings.Contains(svg, "-0.00 ") || strings.Contains(svg, "-0.00,") {
		t.Error("the name of a single row, or minus 0")
	}
	if svg := string(write(t, "svg", &Forest{})); !strings.Contains(svg, ">no interval<") {
		t.Error("an empty picture does not say so")
	}
}

// TestCutMiddle: both ends of a name are kept.
func TestCutMiddle(t *testing.T) {
	st := style(tickSize, black)
	for _, width := range []vg.Length{20, 60, 100} {
		got := cutMiddle("group 17 of a long list, part 42", st, width)
		if st.Width(got) > width || !strings.HasPrefix(got, "g") || width > 20 && !strings.HasSuffix(got, "42") {
			t.Errorf("%q", got)
		}
	}
	if got := cutMiddle("short", st, 100); got != "short" {
		t.Error(got)
	}
}

// TestGaps: each bin with a difference has a point, and what is beyond the range is cut off.
func TestGaps(t *testing.T) {
	nan := math.NaN()
	d := &Gaps{Title: "t", X: "score", Y: "difference", Band: "band", Bins: []GapBin{{0, 0.25, 0.1, metrics.Interval{Low: -0.1, High: 0.3}, 100}, {0.25, 0.5, nan, metrics.NoInterval(), 0},
		{0.5, 0.75, -0.2, metrics.Interval{Low: -9, High: 9}, 3}, {0.75, 1, 0.05, metrics.NoInterval(), 1}}}
	for name, d := range map[string]*Gaps{"bins": d, "none": {}} {
		svg := write(t, "svg", d)
		if err := xml.Unmarshal(svg, new(struct{})); err != nil || bytes.Contains(svg, []byte("NaN")) || bytes.Contains(svg, []byte("Inf")) || !bytes.Equal(svg, write(t, "svg", d)) {
			t.Errorf("%s: %v, or a coordinate that is none, or other bytes", name, err)
		}
		if none := bytes.Contains(svg, []byte(">no rows<")); none != (name == "none") {
			t.Errorf("%s: no rows is %v", name, none)
		}
		w, h := d.size()
		for _, s := range parse(t, svg) {
			for _, p := range s.pts {
				if p[0] < -0.01 || p[1] < -0.01 || p[0] > w.Points()+0.01 || p[1] > h.Points()+0.01 {
					t.Fatalf("%s: a point at %v is beyond the page of %v x %v", name, p, w, h)
				}
			}
		}
	}
	if svg := string(write(t, "svg", d)); !strings.Contains(svg, ">hollow: fewer than 30 rows<") || !strings.Contains(svg, ">band<") {
		t.Error("the key does not say what is hollow")
	}
}

// TestFlips: the four counts and the names are there, and nothing is beyond the page.
func TestFlips(t *testing.T) {
	d := &Flips{Title: "t", A: strings.Repeat("first ", 30), B: strings.Repeat("second ", 30), Both: 1e12, OnlyA: 3, OnlyB: 4, Neither: 5}
	svg := string(write(t, "svg", d))
	for _, want := range []string{">1000000000000, 100.0%<", ">3, 0.0%<", ">4, 0.0%<", ">5, 0.0%<", ">both wrong<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	w, h := d.size()
	for _, s := range parse(t, []byte(svg)) {
		for _, p := range s.pts {
			if p[0] < -0.01 || p[1] < -0.01 || p[0] > w.Points()+0.01 || p[1] > h.Points()+0.01 {
				t.Fatalf("a point at %v is beyond the page of %v x %v", p, w, h)
			}
		}
	}
	if svg := string(write(t, "svg", &Flips{})); strings.Contains(svg, "NaN") || !strings.Contains(svg, ">0<") {
		t.Error("a table of no rows")
	}
}
