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
	"time"
)

const aboutChanges = `While a command reads a file, it is cut, grows, is replaced by another one or removed. The answer has to be that of the file as it was, or
there has to be an error. Reading a file that another process changes in place, without changing its length, is not in this table: its rows are those
that were read.`

// changes are what happens to a file.
var changes = []struct {
	name   string
	change func(path string, r *rand.Rand) error
}{
	{"cut", func(path string, r *rand.Rand) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, r.Int64N(info.Size()))
	}},
	{"cut to nothing", func(path string, _ *rand.Rand) error { return os.Truncate(path, 0) }},
	{"grows", func(path string, r *rand.Rand) error {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.Write(make([]byte, 1+r.IntN(1<<16)))
		return err
	}},
	{"replaced", func(path string, _ *rand.Rand) error {
		if err := os.WriteFile(path+".new", []byte("p,y\n0.5,1\n"), 0o666); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	}},
	{"removed", func(path string, _ *rand.Rand) error { return os.Remove(path) }},
}

func tryChanges(c *campaign) (*table, error) {
	home := filepath.Join(c.dir, "home")
	if err := os.Mkdir(home, 0o777); err != nil {
		return nil, err
	}
	if err := c.killFiles(home, 200_000); err != nil {
		return nil, err
	}
	for _, args := range []string{
		"recal apply map.json p.npy -o p.csv", "recal apply map.json p.npy -o p.parquet", "recal apply map.json p.npy -o p.arrow",
	} {
		if _, err := c.must(home, strings.Fields(args)...); err != nil {
			return nil, err
		}
	}
	t := &table{head: []string{"command", "the file is", "tried", "an error", "the answer of before"}}
	for _, k := range []struct{ args, file string }{
		{"eval p.npy --labels y.npy --json", "p.npy"},
		{"eval p.npy --labels y.npy --json", "y.npy"},
		{"eval p.csv --prob-prefix prob_ --labels y.npy --json", "p.csv"},
		{"eval p.parquet --prob-prefix prob_ --labels y.npy --json", "p.parquet"},
		{"eval p.arrow --prob-prefix prob_ --labels y.npy --json", "p.arrow"},
		{"compare p.npy q.npy --labels y.npy --json", "q.npy"},
		{"score p.npy --labels y.npy -o -", "p.npy"},
		{"recal apply map.json p.npy -o -", "p.npy"},
	} {
		o, err := c.run(command{dir: home, args: strings.Fields(k.args)})
		if err != nil {
			return nil, err
		}
		if o.code != 0 {
			return nil, fmt.Errorf("%s: %s", k.args, o.stderr)
		}
		for _, how := range changes {
			var refused, same int64
			n := c.some(40)
			err := c.each(n, func(i int, r *rand.Rand) error {
				dir, err := c.linked(home)
				if err != nil {
					return err
				}
				defer os.RemoveAll(dir)
				path := filepath.Join(dir, k.file)
				b, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				// The file is this run's own.
				if err := os.Remove(path); err != nil {
					return err
				}
				if err := os.WriteFile(path, b, 0o666); err != nil {
					return err
				}
				var failed error
				got, err := c.run(command{dir: dir, args: strings.Fields(k.args), killed: func(*exec.Cmd) {
					u := r.Float64() // most of the time is after the last read
					time.Sleep(time.Duration(u * u * float64(o.wall)))
					failed = how.change(path, r)
				}})
				if err != nil {
					return err
				}
				if failed != nil {
					return failed
				}
				what := fmt.Sprintf("candor %s, %s is %s", k.args, k.file, how.name)
				if wrong := got.unsound(damageMemory); wrong != "" {
					c.fault("%s: %s", what, wrong)
				}
				c.mu.Lock()
				defer c.mu.Unlock()
				c.tries++
				switch {
				case got.refused():
					refused++
				case bytes.Equal(got.stdout, o.stdout):
					same++
				default:
					c.faults = append(c.faults, what+": another answer")
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
			t.add("`"+k.args+"`", "`"+k.file+"` "+how.name, thousands(int64(n)), thousands(refused), thousands(same))
		}
	}
	return t, nil
}
