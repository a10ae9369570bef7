package predictions_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/predictions/roles"
)

// within fails if what takes a second, or less, takes a minute: it does not grow as it should.
func within(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("not done within a minute")
	}
}

// TestManyColumns: the time grows with the number of columns, and not with its square.
func TestManyColumns(t *testing.T) {
	const k = 250_000
	var header, row, object strings.Builder
	for i := range k {
		fmt.Fprintf(&header, "p_%d,", i)
		row.WriteString("4e-6,")
		fmt.Fprintf(&object, `"p_%d":4e-6,`, i)
	}
	prefix := "p_"
	for name, shard := range map[string]string{
		"%d.csv":   header.String() + "y\n" + row.String() + "1\n",
		"%d.jsonl": "{" + object.String() + `"y":1}`,
	} {
		files, names := fstest.MapFS{}, []string{}
		for i := range 2 {
			names = append(names, fmt.Sprintf(name, i))
			files[names[i]] = &fstest.MapFile{Data: []byte(shard)}
		}
		within(t, func() {
			r, err := predictions.OpenTable(names, &predictions.TableOptions{FS: files, PartBytes: 1 << 30, Columns: roles.Want{Prefix: &prefix, Label: "y"}})
			if err != nil {
				t.Error(err)
				return
			}
			if all, err := drained(r); err != nil || len(all.labels) != 2 || len(all.scores) != 2*k {
				t.Errorf("%s: %d rows, %v", name, len(all.labels), err)
			}
		})
	}
}

// TestLongDictionary: a text of a dictionary is looked at once and not with each row.
func TestLongDictionary(t *testing.T) {
	within(t, func() {
		r, err := predictions.OpenTable([]string{"../testdata/tables/dictionary.parquet"}, &predictions.TableOptions{
			Columns: roles.Want{Scores: []string{"p"}, Label: "y", Groups: []string{"g"}}})
		if err != nil {
			t.Error(err)
			return
		}
		defer r.Close()
		var counts [2]int
		for {
			c, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Error(err)
				return
			}
			for _, g := range c.Groups {
				counts[g]++
			}
			c.Recycle()
		}
		if counts != [2]int{150_000, 150_000} || len(r.Group(0)[0]) != 1<<20 || r.Group(1)[0] != "b" {
			t.Errorf("groups of %d rows, the second is %q", counts, r.Group(1))
		}
	})
}

// TestZstdWindow: a frame that needs much memory is an error that says what to do, and takes none.
func TestZstdWindow(t *testing.T) {
	frame := []byte("\x28\xb5\x2f\xfd\x00\x90\x01\x00\x00") // a window of 256 MiB, and an empty block
	_, err := predictions.OpenTable([]string{"t.csv.zst"}, &predictions.TableOptions{FS: fstest.MapFS{"t.csv.zst": {Data: frame}}, Columns: roles.Want{Scores: []string{"p"}, Label: "y"}})
	if err == nil || err.Error() != `t.csv.zst: it is compressed by zstd with a window of more than 128 MiB; decompress it on the way: zstd -dc -M2048MB FILE | Open of "-"` {
		t.Error(err)
	}
}

// TestPacked: lines and lists that compress well are read in bounded memory, or are an error.
func TestPacked(t *testing.T) {
	pack := func(head, each string, n int) []byte {
		var b bytes.Buffer
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(z, head)
		block := strings.Repeat(each, 1<<20/len(each))
		for range n {
			io.WriteString(z, block)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"line.csv.zst", pack("p,y\n", "1", 80), "line.csv.zst: line 2: a line is longer than 32 MiB"},
		{"quote.csv.zst", pack("p,y\n\"", "\n", 80), "quote.csv.zst: line 2: a line is longer than 32 MiB"},
		{"list.jsonl.zst", pack(`{"p": [`, "1,", 80), "list.jsonl.zst: line 1 is longer than 32 MiB"},
		{"deep.jsonl.zst", pack(`{"p": `, "[", 1), "deep.jsonl.zst: line 1: objects and arrays are nested more than 200 deep"},
	} {
		r, err := predictions.OpenTable([]string{c.name}, &predictions.TableOptions{FS: fstest.MapFS{c.name: {Data: c.data}}, Columns: roles.Want{Scores: []string{"p"}, Label: "y"}})
		if err == nil {
			_, err = drained(r)
		}
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
