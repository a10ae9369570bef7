package predictions

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions/roles"
)

// tokenRows are what chunks have beside scores.
type tokenRows struct {
	labels        []int32
	bytes, scores []float64
	by            []float64
	f32           []float32
	sequences     []int64
	chunks        int
}

func tokensOf(src metrics.Source) (l tokenRows, err error) {
	for {
		c, err := src.Next()
		if err == io.EOF {
			return l, nil
		} else if err != nil {
			return l, err
		}
		l.labels, l.bytes, l.sequences, l.chunks = append(l.labels, c.Labels...), append(l.bytes, c.Bytes...), append(l.sequences, c.Sequences...), l.chunks+1
		l.scores, l.f32, l.by = append(l.scores, c.F64...), append(l.f32, c.F32...), append(l.by, c.ConfidenceScores...)
		if c.Recycle != nil {
			c.Recycle()
		}
	}
}

// TestTokensOfArrays: labels that are ignored, bytes and sequences, of every type that they may have, in many chunks and in shards.
func TestTokensOfArrays(t *testing.T) {
	const n = 1000
	want := func(i int) int64 { return int64(i / 7) }
	scores := save(t, "p.npy", npy(1, "<f4", false, []int{n}, score))
	text := npyHead(1, fmt.Sprintf("{'descr': '|S3', 'fortran_order': False, 'shape': (%d,), }", n))
	for i := range n {
		text = append(text, fmt.Sprintf("%-3d", i/7%100)...)
	}
	keys := map[string][]byte{"text": text}
	for _, d := range []string{"|i1", "|u1", "<i2", ">i2", "<i4", ">i8", "<u8"} {
		keys[d] = npy(1, d, false, []int{n}, func(i int) float64 { return float64((i/7*37 + 5) % 101) })
	}
	for d, b := range keys {
		labels := "<i4"
		if d == "<i2" || d == ">i8" {
			labels = d
		}
		o := &Options{Labels: []string{save(t, "l.npy", npy(1, labels, false, []int{n}, func(i int) float64 {
			if i%10 == 3 {
				return -100
			}
			return float64(i % 2)
		}))}, Bytes: []string{save(t, "b.npy", npy(1, "|u1", false, []int{n}, func(i int) float64 { return float64(i % 5) }))}, Sequences: []string{save(t, "s.npy", b)},
			Ignore: []int32{-100}, BufferBytes: 256}
		r, err := Open([]string{scores}, o)
		if err != nil {
			t.Fatal(d, err)
		}
		got, err := tokensOf(r)
		r.Close()
		if err != nil || len(got.labels) != n || len(got.bytes) != n || len(got.sequences) != n || got.chunks < 10 {
			t.Fatalf("%s: %v, %d chunks", d, err, got.chunks)
		}
		for i := range n {
			y := int32(i % 2)
			if i%10 == 3 {
				y = metrics.Ignored
			}
			if got.labels[i] != y || got.bytes[i] != float64(i%5) || got.sequences[i] != want(i) {
				t.Fatalf("%s: row %d: label %d, %v bytes, sequence %d", d, i, got.labels[i], got.bytes[i], got.sequences[i])
			}
		}
	}
	// Shards: a sequence ends with its file of scores, whether keys are in one file or in several.
	var paths, each []string
	for i := range 2 {
		paths = append(paths, save(t, fmt.Sprintf("part-%d.npy", i), npy(1, "<f4", false, []int{10}, score)))
		each = append(each, save(t, fmt.Sprintf("keys-%d.npy", i), npy(1, "<i4", false, []int{10}, func(int) float64 { return 4 })))
	}
	for _, files := range [][]string{each, {save(t, "keys.npy", npy(1, "<i4", false, []int{20}, func(int) float64 { return 4 }))}} {
		r, err := Open(paths, &Options{Labels: []string{save(t, "l.npy", npy(1, "<i4", false, []int{20}, label(2)))}, Sequences: files})
		if err != nil {
			t.Fatal(err)
		}
		got, err := tokensOf(r)
		r.Close()
		if want := append(make([]int64, 10), slices.Repeat([]int64{1}, 10)...); err != nil || !slices.Equal(got.sequences, want) {
			t.Errorf("%v, %v", got.sequences, err)
		}
	}
}

// TestTokensRefused: what cannot be read says so.
func TestTokensRefused(t *testing.T) {
	probs := save(t, "p.npy", npy(1, "<f4", false, []int{30}, score))
	labels := save(t, "l.npy", npy(1, "<i4", false, []int{30}, label(2)))
	array := func(descr string, n int, of func(i int) float64) string {
		return save(t, "x.npy", npy(1, descr, false, []int{n}, of))
	}
	for name, c := range map[string]struct {
		paths []string
		o     Options
		said  string
	}{
		"a sequence that comes back":  {[]string{probs}, Options{Sequences: []string{array("<i8", 30, func(i int) float64 { return float64(3 + i/4%5) })}}, "row 20: sequence 3 comes back after others"},
		"sequences of floats":         {[]string{probs}, Options{Sequences: []string{array("<f8", 30, ones)}}, "sequences are float64"},
		"too few sequences":           {[]string{probs}, Options{Sequences: []string{array("<i8", 29, ones)}}, "29 sequences for the 30 rows"},
		"too few bytes":               {[]string{probs}, Options{Bytes: []string{array("<i8", 29, ones)}}, "29 bytes for the 30 rows"},
		"percentages in half":         {[]string{array("<f2", 30, ones)}, Options{Percent: true}, "percentages are float16"},
		"percentages that are logits": {[]string{probs}, Options{Percent: true, Kind: metrics.Logits}, "percentages are probabilities, and the scores are logits"},
		"the label of ignored rows":   {[]string{probs}, Options{Labels: []string{array("<i4", 30, func(i int) float64 { return []float64{0, math.MinInt32}[i/29] })}}, "row 29: label -2147483648 is not a class"},
	} {
		if c.o.Labels == nil {
			c.o.Labels = []string{labels}
		}
		r, err := Open(c.paths, &c.o)
		if err == nil {
			_, err = tokensOf(r)
			r.Close()
		}
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.said) || e.Remedy == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPercent: a percentage is the number of its type that is nearest to a hundredth.
func TestPercent(t *testing.T) {
	whole := func(i int) float64 { return float64(i) }
	labels := save(t, "l.npy", npy(1, "<i4", false, []int{101}, label(2)))
	for _, d := range []string{"<f4", "<f8", ">f4"} {
		r, err := Open([]string{save(t, "p.npy", npy(1, d, false, []int{101}, whole))}, &Options{Labels: []string{labels}, Percent: true,
			ConfidenceScores: []string{save(t, "c.npy", npy(1, "<f8", false, []int{101}, whole))}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := tokensOf(r)
		r.Close()
		if err != nil || len(got.scores)+len(got.f32) != 101 {
			t.Fatal(d, err)
		}
		for i := range 101 {
			if got.by[i] != float64(i)/100 || got.scores != nil && got.scores[i] != float64(i)/100 || got.f32 != nil && got.f32[i] != float32(i)/100 {
				t.Errorf("%s: %d percent is %v", d, i, append(got.scores, float64(got.f32[i]))[0])
			}
		}
	}
}

// TestTokensOfTables: the same columns in text and in JSON Lines, in many chunks, in shards, and with rows left out.
func TestTokensOfTables(t *testing.T) {
	const n = 20000
	var csv, lines strings.Builder
	csv.WriteString("p,y,b,s,out\n")
	for i := range n {
		y, s := fmt.Sprint(i%2), fmt.Sprintf("doc %d", i/9%50)
		if i%10 == 3 {
			y = "-100"
		}
		fmt.Fprintf(&csv, "%d,%s,%d,%s,%d\n", i%101, y, i%5, s, i%3/2)
		fmt.Fprintf(&lines, `{"p": %d, "y": %s, "b": %d, "s": %q, "out": %d}`+"\n", i%101, y, i%5, s, i%3/2)
	}
	for name, text := range map[string]string{"t.csv": csv.String(), "t.jsonl": lines.String()} {
		for _, rows := range []Rows{AllRows, Unmarked} {
			o := &TableOptions{FS: fstest.MapFS{name: {Data: []byte(text)}, "u" + name: {Data: []byte(text)}}, Percent: true, Ignore: []int32{-100}, Rows: rows, BufferBytes: 4096,
				Columns: roles.Want{Scores: []string{"p"}, Label: "y", Bytes: "b", Sequence: "s"}}
			if rows != AllRows {
				o.Columns.Only = "out"
			}
			r, err := OpenTable([]string{name, "u" + name}, o)
			if err != nil {
				t.Fatal(name, err)
			}
			if said := r.Binding(); !strings.Contains(said, "number of bytes b; sequence s") {
				t.Errorf("%s: %s", name, said)
			}
			got, err := tokensOf(r)
			r.Close()
			if err != nil {
				t.Fatal(name, err)
			}
			at := 0
			for i := range 2 * n {
				j := i % n
				if rows != AllRows && j%3 == 2 {
					continue
				}
				y, sequence := int32(j%2), int64(j/9+i/n*((n+8)/9))
				if j%10 == 3 {
					y = metrics.Ignored
				}
				if got.labels[at] != y || got.bytes[at] != float64(j%5) || got.sequences[at] != sequence || got.scores[at] != float64(j%101)/100 {
					t.Fatalf("%s, %v: row %d: label %d, %v bytes, sequence %d, score %v, want %d", name, rows, i, got.labels[at], got.bytes[at], got.sequences[at], got.scores[at], sequence)
				}
				at++
			}
			if at != len(got.labels) {
				t.Errorf("%s: %d rows, want %d", name, len(got.labels), at)
			}
		}
	}
	for _, c := range []struct{ name, text, said string }{
		{"t.csv", "p,y,b,s\n1,0,1,1\n1,0,1,2\n1,0,1,1\n", "row 2: sequence 1 comes back after others"},
		{"t.jsonl", "{\"p\":1,\"y\":0,\"b\":1,\"s\":7}\n{\"p\":1,\"y\":0,\"b\":1,\"s\":8}\n{\"p\":1,\"y\":0,\"b\":1,\"s\":7}\n", "sequence 7 comes back after others"},
		{"t.jsonl", "{\"p\":1,\"y\":0,\"b\":1,\"s\":7}\n{\"p\":1,\"y\":0,\"b\":1,\"s\":null}\n", `column "s": the sequence is missing`},
		{"t.csv", "p,y,b,t\n1,0,1,1\n", `no column "s" for the sequence`},
		{"t.csv", "p,y,c,s\n1,0,1,1\n", `no column "b" for the number of bytes`},
		{"t.csv", "p,y,b,s\n1,-5,1,1\n", "label -5 is neither 0 nor 1"},
	} {
		r, err := OpenTable([]string{c.name}, &TableOptions{FS: fstest.MapFS{c.name: {Data: []byte(c.text)}}, Ignore: []int32{-100},
			Columns: roles.Want{Scores: []string{"p"}, Label: "y", Bytes: "b", Sequence: "s"}})
		if err == nil {
			_, err = tokensOf(r)
			r.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.said) {
			t.Errorf("%s: %v, want %s", c.text, err, c.said)
		}
	}
}

// TestRisingKeys: only a key that was there is said to come back.
func TestRisingKeys(t *testing.T) {
	for _, c := range []struct {
		keys string
		back int // -1: none
	}{
		{"0 1 2 3 0", 4}, {"5 6 7 6", 3}, {"5 6 7 5", 3}, {"5 6 7 4 7", -1}, {"5 6 8 6", -1}, {"a 1 2 1", -1}, {"1 2 x 1", -1}, {"-2 -1 0 -1", 3},
		{"9223372036854775807 9223372036854775806", -1}, {"9223372036854775806 9223372036854775807 9223372036854775806", 2}, {"1 99999999999999999999 1", -1},
	} {
		var r risingKeys
		back := -1
		for i, k := range strings.Fields(c.keys) {
			if r.back(k) && back < 0 {
				back = i
			}
		}
		if back != c.back {
			t.Errorf("%s: key %d, want %d", c.keys, back, c.back)
		}
	}
}
