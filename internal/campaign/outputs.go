//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

const aboutOutputs = `Files may not grow beyond a random size, as on a full disk or under a quota; standard output is full; and the folder of a file does not exist.
The exit code has to say so, the message to name the file, and neither the file nor a temporary one may be left.`

func tryOutputs(c *campaign) (*table, error) {
	home := filepath.Join(c.dir, "home")
	if err := os.Mkdir(home, 0o777); err != nil {
		return nil, err
	}
	if err := c.killFiles(home, 3000); err != nil {
		return nil, err
	}
	t := &table{head: []string{"command", "bytes", "sizes tried", "refused", "written"}}
	for _, w := range written {
		if _, err := c.must(home, strings.Fields(w.args)...); err != nil {
			return nil, err
		}
		info, err := os.Stat(filepath.Join(home, w.file))
		if err != nil {
			return nil, err
		}
		os.Remove(filepath.Join(home, w.file))
		var refused, whole int64
		n := c.some(60)
		err = c.each(n, func(i int, r *rand.Rand) error {
			dir, err := c.linked(home)
			if err != nil {
				return err
			}
			defer os.RemoveAll(dir)
			// The limit is in blocks of 1 KiB; a file that is just as long fits.
			limit := r.Int64N(info.Size()/1024 + 2)
			o, err := c.run(command{dir: dir, program: "/bin/sh", args: append([]string{"-c", fmt.Sprintf(`ulimit -f %d; exec "$@"`, 2*limit), "sh", c.candor}, strings.Fields(w.args)...)})
			if err != nil {
				return err
			}
			what := fmt.Sprintf("candor %s, files of at most %d KiB", w.args, limit)
			if wrong := o.unsound(damageMemory); wrong != "" {
				c.fault("%s: %s", what, wrong)
			}
			now, err := os.Stat(filepath.Join(dir, w.file))
			temporary, _ := filepath.Glob(filepath.Join(dir, ".candor-*"))
			c.mu.Lock()
			defer c.mu.Unlock()
			c.tries++
			if len(temporary) > 0 {
				c.faults = append(c.faults, fmt.Sprintf("%s: leaves %s", what, strings.Join(temporary, ", ")))
			}
			switch {
			case o.code == 0 && err == nil && now.Size() == info.Size():
				whole++
			case o.refused() && err != nil && strings.Contains(string(o.stderr), w.file):
				refused++
			default:
				c.faults = append(c.faults, fmt.Sprintf("%s: exit code %d, file: %v; %.200q", what, o.code, err == nil, o.stderr))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		t.add("`"+w.args+"`", thousands(info.Size()), thousands(int64(n)), thousands(refused), thousands(whole))
		o, err := c.run(command{dir: home, args: strings.Fields(strings.ReplaceAll(w.args, "out", "none/out"))})
		if err != nil {
			return nil, err
		}
		c.tried(1)
		if !o.refused() || !strings.Contains(string(o.stderr), "none") {
			c.fault("candor %s, into a folder that does not exist: exit code %d: %.200q", w.args, o.code, o.stderr)
		}
	}
	for _, args := range []string{"eval p.npy --labels y.npy", "eval p.npy --labels y.npy --json", "compare p.npy q.npy --labels y.npy", "merge a.state b.state", "metrics", "recal apply map.json p.npy -o -", "inspect p.npy"} {
		o, err := c.run(command{dir: home, program: "/bin/sh", args: append([]string{"-c", `exec "$@" >/dev/full`, "sh", c.candor}, strings.Fields(args)...)})
		if err != nil {
			return nil, err
		}
		c.tried(1)
		if wrong := o.unsound(damageMemory); wrong != "" || o.code == 0 {
			c.fault("candor %s >/dev/full: exit code %d: %s", args, o.code, wrong)
		}
	}
	return t, nil
}

// linked returns a new folder with the files of another one.
func (c *campaign) linked(home string) (string, error) {
	dir, err := os.MkdirTemp(c.dir, "l")
	if err != nil {
		return "", err
	}
	l, err := os.ReadDir(home)
	if err != nil {
		return "", err
	}
	for _, f := range l {
		if err := os.Link(filepath.Join(home, f.Name()), filepath.Join(dir, f.Name())); err != nil {
			return "", err
		}
	}
	return dir, nil
}
