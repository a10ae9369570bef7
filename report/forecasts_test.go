package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/grouped"
)

// normalsOf returns n forecasts with errors of size off and alternating sign, and with standard deviation says.
func normalsOf(n int, off, says float64) *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{Rows: n, Classes: 3}}
	for i := range n {
		p.F64 = append(p.F64, float64(i), says*(1+0.01*float64(i%3)), float64(i)+off*float64(1-2*(i%2)))
	}
	return p
}

// tailed returns n rows with one outlier in a hundred; the other errors are smaller than stated.
func tailed(n int) *metrics.Predictions {
	p := normalsOf(n, 0.3, 1)
	for i := range n {
		if i%100 == 7 {
			p.F64[3*i+2] = float64(i) + 30*float64(1-2*(i/100%2))
		}
	}
	return p
}

// samplesOf returns n rows of samples around 0, most with distant observed values.
func samplesOf(n, draws int) *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Samples, Scores: metrics.Scores{Rows: n, Classes: draws}}
	for i := range n {
		for j := range draws {
			p.F64 = append(p.F64, float64(j)-float64(draws-1)/2)
		}
		p.Observed = append(p.Observed, float64(i%5-2)*float64(draws)/3)
	}
	return p
}

// quantilesOf returns n rows of the quantiles -1, 0 and 1, some of which miss the observed value.
func quantilesOf(n, missed int) *metrics.Predictions {
	p := &metrics.Predictions{Kind: metrics.Quantiles, Scores: metrics.Scores{Rows: n, Classes: 3}}
	for i := range n {
		p.F64, p.Observed = append(p.F64, -1, 0, 1), append(p.Observed, 0.5)
		if i < missed {
			p.Observed[i] = 2
		}
	}
	return p
}

func specOf(t *testing.T, k metrics.Kind, list string) eval.Spec {
	t.Helper()
	s := eval.Spec{Classes: 3, Kind: k}
	if k == metrics.Quantiles {
		s.Levels = []float64{0.05, 0.5, 0.95}
	}
	var err error
	if s.Metrics, err = eval.ParseMetrics(list, s.Shape()); err != nil {
		t.Fatal(err)
	}
	return s
}

func forecastDocument(t *testing.T, p *metrics.Predictions, list string) *Document {
	t.Helper()
	e, err := eval.New(specOf(t, p.Kind, list))
	if err != nil {
		t.Fatal(err)
	}
	if p.Rows > 0 {
		if err := e.AddSource(&source{p}, nil); err != nil {
			t.Fatal(err)
		}
	}
	return New(e)
}

func TestForecastVerdict(t *testing.T) {
	for _, c := range []struct {
		name, list string
		p          *metrics.Predictions
		want       string
	}{
		{"none", "default", normalsOf(0, 1, 1), "0 rows: nothing to judge."},
		{"one", "default", normalsOf(1, 1, 2), "1 row. Off by 1.00000 (RMSE), says 2.00000: too few rows to judge."},
		{"over", "default", normalsOf(600, 2, 1), "600 rows. Off by 2.00000 (RMSE), says 1.01003: errors are 98% larger than stated: overconfident."},
		{"under", "default", normalsOf(600, 1, 2), "600 rows. Off by 1.00000 (RMSE), says 2.02007: errors are 50.5% smaller than stated: underconfident."},
		{"right", "default", normalsOf(3, 1, 0.99), "3 rows. Off by 1.00000 (RMSE), says 0.99993: no overall miscalibration of the spread seen at this N."},
		{"heavy tails", "default", tailed(600), "600 rows. Off by 3.01481 (RMSE), says 1.01003: errors are 198% larger than stated: overconfident, but the 90% intervals hold 99.0% [97.8, 99.5]: underconfident for most rows."},
		{"without the spread", "nll", normalsOf(600, 1, 2), "600 rows."},
		{"crps alone", "crps", normalsOf(600, 1, 2), "600 rows. Off by "},
		{"no quantiles", "default", quantilesOf(0, 0), "0 rows x 3 quantiles: nothing to judge."},
		{"narrow", "default", quantilesOf(400, 200), "400 rows x 3 quantiles. The 90% intervals hold 50.0% [45.1, 54.9]: too narrow."},
		{"wide", "default", quantilesOf(400, 0), "400 rows x 3 quantiles. The 90% intervals hold 100.0% [99.0, 100.0]: too wide."},
		{"as said", "default", quantilesOf(400, 40), "400 rows x 3 quantiles. The 90% intervals hold 90.0% [86.7, 92.6]: no miscalibration of them seen at this N."},
		{"samples", "coverage_90", samplesOf(500, 3), "500 rows x 3 samples. The 90% intervals hold 20.0% [16.7, 23.7], calibrated samples would hold 45.0%: too narrow."},
		{"without coverage", "ae_median", quantilesOf(400, 40), "400 rows x 3 quantiles."},
	} {
		got := forecastDocument(t, c.p, c.list).Verdict()
		if got != c.want && !(c.name == "crps alone" && strings.HasPrefix(got, c.want)) {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, c.want)
		}
	}
	// The 90% end is in the interval.
	d, q := forecastDocument(t, normalsOf(600, 2, 1), "rmse,sharpness_root,rce"), forecastDocument(t, quantilesOf(400, 40), "default")
	for _, c := range []struct {
		low, high float64
		hold      string
	}{
		{math.NaN(), math.NaN(), ""}, {0, 0.9, "no miscalibration of them"}, {-1, 0, "too narrow"}, {0.9, 1, "no miscalibration of them"},
		{math.Nextafter(0.9, 1), 1, "too wide"}, {0.5, math.Nextafter(0.9, 0), "too narrow"},
	} {
		q.Find("coverage_90").Interval = metrics.Interval{Low: c.low, High: c.high}
		if got := q.Verdict(); !strings.Contains(got, c.hold) || c.hold == "" && strings.Contains(got, "hold") {
			t.Errorf("[%v, %v]: %s, want %q", c.low, c.high, got, c.hold)
		}
	}
	// At 4% the mean is beyond chance a little farther out than where its interval excludes 0.
	for _, c := range []struct {
		value, low, high float64
		want             string
	}{
		{-1, math.NaN(), math.NaN(), "too few rows to judge"}, {-1, -2, 1e-9, "no overall miscalibration"}, {-1, -2, -1e-9, "no overall miscalibration"},
		{-1, -1.94, -0.06, "overconfident"}, {0.5, 0.04, 0.96, "underconfident"}, {0.5, 0.01, 0.99, "no overall miscalibration"},
		{0.5, 0.5, 0.5, "underconfident"}, {0, 0, 0, "no overall miscalibration"},
	} {
		m := d.Find("rce")
		m.Value.Value, m.Interval = c.value, metrics.Interval{Low: c.low, High: c.high}
		if got := d.Verdict(); !strings.Contains(got, c.want) {
			t.Errorf("%v [%v, %v]: %s, want %q", c.value, c.low, c.high, got, c.want)
		}
	}
}

// inGroups returns predictions in one chunk, with row i in group i modulo n.
type inGroups struct {
	source
	n int
}

func (s *inGroups) Next() (*metrics.Chunk, error) {
	c, err := s.source.Next()
	if err == io.EOF {
		return nil, err
	}
	for i := range c.Rows {
		c.Groups = append(c.Groups, int32(i%s.n))
	}
	return c, err
}

// documentOf returns the document of rows in n groups, named by name.
func documentOf(t *testing.T, p *metrics.Predictions, list string, n int, columns []string, name func(i int) []string) *Document {
	t.Helper()
	g, err := grouped.New(specOf(t, p.Kind, list), columns)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.AddSource(&inGroups{source{p}, n}, func(i int32) []string { return name(int(i)) }, nil); err != nil {
		t.Fatal(err)
	}
	return OfGroups(g, grouped.TestOptions{})
}

func TestForecastDocumentShape(t *testing.T) {
	for _, c := range []struct {
		p     *metrics.Predictions
		input string
	}{
		{normalsOf(60, 1, 1), `{"rows":60,"dtype":"float64","kind":"normal","dropped":0,"binary":false,"weighted":false,"task":"regression","distribution":"normal"}`},
		{quantilesOf(60, 7), `{"rows":60,"levels":[0.05,0.5,0.95],"dtype":"float64","kind":"quantiles","dropped":0,"binary":false,"weighted":false,"task":"quantiles"}`},
	} {
		columns := []string{"model", "a \"quoted\" column"}
		d := documentOf(t, c.p, "all", 4, columns, func(i int) []string { return []string{fmt.Sprintf("m%d", i/2), []string{"x,y", "<ü>"}[i%2]} })
		b, err := d.JSON()
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]json.RawMessage
		if err := json.Unmarshal(b, &doc); err != nil {
			t.Fatal(err)
		}
		keys := func(m map[string]json.RawMessage) string {
			var l []string
			for k := range m {
				l = append(l, k)
			}
			slices.Sort(l)
			return strings.Join(l, " ")
		}
		if got := keys(doc); got != "groups input metrics schema state verdict warnings" {
			t.Errorf("the document has %s", got)
		}
		var in bytes.Buffer
		if err := json.Compact(&in, doc["input"]); err != nil || in.String() != c.input {
			t.Errorf("%s, want %s", in.String(), c.input)
		}
		var groups []map[string]json.RawMessage
		if err := json.Unmarshal(doc["groups"], &groups); err != nil || len(groups) != 4 {
			t.Fatalf("%d groups, %v", len(groups), err)
		}
		for i, g := range groups {
			if got := keys(g); got != "group input metrics state verdict warnings" {
				t.Errorf("a group has %s", got)
			}
			var by bytes.Buffer
			want := fmt.Sprintf(`{"model":"m%d","a \"quoted\" column":"%s"}`, i/2, []string{"<ü>", "x,y"}[i%2])
			if err := json.Compact(&by, g["group"]); err != nil || by.String() != want {
				t.Errorf("group %d is %s, want %s", i, by.String(), want)
			}
			var ms map[string]map[string]any
			if err := json.Unmarshal(g["metrics"], &ms); err != nil || len(ms) != len(d.Metrics) {
				t.Errorf("group %d has %d metrics of %d, %v", i, len(ms), len(d.Metrics), err)
			}
		}
		// Every line of the CSV names its group; lines of the whole name none.
		var out bytes.Buffer
		if err := d.Table(&out, CSV, 0); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&out).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		if len(lines) != 1+5*len(d.Metrics) || !slices.Equal(lines[0][:2], columns) {
			t.Fatalf("%d lines, of %v", len(lines), lines[0])
		}
		count := map[string]int{}
		for _, l := range lines[1:] {
			count[l[0]+"|"+l[1]]++
		}
		for _, of := range []string{"|", "m0|x,y", "m0|<ü>", "m1|x,y", "m1|<ü>"} {
			if count[of] != len(d.Metrics) {
				t.Errorf("%d lines of %q: %v", count[of], of, count)
			}
		}
	}
}

func TestGroupsTable(t *testing.T) {
	long := strings.Repeat("Ein sehr langer Name für Überraschungen ", 3)
	for _, c := range []struct {
		name   string
		groups int
		of     func(i int) []string
	}{
		{"two", 2, func(i int) []string { return []string{fmt.Sprint("g", i)} }},
		{"forty", 40, func(i int) []string { return []string{fmt.Sprintf("g%02d", i)} }},
		{"fifty", 50, func(i int) []string { return []string{fmt.Sprintf("g%02d", i)} }},
		{"long", 3, func(i int) []string { return []string{fmt.Sprint(long, i)} }},
		{"wide", 3, func(i int) []string { return []string{[]string{"日本語", "ünï", "e\u0301"}[i]} }},
		{"bars", 2, func(i int) []string { return []string{fmt.Sprintf("a|b%d", i)} }},
	} {
		d := documentOf(t, normalsOf(200, 1, 1), "all", c.groups, []string{"model"}, c.of)
		var before int
		for _, width := range []int{60, 100, 200, 0} {
			var b bytes.Buffer
			if err := d.GroupsTable(&b, Plain, width); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
			shown := min(c.groups, mostGroups)
			note := strings.Join(lines[min(len(lines), shown+1):], " ")
			if len(lines) > shown+3 || !strings.HasSuffix(note, ": format csv, markdown or json has all)") || strings.Contains(note, "10 more groups") != (c.groups == 50) {
				t.Errorf("%s at %d: %d lines:\n%s", c.name, width, len(lines), b.String())
			}
			// Every metric that fits is there. No line is wider than the screen, unless a single metric is.
			head := strings.Fields(lines[0])
			if head[0] != "model" || head[1] != "rows" || head[2] != d.Metrics[0].Key {
				t.Errorf("%s at %d: the head is %q", c.name, width, head)
			}
			if w := width; w > 0 {
				columns(t, fmt.Sprintf("%s at %d", c.name, w), b.String(), w)
			}
			if rest := fmt.Sprintf("%d more metric", len(d.Metrics)-(len(head)-2)); len(d.Metrics) > len(head)-2 && !strings.Contains(note, rest) {
				t.Errorf("%s at %d: %s, want %s", c.name, width, note, rest)
			}
			if width > 0 {
				if len(head) < before {
					t.Errorf("%s at %d: fewer metrics than of a narrower screen", c.name, width)
				}
				before = len(head)
			}
			for i := range shown {
				if !strings.Contains(b.String(), valueName(d.Groups[i].Values[0], Plain)) {
					t.Errorf("%s at %d: no group %q", c.name, width, d.Groups[i].Values[0])
				}
			}
		}
		var md bytes.Buffer
		if err := d.GroupsTable(&md, Markdown, 0); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(md.String(), "\n"), "\n")
		bars := strings.Count(strings.ReplaceAll(lines[0], `\|`, ""), "|")
		if len(lines) != c.groups+2 || bars != 3+len(d.Metrics) {
			t.Errorf("%s: %d lines, %d bars:\n%s", c.name, len(lines), bars, md.String())
		}
		for _, l := range lines {
			if n := strings.Count(strings.ReplaceAll(l, `\|`, ""), "|"); n != bars {
				t.Errorf("%s: a line of %d bars: %s", c.name, n, l)
			}
		}
	}
	// If everything fits, there is no note.
	var b bytes.Buffer
	if err := documentOf(t, normalsOf(20, 1, 1), "rmse", 2, []string{"k"}, func(i int) []string { return []string{fmt.Sprint(i)} }).GroupsTable(&b, Plain, 80); err != nil {
		t.Fatal(err)
	}
	if want := " k  rows     rmse\n 0    10  1.00000\n 1    10  1.00000\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}
