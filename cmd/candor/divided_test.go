package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// dividedRuns are command lines without --shard, over files of every kind with units, and of those without.
func dividedRuns(t *testing.T, d *dir) map[string][]string {
	s := newSet(41, 1009, 4)
	const a, b = 300, 340
	parts := []*set{s.part(0, a), s.part(a, b), s.part(b, s.rows)}
	put := func(name string, file func(s *set) []byte) (paths []string) {
		for i, p := range parts {
			paths = append(paths, d.put(fmt.Sprintf("%d-%s", i, name), file(p)))
		}
		return paths
	}
	y := d.put("y.npy", s.labelFile(t))
	groups := make([]int32, s.rows)
	tags := make([]int32, s.rows*s.classes)
	r := rand.New(rand.NewPCG(4, 1))
	for i := range groups {
		groups[i] = int32(i / 100)
	}
	for i := range tags {
		tags[i] = r.Int32N(2)
	}
	g := d.put("g.npy", npy(t, []int64{int64(s.rows)}, groups))
	tagged := d.put("tags.npy", npy(t, []int64{int64(s.rows), int64(s.classes)}, tags))
	members := npy(t, []int64{2, int64(s.rows), int64(s.classes)}, append(f32(s.probs), f32(s.probs)...))
	var labels bytes.Buffer
	labels.WriteString("y\n")
	for _, v := range s.labels {
		fmt.Fprintln(&labels, v)
	}
	text := d.put("labels.csv", labels.Bytes())
	samples, observed := make([]float64, s.rows*5), make([]float64, s.rows)
	for i := range samples {
		samples[i] = float64(r.IntN(9))
	}
	for i := range observed {
		observed[i] = float64(r.IntN(9))
	}
	const tables = "../../testdata/tables/"
	table := []string{"--prob-prefix", "p_", "--label", "label"}
	x := d.put("x.npy", s.scores(t))
	with := func(paths []string, flags ...string) []string { return append(append([]string{}, paths...), flags...) }
	return map[string][]string{
		"one array":        {x, "--labels", y, "--weights", d.put("w.npy", s.weightFile(t)), "--group", g},
		"column-major":     {d.put("f.npy", s.fortran(t)), "--labels", y},
		"labels in a text": {x, "--labels", text + ":y"},
		"arrays":           with(put("x.npy", func(s *set) []byte { return s.scores(t) }), "--labels", y),
		"npz":              put("x.npz", func(s *set) []byte { return npz(t, "probs.npy", s.scores(t), "labels.npy", s.labelFile(t)) }),
		"ood":              {x, "--labels", y, "--ood", d.put("o.npy", s.part(0, 333).scores(t)), "--metrics", "default,ood_auroc"},
		"multilabel":       {x, "--labels", tagged, "--task", "multilabel"},
		"ensemble":         {d.put("m.npy", members), "--labels", y, "--task", "ensemble"},
		"samples": {d.put("s.npy", npy(t, []int64{int64(s.rows), 5}, samples)), "--labels", d.put("so.npy", npy(t, []int64{int64(s.rows)}, observed)),
			"--task", "samples", "--metrics", "default,pit_p,rank_p"},
		"csv":          with(put("t.csv", func(s *set) []byte { return s.table("p_", animals) }), table...),
		"jsonl":        with(put("columns.jsonl", tableForms[1].put), table...),
		"row groups":   with([]string{tables + "pages.parquet"}, with(table, "--group", "site")...),
		"more files":   with([]string{tables + "pyarrow.parquet", tables + "pages.parquet", tables + "split.parquet"}, table...),
		"batches":      with([]string{tables + "pyarrow.feather"}, table...),
		"safetensors":  {tables + "float32.safetensors", "--prob", "probs", "--label", "label"},
		"slices":       with(put("u.csv", func(s *set) []byte { return s.table("p_", animals) }), with(table, "--slice-by", "site")...),
		"dropped rows": {d.put("bad.npy", s.with(3, 1, -1).with(900, 0, 7).scores(t)), "--labels", y, "--on-invalid", "drop"},
	}
}

// TestDivided: the shards of a run have each row once. Merged in any order and by any tree, they give the undivided run's bytes, of the
// state and of the document.
func TestDivided(t *testing.T) {
	d := newDir(t)
	r := rand.New(rand.NewPCG(7, 1))
	for name, args := range dividedRuns(t, d) {
		t.Run(name, func(t *testing.T) {
			whole := printed(t, append([]string{"eval", "--json", "--state", d.at("whole")}, args...)...)
			for _, n := range []int{2, 5, 11} {
				var states []string
				for i := range n {
					at := d.at(fmt.Sprintf("%d.state", i))
					printed(t, append([]string{"eval", "--state", at, "--shard", fmt.Sprintf("%d/%d", i, n)}, args...)...)
					states = append(states, at)
				}
				r.Shuffle(n, func(i, j int) { states[i], states[j] = states[j], states[i] })
				if n > 2 {
					printed(t, "merge", states[0], states[1], "-o", d.at("two"))
					states = append(states[2:], d.at("two"))
				}
				got := printed(t, append([]string{"merge", "--json", "--expect", fmt.Sprint(n), "-o", d.at("all")}, states...)...)
				a, b := read(t, d.at("whole")), read(t, d.at("all"))
				if got != whole || !bytes.Equal(a, b) {
					t.Fatalf("%d shards: the states are equal: %v, the documents: %v", n, bytes.Equal(a, b), got == whole)
				}
				if code, _, errs := candor(t, append([]string{"merge", "--expect", fmt.Sprint(n)}, states[1:]...)...); n > 3 && (code != exitData || !strings.Contains(errs, "missing: ")) {
					t.Errorf("without a shard: %d, %s", code, errs)
				}
			}
		})
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestShardMarks: a shard that is missing or there twice is named, and a state with a mark is taken for no whole one.
func TestShardMarks(t *testing.T) {
	d, s := newDir(t), newSet(42, 50, 3)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	other := d.put("other.npy", newSet(43, 50, 3).scores(t))
	shard := func(x, text, to string) string {
		printed(t, "eval", x, "--labels", y, "--shard", text, "--state", d.at(to))
		return d.at(to)
	}
	a, b, c := shard(x, "0/3", "a"), shard(x, "1/3", "b"), shard(x, "2/3", "c")
	again, foreign, four := shard(x, "1/3", "again"), shard(other, "1/3", "foreign"), shard(x, "1/4", "four")
	printed(t, "eval", x, "--labels", y, "--state", d.at("whole"))
	printed(t, "merge", a, b, "-o", d.at("ab"))
	for _, m := range []struct {
		args []string
		want string
	}{
		{[]string{a, b, again}, "shard 1 of 3 is in " + b + " and in " + again},
		{[]string{d.at("ab"), again, c}, "shard 1 of 3 is in " + d.at("ab") + " and in " + again},
		{[]string{a, c, "--expect", "3"}, "1 of 3 shards is missing: 1; evaluate"},
		{[]string{a, "--expect", "3"}, "2 of 3 shards are missing: 1-2; evaluate"},
		{[]string{a, b, c, "--expect", "4"}, a + " has shard 0 of 3, and --expect is 4"},
		{[]string{a, foreign, c, "--expect", "3"}, "shards of different files"},
		{[]string{a, four, "--expect", "3"}, four + " has shard 1 of 4, and --expect is 3"},
		{[]string{d.at("whole"), "--expect", "3"}, d.at("whole") + " is not a shard"},
	} {
		if code, _, errs := candor(t, append([]string{"merge"}, m.args...)...); code != exitData || !strings.Contains(errs, m.want) {
			t.Errorf("%v: %d, %s", m.args, code, errs)
		}
	}
	if code, _, errs := candor(t, "merge", a, c); code != exitDone || !strings.Contains(errs, "warning: 1 of 3 shards is missing: 1") {
		t.Errorf("two of three: %d, %s", code, errs)
	}
	if code, _, errs := candor(t, "merge", a, foreign, b, c, d.at("whole")); code != exitDone || !strings.Contains(errs, "2 of 3 shards are missing: 0, 2") {
		t.Errorf("with a shard of other files: %d, %s", code, errs)
	}
	if code, _, errs := candor(t, "drift", d.at("ab"), d.at("whole")); code != exitData || !strings.Contains(errs, "not a whole set but shards 0-1 of 3") {
		t.Errorf("drift: %d, %s", code, errs)
	}
	if out := printed(t, "inspect", d.at("ab")); !strings.Contains(out, "shards 0-1 of 3") || !strings.Contains(out, "33 rows") {
		t.Errorf("inspect: %s", out)
	}
	damaged := read(t, d.at("ab"))
	damaged[20]++
	for _, command := range []string{"merge", "inspect"} {
		refused(t, d, []string{command, d.put("damaged", damaged)}, "not a state that can be read")
	}
	// A state of one shard of one is that of the whole.
	printed(t, "eval", x, "--labels", y, "--shard", "0/1", "--state", d.at("one"))
	if !bytes.Equal(read(t, d.at("one")), read(t, d.at("whole"))) {
		t.Error("--shard 0/1 has other bytes")
	}
}

// TestShardWithoutRows: its state is empty, and merges.
func TestShardWithoutRows(t *testing.T) {
	d, s := newDir(t), newSet(44, 50, 3)
	file := d.put("t.csv", s.table("p_", animals))
	flags := []string{file, "--prob-prefix", "p_", "--label", "label"}
	var states []string
	empty := 0
	for i := range 4 {
		at := d.at(fmt.Sprint(i))
		code, out, errs := candor(t, append([]string{"eval", "--shard", fmt.Sprintf("%d/4", i), "--state", at}, flags...)...)
		if code != exitDone {
			t.Fatalf("%s", errs)
		}
		if strings.Contains(errs, fmt.Sprintf("Shard %d of 4 has no rows.", i)) && out == "" {
			empty++
		}
		states = append(states, at)
	}
	if empty != 3 {
		t.Errorf("%d shards have no rows", empty)
	}
	if got, want := printed(t, append([]string{"merge", "--json", "--expect", "4"}, states...)...), printed(t, append([]string{"eval", "--json"}, flags...)...); got != want {
		t.Errorf("merged: %s", got)
	}
	_, out, _ := candor(t, append([]string{"eval", "--json", "--shard", "2/4"}, flags...)...)
	if !strings.Contains(out, "these are the rows of shard 2 of 4") {
		t.Errorf("a document of a shard does not say so: %s", out)
	}
}

// TestDividedUsage: what cannot be divided is said before files are read.
func TestDividedUsage(t *testing.T) {
	d, s := newDir(t), newSet(45, 50, 3)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{x, "--labels", y, "--shard", "3/3"}, "numbered from 0 to 2"},
		{[]string{x, "--labels", y, "--shard", "one"}, "it is I/N"},
		{[]string{x, "--labels", y, "--shard", "slurm"}, "SLURM_ARRAY_TASK_ID is not set"},
		{[]string{x, "--labels", y, "--shard", "k8s/3"}, "JOB_COMPLETION_INDEX is not set"},
		{[]string{"--shard", "0/3"}, "no predictions are named"},
		{[]string{"-", "--labels", y, "--shard", "0/3"}, "can be read only once"},
		{[]string{x, "--labels", y, "--shard", "0/3", "--first-row", "7"}, "does not go with --first-row"},
		{[]string{x, "--labels", y, "--shard", "0/3", "--temperature-scaled"}, "does not go with --temperature-scaled"},
		{[]string{x, "--labels", y, "--shard", "0/3", "--sequence", y}, "does not go with --sequence"},
		{[]string{"-", "--labels", y, "--files-from", "-"}, "standard input is among the predictions"},
	} {
		if code, _, errs := candor(t, append([]string{"eval"}, c.args...)...); code != exitUsage || !strings.Contains(errs, c.want) {
			t.Errorf("%v: %d, %s", c.args, code, errs)
		}
	}
	for list, want := range map[string]string{"": "no file is named", "\n\n": "no file is named", "-\n": "the list names -", "none.npy\n": "no such file"} {
		if code, _, errs := candor(t, "eval", "--labels", y, "--files-from", d.put("list", []byte(list))); code != exitData || !strings.Contains(errs, want) {
			t.Errorf("a list %q: %d, %s", list, code, errs)
		}
	}
	if code, _, errs := candor(t, "eval", "--labels", y, "--files-from", d.at("none")); code != exitData || !strings.Contains(errs, "no such file") {
		t.Errorf("no list: %d, %s", code, errs)
	}
	list := d.put("list", []byte(x+"\r\n\n"+x+"\n"))
	if got, want := printed(t, "eval", "--json", "--labels", y+","+y, "--files-from", list), printed(t, "eval", x, x, "--json", "--labels", y+","+y); got != want {
		t.Errorf("by a list: %s", got)
	}
	// The bad row of a shard is named as in a whole run.
	bad := d.put("bad.npy", s.with(47, 1, -1).scores(t))
	if code, _, errs := candor(t, "eval", bad, "--labels", y, "--shard", "2/3"); code != exitData || !strings.Contains(errs, "row 47, column 1: probability is -1") {
		t.Errorf("a bad row: %d, %s", code, errs)
	}
	if code, _, errs := candor(t, "eval", bad, "--labels", y, "--shard", "0/3"); code != exitDone {
		t.Errorf("a bad row of another shard: %d, %s", code, errs)
	}
	batches := "../../testdata/tables/pyarrow.feather"
	if code, _, errs := candor(t, "eval", batches, "--prob-prefix", "p_", "--label", "site", "--shard", "2/3"); code != exitData || !strings.Contains(errs, "row 100") {
		t.Errorf("a bad label: %d, %s", code, errs)
	}
	t.Setenv("SLURM_ARRAY_TASK_ID", "5")
	t.Setenv("SLURM_ARRAY_TASK_MIN", "1")
	t.Setenv("SLURM_ARRAY_TASK_STEP", "2")
	t.Setenv("SLURM_ARRAY_TASK_COUNT", "3")
	t.Setenv("JOB_COMPLETION_INDEX", "2")
	for _, text := range []string{"slurm", "k8s/3", "2/3"} {
		printed(t, "eval", x, "--labels", y, "--shard", text, "--state", d.at(strings.ReplaceAll(text, "/", "-")))
	}
	if a, b, c := read(t, d.at("slurm")), read(t, d.at("k8s-3")), read(t, d.at("2-3")); !bytes.Equal(a, b) || !bytes.Equal(b, c) {
		t.Error("the shards that engines number are others")
	}
}

// TestQuiet: the state is written, and no result is printed; gates are checked.
func TestQuiet(t *testing.T) {
	d, s := newDir(t), newSet(43, 120, 3)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	tags := d.put("tags.npy", npy(t, []int64{int64(s.rows), 3}, make([]int32, 3*s.rows)))
	for i, args := range [][]string{{x, "--labels", y}, {x, "--labels", y, "--group", y}, {x, "--labels", y, "--slice-by", y}, {x, "--labels", tags, "--task", "multilabel"}} {
		a, b, c := d.at(fmt.Sprint(i, "a")), d.at(fmt.Sprint(i, "b")), d.at(fmt.Sprint(i, "c"))
		printed(t, append([]string{"eval", "--state", a}, args...)...)
		if got := printed(t, append([]string{"eval", "--state", b, "--quiet"}, args...)...); got != "" || !bytes.Equal(d.read(a), d.read(b)) {
			t.Errorf("%v: %q, or another state", args, got)
		}
		if got := printed(t, "merge", a, "-o", c, "--quiet", "--json"); got != "" || !bytes.Equal(d.read(a), d.read(c)) {
			t.Errorf("merge of %v: %q, or another state", args, got)
		}
	}
	printed(t, "compare", x, x, "--labels", y, "--state", d.at("pair"))
	if got := printed(t, "merge", d.at("pair"), "-o", d.at("again"), "--quiet"); got != "" || !bytes.Equal(d.read(d.at("pair")), d.read(d.at("again"))) {
		t.Errorf("merge of a comparison: %q, or another state", got)
	}
	for _, gate := range []string{"nll>0", "nll<0"} {
		for _, args := range [][]string{{"eval", x, "--labels", y}, {"merge", d.at("0a")}, {"eval", x, "--labels", tags, "--task", "multilabel"}} {
			if code, out, errs := candor(t, append(args, "--quiet", "--fail-if", gate)...); (code == exitGate) != (gate == "nll>0") || out != "" {
				t.Errorf("%v %s: %d, %q, %s", args, gate, code, out, errs)
			}
		}
	}
	for _, args := range [][]string{{"eval", x, "--labels", y}, {"merge", d.at("0a")}, {"subtract", d.at("0a"), d.at("0a")}} {
		if code, _, errs := candor(t, append(args, "--quiet")...); code != exitUsage || !strings.Contains(errs, "prints no result, and nothing else is asked for") {
			t.Errorf("%v: %d, %s", args, code, errs)
		}
	}
	for _, args := range [][]string{{"compare", x, x, "--shard", "0/2"}, {"score", x, "--files-from", "l"}, {"recal", "fit", "temperature", x, "--resume"}, {"compare", x, x, "--checkpoint", "k"}} {
		if code, _, errs := candor(t, args...); code != exitUsage || !strings.Contains(errs, "only candor eval ") || !strings.Contains(errs, "some of the files") && !strings.Contains(errs, "merge the states") {
			t.Errorf("%v: %d, %s", args, code, errs)
		}
	}
}
