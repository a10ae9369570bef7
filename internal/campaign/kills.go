//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const aboutKills = `Commands that write files are ended at random moments. After SIGKILL, which no process can see coming, a file has its old bytes or its new ones, and
nothing between; a temporary file may be left, and its name says what it is. After SIGINT or SIGTERM nothing at all is left. A run with
` + "`--checkpoint`" + ` that is killed again and again, and resumed, has to end with the document and the state of a run that nobody disturbed.`

// written are commands, and the file that each writes.
var written = []struct{ args, file string }{
	{"eval p.npy --labels y.npy --state out", "out"},
	{"eval p.npy --labels y.npy --html out", "out"},
	{"eval p.npy --labels y.npy --plot out.png", "out.png"},
	{"eval p.npy --labels y.npy --report junit=out.xml", "out.xml"},
	{"score p.npy --labels y.npy -o out.npz", "out.npz"},
	{"score p.npy --labels y.npy -o out.parquet", "out.parquet"},
	{"compare p.npy q.npy --labels y.npy --flips out.csv", "out.csv"},
	{"compare p.npy q.npy --labels y.npy --state out", "out"},
	{"recal fit temperature p.npy --labels y.npy -o out.json", "out.json"},
	{"recal apply map.json p.npy -o out.npy", "out.npy"},
	{"merge a.state b.state -o out", "out"},
}

// killFiles writes the files that the commands read.
func (c *campaign) killFiles(dir string, rows int) error {
	r := rand.New(rand.NewPCG(c.seed, 5))
	p, y := classRows(r, rows, 3)
	first, second := make([]float32, len(p)), make([]float32, len(p))
	for i, v := range p {
		first[i], second[i] = float32(v), float32(0.9*v+0.1/3)
	}
	shape := []int64{int64(rows), 3}
	for name, b := range map[string][]byte{"p.npy": npy(shape, first), "q.npy": npy(shape, second), "y.npy": npy(shape[:1], y)} {
		if err := write(dir, name, b); err != nil {
			return err
		}
	}
	for _, args := range []string{
		"eval p.npy --labels y.npy --state a.state", "eval q.npy --labels y.npy --state b.state", "recal fit temperature p.npy --labels y.npy -o map.json",
	} {
		if _, err := c.must(dir, strings.Fields(args)...); err != nil {
			return err
		}
	}
	return nil
}

func tryKills(c *campaign) (*table, error) {
	home := filepath.Join(c.dir, "home")
	if err := os.Mkdir(home, 0o777); err != nil {
		return nil, err
	}
	if err := c.killFiles(home, 60_000); err != nil {
		return nil, err
	}
	t := &table{head: []string{"command", "signal", "tried", "ended by it", "temporary files left"}}
	for _, w := range written {
		o, err := c.run(command{dir: home, args: strings.Fields(w.args)})
		if err != nil {
			return nil, err
		}
		if o.code != 0 {
			return nil, fmt.Errorf("%s: %s", w.args, o.stderr)
		}
		want, err := os.ReadFile(filepath.Join(home, w.file))
		if err != nil {
			return nil, err
		}
		os.Remove(filepath.Join(home, w.file))
		for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM} {
			if err := c.kill(t, home, w.args, w.file, want, signal, o.wall); err != nil {
				return nil, err
			}
		}
	}
	return t, c.resumed(t, home)
}

// at sends a signal after some time.
func at(after time.Duration, signal syscall.Signal) func(p *exec.Cmd) {
	return func(p *exec.Cmd) {
		time.Sleep(after)
		p.Process.Signal(signal)
	}
}

// kill ends a command at random moments.
func (c *campaign) kill(t *table, home, args, file string, want []byte, signal syscall.Signal, takes time.Duration) error {
	n := c.some(90)
	if signal != syscall.SIGKILL {
		n = c.some(30)
	}
	var ended, left int64
	l, err := os.ReadDir(home)
	if err != nil {
		return err
	}
	inputs := len(l)
	old := []byte("the old file")
	err = c.each(n, func(i int, r *rand.Rand) error {
		dir, err := c.linked(home)
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		before := r.IntN(2) == 0
		if before {
			if err := write(dir, file, old); err != nil {
				return err
			}
		}
		o, err := c.run(command{dir: dir, args: strings.Fields(args), killed: at(time.Duration(2.2*r.Float64()*float64(takes)), signal)})
		if err != nil {
			return err
		}
		what := fmt.Sprintf("candor %s, %v", args, signal)
		temporary, err := filepath.Glob(filepath.Join(dir, ".candor-*"))
		if err != nil {
			return err
		}
		now, err := os.ReadFile(filepath.Join(dir, file))
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tries++
		if o.signal == signal {
			ended++
		} else if o.code != 0 {
			c.faults = append(c.faults, fmt.Sprintf("%s: exit code %d: %.200q", what, o.code, o.stderr))
		}
		left += int64(len(temporary))
		if signal != syscall.SIGKILL && len(temporary) > 0 {
			c.faults = append(c.faults, fmt.Sprintf("%s: leaves %s", what, strings.Join(temporary, ", ")))
		}
		switch {
		case err != nil && !before && o.code != 0, before && o.code != 0 && bytes.Equal(now, old), err == nil && bytes.Equal(now, want):
		default:
			c.faults = append(c.faults, fmt.Sprintf("%s: exit code %d, and %s has %d bytes of %d: %v", what, o.code, file, len(now), len(want), err))
		}
		if files, err := os.ReadDir(dir); err == nil {
			if extra := len(files) - inputs - len(temporary); extra > 1 {
				c.faults = append(c.faults, fmt.Sprintf("%s: %d more files than its output", what, extra-1))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.add("`"+args+"`", strings.ToUpper(signal.String()[:1])+signal.String()[1:], thousands(int64(n)), thousands(ended), thousands(left))
	return nil
}

// resumed kills a run with checkpoints again and again.
func (c *campaign) resumed(t *table, home string) error {
	const args = "eval p.npy --labels y.npy --checkpoint point --checkpoint-every 1ms --state out --json"
	var wanted [2][]byte
	whole := func(dir string, o outcome) ([2][]byte, error) {
		state, err := os.ReadFile(filepath.Join(dir, "out"))
		return [2][]byte{o.stdout, state}, err
	}
	n := c.some(100)
	var ended, left int64
	o, err := c.run(command{dir: home, args: strings.Fields(args)})
	if err != nil {
		return err
	}
	if o.code != 0 {
		return fmt.Errorf("%s: %s", args, o.stderr)
	}
	if wanted, err = whole(home, o); err != nil {
		return err
	}
	os.Remove(filepath.Join(home, "out"))
	err = c.each(n, func(i int, r *rand.Rand) error {
		dir, err := os.MkdirTemp(c.dir, "r")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		for _, name := range []string{"p.npy", "y.npy"} {
			if err := os.Link(filepath.Join(home, name), filepath.Join(dir, name)); err != nil {
				return err
			}
		}
		signal := []syscall.Signal{syscall.SIGKILL, syscall.SIGKILL, syscall.SIGTERM}[r.IntN(3)]
		for tries := 0; ; tries++ {
			k := command{dir: dir, args: strings.Fields(args)}
			if tries > 0 {
				k.args = append(k.args, "--resume")
			}
			if tries < 4 {
				k.killed = at(time.Duration(1.1*r.Float64()*float64(o.wall)), signal)
			}
			out, err := c.run(k)
			if err != nil {
				return err
			}
			if out.signal == signal {
				c.mu.Lock()
				ended++
				c.mu.Unlock()
				continue
			}
			if out.code != 0 {
				c.fault("candor %s --resume, try %d: exit code %d: %.200q", args, tries, out.code, out.stderr)
				break
			}
			got, err := whole(dir, out)
			if err != nil {
				return err
			}
			if !bytes.Equal(got[0], wanted[0]) || !bytes.Equal(got[1], wanted[1]) {
				c.fault("candor %s, killed %d times: another document or state", args, tries)
			}
			break
		}
		temporary, err := filepath.Glob(filepath.Join(dir, ".candor-*"))
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tries++
		left += int64(len(temporary))
		return err
	})
	if err != nil {
		return err
	}
	t.add("`eval --checkpoint`, then `--resume`", "Killed, terminated", thousands(int64(n)), thousands(ended), thousands(left))
	return nil
}
