package predictions

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// texts returns an .npy of text with at most so many characters per value.
func texts(width int, values ...string) []byte {
	b := npyHead(1, fmt.Sprintf("{'descr': '<U%d', 'fortran_order': False, 'shape': (%d,)}", width, len(values)))
	for _, v := range values {
		cell := make([]byte, 4*width)
		for i, r := range []rune(v) {
			binary.LittleEndian.PutUint32(cell[4*i:], uint32(r))
		}
		b = append(b, cell...)
	}
	return b
}

// TestGroups: arrays of groups may differ in type between shards, a file covers all rows, and groups are numbered by first appearance.
func TestGroups(t *testing.T) {
	shard := func(rows int, site []byte) string {
		return save(t, "s.npz", npz(true, entry{"probs.npy", npy(1, "<f4", false, []int{rows, 3}, score)},
			entry{"labels.npy", npy(1, "<i4", false, []int{rows}, label(3))}, entry{"site.npy", site}))
	}
	paths := []string{shard(3, texts(5, "north", "süd", "north")), shard(2, texts(2, "7", "x")),
		shard(2, npy(1, ">i8", false, []int{2}, func(i int) float64 { return float64(7 - i) }))}
	hour := save(t, "hour.npy", npy(1, "|i1", false, []int{7}, func(i int) float64 { return float64(-(i % 2)) }))
	for _, size := range []int{0, 12} {
		r, err := Open(paths, &Options{Groups: []string{"site", hour}, BufferBytes: size})
		if err != nil {
			t.Fatal(err)
		}
		if c := r.GroupColumns(); !slices.Equal(c, []string{"site", "hour"}) {
			t.Error(c)
		}
		var got []int32
		for {
			c, err := r.Next()
			if err != nil {
				break
			}
			got = append(got, c.Groups...)
			c.Recycle()
		}
		if want := []int32{0, 1, 0, 2, 3, 2, 4}; !slices.Equal(got, want) {
			t.Errorf("groups %v, want %v", got, want)
		}
		for i, want := range [][]string{{"north", "0"}, {"süd", "-1"}, {"7", "-1"}, {"x", "0"}, {"6", "0"}} {
			if v := r.Group(int32(i)); !slices.Equal(v, want) {
				t.Errorf("group %d is %q, want %q", i, v, want)
			}
		}
		if r.Group(5) != nil || r.Group(-1) != nil {
			t.Error("a group that there is not")
		}
		r.Close()
	}
	plain, err := Open(paths, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	if c, err := plain.Next(); err != nil || c.Groups != nil || plain.Group(0) != nil || len(plain.GroupColumns()) != 0 {
		t.Error("groups that nobody asked for", err)
	}

	many := save(t, "many.npy", npy(1, "<i4", false, []int{100_001}, func(i int) float64 { return float64(i % 400) }))
	more := save(t, "more.npy", npy(1, "<i4", false, []int{100_001}, func(i int) float64 { return float64(i / 400) }))
	each := save(t, "each.npy", npy(1, "<i4", false, []int{100_001}, func(i int) float64 { return float64(i) }))
	x := save(t, "x.npy", npy(1, "<f4", false, []int{100_001, 3}, score))
	y := save(t, "y.npy", npy(1, "<i4", false, []int{100_001}, label(3)))
	bad := append(npyHead(1, "{'descr': '|S1', 'fortran_order': False, 'shape': (7,)}"), "aaaa\xffaa"...)
	unpaired := texts(1, "a", "b", "c", "d", "e", "f", "g")
	binary.LittleEndian.PutUint32(unpaired[len(unpaired)-4:], 0xd800)
	for _, c := range []struct {
		paths  []string
		groups []string
		want   string
	}{
		{[]string{x}, []string{each}, `x.npy: row 100000: more than 100,000 groups: column "each" has 100,001 values so far; group by a column of fewer values`},
		{[]string{x}, []string{many, more, each}, `x.npy: row 100000: more than 100,000 groups (many, more, each): column "each" has 100,001 values`},
		{[]string{x}, []string{many, y, more}, `x.npy: row 100000: more than 100,000 groups (many, y, more): column "many" has 400 values so far`},
		{[]string{x}, []string{many, y}, ""},
		{[]string{x}, []string{hour}, "hour.npy: 7 groups for the 100001 rows of "},
		{paths, []string{save(t, "bad.npy", bad)}, `bad.npy: row 4: "\xff" is not text; write it as UTF-8`},
		{paths, []string{save(t, "bad.npy", unpaired)}, `bad.npy: row 6: `},
		{append(slices.Clone(paths), shardWithout(t)), []string{"site"}, `no array "site", but `},
		{append(slices.Clone(paths[:2]), shard(2, texts(1, "a"))), []string{"site"}, "1 groups for the 2 rows of "},
	} {
		o := &Options{Groups: c.groups}
		if len(c.paths) == 1 {
			o.Labels = []string{y}
		}
		_, _, err := readAll(c.paths, o)
		if c.want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		wantError(t, err, c.want)
	}
	_, err = OpenLabels([]string{x}, &Options{Groups: []string{y}, Labels: []string{x}})
	wantError(t, err, "rows of several labels are not grouped")
	m, err := OpenMembers([]string{x, x}, &Options{Groups: []string{y}, Labels: []string{y}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if c, err := m.Next(); err != nil || len(c.Groups) != len(c.Labels) || m.GroupColumns() == nil || m.Group(c.Groups[0]) == nil {
		t.Error(err)
	}
	s, err := Open([]string{x}, &Options{Kind: metrics.Samples, Observed: []string{y}, Groups: []string{many}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if c, err := s.Next(); err != nil || len(c.Groups) != c.Rows {
		t.Error(err)
	}
}

// shardWithout returns an .npz without groups.
func shardWithout(t *testing.T) string {
	return save(t, "z.npz", npz(true, entry{"probs.npy", npy(1, "<f4", false, []int{2, 3}, score)}, entry{"labels.npy", npy(1, "<i4", false, []int{2}, label(3))}))
}
