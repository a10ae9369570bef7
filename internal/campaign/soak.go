//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const aboutSoak = `Commands that read rows from a pipe without an end: for an hour in the whole campaign, and for twenty seconds in a tenth of it. Go's collector
reports after each collection what the command still uses (*live*); the rest of the process is room that the collector has until the next one, and
the program itself. A fault is a row that is not counted, more than 1 GiB of memory, or in the whole campaign growth: in the second half of the time
live memory may be at most 4 MiB above that of the first half.`

// soaked is a command that reads a table for as long as there are rows.
type soaked struct {
	name, args string
	head       string
	row        func(b []byte, r *rand.Rand) []byte
}

// appendP appends a probability of some bits. Of 20 bits there are more than are kept one by one.
func appendP(b []byte, r *rand.Rand, bits int) []byte {
	return strconv.AppendFloat(b, float64(1+r.IntN(1<<bits-1))/float64(int(1)<<bits), 'g', -1, 64)
}

var soaks = []soaked{
	{"5,000 clusters", "eval - --prob p --label y --cluster patient --max-memory 8GiB --json", "p,y,patient\n", func(b []byte, r *rand.Rand) []byte {
		b = append(strconv.AppendInt(append(appendP(b, r, 20), ','), r.Int64N(2), 10), ',')
		return append(strconv.AppendInt(b, r.Int64N(5000), 10), '\n')
	}},
	{"50 groups", "eval - --prob p --label y --group site --max-memory 3GiB --json", "p,y,site\n", func(b []byte, r *rand.Rand) []byte {
		b = append(strconv.AppendInt(append(appendP(b, r, 12), ','), r.Int64N(2), 10), ",s"...)
		return append(strconv.AppendInt(b, r.Int64N(50), 10), '\n')
	}},
	{"forecasts", "eval - --task regression --mean mu --std sd --observed y --max-memory 1GiB --json", "mu,sd,y\n", func(b []byte, r *rand.Rand) []byte {
		mean, sd := r.NormFloat64(), r.ExpFloat64()+0.1
		for _, v := range []float64{mean, sd, mean + float64(sd*r.NormFloat64())} {
			b = append(strconv.AppendFloat(b, v, 'g', 6, 64), ',')
		}
		b[len(b)-1] = '\n'
		return b
	}},
}

func trySoak(c *campaign) (*table, error) {
	t := &table{head: []string{"rows", "seconds", "rows read", "collections", "live, MiB, by eighth of the time", "process, MiB, by eighth of the time"}}
	last := c.soaks
	switch {
	case last > 0:
	case c.full:
		last = time.Hour
	default:
		last = 20 * time.Second
	}
	rows := make([][]string, len(soaks))
	var wait sync.WaitGroup
	failed := make([]error, len(soaks))
	for i, s := range soaks {
		wait.Go(func() {
			got, err := c.soak(s, last, rand.New(rand.NewPCG(c.seed, uint64(i))))
			switch {
			case err != nil && got.rows == 0:
				failed[i] = fmt.Errorf("%s: %w", s.name, err)
				return
			case err != nil:
				c.fault("%s: after %d rows: %v", s.name, got.rows, err)
			}
			c.tried(got.rows)
			const slack, most = 4, 1 << 10 // MiB
			if m := slices.Max(got.resident[:]); m > most {
				c.fault("%s: %d MiB of memory", s.name, m)
			}
			if got.collections == 0 {
				c.fault("%s: no collection was reported", s.name)
			}
			first, second := slices.Max(got.live[:parts/2]), slices.Max(got.live[parts/2:])
			if c.full && second > first+slack {
				c.fault("%s: %d MiB are live in the second half, %d in the first", s.name, second, first)
			}
			list := func(v [parts]int64) string {
				var l []string
				for _, m := range v {
					if m == 0 {
						l = append(l, "-")
					} else {
						l = append(l, fmt.Sprint(m))
					}
				}
				return strings.Join(l, " ")
			}
			rows[i] = []string{s.name, fmt.Sprint(int(last.Seconds())), thousands(got.rows), thousands(got.collections), list(got.live), list(got.resident)}
		})
	}
	wait.Wait()
	t.rows = rows
	return t, errors.Join(failed...)
}

const parts = 8

// soakResult is what a command took that ran for long, in MiB, the most in each part of the time; 0 where nothing was seen.
type soakResult struct {
	rows, collections int64
	live, resident    [parts]int64
}

// collection is a line of Go's collector: memory when a collection began, when it ended, and what of it is live.
var collection = regexp.MustCompile(`^gc \d+ @.* \d+->\d+->(\d+) MB, \d+ MB goal`)

// soak runs one command for some time.
func (c *campaign) soak(s soaked, last time.Duration, r *rand.Rand) (got soakResult, err error) {
	p := exec.Command(c.candor, strings.Fields(s.args)...)
	p.Dir = c.dir
	p.Env = append(os.Environ(), "GODEBUG=gctrace=1")
	var stdout bytes.Buffer
	p.Stdout = &stdout
	in, err := p.StdinPipe()
	if err != nil {
		return got, err
	}
	said, err := p.StderrPipe()
	if err != nil {
		return got, err
	}
	if err := p.Start(); err != nil {
		return got, err
	}
	defer p.Process.Kill()
	start := time.Now()
	part := func() int64 { return min(parts-1, int64(parts*time.Since(start)/last)) }
	var other []string
	var reader sync.WaitGroup
	reader.Go(func() {
		for l := bufio.NewScanner(said); l.Scan(); {
			m := collection.FindStringSubmatch(l.Text())
			if m == nil {
				other = append(other, l.Text())
				continue
			}
			live, _ := strconv.ParseInt(m[1], 10, 64)
			q := &got.live[part()]
			*q = max(*q, live)
			got.collections++
		}
	})
	end := func(err error) error {
		in.Close()
		reader.Wait()
		if failed := p.Wait(); failed != nil {
			return fmt.Errorf("%w: %s", failed, strings.Join(other, "\n"))
		}
		return err
	}
	if _, err := io.WriteString(in, s.head); err != nil {
		return got, end(err)
	}
	const block, pause = 20_000, 10 * time.Millisecond // so that an hour is not an hour of all the machine
	b := make([]byte, 0, block*40)
	for ; time.Since(start) < last; time.Sleep(pause) {
		for b = b[:0]; len(b) < block*20; got.rows++ {
			b = s.row(b, r)
		}
		if _, err := in.Write(b); err != nil {
			return got, end(err)
		}
		m, err := resident(p.Process.Pid)
		if err != nil {
			return got, end(err)
		}
		q := &got.resident[part()]
		*q = max(*q, m>>20)
	}
	if err := end(nil); err != nil {
		return got, err
	}
	var d struct{ Input struct{ Rows int64 } }
	if err := json.Unmarshal(stdout.Bytes(), &d); err != nil {
		return got, err
	}
	if d.Input.Rows != got.rows {
		c.fault("%s: %d rows were written, and the document has %d", s.name, got.rows, d.Input.Rows)
	}
	return got, nil
}

// resident returns the memory of a process, in bytes.
func resident(pid int) (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(b), &size, &pages); err != nil {
		return 0, err
	}
	return pages * int64(os.Getpagesize()), nil
}
