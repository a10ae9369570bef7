package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/predictions"
)

// gbsg2 are predictions of a Cox regression for women with breast cancer, in whose file testdata/oracle/make_survival.py put them.
const gbsg2 = "../../testdata/examples/gbsg2.csv"

var gbsg2Flags = []string{"--task", "survival", "--prob-prefix", "risk_", "--horizons", "720,1440"}

// lives are the columns of gbsg2, by name.
func lives(t *testing.T) (names []string, columns [][]float64) {
	t.Helper()
	f, err := os.Open(gbsg2)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	columns = make([][]float64, len(rows[0]))
	for _, r := range rows[1:] {
		for j, s := range r {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil {
				t.Fatal(err)
			}
			columns[j] = append(columns[j], v)
		}
	}
	return rows[0], columns
}

// TestSurvivalIsScikitSurvival compares the figures of a real set with those of scikit-survival 0.28 and lifelines 0.30.
func TestSurvivalIsScikitSurvival(t *testing.T) {
	var want struct {
		Rows, Events int
		Horizons     []map[string]float64
		Integrated   float64 `json:"brier_integrated"`
	}
	check.Golden(t, "../../testdata/oracle", "survival.json", &want)
	doc := evaluate(t, append([]string{gbsg2, "--metrics", "all"}, gbsg2Flags...)...)
	for _, h := range want.Horizons {
		for name, w := range h {
			if name == "time" {
				continue
			}
			key := fmt.Sprintf("%s(horizon=%v)", name, h["time"])
			if got := doc.value(t, key); !(math.Abs(got-w) <= 1e-12) {
				t.Errorf("%s is %v, want %v", key, got, w)
			}
		}
	}
	if got := doc.value(t, "brier_integrated"); !(math.Abs(got-want.Integrated) <= 1e-12) {
		t.Errorf("brier_integrated is %v, want %v", got, want.Integrated)
	}
	if v := doc.Verdict; !strings.HasPrefix(v, "343 rows, 143 events, 200 censored. By 720 it expects the event in 26.6% of the rows, and 22.6% [18.0, 27.1] have it: ") {
		t.Errorf("the verdict is %q", v)
	}
}

// TestSurvivalForms: the same rows in every format give the same answers.
func TestSurvivalForms(t *testing.T) {
	names, columns := lives(t)
	n := len(columns[0])
	d := newDir(t)
	var times, risks, alive []float64
	var list []string
	for j, name := range names[2:] {
		v, _ := strconv.ParseFloat(strings.TrimPrefix(name, "risk_"), 64)
		times, list = append(times, v), append(list, names[2+j][5:])
	}
	for i := range n {
		for _, c := range columns[2:] {
			risks, alive = append(risks, c[i]), append(alive, 1-c[i])
		}
	}
	vector := func(v []float64) []byte { return npy(t, []int64{int64(n)}, v) }
	matrix := npy(t, []int64{int64(n), int64(len(times))}, risks)
	table := func(name string) string {
		f, ok := predictions.TableFormatOf(name)
		if !ok {
			t.Fatal(name)
		}
		var b bytes.Buffer
		l, cells := make([]predictions.Column, len(names)), make([]predictions.Cells, len(names))
		for j := range names {
			l[j], cells[j] = predictions.Column{Name: names[j], Type: predictions.Float64Column}, predictions.Cells{Float64: columns[j]}
		}
		w, err := predictions.NewTableWriter(&b, f, l)
		if err == nil {
			err = w.Write(n, cells)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		return d.put(name, b.Bytes())
	}
	curve := []string{"--task", "survival", "--horizons", "720,1440", "--curve-times", strings.Join(list, ",")}
	backwards := slices.Clone(list)
	slices.Reverse(backwards)
	var prob []string
	for _, s := range backwards {
		prob = append(prob, "risk_"+s)
	}
	want := evaluate(t, append([]string{gbsg2}, gbsg2Flags...)...)
	for what, args := range map[string][]string{
		"npz":     append([]string{d.put("a.npz", npz(t, "risks.npy", matrix, "time.npy", vector(columns[0]), "event.npy", vector(columns[1])))}, curve...),
		"named":   append([]string{d.put("b.npz", npz(t, "risks.npy", matrix, "t1.npy", vector(columns[0]), "e1.npy", vector(columns[1]))), "--time", "t1", "--event", "e1"}, curve...),
		"npy":     append([]string{d.put("risks.npy", matrix), "--time", d.put("time.npy", vector(columns[0])), "--event", d.put("event.npy", vector(columns[1]))}, curve...),
		"alive":   append([]string{d.put("c.npz", npz(t, "survival.npy", npy(t, []int64{int64(n), int64(len(times))}, alive), "time.npy", vector(columns[0]), "event.npy", vector(columns[1]))), "--input", "survival"}, curve...),
		"parquet": append([]string{table("t.parquet")}, gbsg2Flags...),
		"arrow":   append([]string{table("t.arrow")}, gbsg2Flags...),
		"columns": {table("t.csv"), "--task", "survival", "--horizons", "720,1440", "--prob", strings.Join(prob, ","), "--curve-times", strings.Join(backwards, ",")},
	} {
		got := evaluate(t, args...)
		for _, key := range []string{"cce(horizon=720)", "brier_ipcw(horizon=1440)", "d_calibration_p", "brier_integrated"} {
			if g, w := got.value(t, key), want.value(t, key); !(math.Abs(g-w) <= 1e-12) {
				t.Errorf("%s: %s is %v, want %v", what, key, g, w)
			}
		}
		if got.Verdict != want.Verdict {
			t.Errorf("%s: %s", what, got.Verdict)
		}
	}
}

// TestSurvivalTruthValues: events may be true and false, in letters of any case, and times may not.
func TestSurvivalTruthValues(t *testing.T) {
	d := newDir(t)
	var number, word, lines strings.Builder
	number.WriteString("time,event,risk\n")
	word.WriteString("time,event,risk\n")
	for i := range 40 {
		happened := i%3 == 0
		e := 0
		if happened {
			e = 1
		}
		row := func(event string) string { return fmt.Sprintf("%d,%s,0.%02d\n", 1+i%7, event, 10+i) }
		number.WriteString(row(strconv.Itoa(e)))
		word.WriteString(row([]string{"TRUE", "false", "False", "true", "FALSE", "fAlse"}[i%6]))
		fmt.Fprintf(&lines, `{"time":%d,"event":%t,"risk":0.%02d}`+"\n", 1+i%7, happened, 10+i)
	}
	flags := []string{"--task", "survival", "--prob", "risk", "--horizons", "5"}
	var want string
	for _, f := range []struct{ name, content string }{{"n.csv", number.String()}, {"w.csv", word.String()}, {"w.jsonl", lines.String()}} {
		state := d.at(f.name + ".state")
		printed(t, append([]string{"eval", d.put(f.name, []byte(f.content)), "--state", state}, flags...)...)
		if got := string(d.read(state)); want == "" {
			want = got
		} else if got != want {
			t.Errorf("%s: another state", f.name)
		}
	}
	for what, c := range map[string][2]string{
		"a text":       {"time,event,risk\n1,yes,0.2\n", `line 2: column "event": "yes" is neither a number nor true or false`},
		"times":        {"time,event,risk\ntrue,1,0.2\n", `line 2: column "time": "true" is not a number`},
		"other values": {"time,event,risk\n1,1,true\n", `line 2: column "risk": "true" is not a number`},
	} {
		if code, _, errs := candor(t, append([]string{"eval", d.put("bad.csv", []byte(c[0]))}, flags...)...); code != exitData || !strings.Contains(errs, c[1]) {
			t.Errorf("%s: exit code %d, %s", what, code, errs)
		}
	}
}

// TestSurvivalMerges: shards in any order give the document of the whole, and inspect says what a state has.
func TestSurvivalMerges(t *testing.T) {
	d := newDir(t)
	lines := strings.SplitAfter(string(d.read(gbsg2)), "\n")
	a := d.put("a.csv", []byte(strings.Join(lines[:100], "")))
	b := d.put("b.csv", []byte(lines[0]+strings.Join(lines[100:], "")))
	for _, f := range []string{a, b} {
		if code, _, errs := candor(t, append([]string{"eval", f, "--state", f + ".state"}, gbsg2Flags...)...); code != 0 {
			t.Fatal(errs)
		}
	}
	_, want, _ := candor(t, append([]string{"eval", gbsg2, "--json"}, gbsg2Flags...)...)
	checkSchema(t, want)
	if code, got, errs := candor(t, "merge", b+".state", a+".state", "--json"); code != 0 || got != want {
		t.Errorf("merged: exit code %d, %s\n%s\nwant\n%s", code, errs, got, want)
	}
	if code, out, _ := candor(t, "inspect", a+".state"); code != 0 || !strings.Contains(out, "survival.Kept") || !strings.Contains(out, "float64 survival") {
		t.Errorf("inspect: %s", out)
	}
	if code, _, errs := candor(t, append([]string{"eval", a, "--state", a + ".state"}, "--task", "survival", "--prob-prefix", "risk_", "--horizons", "720")...); code != 0 {
		t.Fatal(errs)
	}
	if code, _, errs := candor(t, "merge", b+".state", a+".state"); code == 0 || !strings.Contains(errs, "horizons [720 1440] and at [720]") {
		t.Errorf("other horizons: %s", errs)
	}
}

// TestSurvivalGates: gates name a horizon where there are several.
func TestSurvivalGates(t *testing.T) {
	for _, c := range []struct {
		gate string
		code int
		said string
	}{
		{"brier_ipcw(horizon=720)>0.2", 0, ""},
		{"brier_ipcw(horizon=720)>0.1", 1, "gate failed"},
		{"brier_ipcw>0.1", 2, "name one, such as brier_ipcw(horizon=720)"},
		{"brier_ipcw(horizon=700)>0.1", 2, "no column has the probability at 700; the nearest of the times are 360, 540, 720, 900"},
	} {
		if code, _, errs := candor(t, append([]string{"eval", gbsg2, "--fail-if", c.gate}, gbsg2Flags...)...); code != c.code || !strings.Contains(errs, c.said) {
			t.Errorf("%s: exit code %d, %s", c.gate, code, errs)
		}
	}
	if code, _, errs := candor(t, "eval", gbsg2, "--task", "survival", "--prob", "risk_720", "--horizons", "720", "--fail-if", "brier_ipcw>0.1"); code != 1 {
		t.Errorf("one horizon: exit code %d, %s", code, errs)
	}
}

// TestSurvivalRefuses: bad input is an error that says where and what to do, or null with a reason.
func TestSurvivalRefuses(t *testing.T) {
	d := newDir(t)
	head := "time,event,risk_1,risk_5\n"
	good := "0.5,1,0.1,0.4\n2,0,0.1,0.4\n7,1,0.2,0.6\n8,0,0.2,0.6\n3,1,0.05,0.9\n"
	two := []string{"--prob-prefix", "risk_"}
	for _, c := range []struct {
		rows  string
		flags []string
		want  string
	}{
		{"0,1,0.1,0.2\n", two, `line 7, column "time": time is 0; times are above 0`},
		{"-3,1,0.1,0.2\n", two, "time is -3; times are above 0"},
		{"inf,1,0.1,0.2\n", two, `column "time": time is +Inf`},
		{"3,2,0.1,0.2\n", two, `line 7, column "event": event is 2; it is 1 if the event happened`},
		{"3,0.5,0.1,0.2\n", two, "event is 0.5"},
		{"3,1,0.3,0.2\n", two, "line 7, time 5: probability of the event is 0.2, below that at the time before it"},
		{"3,1,0.3,1.2\n", two, "line 7, time 5: probability of the event is 1.2, outside [0, 1]"},
		{"3,1,,0.2\n", two, "line 7, time 1: probability of the event is NaN"},
		{"", []string{"--prob-prefix", "p_"}, `no column is named "p_365" or like it`},
		{"", []string{"--prob", "risk_1"}, "name these by --horizons"},
		{"", []string{"--prob", "risk_1,risk_5", "--horizons", "1"}, "--prob names 2 columns, and there are 1 times"},
		{"", append([]string{"--horizons", "2"}, two...), "no column has the probability at 2; the times are 1, 5"},
		{"", append([]string{"--horizons", "0"}, two...), "give times above 0"},
		{"", append([]string{"--horizons", "1,1"}, two...), "give times above 0, each once"},
		{"", append([]string{"--time", "days"}, two...), `no column "days" for the time`},
		{"", append([]string{"--event", "died"}, two...), `no column "died" for the event`},
		{"", append([]string{"--input", "logits"}, two...), "of --task survival it is probs"},
		{"", append([]string{"--like", "guo"}, two...), "--like guo does not go with --task survival"},
		{"", append([]string{"--metrics", "ece"}, two...), "metric ece: it is for"},
		{"", append([]string{"--metrics", "cce(horizon=3)"}, two...), "no column has the probability at 3"},
		{"", append([]string{"--metrics", "cce(folds=1)"}, two...), `folds is "1"`},
	} {
		f := d.put("t.csv", []byte(head+good+c.rows))
		code, _, errs := candor(t, append([]string{"eval", f, "--task", "survival"}, c.flags...)...)
		exit := exitUsage
		if c.rows != "" || strings.HasPrefix(c.want, "no column") && strings.Contains(errs, "its columns are") {
			exit = exitData
		}
		if code != exit || !strings.Contains(errs, c.want) {
			t.Errorf("%q %v: exit code %d, %s; want %s", c.rows, c.flags, code, errs, c.want)
		}
	}
	for _, c := range []struct{ rows, key, want string }{
		{"0.5,0,0.1,0.2\n9,0,0.2,0.4\n", "bias_km(horizon=5)", "all rows are censored"},
		{"2,1,0.1,0.2\n9,0,0.2,0.4\n", "brier_ipcw(horizon=1)", "no row has the event by 1"},
		{"0.5,1,0.1,0.2\n3,0,0.2,0.4\n", "auroc_ipcw(horizon=5)", "the horizon 5 lies beyond the last time, 3"},
		{good, "cce(horizon=5)", "are too few for 5 folds"},
	} {
		doc := evaluate(t, append([]string{d.put("t.csv", []byte(head+c.rows)), "--task", "survival"}, two...)...)
		if m, ok := doc.Metrics[c.key]; !ok || !strings.Contains(m.Reason, c.want) {
			t.Errorf("%s: the reason is %q, want %q", c.key, m.Reason, c.want)
		}
	}
	// Arrays: a fault of a time or an event is in its own array, and a column has a time.
	vector := func(v ...float64) []byte { return npy(t, []int64{int64(len(v))}, v) }
	matrix := func(v ...float64) []byte { return npy(t, []int64{3, 2}, v) }
	for _, c := range []struct {
		risks, time, event []byte
		want               string
	}{
		{matrix(0.1, 0.2, 0.1, 0.2, 0.1, 0.2), vector(1, 0, 2), vector(1, 0, 1), ":time: row 1: time is 0; times are above 0"},
		{matrix(0.1, 0.2, 0.1, 0.2, 0.1, 0.2), vector(1, 3, 2), vector(1, 0, 2), ":event: row 2: event is 2; it is 1 if"},
		{matrix(0.1, 0.2, 0.3, 0.2, 0.1, 0.2), vector(1, 3, 2), vector(1, 0, 1), ":risks: row 1, time 5: probability of the event is 0.2, below that at the time before it"},
		{matrix(0.1, 0.2, 0.1, 0.2, -1, 0.2), vector(1, 3, 2), vector(1, 0, 1), ":risks: row 2, time 1: probability of the event is -1, outside [0, 1]"},
	} {
		f := d.put("a.npz", npz(t, "risks.npy", c.risks, "time.npy", c.time, "event.npy", c.event))
		if code, _, errs := candor(t, "eval", f, "--task", "survival", "--horizons", "1,5"); code != exitData || !strings.Contains(errs, "a.npz"+c.want) {
			t.Errorf("exit code %d, %s; want %s", code, errs, c.want)
		}
		alone := []string{"--task", "survival", "--horizons", "1,5", "--time", d.put("t.npy", c.time), "--event", d.put("e.npy", c.event)}
		want := strings.NewReplacer(":time:", "t.npy:", ":event:", "e.npy:", ":risks:", "risks.npy:").Replace(c.want)
		if code, _, errs := candor(t, append([]string{"eval", d.put("risks.npy", c.risks)}, alone...)...); code != exitData || !strings.Contains(errs, want) {
			t.Errorf("exit code %d, %s; want %s", code, errs, want)
		}
	}
	// Of two models the fault comes before what they disagree about.
	bad, fine := d.put("bad.csv", []byte(head+good+"0,1,0.1,0.2\n")), d.put("fine.csv", []byte(head+good+"4,1,0.1,0.2\n"))
	if code, _, errs := candor(t, append([]string{"compare", fine, bad, "--task", "survival"}, two...)...); code != exitData || !strings.Contains(errs, `line 7, column "time": time is 0`) {
		t.Errorf("exit code %d, %s", code, errs)
	}
	dropped := evaluate(t, append([]string{d.put("t.csv", []byte(head+good+"0,1,0.1,0.2\n")), "--task", "survival", "--on-invalid", "drop"}, two...)...)
	if dropped.Input.Rows != 5 || dropped.Input.Dropped != 1 {
		t.Errorf("%+v", dropped.Input)
	}
	for _, flags := range [][]string{{"--time", "time"}, {"--horizons", "5"}, {"--curve-times", "5"}, {"--input", "survival"}} {
		if code, _, errs := candor(t, append([]string{"eval", gbsg2}, flags...)...); code != 2 || !strings.Contains(errs, "is for --task survival") {
			t.Errorf("%v: exit code %d, %s", flags, code, errs)
		}
	}
}

// lifeSites are the rows of gbsg2 in 40 clusters, and the same with the predictions of another model.
func lifeSites(t testing.TB, d *dir) (a, b string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(string(d.read(gbsg2))), "\n")
	var first, second strings.Builder
	for i, line := range lines {
		cells := strings.Split(line, ",")
		site := "site"
		if i > 0 {
			site = fmt.Sprintf("h%02d", i*7%40)
		}
		first.WriteString(line + "," + site + "\n")
		for j := 2; j < len(cells) && i > 0; j++ {
			p, err := strconv.ParseFloat(cells[j], 64)
			if err != nil {
				t.Fatal(err)
			}
			cells[j] = strconv.FormatFloat(p*float64(2+i%5)/6, 'g', -1, 64)
		}
		second.WriteString(strings.Join(cells, ",") + "," + site + "\n")
	}
	return d.put("a.csv", []byte(first.String())), d.put("b.csv", []byte(second.String()))
}

// TestSurvivalClusters: values are those without clusters, intervals are by them, shards merge, and what has no form for clusters says so.
func TestSurvivalClusters(t *testing.T) {
	d := newDir(t)
	a, _ := lifeSites(t, d)
	args := with([]string{a, "--cluster", "site", "--metrics", "all"}, gbsg2Flags...)
	plain, got := evaluate(t, with([]string{a, "--metrics", "all"}, gbsg2Flags...)...), evaluate(t, args...)
	if len(got.Metrics) != len(plain.Metrics) {
		t.Fatalf("%d metrics and %d", len(got.Metrics), len(plain.Metrics))
	}
	for name, w := range plain.Metrics {
		g := got.Metrics[name]
		switch had := w.Low != nil; {
		case g.Value != w.Value:
			t.Errorf("%s: %v, without clusters %v", name, g.Value, w.Value)
		case strings.HasPrefix(name, "cce"), !had:
			if g.Low != nil || g.Reason == "" {
				t.Errorf("%s: %+v", name, g)
			}
		case g.Low == nil || g.Low == w.Low:
			t.Errorf("%s: %+v, without clusters %+v", name, g, w)
		}
	}
	if !strings.Contains(printed(t, append([]string{"eval"}, args...)...), "40 clusters of site") {
		t.Error("the text does not name the clusters")
	}
	lines := strings.SplitAfter(string(d.read(a)), "\n")
	for i, part := range [][]string{lines[:90], append([]string{lines[0]}, lines[90:]...)} {
		f := d.put(fmt.Sprintf("p%d.csv", i), []byte(strings.Join(part, "")))
		printed(t, with([]string{"eval", f, "--cluster", "site", "--metrics", "all", "--state", f + ".state"}, gbsg2Flags...)...)
	}
	want := printed(t, append([]string{"eval", "--json"}, args...)...)
	if got := printed(t, "merge", "--json", d.at("p1.csv.state"), d.at("p0.csv.state")); got != want {
		t.Errorf("merged: %s\nwant %s", got, want)
	}
	checkSchema(t, want)
}

// TestSurvivalCompared: differences are those of the values, more certain than each, with and without clusters; states merge; rows are the same.
func TestSurvivalCompared(t *testing.T) {
	d := newDir(t)
	a, b := lifeSites(t, d)
	args := with([]string{"compare", a, b, "--metrics", "all"}, gbsg2Flags...)
	text := printed(t, args...)
	for _, w := range []string{"a is better than b: integrated Brier score lower by ", "Intervals of differences take rows as independent.", "it depends on the outcomes alone", "chance adds to it, and adds more where the"} {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
	for _, more := range [][]string{nil, {"--cluster", "site"}} {
		out := printed(t, append(with(args, "--json"), more...)...)
		checkSchema(t, out)
		var doc struct {
			Sets        []*document
			Differences []difference
		}
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Fatal(err)
		}
		have := 0
		for _, x := range doc.Differences {
			if x.Low == nil {
				if x.Reason == "" {
					t.Errorf("%s: neither interval nor reason", x.Metric)
				}
				continue
			}
			have++
			value, low, high, p := numberIn(t, x.Value), numberIn(t, x.Low), numberIn(t, x.High), numberIn(t, x.P)
			m, o := doc.Sets[0].Metrics[x.Metric], doc.Sets[1].Metrics[x.Metric]
			if math.Abs(value-(numberIn(t, o.Value)-numberIn(t, m.Value))) > 1e-15 || low > value || high < value || !(p > 0 && p <= 1) || !(high-low < numberIn(t, m.High)-numberIn(t, m.Low)+numberIn(t, o.High)-numberIn(t, o.Low)) {
				t.Errorf("%s: %v [%v, %v], values %v and %v", x.Metric, value, low, high, m.Value, o.Value)
			}
		}
		if have != 13 {
			t.Errorf("%d differences with an interval", have)
		}
		// A model and itself.
		for _, x := range listedDifferences(t, append(with([]string{a, a}, gbsg2Flags...), more...)...) {
			if x.Value != 0.0 || x.Low != nil && (x.Low != 0.0 || x.High != 0.0 || x.P != 1.0) {
				t.Errorf("itself: %+v", x)
			}
		}
		// Shards.
		var states []string
		for i, cut := range [][2]int{{0, 120}, {120, 343}} {
			var l []string
			for _, f := range []string{a, b} {
				lines := strings.SplitAfter(string(d.read(f)), "\n")
				dir := fmt.Sprintf("%d", i)
				if err := os.MkdirAll(d.at(dir), 0o755); err != nil {
					t.Fatal(err)
				}
				l = append(l, d.put(dir+"/"+f[len(f)-5:], []byte(lines[0]+strings.Join(lines[1+cut[0]:1+cut[1]], ""))))
			}
			states = append(states, l[0]+".state")
			printed(t, append(with([]string{"compare", l[0], l[1], "--metrics", "all", "--state", states[i]}, gbsg2Flags...), more...)...)
		}
		if got := printed(t, "merge", "--json", states[1], states[0]); got != out {
			t.Errorf("merged %v:\n%s\nwant\n%s", more, got, out)
		}
	}
	if out := printed(t, "compare", a, "--task", "survival", "--prob", "x=risk_720", "--prob", "y=risk_540", "--horizons", "720", "--metrics", "brier_ipcw,auroc_ipcw"); !strings.Contains(out, "AUROC") {
		t.Error(out)
	}
	lines := strings.SplitAfter(string(d.read(b)), "\n")
	for what, change := range map[string]func(cells []string){"time is 1, and": func(c []string) { c[0] = "1" }, "event is": func(c []string) { c[1] = map[string]string{"0": "1", "1": "0"}[c[1]] }} {
		l := slices.Clone(lines)
		cells := strings.Split(l[7], ",")
		change(cells)
		l[7] = strings.Join(cells, ",")
		code, _, errs := candor(t, with([]string{"compare", a, d.put("c.csv", []byte(strings.Join(l, "")))}, gbsg2Flags...)...)
		if code != exitData || !strings.Contains(errs, "row 6: the "+what) || !strings.Contains(errs, "name sets of the same rows") {
			t.Errorf("%s: exit code %d, %s", what, code, errs)
		}
	}
	printed(t, with(args, "--plot", d.at("differences.svg"), "--plot-kind", "differences")...)
	if s := string(d.read(d.at("differences.svg"))); !strings.Contains(s, "auroc_ipcw(horizon=1440)") {
		t.Error("a picture of differences without one")
	}
	if code, _, errs := candor(t, with(args, "--plot", d.at("x.svg"))...); code != exitUsage || !strings.Contains(errs, "draw each by candor eval") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

// TestSurvivalComparedGroups: each group is compared by its own rows, in every form; shards merge; a group without events has reasons.
func TestSurvivalComparedGroups(t *testing.T) {
	d := newDir(t)
	a, b := lifeSites(t, d)
	where := func(f string, of func(i int) string) string { // with a column of regions
		lines := strings.Split(strings.TrimSpace(string(d.read(f))), "\n")
		lines[0] += ",region"
		for i := range lines[1:] {
			lines[i+1] += "," + of(i)
		}
		return d.put("r-"+f[len(f)-5:], []byte(strings.Join(lines, "\n")+"\n"))
	}
	event := func(i int) bool { return strings.Split(strings.Split(string(d.read(a)), "\n")[i+1], ",")[1] == "1" }
	region := func(i int) string {
		if i%4 == 3 && !event(i) {
			return "quiet"
		}
		return "nsw"[i%3 : i%3+1]
	}
	x, y := where(a, region), where(b, region)
	for _, more := range [][]string{nil, {"--cluster", "site"}} {
		args := append(with([]string{"--group", "region", "--metrics", "all"}, gbsg2Flags...), more...)
		out := printed(t, with([]string{"compare", x, y, "--json"}, args...)...)
		g, raw := differencesByGroup(t, out)
		if len(g.Groups) != 4 || len(g.Metrics) != 13 || len(g.Says) == 0 || !strings.Contains(g.Says[0], "By Brier score by 720, ") {
			t.Fatal(raw)
		}
		for _, one := range g.Groups {
			if one.Group["region"] == "quiet" && (one.Differences[0].P != nil || !strings.Contains(raw, "all rows are censored, so no event says")) {
				t.Error(raw)
			}
		}
		// Shards.
		var states []string
		for i, cut := range [][2]int{{0, 120}, {120, 343}} {
			var l []string
			for _, f := range []string{x, y} {
				lines := strings.SplitAfter(string(d.read(f)), "\n")
				dir := fmt.Sprintf("%d", i)
				if err := os.MkdirAll(d.at(dir), 0o755); err != nil {
					t.Fatal(err)
				}
				l = append(l, d.put(dir+"/r-"+f[len(f)-5:], []byte(lines[0]+strings.Join(lines[1+cut[0]:1+cut[1]], ""))))
			}
			states = append(states, l[0]+".state")
			printed(t, with([]string{"compare", l[0], l[1], "--state", states[i]}, args...)...)
		}
		_, got := differencesByGroup(t, printed(t, "merge", "--json", states[1], states[0]))
		if got != raw {
			t.Errorf("merged %v:\n%s\nwant\n%s", more, got, raw)
		}
	}
	if text := printed(t, with([]string{"compare", x, y, "--group", "region"}, gbsg2Flags...)...); !strings.Contains(text, "Differences by region, r-b minus r-a:") {
		t.Error(text)
	}
	printed(t, with([]string{"compare", x, y, "--group", "region", "--plot", d.at("groups.svg"), "--plot-kind", "groups"}, gbsg2Flags...)...)
	if s := string(d.read(d.at("groups.svg"))); !strings.Contains(s, "brier_ipcw(horizon=720)") || !strings.Contains(s, "Differences by region") {
		t.Error("a picture of groups without their differences")
	}
	if code, _, errs := candor(t, with([]string{"compare", x, y, "--plot", d.at("none.svg"), "--plot-kind", "groups"}, gbsg2Flags...)...); code != exitUsage || !strings.Contains(errs, "pass --group COLUMN") {
		t.Errorf("exit code %d, %s", code, errs)
	}
	if code, _, errs := candor(t, with([]string{"compare", x, y, "--group", "region", "--metrics", "cce"}, gbsg2Flags...)...); code != exitUsage || !strings.Contains(errs, "of survival those with an interval") {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

// TestSurvivalMemory: rows that take more memory than there is are an error that names enough.
func TestSurvivalMemory(t *testing.T) {
	var b strings.Builder
	b.WriteString("time,event,risk_1\n")
	for i := range 120_000 {
		fmt.Fprintf(&b, "%d,%d,0.%d\n", 1+i%7, i%2, i%10)
	}
	f := newDir(t).put("t.csv", []byte(b.String()))
	args := []string{"eval", f, "--task", "survival", "--prob-prefix", "risk_", "--metrics", "bias_km", "--max-memory"}
	code, _, errs := candor(t, append(args, "56MiB")...)
	if code != 2 || !strings.Contains(errs, "all rows of survival are kept") || !strings.Contains(errs, "pass --max-memory") {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	_, size, _ := strings.Cut(errs, "--max-memory ")
	size, _, _ = strings.Cut(size, ",")
	if code, _, errs := candor(t, append(args, size)...); code != 0 {
		t.Errorf("with %s: exit code %d, %s", size, code, errs)
	}
	two := []string{"compare", f, f, "--task", "survival", "--prob-prefix", "risk_", "--metrics", "bias_km", "--max-memory"}
	if code, _, errs := candor(t, append(two, "80MiB")...); code != 2 || !strings.Contains(errs, "are kept, for each model and for their differences") || !strings.Contains(errs, "pass --max-memory") {
		t.Errorf("two models: exit code %d, %s", code, errs)
	}
	if code, _, errs := candor(t, append(two, "1GiB")...); code != 0 {
		t.Errorf("two models: exit code %d, %s", code, errs)
	}
}

// TestSurvivalPictures: a horizon has its diagram, several are drawn over each other, a state gives the same picture, and the page has one for each.
func TestSurvivalPictures(t *testing.T) {
	d := newDir(t)
	one, both, again, page, state := d.at("one.svg"), d.at("both.svg"), d.at("again.svg"), d.at("page.html"), d.at("s.state")
	printed(t, "eval", gbsg2, "--task", "survival", "--prob-prefix", "risk_", "--horizons", "720", "--plot", one)
	printed(t, with([]string{"eval", gbsg2, "--plot", both, "--state", state, "--html", page}, gbsg2Flags...)...)
	printed(t, "merge", state, "--plot", again)
	for _, c := range []struct {
		file string
		want []string
	}{
		{one, []string{"Reliability by 720", "By 720 it expects", "share with the event by then"}},
		{both, []string{"Reliability by horizon", "by 1440", "By 1440 it expects"}},
		{page, []string{"reliability-0", "reliability-1", "By 1440 it expects", "The bins as a table", "a lower bound", "smooth-0", "smooth-1", "proportional hazards", "How good is it over time?", "below it the model knows more"}},
	} {
		for _, w := range c.want {
			if !strings.Contains(string(d.read(c.file)), w) {
				t.Errorf("%s has no %q", c.file, w)
			}
		}
	}
	if !bytes.Equal(d.read(both), d.read(again)) {
		t.Error("a state gives another picture")
	}
	for kind, want := range map[string]string{"calibration": "Smooth calibration by horizon", "brier": "Brier score over time"} {
		file, again := d.at(kind+".svg"), d.at(kind+"-again.svg")
		printed(t, with([]string{"eval", gbsg2, "--plot", file, "--plot-kind", kind}, gbsg2Flags...)...)
		printed(t, "merge", state, "--plot", again, "--plot-kind", kind)
		if !strings.Contains(string(d.read(file)), want) || !bytes.Equal(d.read(file), d.read(again)) {
			t.Errorf("%s: no %q, or a state gives another picture", kind, want)
		}
	}
	refusedAs(t, d, exitUsage, []string{"eval", gbsg2, "--task", "survival", "--prob", "risk_720", "--horizons", "720", "--plot", d.at("x.svg"), "--plot-kind", "brier"}, "over several times")
	// The curve is that of the metric, and its first and last values those of brier_ipcw at these times.
	var doc struct {
		Curve []struct{ Time, Brier, Reference float64 } `json:"brier_curve"`
	}
	out := printed(t, with([]string{"eval", gbsg2, "--json", "--metrics", "brier_ipcw(horizon=180),brier_ipcw(horizon=2160)"}, gbsg2Flags...)...)
	if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Curve) != 12 {
		t.Fatalf("%d points, %v", len(doc.Curve), err)
	}
	scores := evaluate(t, with([]string{gbsg2, "--metrics", "brier_ipcw(horizon=180),brier_ipcw(horizon=2160)"}, gbsg2Flags...)...)
	for i, x := range map[int]float64{0: 180, 11: 2160} {
		if p := doc.Curve[i]; p.Time != x || p.Brier != scores.value(t, fmt.Sprintf("brier_ipcw(horizon=%v)", x)) || !(p.Reference > 0 && p.Reference <= 0.25) {
			t.Errorf("%+v", p)
		}
	}
	for _, c := range []struct{ flag, value, want string }{
		{"--plot-kind", "roc", "--plot-kind roc is not for survival"},
		{"--plot-y", "accuracy", "frequency and gap"},
	} {
		refusedAs(t, d, exitUsage, with([]string{"eval", gbsg2, "--plot", d.at("x.svg"), c.flag, c.value}, gbsg2Flags...), c.want)
	}
	printed(t, with([]string{"eval", gbsg2, "--plot", d.at("gap.svg"), "--plot-y", "gap"}, gbsg2Flags...)...)
}
