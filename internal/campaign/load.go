//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"
)

const aboutLoad = `Time and memory against the number of rows, classes, bins, groups, models, files and processes. A fault is an exit code, memory above its bound,
or CPU time per row, per class, per model, per file or per process that is more than twice that of the size before. Bins and groups cost no time that is in
proportion to their number, and have a bound of memory alone. Memory does not grow with rows or processes; a file takes about 1 kB, and a model up to
400 kB. Seconds are those of all CPUs together. With 8 processes, all run at once: memory is that of the largest, and all have to give the same document.

![CPU seconds and memory against the number of rows, classes, bins, groups, models, files and processes](load.svg)`

// size is one step of a ladder.
type size struct {
	n       int64
	prepare func(dir string) (stdin io.Reader, err error)
	args    string
	work    float64 // what time has to be proportional to
	beside  int     // so many processes at once, if it is set
}

type ladder struct {
	name   string
	most   int64 // bytes of memory
	steps  []size
	linear bool // time follows work
}

// scores yields an array: its header, and a block of scores again and again.
type scores struct {
	header []byte
	block  []byte
	left   int64
}

func (s *scores) Read(b []byte) (int, error) {
	if len(s.header) > 0 {
		n := copy(b, s.header)
		s.header = s.header[n:]
		return n, nil
	}
	if s.left == 0 {
		return 0, io.EOF
	}
	n := copy(b, s.block[:min(int64(len(s.block)), s.left)])
	s.left -= int64(n)
	return n, nil
}

func (c *campaign) ladders() []ladder {
	r := rand.New(rand.NewPCG(c.seed, 3))
	// A block of scores between 0 and 1 is repeated; its length is a multiple of that of a read of a pipe.
	block := make([]byte, 1<<20)
	for i := 0; i < len(block); i += 4 {
		binary.LittleEndian.PutUint32(block[i:], 0x3e000000+r.Uint32N(0x1600000))
	}
	binaryRows := func(n int64) size {
		return size{n: n, work: float64(n), args: "eval - --labels labels.npy --json", prepare: func(dir string) (io.Reader, error) {
			if err := sparse(dir, "labels.npy", npyHead(n, "|u1"), n); err != nil {
				return nil, err
			}
			return &scores{npyHead(n, "<f4"), block, 4 * n}, nil
		}}
	}
	classes := func(k int64) size {
		const entries = 20_000_000
		n := max(4, entries/k)
		return size{n: k, work: float64(n * k), args: "eval p.npy --labels y.npy --input logits --json", prepare: func(dir string) (io.Reader, error) {
			v := make([]float32, n*k)
			for i := range v {
				v[i] = float32(r.NormFloat64())
			}
			y := make([]int32, n)
			for i := range y {
				y[i] = int32(r.Int64N(k))
			}
			if err := write(dir, "p.npy", npy([]int64{n, k}, v)); err != nil {
				return nil, err
			}
			return nil, write(dir, "y.npy", npy([]int64{n}, y))
		}}
	}
	const few = 2_000_000
	vector := func(dir string) error {
		p, y := make([]float32, few), make([]int32, few)
		for i := range p {
			if p[i] = r.Float32(); r.Float32() < p[i] {
				y[i] = 1
			}
		}
		if err := write(dir, "p.npy", npy([]int64{few}, p)); err != nil {
			return err
		}
		return write(dir, "y.npy", npy([]int64{few}, y))
	}
	bins := func(n int64) size {
		return size{n: n, work: few, args: fmt.Sprintf("eval p.npy --labels y.npy --metrics ece(bins=%d) --json", n), prepare: func(dir string) (io.Reader, error) { return nil, vector(dir) }}
	}
	groups := func(n int64) size {
		return size{n: n, work: few, args: "eval p.npy --labels y.npy --group g.npy --max-memory 512MiB --json", prepare: func(dir string) (io.Reader, error) {
			g := make([]int32, few)
			for i := range g {
				g[i] = r.Int32N(int32(n))
			}
			if err := write(dir, "g.npy", npy([]int64{few}, g)); err != nil {
				return nil, err
			}
			return nil, vector(dir)
		}}
	}
	models := func(n int64) size {
		const rows = 2000
		return size{n: n, work: float64(n), args: "compare m*.npy --labels y.npy --baseline m000 --metrics nll,brier --max-memory 512MiB --json", prepare: func(dir string) (io.Reader, error) {
			y := make([]int32, rows)
			for m := range n {
				p := make([]float32, rows)
				for i := range p {
					p[i] = r.Float32()
					y[i] = int32(r.IntN(2))
				}
				if err := write(dir, fmt.Sprintf("m%03d.npy", m), npy([]int64{rows}, p)); err != nil {
					return nil, err
				}
			}
			return nil, write(dir, "y.npy", npy([]int64{rows}, y))
		}}
	}
	files := func(n int64) size {
		return size{n: n, work: float64(n), args: "eval parts --prob p --label y --json", prepare: func(dir string) (io.Reader, error) {
			if err := os.Mkdir(dir+"/parts", 0o777); err != nil {
				return nil, err
			}
			for i := range n {
				if err := write(dir+"/parts", fmt.Sprintf("%06d.csv", i), []byte("p,y\n0.25,0\n0.75,1\n")); err != nil {
					return nil, err
				}
			}
			return nil, nil
		}}
	}
	processes := func(n int64) size {
		return size{n: n, work: float64(n), args: "eval p.npy --labels y.npy --json", beside: int(n), prepare: func(dir string) (io.Reader, error) { return nil, vector(dir) }}
	}
	l := []ladder{
		{"rows, binary float32 from a pipe", 200 << 20, []size{binaryRows(1_000_000), binaryRows(10_000_000), binaryRows(100_000_000)}, true},
		{"classes, 2e7 float32 logits", 320 << 20, []size{classes(10), classes(1000), classes(100_000), classes(1_000_000)}, true},
		{"bins, 2e6 rows", 320 << 20, []size{bins(15), bins(1000), bins(100_000)}, false},
		{"groups, 2e6 rows", 800 << 20, []size{groups(10), groups(1000), groups(100_000)}, false},
		{"models, 2,000 rows", 400 << 20, []size{models(10), models(100)}, true},
		{"files of 2 rows", 200 << 20, []size{files(1000), files(10_000)}, true},
		{"processes at once, 2e6 rows each", 100 << 20, []size{processes(1), processes(8)}, true},
	}
	if c.full {
		l[0].steps = append(l[0].steps, binaryRows(1_000_000_000))
		l[4].steps = append(l[4].steps, models(1000))
		l[4].most = 512 << 20 // what --max-memory allows
		l[5].steps = append(l[5].steps, files(100_000))
	}
	return l
}

// npyHead is the header of a vector.
func npyHead(n int64, descr string) []byte {
	return header(fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }", descr, n))
}

// sparse makes a file of a header and zeros, which take no room on the disk.
func sparse(dir, name string, head []byte, n int64) error {
	if err := write(dir, name, head); err != nil {
		return err
	}
	return os.Truncate(dir+"/"+name, int64(len(head))+n)
}

func tryLoad(c *campaign) (*table, error) {
	t := &table{head: []string{"number of", "", "CPU seconds", "memory, MiB"}}
	var panels []panel
	for _, l := range c.ladders() {
		of := panel{name: l.name}
		var before float64
		for i, s := range l.steps {
			o, err := c.climb(&s)
			if err != nil {
				return nil, err
			}
			c.tried(1)
			what := fmt.Sprintf("%s: %s", l.name, thousands(s.n))
			if o.code != 0 || !bytes.HasPrefix(o.stdout, []byte("{")) {
				c.fault("%s: exit code %d: %.200q", what, o.code, o.stderr)
			}
			if o.memory > l.most {
				c.fault("%s: %d MiB of memory, and at most %d are meant", what, o.memory>>20, l.most>>20)
			}
			per := o.cpu.Seconds() / s.work
			if l.linear && i > 0 && o.cpu.Seconds() > 0.2 && per > 2*before {
				c.fault("%s: %.2f s, %.1f times as much for each as one size before", what, o.cpu.Seconds(), per/before)
			}
			before = per
			t.add(l.name, thousands(s.n), fmt.Sprintf("%.2f", o.cpu.Seconds()), thousands(o.memory>>20))
			of.add(float64(s.n), o.cpu.Seconds(), float64(o.memory>>20))
		}
		panels = append(panels, of)
	}
	c.picture, c.pictured = "load.svg", drawLoad(panels)
	return t, nil
}

// climb runs the command of one step. Of several processes time is the sum, and memory that of the largest.
func (c *campaign) climb(s *size) (outcome, error) {
	dir, err := os.MkdirTemp(c.dir, "n")
	if err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(dir)
	stdin, err := s.prepare(dir)
	if err != nil {
		return outcome{}, err
	}
	args := strings.Fields(s.args)
	if strings.Contains(s.args, "m*") {
		args = append([]string{"compare"}, models(s.n)...)
		args = append(args, strings.Fields(s.args)[2:]...)
	}
	outcomes, errs := make([]outcome, max(1, s.beside)), make([]error, max(1, s.beside))
	var all sync.WaitGroup
	for i := range outcomes {
		all.Go(func() {
			outcomes[i], errs[i] = c.measured(command{dir: dir, args: args, stdin: stdin, limit: 15 * time.Minute})
		})
	}
	all.Wait()
	o := outcomes[0]
	for i, p := range outcomes[1:] {
		if p.code != 0 {
			o.code, o.stderr = p.code, p.stderr
		}
		if !bytes.Equal(p.stdout, o.stdout) {
			c.fault("%s: process %d has another document than the first", s.args, i+1)
		}
		o.cpu, o.memory = o.cpu+p.cpu, max(o.memory, p.memory)
	}
	return o, errors.Join(errs...)
}

// models are the files of so many models.
func models(n int64) (l []string) {
	for m := range n {
		l = append(l, fmt.Sprintf("m%03d.npy", m))
	}
	return l
}
