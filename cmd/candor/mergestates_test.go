package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// TestMergeMany: many states, which several goroutines read, have the bytes of one run and the errors of few states.
func TestMergeMany(t *testing.T) {
	const shards = 3 * fewStates
	d := newDir(t)
	s := newSet(17, 700, 4)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	r := rand.New(rand.NewPCG(5, 5))
	sites, tags := make([]int32, s.rows), make([]int32, s.rows*s.classes)
	for i := range sites {
		sites[i] = r.Int32N(5)
	}
	for i := range tags {
		tags[i] = r.Int32N(2)
	}
	g := d.put("g.npy", npy(t, []int64{int64(s.rows)}, sites))
	runs := map[string][]string{
		"plain":   {x, "--labels", y, "--metrics", "default,ace"},
		"weights": {x, "--labels", y, "--weights", d.put("w.npy", s.weightFile(t))},
		"groups":  {x, "--labels", y, "--group", g},
		"slices":  {x, "--labels", y, "--slice-by", g},
		"labels":  {x, "--labels", d.put("tags.npy", npy(t, []int64{int64(s.rows), int64(s.classes)}, tags)), "--task", "multilabel"},
	}
	states := map[string][]string{}
	for name, run := range runs {
		whole, sum := d.at(name+".state"), d.at(name+".sum")
		run = slices.Concat([]string{"eval", "--json"}, run)
		want := printed(t, slices.Concat(run, []string{"--state", whole})...)
		for i := range shards {
			states[name] = append(states[name], d.at(fmt.Sprintf("%s-%d.state", name, i)))
			printed(t, slices.Concat(run, []string{"--shard", fmt.Sprintf("%d/%d", i, shards), "--state", states[name][i]})...)
		}
		r.Shuffle(shards, func(i, j int) { states[name][i], states[name][j] = states[name][j], states[name][i] })
		got := printed(t, append([]string{"merge", "--json", "--expect", fmt.Sprint(shards), "-o", sum}, states[name]...)...)
		if got != want || !bytes.Equal(d.read(sum), d.read(whole)) {
			t.Errorf("%s: many states differ from one run", name)
		}
	}
	few, many := states["plain"][:3], states["plain"]
	damaged := d.put("damaged.state", d.read(few[0])[:200])
	for what, bad := range map[string]string{"damaged": damaged, "other metrics": d.at("weights.state"), "groups": d.at("groups.state"), "no state": x, "twice": few[1], "missing": d.at("none.state")} {
		said := func(l []string) string {
			code, out, errs := candor(t, append([]string{"merge"}, append(slices.Clone(l), bad)...)...)
			if code == 0 || out != "" {
				t.Errorf("%s: exit code %d, %q", what, code, out)
			}
			return errs
		}
		if a, b := said(few), said(many); a != b || !strings.Contains(a, bad) {
			t.Errorf("%s: few states: %smany states: %s", what, a, b)
		}
	}
	if _, _, errs := candor(t, append([]string{"merge"}, slices.Repeat([]string{d.at("plain.state")}, 2*fewStates)...)...); strings.Count(errs, "are equal: are the same rows counted twice?") != 2*fewStates-1 {
		t.Errorf("equal states: %s", errs)
	}
}

// stateOfScores returns the state of rows whose scores are among some, all distinct for 0.
func stateOfScores(t testing.TB, seed uint64, rows, among int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	p := &metrics.Predictions{Labels: make([]int32, rows)}
	p.Rows, p.Classes, p.F32 = rows, 1, make([]float32, rows)
	for i := range p.F32 {
		if p.F32[i] = r.Float32(); among > 0 {
			p.F32[i] = float32(r.IntN(among)) / float32(among)
		}
		if r.Float32() < p.F32[i] {
			p.Labels[i] = 1
		}
	}
	list, err := eval.ParseMetrics("default", eval.Shape{Classes: 1})
	if err != nil {
		t.Fatal(err)
	}
	e, err := eval.New(eval.Spec{Classes: 1, Metrics: list})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Add(p, nil); err != nil {
		t.Fatal(err)
	}
	b, err := e.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// someStates returns the names of so many states of about 22 kB, some of which are the same file.
func someStates(t testing.TB, d *dir, n, among int) (l []string) {
	for i := range 100 {
		l = append(l, d.put(fmt.Sprintf("%d-%d.state", among, i), stateOfScores(t, uint64(i), 11_500, among)))
	}
	return slices.Repeat(l, n/len(l))
}

// BenchmarkMerge merges 10,000 states, whose scores end up on the grid or are kept.
func BenchmarkMerge(b *testing.B) {
	for _, among := range []int{0, 100_000} {
		b.Run(map[int]string{0: "grid", 100_000: "kept"}[among], func(b *testing.B) {
			args := append([]string{"merge"}, someStates(b, newDir(b), 10_000, among)...)
			for b.Loop() {
				if code := run(args, nil, io.Discard, io.Discard); code != exitDone {
					b.Fatal(code)
				}
			}
		})
	}
}
