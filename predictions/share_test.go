package predictions

import (
	"math/rand/v2"
	"testing"
)

// TestShares: rows, files and units are each in one share, in order, and shares are as equal as units allow.
func TestShares(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	for range 2000 {
		of, files := 1+r.IntN(40), 1+r.IntN(30)
		rows := r.Int64N(1 << uint(1+r.IntN(50)))
		units := make([]int64, files)
		next := make([]int64, files) // unit of each file
		for i := range units {
			units[i] = r.Int64N(1 << uint(r.IntN(20)))
		}
		at := int64(0)
		for i := range of {
			s := Share{Index: i, Of: of}
			from, to := s.rows(rows)
			if from != at || to < from || to-from > rows/int64(of)+1 {
				t.Fatalf("share %d of %d of %d rows: %d to %d, after %d", i, of, rows, from, to, at)
			}
			at = to
			lo, hi := s.files(files)
			for j := range files {
				from, to := s.units(j, files, units[j])
				if of == 1 {
					from, to = next[j], units[j]
				}
				if from != next[j] && from != to || to < from {
					t.Fatalf("share %d of %d: units %d to %d of file %d of %d, after %d of %d", i, of, from, to, j, files, next[j], units[j])
				}
				if from < to {
					next[j] = to
					if j < lo || j >= hi {
						t.Fatalf("share %d of %d: units of file %d of %d, which is not among %d to %d", i, of, j, files, lo, hi)
					}
				}
			}
		}
		if at != rows {
			t.Fatalf("%d shares have %d of %d rows", of, at, rows)
		}
		for j := range files {
			if next[j] != units[j] {
				t.Fatalf("%d shares have %d of %d units of file %d of %d", of, next[j], units[j], j, files)
			}
		}
	}
	for i := range 7 { // as many shares as there are units
		if from, to := (&Share{Index: i, Of: 7}).units(0, 1, 7); from != int64(i) || to != int64(i)+1 {
			t.Errorf("share %d of 7 of 7 units: %d to %d", i, from, to)
		}
	}
	if from, to := (&Share{Index: 9_999_999, Of: 10_000_000}).rows(1<<62 + 12345); to != 1<<62+12345 || from != to-461168601843 {
		t.Errorf("%d to %d", from, to)
	}
	if from, to := (&Share{From: 30}).rows(20); from != 20 || to != 20 {
		t.Errorf("beyond the end: %d to %d", from, to)
	}
}
