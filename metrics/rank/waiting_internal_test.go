package rank

import (
	"testing"

	"github.com/candor-go/candor/internal/exact"
)

// TestWaiting: more rows of one key than a sum takes, a key without a sum, a loss that does not fit, and keys that are too far apart.
func TestWaiting(t *testing.T) {
	keys := []uint64{1 << 40, 1<<40 + 1, 1<<40 + 5000, 1<<40 + pageLen*mostPages - 1}
	var got, want [4]exact.Sum
	n := [4]int64{}
	var w waiting
	if w.began() || !w.begin(keys, func(i int, f *exact.Few) { n[i] += f.N(); f.AddTo(&got[i]) }) {
		t.Fatal("it does not begin")
	}
	const rows = 300_000
	for range rows {
		if !w.add(keys[2], 63.999, 0) {
			t.Fatal("a row is not taken")
		}
		want[2].AddFloat(63.999)
	}
	for i, key := range keys {
		if !w.add(key, 0.25, 0) {
			t.Errorf("key %d is not taken", i)
		}
		want[i].AddFloat(0.25)
	}
	for _, key := range []uint64{0, keys[0] - 1, keys[0] + 2, keys[2] + 1, keys[3] + 1} {
		if w.add(key, 0.25, 0) {
			t.Errorf("key %d has no sum, but is taken", key)
		}
	}
	if w.add(keys[0], 64, 0) || w.add(keys[0], 0.5, 1) {
		t.Error("a large loss, or a weight, is taken")
	}
	if w.rows != rows+4 {
		t.Errorf("%d rows wait, want %d", w.rows, rows+4)
	}
	w.end()
	for i := range keys {
		if !got[i].Equal(&want[i]) {
			t.Errorf("key %d has the sum %v, want %v", i, got[i].Float64(), want[i].Float64())
		}
	}
	if n != [4]int64{1, 1, rows + 1, 1} || w.began() || w.rows != 0 {
		t.Errorf("%d rows, %d left", n, w.rows)
	}
	if keys[3]++; w.begin(keys, nil) || w.begin(nil, nil) {
		t.Error("it begins with keys too far apart, or with none")
	}
	far := make([]uint64, mostUsed)
	for i := range far {
		far[i] = uint64(i) << pageBits
	}
	if w.begin(far, nil) {
		t.Error("it begins with keys on too many pages")
	}
}
