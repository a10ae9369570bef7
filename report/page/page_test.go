package page_test

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/report"
	"github.com/candor-go/candor/report/page"
	"github.com/candor-go/candor/report/remedy"
)

// rng is a small generator, the same on every machine.
type rng uint64

func (r *rng) float() float64 {
	*r = *r*6364136223846793005 + 1442695040888963407
	return float64(*r>>11) / (1 << 53)
}

// set returns rows of overconfident probabilities.
func set(seed uint64, rows, classes int) *metrics.Predictions {
	r := rng(seed)
	x, y := make([]float64, 0, rows*classes), make([]int32, rows)
	for i := range rows {
		if classes == 1 {
			p := r.float()
			x = append(x, p)
			if r.float() < 0.2+0.6*p {
				y[i] = 1
			}
			continue
		}
		row := make([]float64, classes)
		k, sum := int(r.float()*float64(classes)), 0.0
		for j := range row {
			row[j] = 0.05 + r.float()/float64(classes)
			if j == k {
				row[j] += 2 * r.float()
			}
			sum += row[j]
		}
		for j := range row {
			row[j] /= sum
		}
		if y[i] = int32(k); r.float() < 0.4 {
			y[i] = int32(r.float() * float64(classes))
		}
		x = append(x, row...)
	}
	return &metrics.Predictions{Scores: metrics.Scores{F64: x, Rows: rows, Classes: classes}, Labels: y}
}

func evaluation(t *testing.T, p *metrics.Predictions, classes int, more string, names []string) *eval.Evaluation {
	t.Helper()
	s := eval.Spec{Classes: classes, Names: names}
	list := "default" + more
	if classes > 2 {
		list += ",sce"
	}
	var err error
	if s.Metrics, err = eval.ParseMetrics(list, s.Shape()); err != nil {
		t.Fatal(err)
	}
	e, err := eval.New(s)
	if err != nil {
		t.Fatal(err)
	}
	if p != nil {
		if err := e.Add(p, nil); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

var (
	shown   = regexp.MustCompile(`<data value="([^"]*)">([^<]*)</data>`)
	carried = regexp.MustCompile(`(?s)<script type="application/json" id="candor">(.*?)</script>`)
	scripts = regexp.MustCompile(`(?i)<script[^>]*>`)
)

// numbers collects the numbers of a JSON document.
func numbers(v any, in map[float64]bool) {
	switch v := v.(type) {
	case float64:
		in[v] = true
	case []any:
		for _, x := range v {
			numbers(x, in)
		}
	case map[string]any:
		for _, x := range v {
			numbers(x, in)
		}
	}
}

// check holds what is true of every page: one script, which is the document; each number shown is in the document, and its text is a
// rounding of it.
func check(t *testing.T, p []byte) {
	t.Helper()
	if s := scripts.FindAllString(string(p), -1); len(s) != 1 || s[0] != `<script type="application/json" id="candor">` {
		t.Fatalf("scripts: %q", s)
	}
	if !strings.Contains(string(p), `content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"`) {
		t.Error("no policy")
	}
	m := carried.FindSubmatch(p)
	if m == nil {
		t.Fatal("no document")
	}
	var doc any
	if err := json.Unmarshal(m[1], &doc); err != nil {
		t.Fatal(err)
	}
	in := map[float64]bool{}
	numbers(doc, in)
	all := shown.FindAllStringSubmatch(string(p), -1)
	if len(all) < 10 {
		t.Fatalf("%d numbers are shown", len(all))
	}
	for _, s := range all {
		v, err := strconv.ParseFloat(s[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		known := in[v]
		if !known { // a share of two numbers of the document
			for a := range in {
				for _, b := range []float64{1, -1} {
					known = known || a == b*v
				}
			}
		}
		text := strings.NewReplacer("−", "-", ",", "", "%", "", "+", "").Replace(s[2])
		got, err := strconv.ParseFloat(text, 64)
		if err != nil {
			if strings.HasPrefix(s[2], "&lt;") {
				continue
			}
			t.Errorf("%q shows %q", s[1], s[2])
			continue
		}
		digits := 0
		if _, d, ok := strings.Cut(text, "."); ok && !strings.Contains(d, "e") {
			digits = len(d)
		}
		near := false
		for _, scale := range []float64{1, 100} {
			near = near || math.Abs(got-v*scale) <= 0.500001*math.Pow(10, -float64(digits)) || math.Abs(got-v*scale) <= 0.06*math.Abs(v*scale)
		}
		if !near {
			t.Errorf("%v is shown as %q", v, s[2])
		}
		if !known {
			t.Errorf("%v, shown as %q, is not in the document", v, s[2])
		}
	}
}

func TestEval(t *testing.T) {
	for _, c := range []struct {
		rows, classes int
		most          int // bytes
		want          []string
	}{
		{2000, 1, 100e3, []string{"Which rows can be trusted?", "Does it mean what it says?", "What would help", " would change the NLL by "}},
		{2000, 2, 100e3, nil},
		{3000, 10, 100e3, []string{"Class by class", "<h1 class="}},
		{5000, 100, 100e3, []string{"Class by class"}},
		{2000, 1000, 250e3, []string{"2,000 rows are too few for 1,000 classes"}},
		{12, 3, 100e3, []string{"12 rows are too few for 3 classes"}},
	} {
		t.Run(fmt.Sprint(c.rows, "x", c.classes), func(t *testing.T) {
			e := evaluation(t, set(7, c.rows, c.classes), c.classes, "", nil)
			d := report.New(e)
			d.Remedies = remedy.Of(e)
			p, err := page.Eval(d, "candor eval")
			if err != nil {
				t.Fatal(err)
			}
			check(t, p)
			if len(p) > c.most {
				t.Errorf("%d bytes, and %d are enough", len(p), c.most)
			}
			for _, w := range c.want {
				if !strings.Contains(string(p), w) {
					t.Errorf("%q is missing", w)
				}
			}
		})
	}
}

// TestMerged: the page of merged states is that of all rows.
func TestMerged(t *testing.T) {
	all := set(3, 3000, 5)
	one, two := all.Slice(0, 1100), all.Slice(1100, 3000)
	a, b := evaluation(t, &two, 5, "", nil), evaluation(t, &one, 5, "", nil)
	if err := a.Merge(b); err != nil {
		t.Fatal(err)
	}
	p, err := page.Eval(report.New(a), "candor eval")
	if err != nil {
		t.Fatal(err)
	}
	q, err := page.Eval(report.New(evaluation(t, all, 5, "", nil)), "candor eval")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p, q) {
		t.Error("the page of merged states is another one")
	}
}

// TestNames: nothing in a name becomes markup.
func TestNames(t *testing.T) {
	names := []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "a\x00b\u202e\n</script>", strings.Repeat("long ", 60)}
	p, err := page.Eval(report.New(evaluation(t, set(5, 4000, 4), 4, "", names)), "candor eval")
	if err != nil {
		t.Fatal(err)
	}
	check(t, p)
	for _, bad := range []string{"<script>alert", "<img", "\x00", "\u202e"} {
		if strings.Contains(string(p), bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
}

// TestStates: data of which there is little to say has its words.
func TestStates(t *testing.T) {
	binary := func(p []float64, y []int32) *metrics.Predictions {
		return &metrics.Predictions{Scores: metrics.Scores{F64: p, Rows: len(p), Classes: 1}, Labels: y}
	}
	certain := func(wrong int) *metrics.Predictions {
		p, y := make([]float64, 200), make([]int32, 200)
		for i := range p {
			p[i], y[i] = float64(i%2), int32(i%2)
			if i < wrong {
				y[i] = 1 - y[i]
			}
		}
		return binary(p, y)
	}
	weighted := set(3, 900, 4)
	weighted.Weights = make([]float64, 900)
	for i := range weighted.Weights {
		weighted.Weights[i] = 1 + float64(i%5)
	}
	unseen, two := set(4, 2000, 4), set(4, 2000, 5)
	for i := range unseen.Labels {
		if unseen.Labels[i] == 2 {
			unseen.Labels[i] = 1
		}
		if two.Labels[i] < 2 {
			two.Labels[i] = 4
		}
	}
	right := set(5, 400, 3)
	for i := range right.Labels {
		row := right.Scores.F64[3*i : 3*i+3]
		right.Labels[i] = int32(slices.Index(row, slices.Max(row)))
	}
	one := set(6, 300, 1)
	for i := range one.Labels {
		one.Labels[i] = 0
	}
	calibrated := binary([]float64{.2, .4, .6, .8, .3, .5, .7, .1, .9, .5}, []int32{0, 0, 1, 1, 0, 1, 1, 0, 1, 0})
	for _, c := range []struct {
		name string
		of   *metrics.Predictions
		want []string
		not  []string
	}{
		{"all 0 or 1", certain(10), []string{">Certain of every row, and wrong in 5.0% of them</h1>", "All probabilities are 0 or 1, as decisions are.", `class="over`,
			"All rows have the same confidence, so none can be refused before the others.", "There is no curve by Platt scaling or beta calibration: all scores that count are 0 or 1"}, nil},
		{"all 0 or 1, all right", certain(0), []string{">Certain of every row, and always right</h1>", "All rows are right, so there is no error to sort out."}, nil},
		{"weights", weighted, []string{"Rows have weights: frequencies", "Tests of classes are of rows without weights.", "yes: shares and means are weighted", "of the rows that it was fitted to", "with unequal ones by more"}, nil},
		{"more classes than rows/30", set(7, 2000, 1000), []string{"2,000 rows are too few for 1,000 classes"}, nil},
		{"far more classes", set(8, 300, 2100), []string{"300 rows are too few for 2,100 classes."}, nil},
		{"a class never seen", unseen, []string{" Class 2 never occurs."}, nil},
		{"two classes never seen", two, []string{" 2 classes never occur."}, nil},
		{"one class alone", one, []string{"All rows are of class 0, so nothing is known of the other."}, nil},
		{"no errors", right, []string{"All rows are right, so there is no error to sort out."}, nil},
		{"few rows", calibrated, []string{">Too few rows to judge</h1>", "With 10 rows, only a bias of "}, []string{"<h1 class="}},
		{"enough rows", set(9, 2000, 1), nil, []string{"Too few rows", "Certain of every row", "never occur", "Rows have weights"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := c.of.Scores.Classes
			s := eval.Spec{Classes: k}
			list := "default"
			if k > 2 && k <= 2000 {
				list += ",sce"
			}
			s.Metrics = metrics.Must(eval.ParseMetrics(list, s.Shape()))
			e := metrics.Must(eval.New(s))
			if err := e.Add(c.of, nil); err != nil {
				t.Fatal(err)
			}
			d := report.New(e)
			d.Remedies = remedy.Of(e)
			p, err := page.Eval(d, "candor eval")
			if err != nil {
				t.Fatal(err)
			}
			check(t, p)
			for _, w := range c.want {
				if !strings.Contains(string(p), w) {
					t.Errorf("%q is missing", w)
				}
			}
			for _, w := range c.not {
				if strings.Contains(string(p), w) {
					t.Errorf("%q is there", w)
				}
			}
		})
	}
}
