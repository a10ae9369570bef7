package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// frame is regression forecasts in memory, from which tests make tables and arrays.
type frame struct {
	names  []string // of the columns of numbers
	rows   [][]float64
	by     []string // and of those of text
	groups [][]string
}

// row adds one; the groups of row i are a site, which is a number, and a kind.
func (f *frame) row(v ...float64) {
	i := len(f.rows)
	f.rows = append(f.rows, v)
	f.groups = append(f.groups, []string{strconv.Itoa(i * i % 13 % 4 * 5), []string{"Cases", "Deaths, \"new\"", "ünïcode"}[i%7%3]})
}

func newFrame(names ...string) *frame { return &frame{names: names, by: []string{"site", "kind"}} }

// normalRows are means, standard deviations and what was observed.
func normalRows(seed uint64, n int) *frame {
	r := rand.New(rand.NewPCG(seed, 21))
	f := newFrame("mu", "sigma", "y")
	for range n {
		m, sd := 10*r.NormFloat64(), math.Exp(r.NormFloat64())
		f.row(m, sd, m+1.2*sd*r.NormFloat64())
	}
	return f
}

// quantileRows are five quantiles and what was observed, which at times is one of them.
func quantileRows(seed uint64, n int) *frame {
	r := rand.New(rand.NewPCG(seed, 22))
	f := newFrame("q0.05", "q0.25", "q0.5", "q0.75", "q0.95", "y")
	for range n {
		q := make([]float64, 6)
		for j := range 5 {
			q[j] = math.Round(20 * r.NormFloat64())
		}
		slices.Sort(q[:5])
		q[5] = math.Round(20 * r.NormFloat64())
		f.row(q...)
	}
	return f
}

// only returns the rows that want wants.
func (f *frame) only(want func(i int) bool) *frame {
	o := newFrame(f.names...)
	for i := range f.rows {
		if want(i) {
			o.rows, o.groups = append(o.rows, f.rows[i]), append(o.groups, f.groups[i])
		}
	}
	return o
}

func (f *frame) part(from, to int) *frame {
	return f.only(func(i int) bool { return i >= from && i < to })
}

// table returns the text of a table with a separator.
func (f *frame) table(separator string) []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, strings.Join(append(slices.Clone(f.by[:1]), append(slices.Clone(f.names), f.by[1])...), separator))
	for i, row := range f.rows {
		b.WriteString(f.groups[i][0] + separator)
		for _, v := range row {
			b.WriteString(strconv.FormatFloat(v, 'g', -1, 64) + separator)
		}
		fmt.Fprintf(&b, "\"%s\"\n", strings.ReplaceAll(f.groups[i][1], `"`, `""`))
	}
	return b.Bytes()
}

func (f *frame) csv() []byte { return f.table(",") }

// matrix returns some of the columns as an array of float64.
func (f *frame) matrix(t testing.TB, columns ...int) []byte {
	var v []float64
	for _, row := range f.rows {
		for _, c := range columns {
			v = append(v, row[c])
		}
	}
	shape := []int64{int64(len(f.rows)), int64(len(columns))}
	if len(columns) == 1 {
		shape = shape[:1]
	}
	return npy(t, shape, v)
}

// printed is what a command line that has to succeed prints.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errs := candor(t, args...)
	if code != 0 {
		t.Fatalf("candor %v: exit code %d: %s", args, code, errs)
	}
	return out
}

func zipped(t testing.TB, b []byte) []byte {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return z.Bytes()
}

// forecastTasks are the tasks of forecasts that tables have, with the flags that name their columns, and lists of metrics without
// those that draw random numbers by the rows' places.
var forecastTasks = []struct {
	name    string
	rows    func(seed uint64, n int) *frame
	flags   []string
	metrics string
	kind    metrics.Kind
}{
	{"regression", normalRows, []string{"--task", "regression", "--mean", "mu", "--std", "sigma", "--observed", "y"}, "all,coverage(level=0.8),ence(bins=4),miscalibration_area(form=interval,bins=10)", metrics.Normals},
	{"quantiles", quantileRows, []string{"--task", "quantiles", "--quantile-prefix", "q", "--observed", "y"},
		"crps,wis,wis_dispersion,wis_underprediction,wis_overprediction,ae_median,coverage_50,coverage_90,coverage(level=0.8),width_50,width_90,interval_score,pinball,pinball(level=0.95)," +
			"miscalibration_area,miscalibration_area(form=plain),quantile_mse", metrics.Quantiles},
}

// TestForecastLayoutsAreOneDocument: whatever holds the numbers and however they are read, the document is one.
func TestForecastLayoutsAreOneDocument(t *testing.T) {
	levels := []string{"--task", "quantiles", "--levels", "0.05,0.25,0.5,0.75,0.95"}
	for _, c := range forecastTasks {
		d, f := newDir(t), c.rows(1, 301)
		with := func(args ...string) []string { return append(args, c.flags...) }
		a, b := d.put("a-1.csv", f.part(0, 90).csv()), d.put("a-2.csv", f.part(90, 301).csv())
		all := d.put("all.csv", f.csv())
		layouts := [][]string{with(all), append(with(all), "--threads", "1"), with(d.put("all.csv.gz", zipped(t, f.csv()))), with(d.put("all.tsv", f.table("\t"))),
			with(d.put("semicolons.txt", f.table(";"))), with(a, b), with(b, a),
			with(d.put("crlf.csv", bytes.ReplaceAll(f.csv(), []byte("\n"), []byte("\r\n")))), with(d.put("mark.csv", append([]byte("\ufeff"), f.csv()...)))}
		if c.kind == metrics.Normals {
			layouts = append(layouts, []string{d.put("all.npy", f.matrix(t, 0, 1, 2)), "--task", "regression"},
				[]string{d.put("mixed.npy", f.matrix(t, 2, 0, 1)), "--task", "regression", "--mean", "1", "--std", "2", "--observed", "0"},
				[]string{d.put("n-1.npy", f.part(0, 40).matrix(t, 0, 1, 2)), d.put("n-2.npy", f.part(40, 301).matrix(t, 0, 1, 2)), "--task", "regression"},
				[]string{d.put("two.npy", f.matrix(t, 0, 1)), "--labels", d.put("y.npy", f.matrix(t, 2)), "--task", "regression"},
				[]string{d.put("all.npz", npz(t, "mean.npy", f.matrix(t, 0), "sd.npy", f.matrix(t, 1), "observed.npy", f.matrix(t, 2))), "--task", "regression"},
				[]string{"--mean", d.put("m.npy", f.matrix(t, 0)), "--std", d.put("s.npy", f.matrix(t, 1)), "--observed", d.at("y.npy"), "--task", "regression"})
		} else {
			layouts = append(layouts, append(levels, d.put("all.npy", f.matrix(t, 0, 1, 2, 3, 4)), "--labels", d.put("y.npy", f.matrix(t, 5))))
		}
		want := ""
		for _, l := range layouts {
			code, out, errs := candor(t, append([]string{"eval", "--json", "--metrics", "all"}, l...)...)
			if code != 0 || errs != "" {
				t.Fatalf("candor eval %v: exit code %d: %s", l, code, errs)
			}
			if want == "" {
				want = out
			} else if out != want {
				t.Errorf("%v: another document\n%s\nthan\n%s", l, out, want)
			}
		}
		for _, in := range []string{"all.csv", "all.csv.gz"} {
			if out := process(t, nil, d.at(in), append([]string{"eval", "-", "--json", "--metrics", "all"}, c.flags...)...); string(out) != want {
				t.Errorf("%s by standard input: another document", in)
			}
		}
	}
	// Errors in place of means and observed values say all but the columns.
	d, f := newDir(t), normalRows(1, 120)
	e := newFrame("e", "sigma")
	for _, row := range f.rows {
		e.row(row[2]-row[0], row[1])
	}
	a := evaluate(t, append([]string{d.put("f.csv", f.csv()), "--metrics", "all"}, forecastTasks[0].flags...)...)
	for _, l := range [][]string{{d.put("e.csv", e.csv()), "--error", "e", "--std", "sigma"}, {"--error", d.put("e.npy", e.matrix(t, 0)), "--std", d.put("s.npy", e.matrix(t, 1))}} {
		if b := evaluate(t, append(l, "--task", "regression", "--metrics", "all")...); !reflect.DeepEqual(a.Metrics, b.Metrics) || b.Verdict != a.Verdict {
			t.Errorf("of errors: %+v\nand of means: %+v", b.Metrics, a.Metrics)
		}
	}
	// Weights are a column: a row of weight 0 is absent.
	g := newFrame("mu", "sigma", "y", "w")
	for i, row := range f.rows {
		g.row(append(slices.Clone(row), float64(i%2))...)
	}
	halves := evaluate(t, append([]string{d.put("w.csv", g.csv()), "--weights", "w"}, forecastTasks[0].flags...)...)
	odd := evaluate(t, append([]string{d.put("odd.csv", f.only(func(i int) bool { return i%2 == 1 }).csv())}, forecastTasks[0].flags...)...)
	for key, m := range odd.Metrics {
		if got := halves.Metrics[key]; got.Value != m.Value {
			t.Errorf("%s of rows of weight 1 is %v, without the others %v", key, got.Value, m.Value)
		}
	}
}

// parts are the documents of groups, with the metrics as they are written.
type parts struct {
	State    struct{ SHA256 string }
	Metrics  map[string]json.RawMessage
	Verdict  string
	Warnings []string
	Groups   []struct {
		Group    map[string]string
		Verdict  string
		Input    struct{ Rows, Dropped int64 }
		Metrics  map[string]json.RawMessage
		State    struct{ SHA256 string }
		Warnings []string
		Groups   []any
	}
}

func groupsOf(t *testing.T, out string) *parts {
	t.Helper()
	p := new(parts)
	if err := json.Unmarshal([]byte(out), p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestGroupsAreTheirRowsAlone: a group says of its rows what they say in a file of their own, metric by metric and to the byte of
// the state, and beside the groups the whole is what it is without.
func TestGroupsAreTheirRowsAlone(t *testing.T) {
	for _, c := range forecastTasks {
		d, f := newDir(t), c.rows(2, 400)
		args := append([]string{"eval", d.put("f.csv", f.csv()), "--json", "--metrics", c.metrics}, c.flags...)
		whole := groupsOf(t, printed(t, args...))
		for _, by := range [][]int{{0, 1}, {0}, {1}, {1, 0}}[:check.Size(2, 4, 4)] {
			var columns []string
			for _, b := range by {
				columns = append(columns, f.by[b])
			}
			code, out, errs := candor(t, append(args, "--group", strings.Join(columns, ","), "--threads", "2")...)
			if code != 0 {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			p := groupsOf(t, out)
			if whole.State != p.State || !reflect.DeepEqual(whole.Metrics, p.Metrics) || whole.Verdict != p.Verdict {
				t.Errorf("%s by %v: the whole differs", c.name, columns)
			}
			var rows int64
			seen := map[string]bool{}
			for _, g := range p.Groups {
				alone := f.only(func(i int) bool {
					for _, b := range by {
						if f.groups[i][b] != g.Group[f.by[b]] {
							return false
						}
					}
					return true
				})
				code, out, errs := candor(t, append([]string{"eval", d.put("alone.csv", alone.csv()), "--json", "--metrics", c.metrics}, c.flags...)...)
				if code != 0 {
					t.Fatalf("exit code %d: %s", code, errs)
				}
				a := groupsOf(t, out)
				if len(g.Group) != len(by) || len(g.Groups) > 0 || seen[fmt.Sprint(g.Group)] {
					t.Errorf("%s: group %v", c.name, g.Group)
				}
				seen[fmt.Sprint(g.Group)] = true
				if rows += g.Input.Rows; g.Verdict != a.Verdict || g.State != a.State || !slices.Equal(g.Warnings, a.Warnings) || int(g.Input.Rows) != len(alone.rows) {
					t.Errorf("%s: group %v is %s, alone %s", c.name, g.Group, g.Verdict, a.Verdict)
				}
				for key, m := range a.Metrics {
					if !bytes.Equal(bytes.Join(bytes.Fields(m), nil), bytes.Join(bytes.Fields(g.Metrics[key]), nil)) {
						t.Errorf("%s: %s of group %v is %s, alone %s", c.name, key, g.Group, g.Metrics[key], m)
					}
				}
			}
			if rows != 400 || len(p.Groups) < 3 {
				t.Errorf("%s: %d groups of %d rows", c.name, len(p.Groups), rows)
			}
			// Sites are numbers, and 5 comes before 10.
			for i := range p.Groups[1:] {
				if a, b := p.Groups[i].Group["site"], p.Groups[i+1].Group["site"]; len(by) == 1 && by[0] == 0 && !(number(t, a) < number(t, b)) {
					t.Errorf("%s: site %s stands before %s", c.name, a, b)
				}
			}
		}
	}
}

func number(t *testing.T, s string) float64 {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestForecastMergeLaw is TestMergeLaw of tables of forecasts, with groups and without. States of five shards are merged in one order
// or as a tree, by turns, and in both ways and more orders if nothing is left out.
func TestForecastMergeLaw(t *testing.T) {
	const rows = 230
	for i, c := range forecastTasks {
		for j, more := range [][]string{nil, {"--group", "site"}, {"--group", "kind,site"}} {
			if testing.Short() && (i+j)%2 > 0 {
				continue
			}
			d, f := newDir(t), c.rows(4, rows)
			f.rows[17][1], f.rows[200][2] = math.Inf(1), math.NaN()
			r := rand.New(rand.NewPCG(6, uint64(len(more))))
			flags := append(append([]string{"--json", "--metrics", c.metrics, "--on-invalid", "drop"}, c.flags...), more...)
			run := func(state string, threads int, paths ...string) string {
				t.Helper()
				code, out, errs := candor(t, append(append(append([]string{"eval"}, paths...), flags...), "--threads", fmt.Sprint(threads), "--state", state)...)
				if code != 0 {
					t.Fatalf("%s %v: exit code %d: %s", c.name, more, code, errs)
				}
				return out
			}
			whole := d.at("whole.state")
			want := run(whole, 1, d.put("whole.csv", f.csv()))
			if p := groupsOf(t, want); (len(p.Groups) > 0) != (more != nil) || !strings.Contains(want, `"dropped": 2`) {
				t.Fatalf("%s: %d groups\n%s", c.name, len(p.Groups), want)
			}
			same := func(what, doc, path string) {
				t.Helper()
				if doc != want {
					t.Errorf("%s %v: %s: the document differs\n%s\nfrom\n%s", c.name, more, what, doc, want)
				}
				if !bytes.Equal(d.read(path), d.read(whole)) {
					t.Errorf("%s %v: %s: the state differs", c.name, more, what)
				}
			}
			for _, k := range []int{2, 5} {
				if !check.Full() && (k == 5) == (len(more) == 0) {
					continue
				}
				cuts := []int{0, rows}
				for len(cuts) <= k {
					if cut := 1 + r.IntN(rows-1); !slices.Contains(cuts, cut) {
						cuts = append(cuts, cut)
					}
				}
				slices.Sort(cuts)
				var paths, states []string
				for i := range k {
					name, text := fmt.Sprintf("%d-%d.csv", k, i), f.part(cuts[i], cuts[i+1]).csv()
					if k == 5 { // shards are of one kind by name, compressed or not
						name, text = name+".gz", zipped(t, text)
					}
					paths, states = append(paths, d.put(name, text)), append(states, d.at(fmt.Sprintf("%d-%d.state", k, i)))
					run(states[i], 1+i%3, paths[i])
				}
				same(fmt.Sprintf("%d shards at once", k), run(d.at("all.state"), 1+k%3, paths...), d.at("all.state"))
				to := d.at("merged.state")
				tries, asTree := 1-j%2, j%2 == 1
				if check.Full() {
					tries, asTree = 2, true
				}
				for range tries {
					r.Shuffle(k, func(i, j int) { states[i], states[j] = states[j], states[i] })
					code, out, errs := candor(t, append([]string{"merge", "--json", "-o", to}, states...)...)
					if code != 0 || errs != "" {
						t.Fatalf("exit code %d: %s", code, errs)
					}
					same(fmt.Sprintf("%d states in some order", k), out, to)
				}
				// A tree.
				if !asTree {
					continue
				}
				for len(states) > 1 {
					next := d.at(fmt.Sprintf("tree-%d-%d.state", k, len(states)))
					if code, _, errs := candor(t, "merge", states[0], states[len(states)-1], "-o", next); code != 0 {
						t.Fatal(errs)
					}
					states = append(states[1:len(states)-1], next)
				}
				_, out, _ := candor(t, "merge", "--json", "-o", to, states[0])
				same("a tree", out, to)
			}
			for n, format := range []string{"table", "markdown", "csv"} {
				if !check.Full() && n != j {
					continue
				}
				a, b := printed(t, "merge", whole, "--format", format), printed(t, "merge", d.at("merged.state"), "--format", format)
				if a != b || a == "" || strings.Contains(a, "NaN") {
					t.Errorf("%s %v: the %s is\n%s\nand\n%s", c.name, more, format, a, b)
				}
			}
		}
	}
}

// TestMergeGroupsRefuses: states that are not of one question are not merged, and nothing is written.
func TestMergeGroupsRefuses(t *testing.T) {
	d, f := newDir(t), normalRows(5, 60)
	q := quantileRows(5, 60)
	x, y := d.put("x.csv", f.csv()), d.put("q.csv", q.csv())
	for name, args := range map[string][]string{"plain": {x}, "site": {x, "--group", "site"}, "kind": {x, "--group", "kind"}, "site2": {x, "--group", "site", "--metrics", "nll"},
		"seeds": {x, "--metrics", "default,pit_p", "--seed", "3"}, "seed": {x, "--metrics", "default,pit_p"}, "level": {x, "--confidence", "0.5"}} {
		evaluate(t, append(append(args, forecastTasks[0].flags...), "--state", d.at(name))...)
	}
	evaluate(t, append(append([]string{y}, forecastTasks[1].flags...), "--state", d.at("quantiles"))...)
	evaluate(t, d.put("q.npy", q.matrix(t, 0, 1, 2, 3, 4)), "--task", "quantiles", "--levels", "0.1,0.25,0.5,0.75,0.95", "--labels", d.put("o.npy", q.matrix(t, 5)), "--state", d.at("levels"))
	files := d.list()
	for _, c := range []struct{ a, b, want string }{
		{"plain", "site", "one has groups of rows, the other has none"},
		{"site", "plain", "one has groups of rows, the other has none"},
		{"site", "kind", "rows are grouped by site and by kind"},
		{"site", "site2", "metrics nll,"},
		{"plain", "quantiles", "scores are normal and quantiles"},
		{"quantiles", "levels", "quantiles at the levels [0.05 0.25 0.5 0.75 0.95] and at [0.1 0.25 0.5 0.75 0.95]"},
		{"seed", "seeds", "seeds 0 and 3"},
		{"plain", "level", "confidence levels 0.95 and 0.5"},
	} {
		code, out, errs := candor(t, "merge", d.at(c.a), d.at(c.b), "-o", d.at("to.state"))
		if code != exitData || out != "" || !strings.Contains(errs, c.want) || !strings.Contains(errs, c.a+" against ") {
			t.Errorf("%s and %s: exit code %d: %s, want %q", c.a, c.b, code, errs, c.want)
		}
	}
	// Damage.
	for i, b := range [][]byte{d.read(d.at("site"))[:200], append(d.read(d.at("site")), 0), func() []byte { b := d.read(d.at("site")); b[len(b)/2] ^= 1; return b }()} {
		bad := d.put("bad", b)
		code, out, errs := candor(t, "merge", d.at("site"), bad)
		if code != exitData || out != "" || !strings.Contains(errs, "bad: not a state that can be read") {
			t.Errorf("%d: exit code %d: %s", i, code, errs)
		}
		if code, out, _ := candor(t, "inspect", bad); code != exitData || out != "" {
			t.Errorf("%d: inspected with exit code %d: %s", i, code, out)
		}
	}
	if err := os.Remove(d.at("bad")); err != nil {
		t.Fatal(err)
	}
	if l := d.list(); !slices.Equal(l, files) {
		t.Errorf("the folder has %v, it had %v", l, files)
	}
	out := printed(t, "inspect", d.at("site"))
	if !strings.Contains(out, "60 rows, forecasts of numbers, 4 groups by site, float64 normal") {
		t.Errorf("%s", out)
	}
	var in []struct {
		Format string
		State  struct {
			Rows    int64
			Kind    string
			Groups  []string
			Each    int `json:"number_of_groups"`
			Metrics []string
			SHA256  string
		}
	}
	if err := json.Unmarshal([]byte(printed(t, "inspect", "--json", d.at("site"), d.at("plain"))), &in); err != nil {
		t.Fatal(err)
	}
	s, p := in[0].State, in[1].State
	if s.Rows != 60 || s.Kind != "normal" || !slices.Equal(s.Groups, []string{"site"}) || s.Each != 4 || len(s.Metrics) != 8 || s.SHA256 != p.SHA256 || p.Groups != nil || p.Each != 0 {
		t.Errorf("%+v", in)
	}
}

// TestBadForecasts: what cannot be read or used is named with its file, line and column, and leaves nothing behind.
func TestBadForecasts(t *testing.T) {
	d := newDir(t)
	n, q := normalRows(7, 40), quantileRows(7, 40)
	state := d.at("s.state")
	normal, quantiles := forecastTasks[0].flags, forecastTasks[1].flags
	// with replaces line 7 of a table, the row 5.
	with := func(f *frame, line string) string {
		l := strings.Split(string(f.csv()), "\n")
		l[6] = line
		return d.put("bad.csv", []byte(strings.Join(l, "\n")))
	}
	for _, c := range []struct {
		line  string
		flags []string
		want  string
		drops bool // --on-invalid drop leaves the row out
	}{
		{"0,1,0,1,a", normal, `bad.csv: line 7, column "sigma": standard deviation is 0; it must be above 0`, true},
		{"0,1,-2,1,a", normal, `bad.csv: line 7, column "sigma": standard deviation is -2; it must be above 0: a variance or its logarithm?`, true},
		{"0,1,NaN,1,a", normal, `bad.csv: line 7, column "sigma": standard deviation is NaN`, true},
		{"0,1,+inf,1,a", normal, `bad.csv: line 7, column "sigma": standard deviation is +Inf`, true},
		{"0,-Inf,1,1,a", normal, `bad.csv: line 7, column "mu": mean is -Inf`, true},
		{"0,1,1,,a", normal, `bad.csv: line 7, column "y": observed value is NaN`, true},
		{"0,1,1,na,a", normal, `bad.csv: line 7, column "y": observed value is NaN`, true},
		{"0,1,x,1,a", normal, `bad.csv: line 7: column "sigma": "x" is not a number`, false},
		{"0,1,1,1", normal, "bad.csv: line 7: it has 4 cells, and the header has 5", false},
		{"0,1,1,1,a,b", normal, "bad.csv: line 7: it has 6 cells, and the header has 5", false},
		{"", normal, "bad.csv: line 7", false},
		{`0,1,1,1,"a`, normal, "bad.csv: line 7: text behind the quote that ends a cell", false},
		{"0,1,2,3,5,4,9,a", quantiles, "bad.csv: line 7, level 0.95: quantile is 4, below the one before it", true},
		{"0,1,2,,4,5,9,a", quantiles, "bad.csv: line 7, level 0.5: quantile is NaN", true},
		{"0,-inf,2,3,4,5,9,a", quantiles, "bad.csv: line 7, level 0.05: quantile is -Inf", true},
		{"0,1,2,3,4,5,inf,a", quantiles, `bad.csv: line 7, column "y": observed value is +Inf`, true},
	} {
		f := n
		if c.flags[1] == "quantiles" {
			f = q
		}
		args := append([]string{"eval", with(f, c.line), "--state", state, "--json"}, c.flags...)
		for _, more := range [][]string{nil, {"--threads", "3", "--group", "kind"}} {
			code, out, errs := candor(t, append(args, more...)...)
			if code == exitData {
				errs, _ = jsonError(t, errs)["message"].(string)
			}
			if code != exitData || out != "" || !strings.Contains(errs, c.want) {
				t.Errorf("%q %v: exit code %d: %s%s, want %s", c.line, more, code, out, errs, c.want)
			}
			if _, err := os.Stat(state); err == nil {
				t.Errorf("%q: a state was written", c.line)
			}
			code, out, errs = candor(t, append(append(args[:2:2], append(args[4:], "--on-invalid", "drop")...), more...)...)
			if !c.drops {
				if errs, _ = jsonError(t, errs)["message"].(string); code != exitData || !strings.Contains(errs, c.want) {
					t.Errorf("%q, dropping: exit code %d: %s", c.line, code, errs)
				}
				continue
			}
			var doc document
			if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 0 || doc.Input.Rows != 39 || doc.Input.Dropped != 1 {
				t.Errorf("%q, dropping: exit code %d, %d rows, %d dropped: %s", c.line, code, doc.Input.Rows, doc.Input.Dropped, errs)
			}
			if !slices.ContainsFunc(doc.Warnings, func(w string) bool { return strings.Contains(w, "1 ") && strings.Contains(w, "left out") }) {
				t.Errorf("%q, dropping: the warnings are %q", c.line, doc.Warnings)
			}
		}
	}
	for _, s := range []string{"mu,sigma,y\n", ""} {
		code, _, errs := candor(t, append([]string{"eval", d.put("bad.csv", []byte(s))}, normal...)...)
		if code != exitData || !strings.Contains(errs, "bad.csv: ") {
			t.Errorf("%q: exit code %d: %s", s, code, errs)
		}
	}
	// Row numbers refer to the file; the second file is bad.
	good := d.put("good-1.csv", n.csv())
	code, _, errs := candor(t, append([]string{"eval", with(n, "0,1,-2,1,a"), good}, normal...)...)
	if code != exitData || !strings.Contains(errs, `bad.csv: line 7, column "sigma"`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if strings.Contains(errs, "numbered from 0") {
		t.Errorf("it tells of rows where there are lines: %s", errs)
	}
	// A weight is in the table, too.
	code, _, errs = candor(t, append([]string{"eval", with(n, "-3,1,2,1,a"), "--weights", "site"}, normal...)...)
	if code != exitData || !strings.Contains(errs, `bad.csv: line 7, column "site": weight is -3`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
	twice := d.put("twice.csv", []byte("mu,sigma,mu,y\n1,1,1,1\n"))
	x, y := d.put("x.npy", n.matrix(t, 0, 1, 2)), d.put("qx.npy", q.matrix(t, 0, 1, 2, 3, 4))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{good, "--task", "regression"}, exitData, `good-1.csv: no column "mean" for the mean`},
		{[]string{good, "--task", "regression", "--mean", "mu", "--std", "sigmas", "--observed", "y"}, exitData, `no column "sigmas" for the standard deviation (did you mean "sigma"?)`},
		{append([]string{good, "--group", "place"}, normal...), exitData, `no column "place" for the group`},
		{append([]string{good, "--group", "site,site"}, normal...), exitData, `column "site" is named twice to group by`},
		{append([]string{good, "--weights", "w"}, normal...), exitData, `no column "w" for the weight`},
		{append([]string{twice}, normal...), exitData, `two columns are named "mu"`},
		{append([]string{d.at("none.csv")}, normal...), exitData, "none.csv: no such file"},
		{append([]string{d.at("none.npy")}, normal...), exitData, "none.npy"},
		{append([]string{good, x}, normal...), exitData, "shards are all tables or all .npy files"},
		{[]string{good, "--task", "quantiles", "--observed", "y"}, exitData, "good-1.csv: "},
		{[]string{good, "--task", "quantiles", "--observed", "y", "--quantile-prefix", "z"}, exitData, `"z0.5"`},
		{[]string{y, "--task", "quantiles", "--labels", y}, exitData, "the levels of its quantiles are not known"},
		{[]string{y, "--task", "quantiles", "--levels", "0.1,0.5,0.9", "--labels", d.put("o.npy", q.matrix(t, 5))}, exitData, "qx.npy"},
		{[]string{good, "--task", "regression", "--error", "y", "--std", "sigma", "--mean", "mu"}, exitUsage, "--error is observed minus mean, in place of --mean and --observed; leave it out, or leave these out"},
		{[]string{good, "--task", "regression", "--error", "y"}, exitUsage, "--error is given, and neither --std nor --scale is; give --std COLUMN or --scale COLUMN too"},
		{[]string{good, "--task", "regression", "--observed", "y", "--labels", x}, exitUsage, "--observed and --labels are both given"},
		{[]string{good, "--mean", "mu"}, exitUsage, "--mean is for --task regression"},
		{[]string{good, "--task", "samples", "--std", "mu"}, exitUsage, "--std is for --task regression"},
		{[]string{good, "--task", "regression", "--levels", "0.5"}, exitUsage, "--levels is for --task quantiles"},
		{[]string{good, "--task", "regression", "--quantile-prefix", "q"}, exitUsage, "--quantile-prefix is for --task quantiles"},
		{[]string{good, "--group", "site", "--task", "loglik"}, exitUsage, "--group is for --task classification, binary, regression, quantiles, samples and survival"},
		{[]string{good, "--task", "ensemble", "--observed", "y"}, exitUsage, "--observed is for --task regression, quantiles, samples and multivariate"},
		{[]string{y, "--task", "quantiles", "--levels", "0.5,0.1"}, exitUsage, `--levels: "0.1"; give numbers between 0 and 1 in rising order`},
		{[]string{y, "--task", "quantiles", "--levels", "0,0.1"}, exitUsage, `--levels: "0"`},
		{[]string{y, "--task", "quantiles", "--levels", "0.1,x"}, exitUsage, `--levels: "x"`},
		{[]string{y, "--task", "quantiles", "--levels", "0.1", "--quantile-prefix", "q"}, exitUsage, "--quantile-prefix finds the levels in the columns' names"},
		{append([]string{good, "--input", "logits"}, normal...), exitUsage, "--input does not go with --task regression"},
		{append([]string{good, "--renormalize"}, normal...), exitUsage, "--renormalize"},
		{append([]string{good, "--decisions", x}, normal...), exitUsage, "--decisions does not go with --task regression"},
		{append([]string{good, "--metrics", "ece"}, normal...), exitUsage, "metric ece: it is for probabilities of classes (--task classification or binary)"},
		{append([]string{good, "--metrics", "rmse,accuracy"}, normal...), exitUsage, "metric accuracy: it is for probabilities of classes"},
		{append([]string{good, "--bins", "10"}, normal...), exitUsage, "--bins does not go with --task regression"},
		{append([]string{good, "--like", "um"}, normal...), exitUsage, "--like does not go with --task regression"},
		{append([]string{good, "--metrics", "rank_p"}, normal...), exitUsage, "it is for samples of a forecast number"},
		{append([]string{good, "--plot", d.at("p.png"), "--plot-kind", "rank"}, normal...), exitUsage, "--plot-kind rank draws ranks among samples"},
		{append([]string{good, "--plot", d.at("p.png"), "--plot-kind", "roc"}, normal...), exitUsage, "--plot-kind roc is for classes"},
		{append([]string{d.put("q.csv", q.csv()), "--plot", d.at("p.png"), "--plot-kind", "spread"}, quantiles...), exitUsage, "--plot-kind spread draws standard deviations"},
		{append([]string{d.at("q.csv"), "--fail-if", "wis>1"}, quantiles...), exitGate, "gate failed: wis>1: it is "},
		{append([]string{d.at("q.csv"), "--fail-if", "wis>1000"}, quantiles...), 0, ""},
		{append([]string{d.at("q.csv"), "--fail-if", "coverage_90.low<0.999"}, quantiles...), exitGate, "coverage_90.low<0.999: it is "},
		{append([]string{d.at("q.csv"), "--fail-if", "coverage(level=0.8)<0.5"}, quantiles...), exitGate, "is not defined: the interval takes the quantiles of the levels 0.1 and 0.9"},
		{append([]string{good, "--fail-if", "zms>0.1", "--metrics", "rmse"}, normal...), exitGate, "zms>0.1: it is "},
	} {
		before := d.list()
		code, out, errs := candor(t, append([]string{"eval"}, c.args...)...)
		if code != c.code || !strings.Contains(errs, c.want) || (out != "") != (code == exitGate || code == 0) {
			t.Errorf("candor eval %v: exit code %d, want %d: %s, want %q", c.args, code, c.code, errs, c.want)
		}
		if l := d.list(); !slices.Equal(l, before) {
			t.Errorf("candor eval %v: the folder has %v, it had %v", c.args, l, before)
		}
	}
}

// TestOneForecast: of one row there are values, and reasons why there are no intervals.
func TestOneForecast(t *testing.T) {
	d := newDir(t)
	for _, c := range forecastTasks {
		f := c.rows(3, 1)
		out := printed(t, append([]string{"eval", d.put("one.csv", f.csv()), "--json", "--metrics", "all", "--group", "kind"}, c.flags...)...)
		var doc struct {
			Verdict string
			Metrics map[string]map[string]any
			Groups  []struct{ Metrics map[string]map[string]any }
		}
		if err := json.Unmarshal([]byte(out), &doc); err != nil {
			t.Fatal(err)
		}
		checkMetrics(t, doc.Metrics, false, false)
		if !strings.HasPrefix(doc.Verdict, "1 row") || strings.Contains(doc.Verdict, "NaN") || len(doc.Groups) != 1 || !reflect.DeepEqual(doc.Groups[0].Metrics, doc.Metrics) {
			t.Errorf("%s", out)
		}
		for key, m := range doc.Metrics {
			if e := strings.HasPrefix(key, "coverage"); m["low"] != nil && !e {
				t.Errorf("%s of one row is %v", key, m)
			}
		}
	}
}

// TestForecastPictures: every kind is drawn where it is said to be, of what --group says too, and needs no metric to be named.
func TestForecastPictures(t *testing.T) {
	d := newDir(t)
	x, y := draws(8, 90, 11)
	samples := []string{d.put("x.npy", npy(t, []int64{90, 11}, x)), "--labels", d.put("y.npy", npy(t, []int64{90}, y)), "--task", "samples"}
	for _, c := range []struct {
		args  []string
		kinds string
	}{
		{append([]string{d.put("n.csv", normalRows(8, 90).csv())}, forecastTasks[0].flags...), "calibration coverage pit spread"},
		{append([]string{d.put("q.csv", quantileRows(8, 90).csv()), "--group", "site"}, forecastTasks[1].flags...), "calibration coverage pit"},
		{samples, "calibration coverage pit rank"},
	} {
		for _, kind := range append(strings.Fields(c.kinds), "") {
			svg := d.at("p" + kind + ".svg")
			args := append([]string{"eval", "--plot", svg, "--state", d.at("s.state")}, c.args...)
			if kind != "" {
				args = append(args, "--plot-kind", kind)
			}
			if code, _, errs := candor(t, args...); code != 0 {
				t.Errorf("candor %v: exit code %d: %s", args, code, errs)
				continue
			}
			if b := d.read(svg); !bytes.Contains(b, []byte("<svg")) || bytes.Contains(b, []byte("NaN")) {
				t.Errorf("candor %v: no picture, or NaN in it", args)
			}
			again := []string{"merge", d.at("s.state"), "--plot", d.at("again.svg")}
			if kind != "" {
				again = append(again, "--plot-kind", kind)
			}
			if code, _, errs := candor(t, again...); code != 0 || !bytes.Equal(d.read(d.at("again.svg")), d.read(svg)) {
				t.Errorf("candor %v: of the state it is another picture: exit code %d: %s", args, code, errs)
			}
		}
	}
}

// TestRealForecasts holds the command to what papers and other programs print of real forecasts, and to figures that were computed
// by other means.
func TestRealForecasts(t *testing.T) {
	real := realSets(t)
	published := map[string]string{}
	b, err := os.ReadFile(filepath.Join(real, "published.json"))
	if err != nil {
		t.Fatal(err)
	}
	var figures []struct {
		Dataset, Metric, Published, Source string
		Tol                                float64
	}
	if err := json.Unmarshal(b, &figures); err != nil {
		t.Fatal(err)
	}
	read := func(set string, v any) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(real, set, "meta.json"))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(real, set, "table.csv")
	}
	mine := map[string]string{"wis": "wis", "cov50": "coverage_50", "cov80": "coverage(level=0.8)", "cov90": "coverage_90", "cov95": "coverage(level=0.95)", "ae_median": "ae_median",
		"rmse": "rmse", "mae": "mae", "nll": "nll", "crps": "crps", "zms": "zms", "rmv": "sharpness_root", "rce": "rce", "ence15": "ence", "ZMS": "zms", "RCE": "rce"}
	answers := map[string]float64{} // by set and what published.json calls them
	near := func(set, what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-9*max(1, math.Abs(want))) {
			t.Errorf("%s of %s is %v, meta.json has %v", what, set, got, want)
		}
	}
	for _, set := range []string{"pernot_qm9_e_test_cal", "pernot_logp_10k_a_ls_gcn_test_cal"} {
		var meta struct {
			Computed map[string]float64 `json:"computed_float64"`
		}
		doc := evaluate(t, read(set, &meta), "--task", "regression", "--error", "error", "--std", "std", "--metrics", "all,coverage(level=0.8),coverage(level=0.95)")
		compared := 0
		for key, want := range meta.Computed {
			// Its bins divide rows of equal standard deviation; this set has 135 of them: see the tests of regress.Spread.
			if m, ok := mine[key]; ok && !(key == "ence15" && set == "pernot_qm9_e_test_cal") {
				near(set, m, doc.value(t, m), want)
				compared++
			}
		}
		if compared < 11 || float64(doc.Input.Rows) != meta.Computed["N"] {
			t.Errorf("%s: only %d figures of %d rows", set, compared, doc.Input.Rows)
		}
		for _, m := range []string{"ZMS", "RCE"} {
			answers[set+" "+m] = doc.value(t, mine[m])
		}
	}
	const covid = "covid_eu_quantiles23"
	var meta struct {
		Computed struct {
			N       int64
			ByModel []map[string]any `json:"by_model"`
		} `json:"computed_float64"`
	}
	table := read(covid, &meta)
	out := printed(t, "eval", table, "--json", "--task", "quantiles", "--observed", "observed", "--quantile-prefix", "q", "--group", "model,target_type")
	var doc struct {
		Groups []struct {
			Group   map[string]string
			Input   struct{ Rows float64 }
			Metrics map[string]answer
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Groups) != len(meta.Computed.ByModel) {
		t.Fatalf("%d groups", len(doc.Groups))
	}
	for i, want := range meta.Computed.ByModel { // in the order of models and targets
		g := doc.Groups[i]
		if g.Group["model"] != want["model"] || g.Group["target_type"] != want["target"] || g.Input.Rows != want["n"] {
			t.Fatalf("group %d is %v of %v rows, want %v", i, g.Group, g.Input.Rows, want)
		}
		name := g.Group["model"] + "/" + g.Group["target_type"]
		for _, key := range []string{"wis", "cov50", "cov90", "ae_median"} {
			v := g.Metrics[mine[key]].Value.(float64)
			near(name, key, v, want[key].(float64))
			answers[covid+" "+name+" "+key] = v
		}
	}
	compared := 0
	for _, f := range figures {
		if f.Dataset != covid && !strings.HasPrefix(f.Dataset, "pernot_") {
			continue
		}
		published[f.Dataset] = f.Source
		got, ok := answers[f.Dataset+" "+f.Metric]
		want, err := strconv.ParseFloat(f.Published, 64)
		if !ok || err != nil || !(math.Abs(got-want) <= f.Tol) {
			t.Errorf("%s of %s is %v; published as %s (%s)", f.Metric, f.Dataset, got, f.Published, f.Source)
		}
		compared++
	}
	if compared != 32 || len(published) != 3 {
		t.Errorf("%d figures of %d sets were compared", compared, len(published))
	}
}

// TestForecastDocuments: every answer is a number or says why not, in every format.
func TestForecastDocuments(t *testing.T) {
	d := newDir(t)
	for _, c := range forecastTasks {
		for _, rows := range []int{2, 60} {
			args := append([]string{"eval", d.put("f.csv", c.rows(9, rows).csv()), "--metrics", "all", "--group", "site,kind"}, c.flags...)
			var doc struct {
				Schema string
				Input  map[string]any
				Bins   any
				parts
			}
			if err := json.Unmarshal([]byte(printed(t, append(args, "--json")...)), &doc); err != nil {
				t.Fatal(err)
			}
			if (doc.Input["levels"] != nil) != (c.kind == metrics.Quantiles) || doc.Input["classes"] != nil || doc.Input["draws"] != nil || doc.Bins != nil || doc.Schema != "candor/1" {
				t.Errorf("%s: input %v, bins %v", c.name, doc.Input, doc.Bins)
			}
			for _, f := range []string{"table", "markdown", "csv"} {
				got := printed(t, append(args, "--format", f)...)
				if strings.Contains(got, "NaN") {
					t.Errorf("%s: a NaN in the %s\n%s", c.name, f, got)
				}
				flat := strings.Join(strings.Fields(got), " ")
				for key, raw := range doc.Metrics {
					var m map[string]any
					if err := json.Unmarshal(raw, &m); err != nil {
						t.Fatal(err)
					}
					if f != "csv" && m["value"] == nil && !strings.Contains(flat, m["reason"].(string)) {
						t.Errorf("%s: the %s does not say why there is no %s", c.name, f, key)
					}
					if !strings.Contains(flat, key) {
						t.Errorf("%s: the %s has no %s", c.name, f, key)
					}
				}
				for _, g := range doc.Groups {
					if site := g.Group["site"]; !strings.Contains(got, site) || !strings.Contains(got, "ünïcode") && rows > 2 {
						t.Errorf("%s: the %s has no group %v", c.name, f, g.Group)
					}
				}
			}
			// Every metric that a task has is one that 'all' gives or that has a use for an option alone.
			l, err := eval.ParseMetrics("all", eval.Shape{Classes: len(c.rows(9, 1).names), Kind: c.kind})
			if err != nil || len(l) != len(doc.Metrics) {
				t.Errorf("%s: %d metrics, %d are all: %v", c.name, len(doc.Metrics), len(l), err)
			}
		}
	}
}

// TestNoLineEnd: the command says that the last cell of a table may be cut.
func TestNoLineEnd(t *testing.T) {
	d := newDir(t)
	cut := d.put("cut.csv", []byte("mean,sd,observed\n0,1,0.5\n1,1,0.2"))
	whole := d.put("whole.csv", []byte("mean,sd,observed\n0,1,0.5\n1,1,0.2\n"))
	for _, args := range [][]string{{"eval"}, {"score", "--metrics", "crps", "-o", d.at("o.npy")}} {
		args = append(args, "--task", "regression")
		code, _, errs := candor(t, append(args, cut)...)
		if code != exitDone || !strings.Contains(errs, "candor: warning: "+cut+": its last line, 3, has no line end: if the file was cut off there, its last cell may be cut too\n") {
			t.Errorf("candor %v: exit code %d: %q", args, code, errs)
		}
		if code, _, errs := candor(t, append(args, whole)...); code != exitDone || errs != "" {
			t.Errorf("candor %v: exit code %d: %q", args, code, errs)
		}
	}
}
