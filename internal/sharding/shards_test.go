package sharding

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text, env string
		want      Shard
		err       string
	}{
		{"0/1", "", Shard{0, 1}, ""},
		{"7/8", "", Shard{7, 8}, ""},
		{"8/8", "", Shard{}, "numbered from 0 to 7"},
		{"-1/8", "", Shard{}, "numbered from 0 to 7"},
		{"0/0", "", Shard{}, "there are from 1 to"},
		{"0/10000001", "", Shard{}, "there are from 1 to"},
		{"3", "", Shard{}, "it is I/N"},
		{"a/b", "", Shard{}, "it is I/N"},
		{"1/2/3", "", Shard{}, "it is I/N"},
		{"", "", Shard{}, "it is I/N"},
		{"slurm", "", Shard{}, "SLURM_ARRAY_TASK_ID is not set"},
		{"slurm", "SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_STEP=1 SLURM_ARRAY_TASK_COUNT=8", Shard{5, 8}, ""},
		{"slurm", "SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_STEP=2 SLURM_ARRAY_TASK_COUNT=4", Shard{3, 4}, ""},
		{"slurm", "SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_STEP=1 SLURM_ARRAY_TASK_COUNT=3", Shard{}, "none of 3 tasks"},
		{"slurm", "SLURM_ARRAY_TASK_ID=4 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_STEP=2 SLURM_ARRAY_TASK_COUNT=3", Shard{}, "none of 3 tasks"},
		{"slurm", "SLURM_ARRAY_TASK_ID=x SLURM_ARRAY_TASK_MIN=1", Shard{}, "a number from 0"},
		{"slurm", "SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_STEP=0 SLURM_ARRAY_TASK_COUNT=3", Shard{}, "none of 3 tasks"},
		{"k8s/4", "JOB_COMPLETION_INDEX=2", Shard{2, 4}, ""},
		{"k8s/4", "", Shard{}, "JOB_COMPLETION_INDEX is not set"},
		{"k8s/4", "JOB_COMPLETION_INDEX=4", Shard{}, "numbered from 0 to 3"},
		{"k8s/x", "JOB_COMPLETION_INDEX=2", Shard{}, "not a number of completions"},
	} {
		env := map[string]string{}
		for _, v := range strings.Fields(c.env) {
			name, value, _ := strings.Cut(v, "=")
			env[name] = value
		}
		s, err := Parse(c.text, func(name string) string { return env[name] })
		if s != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s with %s: %v, %v", c.text, c.env, s, err)
		}
	}
}

// TestMarks: however shards are merged, all together have no mark, and less than all name what is missing.
func TestMarks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	state := []byte("a state")
	for range 200 {
		n := 2 + r.IntN(40)
		id := [16]byte{byte(n)}
		var list []Mark
		for i := range n {
			list = append(list, New(id, Shard{i, n}))
		}
		r.Shuffle(n, func(i, j int) { list[i], list[j] = list[j], list[i] })
		for len(list) > 1 {
			if k := r.IntN(len(list)); !list[k].Whole() {
				b := list[k].Wrap(state)
				s, m, err := Unwrap(b)
				if err != nil || !bytes.Equal(s, state) || fmt.Sprint(m) != fmt.Sprint(list[k]) {
					t.Fatalf("%v, %v, %q", m, err, s)
				}
				again := list[k]
				if err := again.Add(list[k]); !errors.As(err, new(*TwiceError)) {
					t.Fatalf("a mark twice: %v", err)
				}
				g := m.Missing()
				if len(g) != 1 || g[0].Count()+Gap(m.runs[0]).count() != n {
					t.Fatalf("missing %v of %v", g, m)
				}
			}
			i, j := r.IntN(len(list)-1), len(list)-1
			if err := list[i].Add(list[j]); err != nil {
				t.Fatal(err)
			}
			list = list[:j]
		}
		if !list[0].Whole() || !bytes.Equal(list[0].Wrap(state), state) {
			t.Fatalf("all of %d: %v", n, list[0])
		}
	}
}

func (g Gap) count() int { return g.Count() }

func TestNames(t *testing.T) {
	m := New([16]byte{1}, Shard{3, 10})
	for _, i := range []int{4, 8} {
		if err := m.Add(New([16]byte{1}, Shard{i, 10})); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Add(New([16]byte{2}, Shard{0, 2})); err != nil {
		t.Fatal(err)
	}
	g := m.Missing()
	if len(g) != 2 || g[0].String() != "0-2, 5-7, 9" || g[1].String() != "1" {
		t.Errorf("%v", g)
	}
	err := m.Add(New([16]byte{1}, Shard{4, 10}))
	if err == nil || err.Error() != "shard 4/10 is in both" {
		t.Errorf("%v", err)
	}
	if one := New([16]byte{1}, Shard{0, 1}); !one.Whole() {
		t.Error("the only shard has a mark")
	}
}

// TestDamage: no change of a byte is accepted, nor is what is not written so.
func TestDamage(t *testing.T) {
	m := New([16]byte{1}, Shard{3, 10})
	b := m.Wrap([]byte("a state"))
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1
		if _, m, err := Unwrap(bad); err == nil && !m.Whole() {
			t.Errorf("byte %d changed: accepted", i)
		}
		if _, m, err := Unwrap(b[:i]); err == nil && !m.Whole() {
			t.Errorf("cut to %d bytes: accepted", i)
		}
	}
	for _, bad := range []Mark{
		{[]held{{Run{Of: 4}, [][2]int{{0, 4}}}}},                                                  // whole
		{[]held{{Run{Of: 4}, [][2]int{{0, 1}, {1, 2}}}}},                                          // ranges that touch
		{[]held{{Run{Of: 4}, [][2]int{{3, 5}}}}},                                                  // beyond the last
		{[]held{{Run{ID: [16]byte{1}, Of: 4}, [][2]int{{0, 1}}}, {Run{Of: 4}, [][2]int{{0, 1}}}}}, // order
		{[]held{{Run{Of: 1}, [][2]int{{0, 1}}}}},                                                  // undivided
	} {
		if _, _, err := Unwrap(bad.Wrap(nil)); err == nil {
			t.Errorf("%v: accepted", bad)
		}
	}
	if _, _, err := Unwrap(m.Wrap(b)); err == nil {
		t.Error("a mark within a mark: accepted")
	}
}

// TestCheckpoint: a checkpoint is read as it was written, and no change of a byte is accepted.
func TestCheckpoint(t *testing.T) {
	k := Checkpoint{[]string{"a", ""}, []string{"--bins 7"}, 12345, []byte("a state")}
	b, err := k.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	var o Checkpoint
	if err := o.UnmarshalBinary(b); err != nil || fmt.Sprint(o) != fmt.Sprint(k) {
		t.Fatalf("%v, %v", o, err)
	}
	for i := range b {
		bad := bytes.Clone(b)
		bad[i] ^= 1
		if o.UnmarshalBinary(bad) == nil || o.UnmarshalBinary(b[:i]) == nil {
			t.Errorf("byte %d: accepted", i)
		}
	}
}

// TestSubtract: what is left of a mark has all shards but those that are taken out, and gets them back.
func TestSubtract(t *testing.T) {
	const of = 9
	id := [16]byte{3}
	marks := func(bits int) (m Mark) {
		for i := range of {
			if bits>>i&1 != 0 {
				if err := m.Add(New(id, Shard{i, of})); err != nil {
					t.Fatal(err)
				}
			}
		}
		return m
	}
	for all := 1; all < 1<<of; all += 3 {
		for taken := 1; taken < 1<<of-1; taken += 5 {
			m := marks(all)
			err := m.Subtract(marks(taken))
			if (err == nil) != (all&taken == taken) {
				t.Fatalf("%09b out of %09b: %v", taken, all, err)
			}
			want := marks(all)
			if err == nil {
				want = marks(all &^ taken)
			}
			if !reflect.DeepEqual(m.Held(), want.Held()) {
				t.Fatalf("%09b out of %09b leaves %v, want %v", taken, all, m.Held(), want.Held())
			}
		}
	}
	whole := marks(1<<of - 1)
	if err := whole.Subtract(marks(1 << 4)); err != nil || whole.Held()[0].String() != "0-3, 5-8" {
		t.Errorf("of all: %v, %v", whole.Held(), err)
	}
	if err := whole.Add(marks(1 << 4)); err != nil || !whole.Whole() {
		t.Errorf("and again: %v, %v", whole.Held(), err)
	}
}

// TestGather: a shard that is added to a whole run is noticed until the mark settles.
func TestGather(t *testing.T) {
	id := [16]byte{4}
	var m Mark
	for _, i := range []int{2, 0, 1} {
		if err := m.Gather(New(id, Shard{i, 3})); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Gather(New(id, Shard{1, 3})); !errors.As(err, new(*TwiceError)) {
		t.Errorf("a shard of a whole run: %v", err)
	}
	if m.Whole() {
		t.Error("the run has left the mark")
	}
	if m.Settle(); !m.Whole() {
		t.Errorf("%v is left", m.Held())
	}
}
