package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/candor-go/candor/predictions"
)

// vectorFiles writes members and observed values of as many rows, and returns the flags that name them.
func vectorFiles(t *testing.T, d *dir, name string, seed uint64, rows, members, dimensions int) []string {
	t.Helper()
	x, _ := draws(seed, rows, members*dimensions)
	y, _ := draws(seed+1000, rows, dimensions)
	return []string{d.put(name+"-x.npy", npy(t, []int64{int64(rows), int64(members), int64(dimensions)}, x)), "--labels",
		d.put(name+"-y.npy", npy(t, []int64{int64(rows), int64(dimensions)}, y)), "--task", "multivariate"}
}

// TestVectorsFiles: files, shards of rows, an .npz, the types of numbers and merged states give one document.
func TestVectorsFiles(t *testing.T) {
	d := newDir(t)
	const rows, members, dimensions = 90, 7, 3
	args := vectorFiles(t, d, "all", 1, rows, members, dimensions)
	x, _ := draws(1, rows, members*dimensions)
	y, _ := draws(1001, rows, dimensions)
	cut := func(name string, from, to int) (string, string) {
		return d.put(name+"-x.npy", npy(t, []int64{int64(to - from), members, dimensions}, x[from*members*dimensions:to*members*dimensions])),
			d.put(name+"-y.npy", npy(t, []int64{int64(to - from), dimensions}, y[from*dimensions:to*dimensions]))
	}
	run := func(args ...string) string {
		t.Helper()
		code, out, errs := candor(t, append([]string{"eval", "--json", "--metrics", "all,multivariate_rank_p(ranking=dominance,bins=4)"}, args...)...)
		if code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, errs)
		}
		return out
	}
	want := run(args...)
	var doc struct {
		Input   map[string]any
		Verdict string
	}
	if err := json.Unmarshal([]byte(want), &doc); err != nil || doc.Input["members"] != 7.0 || doc.Input["dimensions"] != 3.0 || doc.Input["task"] != "multivariate" ||
		!strings.HasPrefix(doc.Verdict, "90 rows x 7 members x 3 numbers. Off by ") {
		t.Error(err, doc)
	}
	x1, y1 := cut("one-1", 0, 40)
	x2, y2 := cut("one-2", 40, rows)
	parts := []string{"--task", "multivariate"}
	for name, got := range map[string]string{
		"threads":       run(append(args, "--threads", "3")...),
		"shards":        run(append(parts, x1, x2, "--labels", y1+","+y2)...),
		"one of labels": run(append(parts, x1, x2, "--labels", args[2])...),
		"npz":           run(append(parts, d.put("both.npz", npz(t, "members.npy", npy(t, []int64{rows, members, dimensions}, x), "obs.npy", npy(t, []int64{rows, dimensions}, y))))...),
	} {
		if got != want {
			t.Errorf("%s: another document\n%s\nwant\n%s", name, got, want)
		}
	}
	run(append(args, "--shard", "0/2", "--state", d.at("0.state"))...)
	run(append(args, "--shard", "1/2", "--state", d.at("1.state"))...)
	if code, out, errs := candor(t, "merge", "--json", d.at("1.state"), d.at("0.state")); code != 0 || out != want {
		t.Errorf("merged: %d, %s\n%s", code, errs, out)
	}
	// Rows of weight 0 do not count.
	weights := make([]float64, rows)
	for i := range 40 {
		weights[i] = 1
	}
	answers := func(doc string) string {
		_, doc, _ = strings.Cut(doc, `"verdict"`)
		doc, _, _ = strings.Cut(doc, `"state"`)
		return doc
	}
	none := run(append(parts, x1, "--labels", y1, "--weights", d.put("ones.npy", npy(t, []int64{40}, weights[:40])))...)
	if got := run(append(args, "--weights", d.put("w.npy", npy(t, []int64{rows}, weights)))...); answers(got) != answers(none) {
		t.Errorf("rows of weight 0 count\n%s\n%s", got, none)
	}
}

// TestVectorsErrors: what is wrong with arrays, with its remedy.
func TestVectorsErrors(t *testing.T) {
	d := newDir(t)
	args := vectorFiles(t, d, "good", 1, 8, 4, 2)
	x, y := args[0], args[2]
	put := func(name string, shape []int64, v []float64) string { return d.put(name, npy(t, shape, v)) }
	numbers, _ := draws(1, 8, 8)
	bad := append([]float64(nil), numbers...)
	bad[8*3+5] = math.NaN()
	observed, _ := draws(1001, 8, 2)
	lost := append([]float64(nil), observed...)
	lost[13] = math.Inf(1)
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{put("bad.npy", []int64{8, 4, 2}, bad), "--labels", y}, exitData, []string{"bad.npy: row 3, member 2, number 1: it is NaN", "--on-invalid drop"}},
		{[]string{x, "--labels", put("lost.npy", []int64{8, 2}, lost)}, exitData, []string{"lost.npy: row 6, observed number 1: it is +Inf"}},
		{[]string{put("flat.npy", []int64{8, 8}, numbers), "--labels", y}, exitData, []string{"members have 2 axes, shape (8, 8)", "(N, M, D)", "--task samples"}},
		{[]string{put("four.npy", []int64{2, 2, 4, 4}, numbers), "--labels", y}, exitData, []string{"members have 4 axes"}},
		{[]string{put("none.npy", []int64{8, 0, 2}, nil), "--labels", y}, exitData, []string{"members have no numbers, shape (8, 0, 2)"}},
		{[]string{x, "--labels", put("three.npy", []int64{8, 3}, numbers[:24])}, exitData, []string{"observed values have shape (8, 3)", "an array (N, 2)"}},
		{[]string{x, "--labels", put("short.npy", []int64{7, 2}, observed[:14])}, exitData, []string{"short.npy: 7 observations for the 8 rows of"}},
		{[]string{x}, exitData, []string{"no observed values", "--labels"}},
		{[]string{d.put("alone.npz", npz(t, "members.npy", npy(t, []int64{8, 4, 2}, numbers)))}, exitData, []string{"alone.npz", "no observed values"}},
		{[]string{x, put("other.npy", []int64{8, 2, 4}, numbers), "--labels", y}, exitData, []string{"other.npy: 2 members of 4 numbers", "4 of 2"}},
		{[]string{d.put("words.npy", textArray([]string{"a", "b"})), "--labels", y}, exitData, []string{"members have 1 axes"}},
		{[]string{d.put("table.csv", []byte("a,b\n1,2\n"))}, exitData, []string{`table.csv: no column is named "obs_wind" or like it`, `its columns are "a", "b"`, "--observed"}},
		{[]string{d.put("alone.csv", []byte("obs_a,b\n1,2\n"))}, exitData, []string{`no column has members of "a"`, "a_1, a_2"}},
		{[]string{d.put("lacks.csv", []byte("obs_a,obs_b,a_1,a_2,b_1\n1,2,3,4,5\n"))}, exitData, []string{`member 2 has no column "b_2"`, "a, b"}},
		{[]string{d.put("both.csv", []byte("obs_a,a_1,a_01\n1,2,3\n"))}, exitData, []string{`columns "a_1" and "a_01" are both of member 1`}},
		{[]string{d.put("twice.csv", []byte("obs_a,a_1,a_1\n1,2,3\n"))}, exitData, []string{`two columns are named "a_1"`}},
		{[]string{d.put("words.csv", []byte("obs_a,a_1\n1,2\n3,x\n"))}, exitData, []string{`words.csv: line 3: column "a_1"`, `"x"`}},
		{[]string{d.put("empty.csv", []byte("obs_a,a_1,a_2\n1,2,4\n3,,4\n"))}, exitData, []string{`empty.csv: line 3, column "a_1": it is NaN`}},
		{[]string{d.put("words.jsonl", []byte(`{"obs_a":1,"a_1":"x"}`+"\n"))}, exitData, []string{`column "a_1" has no numbers: it is text`}},
		{[]string{x, "--labels", y, "--observed", "y_"}, exitUsage, []string{"--observed and --labels are both given"}},
		{[]string{x, "--observed", "y_"}, exitData, []string{`a column of observed values, "y_", is for tables`}},
		{[]string{x, "--labels", y, "--input", "logits"}, exitUsage, []string{"--input does not go with --task multivariate"}},
		{[]string{x, "--labels", y, "--decisions", y}, exitUsage, []string{"--decisions does not go with --task multivariate"}},
		{[]string{x, "--labels", y, "--metrics", "crps"}, exitUsage, []string{"metric crps"}},
		{[]string{x, "--labels", y, "--metrics", "variogram_score(order=0)"}, exitUsage, []string{`order is "0"`}},
		{[]string{x, "--labels", y, "--metrics", "multivariate_rank_p(ranking=size)"}, exitUsage, []string{"it is one of average, band_depth, dominance"}},
		{[]string{x, "--labels", y, "--plot", d.at("p.svg"), "--plot-kind", "pit"}, exitUsage, []string{"of --task multivariate draw rank"}},
	} {
		code, _, errs := candor(t, append([]string{"eval", "--task", "multivariate"}, c.args...)...)
		if code != c.code {
			t.Errorf("%v: exit code %d: %s", c.args, code, errs)
		}
		for _, w := range c.want {
			if !strings.Contains(errs, w) {
				t.Errorf("%v: %s does not say %q", c.args, errs, w)
			}
		}
	}
	if code, _, errs := candor(t, "eval", "--task", "multivariate", d.at("bad.npy"), "--labels", y, "--on-invalid", "drop"); code != 0 {
		t.Error(errs)
	}
	if _, err := predictions.OpenForecast([]string{x}, &predictions.ForecastOptions{Kind: 9, Levels: []float64{0.5}}); err == nil {
		t.Error("levels of members")
	}
}

// TestVectorsTables: tables of every format, with columns in any order, are the arrays; a row is named by its line and column.
func TestVectorsTables(t *testing.T) {
	d := newDir(t)
	const rows, members, dimensions = 30, 4, 2
	args := vectorFiles(t, d, "all", 1, rows, members, dimensions)
	x, _ := draws(1, rows, members*dimensions)
	y, _ := draws(1001, rows, dimensions)
	var text, lines strings.Builder
	text.WriteString("p_b_10,p_a_2,obs_p_a,day,p_b_2,p_a_7,p_a_0,p_b_0,w,obs_p_b,p_b_7,p_a_10\n")
	weights := make([]float64, rows)
	for i := range rows {
		m, o := x[i*members*dimensions:], y[i*dimensions:]
		weights[i] = 1 + float64(i%3)
		fmt.Fprintf(&text, "%v,%v,%v,d%d,%v,%v,%v,%v,%v,%v,%v,%v\n", m[7], m[2], o[0], i/10, m[3], m[4], m[0], m[1], weights[i], o[1], m[5], m[6])
		fmt.Fprintf(&lines, `{"p_b_10":%v,"p_a_2":%v,"obs_p_a":%v,"p_b_2":%v,"p_a_7":%v,"p_a_0":%v,"p_b_0":%v,"w":%v,"obs_p_b":%v,"p_b_7":%v,"p_a_10":%v}`+"\n",
			m[7], m[2], o[0], m[3], m[4], m[0], m[1], weights[i], o[1], m[5], m[6])
	}
	run := func(args ...string) string {
		t.Helper()
		code, out, errs := candor(t, append([]string{"eval", "--json", "--task", "multivariate", "--metrics", "all,multivariate_rank_p(bins=4)"}, args...)...)
		if code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, code, errs)
		}
		var doc struct{ Metrics, Forecast json.RawMessage }
		if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Metrics) < 100 {
			t.Fatal(err, out)
		}
		return string(doc.Metrics)
	}
	want := run(append(args, "--weights", d.put("w.npy", npy(t, []int64{rows}, weights)))...)
	csv := d.put("t.csv", []byte(text.String()))
	for name, path := range map[string]string{"csv": csv, "jsonl": d.put("t.jsonl", []byte(lines.String()))} {
		if got := run(path, "--weights", "w"); got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	// In tableAs, names that begin with p_ are numbers: those of observed values too, if that is their prefix.
	renamed := strings.NewReplacer("obs_p_a", "p_obs_p_a", "obs_p_b", "p_obs_p_b").Replace(text.String())
	for _, name := range []string{"t.parquet", "t.arrow"} {
		if got := run(tableAs(t, d.at(name), []byte(renamed)), "--weights", "w", "--observed", "p_obs_"); got != want {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	code, out, errs := candor(t, "eval", csv, "--task", "multivariate", "--group", "day", "--metrics", "energy_score")
	if code != 0 || strings.Count(out, " 10 ") != 3 {
		t.Error(code, errs, out)
	}
}

// TestVectorsStated: means and covariances of an .npz, in parts and through states, and what is wrong with them.
func TestVectorsStated(t *testing.T) {
	d := newDir(t)
	mean, observed := npy(t, []int64{3, 2}, []float64{0, 0, 1, 1, 2, 2}), npy(t, []int64{3, 2}, []float64{0, 1, 2, 1, 2, 2})
	cov := func(last ...float64) []byte {
		return npy(t, []int64{3, 2, 2}, append([]float64{1, 0.5, 0.5, 1, 4, 0, 0, 1}, last...))
	}
	good := d.put("good.npz", npz(t, "mean.npy", mean, "cov.npy", cov(1, 0, 0, 1), "obs.npy", observed))
	code, out, errs := candor(t, "eval", good, "--task", "multivariate_normal", "--json")
	var doc struct {
		Input   map[string]any
		Metrics map[string]struct{ Value float64 }
	}
	if err := json.Unmarshal([]byte(out), &doc); code != 0 || err != nil {
		t.Fatal(code, err, errs)
	}
	// ln det is ln 0.75, ln 4 and 0; the squares are 4/3, 1/4 and 0.
	want := (math.Log(0.75) + math.Log(4) + 4.0/3 + 0.25) / 3
	if got := doc.Metrics["dawid_sebastiani"].Value; math.Abs(got-want) > 1e-14 || math.Abs(doc.Metrics["multivariate_nll"].Value-(want/2+math.Log(2*math.Pi))) > 1e-14 {
		t.Errorf("%v, want %v: %s", got, want, out)
	}
	if doc.Input["task"] != "multivariate_normal" || doc.Input["dimensions"] != 2.0 || doc.Input["members"] != nil {
		t.Error(doc.Input)
	}
	for _, c := range []struct {
		path string
		code int
		want string
	}{
		{d.put("indefinite.npz", npz(t, "mean.npy", mean, "cov.npy", cov(1, 2, 2, 1), "obs.npy", observed)), exitData, "row 2, covariance of numbers 1 and 1: the covariance matrix is not positive definite"},
		{d.put("alone.npz", npz(t, "mean.npy", mean, "obs.npy", observed)), exitData, "none of its arrays is named like covariances"},
		{d.put("unseen.npz", npz(t, "mean.npy", mean, "cov.npy", cov(1, 0, 0, 1))), exitData, "no observed values"},
		{d.put("flat.npz", npz(t, "mean.npy", mean, "cov.npy", npy(t, []int64{3, 2}, make([]float64, 6)), "obs.npy", observed)), exitData, "covariances have shape (3, 2); they are an array (N, 2, 2)"},
		{d.put("mean.npy", mean), exitData, "multivariate normal forecasts are several arrays"},
		{d.put("t.csv", []byte("a,b\n1,2\n")), exitData, "not read from tables; save an .npz"},
	} {
		code, _, errs := candor(t, "eval", c.path, "--task", "multivariate_normal")
		if code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%s: %d, %s; want %s", c.path, code, errs, c.want)
		}
	}
	if code, _, errs := candor(t, "eval", good, "--task", "multivariate_normal", "--plot", d.at("p.svg")); code != exitUsage || !strings.Contains(errs, "no picture of --task multivariate_normal") {
		t.Error(code, errs)
	}
}

// TestVectorsVerdict: ranks say what is wrong, in the picture and on the page too.
func TestVectorsVerdict(t *testing.T) {
	d := newDir(t)
	const rows, members, dimensions = 400, 9, 3
	r := rand.New(rand.NewPCG(5, 6))
	x, y := make([]float64, rows*members*dimensions), make([]float64, rows*dimensions)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	for i := range y {
		y[i] = r.NormFloat64()
	}
	for name, c := range map[string]struct {
		spread, shift float64
		want, picture string
	}{
		"right":  {1, 0, "Ranks among the members show nothing against them.", "Flat within chance"},
		"narrow": {0.4, 0, "ranks at the ends too often among the members (p < 0.0001): members are too close together", "too narrow or too weakly dependent (U shape)"},
		"wide":   {3, 0, "ranks in the middle too often among the members (p < 0.0001): members are too far apart", "too wide or too strongly dependent (hump)"},
		"low":    {1, -1, "ranks high too often among the members (p < 0.0001): members are too low.", "too low"},
		"high":   {1, 1, "ranks low too often among the members (p < 0.0001): members are too high.", "too high"},
	} {
		own := append([]float64(nil), x...)
		for i := range own {
			own[i] = c.spread*own[i] + c.shift
		}
		args := []string{d.put(name+".npy", npy(t, []int64{rows, members, dimensions}, own)), "--labels", d.put("y.npy", npy(t, []int64{rows, dimensions}, y)), "--task", "multivariate",
			"--plot", d.at(name + ".svg"), "--html", d.at(name + ".html")}
		code, out, errs := candor(t, append([]string{"eval"}, args...)...)
		if code != 0 || !strings.Contains(out, c.want) {
			t.Errorf("%s: %d, %s\n%s", name, code, errs, out)
		}
		for _, file := range []string{name + ".svg", name + ".html"} {
			if text := strings.Join(strings.Fields(string(d.read(d.at(file)))), " "); !strings.Contains(text, "Average rank of what was observed among the members") {
				t.Errorf("%s does not have the title", file)
			}
		}
	}
}

// TestVectorsExample: shuffling each number over the members is seen by the energy score and by Dawid-Sebastiani.
func TestVectorsExample(t *testing.T) {
	in := func(name string) string { return filepath.Join("..", "..", "testdata", "examples", name) }
	code, out, errs := candor(t, "compare", "--json", in("flowers.npz"), in("flowers_apart.npz"), "--task", "multivariate", "--metrics", "energy_score,dawid_sebastiani")
	var doc struct {
		Differences []struct {
			Metric           string
			Value, Low, High float64
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); code != 0 || err != nil || len(doc.Differences) != 2 {
		t.Fatal(code, err, errs, out)
	}
	for _, m := range doc.Differences {
		if !(m.Low > 0 && m.Low < m.Value && m.Value < m.High) {
			t.Errorf("%+v", m)
		}
	}
}
