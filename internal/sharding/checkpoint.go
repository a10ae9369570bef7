package sharding

import (
	"github.com/candor-go/candor/internal/exact"
)

// Checkpoint is what a run has done, so that another goes on.
type Checkpoint struct {
	Inputs, Flags []string // what is read and how, in words
	At            int64    // the number of the first row that is not in the state
	State         []byte
}

var checkpointFormat = exact.Format{Name: "checkpoint", Magic: "cCHK", Version: 1}

// AppendBinary appends the bytes of a checkpoint.
func (k *Checkpoint) AppendBinary(dst []byte) ([]byte, error) {
	return checkpointFormat.Append(dst, k.fields)
}

// UnmarshalBinary replaces k with what AppendBinary wrote. State is a part of data.
func (k *Checkpoint) UnmarshalBinary(data []byte) error {
	return exact.Replace(checkpointFormat, data, k, (*Checkpoint).fields)
}

func (k *Checkpoint) fields(f *exact.Fields) {
	for _, l := range []*[]string{&k.Inputs, &k.Flags} {
		n := uint64(len(*l))
		f.Uvarint(&n)
		for i := uint64(0); i < n && f.OK(); i++ {
			if f.Reading() {
				*l = append(*l, "")
			}
			f.Str(&(*l)[i])
		}
	}
	f.N(&k.At)
	f.Part(func(dst []byte) ([]byte, error) { return append(dst, k.State...), nil }, func(part []byte) error {
		k.State = part
		return nil
	})
}
