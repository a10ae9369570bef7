//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/candor-go/candor/internal/check"
)

const aboutDamage = `A small file of each format, of which every truncation and every change of a bit is read by the command, and random damage: bytes that are
overwritten, removed, inserted, repeated or moved. States are also sealed again, so that damage does not stop at their checksums. *Refused* is an
error with its exit code and no answer, *no matter* the answer of the undamaged file, and *other* an answer to what the file now says: damage that
turns one number into another. Where a format has a checksum of its data, another answer is a fault. So are a panic, a
hang, control characters on the terminal and more than 400 MiB of memory.`

const damageMemory = 400 << 20

func tryDamage(c *campaign) (*table, error) {
	home := filepath.Join(c.dir, "home")
	if err := os.Mkdir(home, 0o777); err != nil {
		return nil, err
	}
	l, err := c.specimens(home)
	if err != nil {
		return nil, err
	}
	t := &table{head: []string{"file", "bytes", "tried", "refused", "no matter", "other"}}
	for _, s := range l {
		if err := c.damage(t, home, s, false); err != nil {
			return nil, err
		}
		if filepath.Ext(s.name) == ".state" {
			if err := c.damage(t, home, s, true); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// damage tries damages of a file.
func (c *campaign) damage(t *table, home string, s specimen, reseal bool) error {
	whole, err := os.ReadFile(filepath.Join(home, s.name))
	if err != nil {
		return err
	}
	want, err := c.must(home, s.args...)
	if err != nil {
		return err
	}
	// Larger files have the bits of each byte changed in turn: bit 0 of the first, bit 1 of the second.
	perByte := 8
	if len(whole) > 2000 {
		perByte = 1
	}
	cuts, flips, random := c.some(len(whole)), c.some(perByte*len(whole)), c.some(5000)
	if reseal {
		cuts = 0
	}
	folders := make(chan string, 64)
	for i := range cap(folders) {
		dir := filepath.Join(c.dir, fmt.Sprintf("d%d", i))
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		for _, name := range s.needs {
			b, err := os.ReadFile(filepath.Join(home, name))
			if err != nil {
				return err
			}
			if err := write(dir, name, b); err != nil {
				return err
			}
		}
		folders <- dir
	}
	var refused, same, other int64
	err = c.each(cuts+flips+random, func(i int, r *rand.Rand) error {
		var b []byte
		var what string
		switch {
		case i < cuts:
			n := i
			if !c.full {
				n = r.IntN(len(whole))
			}
			b, what = whole[:n], fmt.Sprintf("cut after %d bytes", n)
		case i < cuts+flips:
			n := i - cuts
			if !c.full {
				n = r.IntN(perByte * len(whole))
			}
			at, bit := n/perByte, n%perByte
			if perByte == 1 {
				bit = at % 8
			}
			b, what = bytes.Clone(whole), fmt.Sprintf("bit %d of byte %d changed", bit, at)
			b[at] ^= 1 << bit
		default:
			b, what = maul(whole, r)
		}
		name := s.name
		if reseal {
			if len(b) < 22 {
				return nil
			}
			b, what, name = check.Reseal(b), what+", sealed again", name+" (sealed again)"
		}
		dir := <-folders
		defer func() { folders <- dir }()
		if err := write(dir, s.name, b); err != nil {
			return err
		}
		o, err := c.run(command{dir: dir, args: s.args, env: []string{"GOMAXPROCS=1"}})
		if err != nil {
			return err
		}
		if wrong := o.unsound(damageMemory); wrong != "" {
			c.fault("%s, %s (try %d): %s", name, what, i, wrong)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.tries++
		switch {
		case o.refused():
			refused++
			if len(o.stdout) > 0 {
				c.faults = append(c.faults, fmt.Sprintf("%s, %s: an error, and an answer", name, what))
			}
		case bytes.Equal(o.stdout, want):
			same++
		default:
			other++
			if s.sealed && !reseal {
				c.faults = append(c.faults, fmt.Sprintf("%s, %s (try %d): another answer", name, what, i))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	name := "`" + s.name + "`"
	if reseal {
		name += ", sealed again"
	}
	t.add(name, thousands(int64(len(whole))), thousands(refused+same+other), thousands(refused), thousands(same), thousands(other))
	return nil
}

// maul damages a file at random.
func maul(whole []byte, r *rand.Rand) (b []byte, what string) {
	b = bytes.Clone(whole)
	for n := 1 + r.IntN(3); n > 0; n-- {
		at := r.IntN(len(b) + 1)
		size := min(1+r.IntN(1<<r.IntN(8)), len(b)-at)
		switch r.IntN(6) {
		case 0:
			what += fmt.Sprintf("%d bytes at %d overwritten; ", size, at)
			for i := range size {
				b[at+i] = byte(r.Uint32())
			}
		case 1:
			what += fmt.Sprintf("%d bytes at %d removed; ", size, at)
			b = slices.Delete(b, at, at+size)
		case 2:
			what += fmt.Sprintf("bytes inserted at %d; ", at)
			b = slices.Insert(b, at, bytes.Repeat([]byte{byte(r.Uint32())}, 1+r.IntN(9))...)
		case 3:
			what += fmt.Sprintf("%d bytes at %d repeated; ", size, at)
			b = slices.Insert(b, at, bytes.Clone(b[at:at+size])...)
		case 4:
			what += fmt.Sprintf("%d bytes at %d set to one value; ", size, at)
			v := []byte{0, 1, 0x7f, 0x80, 0xff}[r.IntN(5)]
			for i := range size {
				b[at+i] = v
			}
		case 5:
			to := r.IntN(len(b) + 1)
			size = min(size, len(b)-to)
			what += fmt.Sprintf("%d bytes copied from %d to %d; ", size, at, to)
			copy(b[to:to+size], whole[min(at, len(whole)):])
		}
	}
	return b, what[:max(0, len(what)-2)]
}
