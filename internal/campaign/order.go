//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const aboutOrder = `The same rows in another order, in other shards, which are evaluated apart and merged in any order and tree, by another number of threads and with
other instructions of the CPU. The document and the state have to be those of the first run, to the byte.`

// ordered is a task whose rows may come in any order.
type ordered struct {
	name  string
	rows  int
	write func(dir string, rows []int) error // to the files of args, these rows
	args  string                             // of eval
}

// orderTasks are the tasks, each of random rows.
func (c *campaign) orderTasks() []ordered {
	r := rand.New(rand.NewPCG(c.seed, 7))
	pick := func(v []float32, width int, rows []int) (l []float32) {
		for _, i := range rows {
			l = append(l, v[i*width:(i+1)*width]...)
		}
		return l
	}
	arrays := func(rows, width int) func(dir string, of []int) error {
		p, y := classRows(r, rows, max(2, width))
		scores := make([]float32, rows*width)
		for i := range scores {
			scores[i] = float32(p[i])
			if width == 1 {
				scores[i] = float32(p[2*i+1])
			}
		}
		groups := make([]int32, rows)
		for i := range groups {
			groups[i] = int32(r.IntN(5))
		}
		return func(dir string, of []int) error {
			labels, sites, shape := make([]int32, len(of)), make([]int32, len(of)), []int64{int64(len(of)), int64(width)}
			for i, row := range of {
				labels[i], sites[i] = y[row], groups[row]
			}
			if width == 1 {
				shape = shape[:1]
			}
			for name, b := range map[string][]byte{"p.npy": npy(shape, pick(scores, width, of)), "y.npy": npy(shape[:1], labels), "g.npy": npy(shape[:1], sites)} {
				if err := write(dir, name, b); err != nil {
					return err
				}
			}
			return nil
		}
	}
	const forecasts = 3000
	lines := make([]string, forecasts)
	for i := range lines {
		m, s := r.NormFloat64(), 0.5+r.Float64()
		lines[i] = fmt.Sprintf("%.6f,%.6f,%.6f,%d\n", m, s, m+s*r.NormFloat64(), r.IntN(40))
	}
	table := func(dir string, of []int) error {
		var b bytes.Buffer
		b.WriteString("mean,sd,observed,day\n")
		for _, row := range of {
			b.WriteString(lines[row])
		}
		return write(dir, "t.csv", b.Bytes())
	}
	const more = " --metrics default,ece(bins=20),smooth_ece,ks_p,spiegelhalter_p,mce"
	return []ordered{
		{"binary", 5000, arrays(5000, 1), "p.npy --labels y.npy" + more},
		{"binary, beyond 262,144 scores", 300_000, arrays(300_000, 1), "p.npy --labels y.npy"},
		{"10 classes", 3000, arrays(3000, 10), "p.npy --labels y.npy" + more},
		{"10 classes, groups", 2000, arrays(2000, 10), "p.npy --labels y.npy --group g.npy"},
		{"binary, clusters", 2000, arrays(2000, 1), "p.npy --labels y.npy --cluster g.npy"},
		{"multilabel", 1000, labelArrays(r, 1000, 4), "p.npy --labels y.npy --task multilabel"},
		{"forecasts", forecasts, table, "t.csv --task regression"},
		{"forecasts, groups", forecasts, table, "t.csv --task regression --group day"},
	}
}

// labelArrays writes scores of several labels.
func labelArrays(r *rand.Rand, rows, labels int) func(dir string, of []int) error {
	p, y := make([]float32, rows*labels), make([]int32, rows*labels)
	for i := range p {
		if p[i] = r.Float32(); r.Float32() < p[i] {
			y[i] = 1
		}
	}
	return func(dir string, of []int) error {
		var scores []float32
		var truth []int32
		for _, i := range of {
			scores, truth = append(scores, p[i*labels:(i+1)*labels]...), append(truth, y[i*labels:(i+1)*labels]...)
		}
		shape := []int64{int64(len(of)), int64(labels)}
		if err := write(dir, "p.npy", npy(shape, scores)); err != nil {
			return err
		}
		return write(dir, "y.npy", npy(shape, truth))
	}
}

func tryOrder(c *campaign) (*table, error) {
	t := &table{head: []string{"task", "rows", "runs", "shards, at most", "threads, at most"}}
	for at, task := range c.orderTasks() {
		var want, wantState []byte
		const mostShards, mostThreads = 20, 16
		runs := c.some(200)
		if task.rows > 100_000 {
			runs = c.some(50)
		}
		err := c.each(runs, func(i int, r *rand.Rand) error {
			dir, err := os.MkdirTemp(c.dir, "o")
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			shards := 1
			if i > 0 && r.IntN(3) > 0 {
				shards = 1 + r.IntN(mostShards)
			}
			document, state, err := c.ordered(dir, task, r, i > 0, shards, 1+r.IntN(mostThreads), []string{"", "generic", "avx2", ""}[r.IntN(4)])
			if err != nil {
				return fmt.Errorf("%s, run %d: %w", task.name, i, err)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.tries++
			if want == nil {
				want, wantState = document, state
			}
			if !bytes.Equal(document, want) || !bytes.Equal(state, wantState) {
				c.faults = append(c.faults, fmt.Sprintf("%s, run %d of %d, %d shards: another document or state", task.name, i, at, shards))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		t.add(task.name, thousands(int64(task.rows)), thousands(int64(runs)), thousands(mostShards), thousands(mostThreads))
	}
	return t, nil
}

// ordered evaluates a task: in random order if shuffled, in shards, with so many threads, and at a level of instructions.
func (c *campaign) ordered(dir string, task ordered, r *rand.Rand, shuffled bool, shards, threads int, level string) (document, state []byte, err error) {
	rows := make([]int, task.rows)
	for i := range rows {
		rows[i] = i
	}
	if shuffled {
		r.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
	}
	run := func(args ...string) error {
		o, err := c.run(command{dir: dir, args: args, env: []string{"CANDOR_ISA=" + level}})
		if err == nil && o.code != 0 {
			err = fmt.Errorf("candor %s: exit %d: %s", strings.Join(args, " "), o.code, o.stderr)
		}
		document = o.stdout
		return err
	}
	// Each shard takes a random share.
	cuts := []int{0, len(rows)}
	for range shards - 1 {
		cuts = append(cuts, 1+r.IntN(len(rows)-1))
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var states []string
	for i := range cuts[1:] {
		if err := task.write(dir, rows[cuts[i]:cuts[i+1]]); err != nil {
			return nil, nil, err
		}
		name := fmt.Sprintf("%d.state", i)
		args := append([]string{"eval"}, strings.Fields(task.args)...)
		if err := run(append(args, "--threads", fmt.Sprint(threads), "--state", name, "--json")...); err != nil {
			return nil, nil, err
		}
		states = append(states, name)
	}
	// Any few of them are merged, until one is left. A document says that it is of merged states, so one state is merged too.
	for n := 0; len(states) > 1 || n == 0; n++ {
		r.Shuffle(len(states), func(a, b int) { states[a], states[b] = states[b], states[a] })
		few := min(len(states), 2+r.IntN(8))
		name := fmt.Sprintf("m%d.state", n)
		args := append([]string{"merge"}, states[:few]...)
		if err := run(append(args, "-o", name)...); err != nil {
			return nil, nil, err
		}
		states = append(states[few:], name)
	}
	if err := run("merge", states[0], "--json"); err != nil {
		return nil, nil, err
	}
	state, err = os.ReadFile(filepath.Join(dir, states[0]))
	return document, state, err
}
