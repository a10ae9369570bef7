package predictions

import (
	"bytes"
	"hash/maphash"
	"slices"
)

// keyTable numbers keys in the order in which they are added. Finding may happen from several goroutines.
type keyTable struct {
	seed  maphash.Seed
	keys  []byte
	ends  []int
	slots []int32 // numbers of keys, by their hash; below 0 none
}

func newKeyTable() keyTable { return keyTable{seed: maphash.MakeSeed()} }

// len returns the number of keys.
func (t *keyTable) len() int { return len(t.ends) }

func (t *keyTable) bytes() int64 { return int64(cap(t.keys) + 8*cap(t.ends) + 4*cap(t.slots)) }

// key returns a key.
func (t *keyTable) key(i int) []byte {
	from := 0
	if i > 0 {
		from = t.ends[i-1]
	}
	return t.keys[from:t.ends[i]]
}

// find returns the number of a key, below 0 if it is not there, and its slot, for add.
func (t *keyTable) find(key []byte) (at, number int) {
	if len(t.slots) == 0 {
		return -1, -1
	}
	mask := len(t.slots) - 1
	for at = int(maphash.Bytes(t.seed, key)) & mask; ; at = (at + 1) & mask {
		i := t.slots[at]
		if i < 0 {
			return at, -1
		}
		if bytes.Equal(t.key(int(i)), key) {
			return at, int(i)
		}
	}
}

// add adds a key that find has not found, and returns its number.
func (t *keyTable) add(key []byte, at int) int {
	n := len(t.ends)
	if 2*(n+1) > len(t.slots) {
		t.slots = slices.Repeat([]int32{-1}, max(1024, 2*len(t.slots)))
		for i := range t.ends {
			at, _ := t.find(t.key(i))
			t.slots[at] = int32(i)
		}
		at, _ = t.find(key)
	}
	t.keys = append(t.keys, key...)
	t.ends = append(t.ends, len(t.keys))
	t.slots[at] = int32(n)
	return n
}
