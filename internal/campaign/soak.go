//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const aboutSoak = `Commands that read rows from a pipe without an end: for an hour in the whole campaign, and for twenty seconds in a tenth of it. A fault
is a row that is not counted, more than 1 GiB of memory, or in the whole campaign growth: in the second half of the hour
memory may be at most 8 MiB above that in the first half.`

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
	{"5,000 clusters", "eval - --prob p --label y --cluster patient --max-memory 1GiB --json", "p,y,patient\n", func(b []byte, r *rand.Rand) []byte {
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
	t := &table{head: []string{"rows", "seconds", "rows read", "memory in the first half, MiB", "in the second half, MiB"}}
	last := 20 * time.Second
	if c.full {
		last = time.Hour
	}
	rows := make([][]string, len(soaks))
	err := c.each(len(soaks), func(i int, r *rand.Rand) error {
		s := soaks[i]
		n, halves, err := c.soak(s, last, r)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		c.tried(n)
		const slack, most = 8 << 20, 1 << 30
		if m := max(halves[0], halves[1]); m > most {
			c.fault("%s: %d MiB of memory", s.name, m>>20)
		}
		if c.full && halves[1] > halves[0]+slack {
			c.fault("%s: %d MiB in the second half, %d in the first", s.name, halves[1]>>20, halves[0]>>20)
		}
		rows[i] = []string{s.name, fmt.Sprint(int(last.Seconds())), thousands(n), fmt.Sprint(halves[0] >> 20), fmt.Sprint(halves[1] >> 20)}
		return nil
	})
	t.rows = rows
	return t, err
}

// soak runs one command for some time, and returns the number of rows and the most memory in each half of the time.
func (c *campaign) soak(s soaked, last time.Duration, r *rand.Rand) (rows int64, halves [2]int64, err error) {
	p := exec.Command(c.candor, strings.Fields(s.args)...)
	p.Dir = c.dir
	var stdout, stderr bytes.Buffer
	p.Stdout, p.Stderr = &stdout, &stderr
	in, err := p.StdinPipe()
	if err != nil {
		return 0, halves, err
	}
	if err := p.Start(); err != nil {
		return 0, halves, err
	}
	defer p.Process.Kill()
	if _, err := io.WriteString(in, s.head); err != nil {
		return 0, halves, err
	}
	const block, pause = 20_000, 10 * time.Millisecond // so that an hour is not an hour of all the machine
	b := make([]byte, 0, block*40)
	for start := time.Now(); ; time.Sleep(pause) {
		for b = b[:0]; len(b) < block*20; rows++ {
			b = s.row(b, r)
		}
		if _, err := in.Write(b); err != nil {
			p.Wait()
			return rows, halves, fmt.Errorf("%w: %s", err, stderr.Bytes())
		}
		gone := time.Since(start)
		m, err := resident(p.Process.Pid)
		if err != nil {
			return rows, halves, err
		}
		half := &halves[min(1, 2*gone/last)]
		*half = max(*half, m)
		if gone > last {
			break
		}
	}
	in.Close()
	if err := p.Wait(); err != nil {
		return rows, halves, fmt.Errorf("%w: %s", err, stderr.Bytes())
	}
	var d struct{ Input struct{ Rows int64 } }
	if err := json.Unmarshal(stdout.Bytes(), &d); err != nil {
		return rows, halves, err
	}
	if d.Input.Rows != rows {
		c.fault("%s: %d rows were written, and the document has %d", s.name, rows, d.Input.Rows)
	}
	return rows, halves, nil
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
