package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// vocabulary is the number of tokens of Llama 3.
const vocabulary = 128256

// tokenSet are logits of a language model, in bfloat16, with what is known of each token.
type tokenSet struct {
	rows, classes int
	logits        []uint16
	labels, sizes []int32
	sequences     []int64
	nll           []float64 // by the definition, in float64
	dir           *dir
	name          string
}

// newTokens returns n tokens of a vocabulary of k, in sequences of up to 9.
func newTokens(d *dir, name string, seed uint64, n, k int) *tokenSet {
	r := rand.New(rand.NewPCG(seed, 83))
	s := &tokenSet{rows: n, classes: k, dir: d, name: name, logits: make([]uint16, n*k)}
	for i := range s.logits {
		s.logits[i] = uint16(math.Float32bits(float32(3*r.NormFloat64())) >> 16)
	}
	for i := range n {
		y := r.IntN(k)
		s.logits[i*k+y] = uint16(math.Float32bits(float32(4+8*r.Float64())) >> 16)
		s.labels, s.sizes, s.sequences = append(s.labels, int32(y)), append(s.sizes, int32(r.IntN(8))), append(s.sequences, int64(i/7))
		row := s.wide()[i*k : (i+1)*k]
		sum := 0.0
		for _, v := range row {
			sum += math.Exp(v - row[y])
		}
		s.nll = append(s.nll, math.Log(sum))
	}
	return s
}

// wide returns the logits in float64.
func (s *tokenSet) wide() []float64 {
	w := make([]float64, len(s.logits))
	for i, v := range s.logits {
		w[i] = float64(math.Float32frombits(uint32(v) << 16))
	}
	return w
}

// only returns the tokens that f wants.
func (s *tokenSet) only(name string, f func(i int) bool) *tokenSet {
	o := &tokenSet{classes: s.classes, dir: s.dir, name: name}
	for i := range s.rows {
		if f(i) {
			o.rows, o.logits = o.rows+1, append(o.logits, s.logits[i*s.classes:(i+1)*s.classes]...)
			o.labels, o.sizes, o.sequences, o.nll = append(o.labels, s.labels[i]), append(o.sizes, s.sizes[i]), append(o.sequences, s.sequences[i]), append(o.nll, s.nll[i])
		}
	}
	return o
}

// files writes the files and returns the flags that name them: of scores and labels, and of bytes and sequences.
func (s *tokenSet) files() (args, more []string) {
	t, n := s.dir.t, []int64{int64(s.rows)}
	put := func(what string, shape []int64, data any) string {
		return s.dir.put(s.name+"-"+what+".npy", npy(t, shape, data))
	}
	return []string{put("x", []int64{n[0], int64(s.classes)}, s.logits), "--bfloat16", "--input", "logits", "--labels", put("y", n, s.labels)},
		[]string{"--bytes", put("bytes", n, s.sizes), "--sequence", put("sequences", n, s.sequences)}
}

// metricValues returns the values of a document's metrics.
func metricValues(t *testing.T, doc string) map[string]float64 {
	t.Helper()
	var d struct {
		Metrics map[string]struct{ Value float64 }
	}
	if err := json.Unmarshal([]byte(doc), &d); err != nil {
		t.Fatal(err)
	}
	v := map[string]float64{}
	for name, m := range d.Metrics {
		v[name] = m.Value
	}
	return v
}

// TestTokensByDefinition compares with the definitions in float64: bfloat16 by the precision of its kernels (docs/kernels.md), float64 by that of
// its own.
func TestTokensByDefinition(t *testing.T) {
	d := newDir(t)
	s := newTokens(d, "a", 1, 40, vocabulary)
	total, size := 0.0, 0.0
	for i, v := range s.nll {
		total, size = total+v, size+float64(s.sizes[i])
	}
	want := map[string]float64{"nll": total / 40, "perplexity": math.Exp(total / 40), "bits_per_byte": total / math.Ln2 / size, "sequence_nll": total / 6}
	args, more := s.files()
	wide := with(args, "--bytes", more[1], "--sequence", more[3])
	wide = slices.DeleteFunc(wide, func(a string) bool { return a == "--bfloat16" })
	wide[0] = d.put("wide.npy", npy(t, []int64{40, vocabulary}, s.wide()))
	for within, args := range map[float64][]string{1e-5: slices.Concat(args, more), 1e-12: wide} {
		got := metricValues(t, printed(t, append([]string{"eval", "--json", "--metrics", "nll,perplexity"}, args...)...))
		for name, v := range want {
			tolerance := within
			if name == "perplexity" { // whose relative error is the absolute one of nll
				tolerance *= want["nll"]
			}
			if math.Abs(got[name]-v) > tolerance*v {
				t.Errorf("%s: %v, want %v within %v of it", name, got[name], v, tolerance)
			}
		}
		if len(got) != len(want) {
			t.Errorf("metrics %v", got)
		}
	}
	to := d.at("nll.npy")
	printed(t, append([]string{"score", "--metrics", "nll", "-o", to}, args...)...)
	for i, v := range floats(t, d.read(to)) {
		if math.Abs(v-s.nll[i]) > 1e-5*s.nll[i] {
			t.Errorf("row %d: %v, want %v", i, v, s.nll[i])
		}
	}
}

// floats returns the numbers of an .npy of float64.
func floats(t *testing.T, b []byte) (l []float64) {
	t.Helper()
	head := 10 + int(b[8]) + int(b[9])<<8
	if !bytes.Contains(b[:head], []byte("'<f8'")) {
		t.Fatalf("%s", b[:head])
	}
	for b = b[head:]; len(b) > 0; b = b[8:] {
		u := uint64(0)
		for i := range 8 {
			u |= uint64(b[i]) << (8 * i)
		}
		l = append(l, math.Float64frombits(u))
	}
	return l
}

// TestIgnoredRowsAreNotThere: a document with ignored rows is that of the rows without them, but for what it says of these. The same holds for
// what compare, score and recal fit make of them.
func TestIgnoredRowsAreNotThere(t *testing.T) {
	for _, k := range []int{3, vocabulary} {
		d := newDir(t)
		all := newTokens(d, "all", 2, 60, k)
		kept := func(i int) bool { return i%5 != 1 && (i < 20 || i > 32) }
		few := all.only("few", kept)
		other := newTokens(d, "other", 3, 60, k)
		fewOther := other.only("few-other", kept)
		for i := range all.rows {
			if !kept(i) {
				all.labels[i] = []int32{-100, -1}[i%2]
				all.logits[i*k] = 0x7fc0 // NaN
			}
		}
		args, more := all.files()
		args = with(args, "--ignore-label", "-100", "--ignore-label", "-1")
		want, moreOfFew := few.files()
		without := func(doc string) string {
			var v map[string]any
			if err := json.Unmarshal([]byte(doc), &v); err != nil {
				t.Fatal(err)
			}
			if in, ok := v["input"].(map[string]any); ok {
				if _, ok := in["ignored"]; ok && (in["ignored"] != float64(all.rows-few.rows) || fmt.Sprint(in["ignored_labels"]) != "[-100 -1]") {
					t.Errorf("%v", in)
				}
				delete(in, "ignored")
				delete(in, "ignored_labels")
			}
			if s, ok := v["state"].(map[string]any); ok {
				delete(s, "sha256")
			}
			b, err := json.MarshalIndent(v, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		eval := func(args ...string) string {
			return without(printed(t, append([]string{"eval", "--json", "--metrics", "default,perplexity,rps"}, args...)...))
		}
		if got, want := eval(slices.Concat(args, more)...), eval(slices.Concat(want, moreOfFew)...); got != want {
			t.Errorf("%d classes: %s", k, differing(got, want))
		}
		b, _ := other.files()
		c, _ := fewOther.files()
		compared := func(a, b []string) string {
			s := printed(t, append([]string{"compare", "--metrics", "nll,ece,perplexity", b[0]}, a...)...)
			return strings.ReplaceAll(s, "few", "all")
		}
		if got, want := strings.Fields(compared(args, b)), strings.Fields(strings.ReplaceAll(compared(want, c), "all-other", "other")); !slices.Equal(got, want) {
			t.Errorf("%d classes: %v\nwant %v", k, got, want)
		}
		scored := func(args []string) []float64 {
			to := d.at("rows.npy")
			printed(t, append([]string{"score", "--metrics", "nll", "-o", to}, args...)...)
			return floats(t, d.read(to))
		}
		rows, at := scored(want), 0
		for i, v := range scored(args) {
			if kept(i) {
				if v != rows[at] {
					t.Errorf("row %d: %v, want %v", i, v, rows[at])
				}
				at++
			} else if v == v {
				t.Errorf("row %d, which is ignored: %v", i, v)
			}
		}
		if at != len(rows) {
			t.Errorf("%d rows of %d", at, len(rows))
		}
		fitted := func(args []string) string {
			to := d.at("map.json")
			printed(t, append([]string{"recal", "fit", "temperature", "-o", to}, args...)...)
			return string(d.read(to))
		}
		if got, want := fitted(args), fitted(want); got != want {
			t.Errorf("%s: %s", got, differing(got, want))
		}
	}
}

// TestTokensMerge: states of shards merge to that of all rows where no sequence is in two of them; states that ignore other labels, and those
// without bytes, do not merge.
func TestTokensMerge(t *testing.T) {
	d := newDir(t)
	s := newTokens(d, "all", 4, 70, vocabulary/4)
	s.labels[3], s.labels[40] = -100, -100
	flags := []string{"eval", "--json", "--ignore-label", "-100", "--metrics", "nll"}
	args, more := s.files()
	want := printed(t, slices.Concat(flags, args, more)...)
	var states, paths, labels, sizes, keys []string
	for i, cut := range [][2]int{{0, 7}, {7, 35}, {35, 70}} {
		args, more := s.only(fmt.Sprint("part-", i), func(i int) bool { return i >= cut[0] && i < cut[1] }).files()
		states = append(states, d.at(fmt.Sprint(i, ".state")))
		printed(t, slices.Concat(flags, args, more, []string{"--state", states[i]})...)
		paths, labels, sizes, keys = append(paths, args[0]), append(labels, args[5]), append(sizes, more[1]), append(keys, more[3])
		if i == 0 {
			printed(t, slices.Concat(flags, args, more[2:], []string{"--state", d.at("bare.state"), "--metrics", "nll,bits_per_byte"})...)
			printed(t, slices.Concat(flags, args, more, []string{"--state", d.at("other.state"), "--ignore-label", "5"})...)
		}
	}
	for _, order := range [][]string{{states[0], states[1], states[2]}, {states[2], states[0], states[1]}} {
		if got := printed(t, append([]string{"merge", "--json"}, order...)...); got != want {
			t.Errorf("merged: %s", differing(got, want))
		}
	}
	if got := printed(t, slices.Concat(flags, paths, args[1:4], []string{"--labels", strings.Join(labels, ","), "--bytes", strings.Join(sizes, ","), "--sequence", strings.Join(keys, ",")})...); got != want {
		t.Errorf("shards: %s", differing(got, want))
	}
	for other, said := range map[string]string{"other.state": "rows are ignored whose label is -100", "bare.state": "with and without bytes"} {
		if code, _, errs := candor(t, "merge", states[1], d.at(other)); code == 0 || !strings.Contains(errs, said) {
			t.Errorf("%s: exit code %d: %s", other, code, errs)
		}
	}
}

// TestPercentages: the document is that of the numbers divided by 100; what is outside 0 and 100 is an error that has it.
func TestPercentages(t *testing.T) {
	d := newDir(t)
	var csv, hundredths strings.Builder
	csv.WriteString("said,right\n")
	hundredths.WriteString("said,right\n")
	var narrow, divided []float32
	var labels []int32
	for i := range 400 {
		p := (i * 37) % 101
		fmt.Fprintf(&csv, "%d,%d\n", p, i%3/2)
		fmt.Fprintf(&hundredths, "%v,%d\n", float64(p)/100, i%3/2)
		narrow, divided, labels = append(narrow, float32(p)), append(divided, float32(p)/100), append(labels, int32(i%3/2))
	}
	of := func(args ...string) string {
		return printed(t, append([]string{"eval", "--json", "--metrics", "all"}, args...)...)
	}
	table := d.put("said.csv", []byte(csv.String()))
	right := []string{"--prob", "said", "--correct", "right", "--metrics", "default"}
	if got, want := of(with(right, table, "--percent")...), of(with(right, d.put("p.csv", []byte(hundredths.String())))...); got != want {
		t.Error(differing(got, want))
	}
	y := d.put("y.npy", npy(t, []int64{400}, labels))
	if got, want := of(d.put("n.npy", npy(t, []int64{400}, narrow)), "--labels", y, "--percent"), of(d.put("p.npy", npy(t, []int64{400}, divided)), "--labels", y); got != want {
		t.Error(differing(got, want))
	}
	// The members of an ensemble: an array of all, of either order, and a file for each.
	two, halves := append(slices.Clone(narrow), narrow[1:]...), append(slices.Clone(divided), divided[1:]...)
	two, halves = append(two, 50), append(halves, 0.5)
	members := d.put("members.npy", npy(t, []int64{2, 400, 1}, halves))
	team := of(members, "--task", "ensemble", "--labels", y)
	for axis, args := range [][]string{{d.put("percent.npy", npy(t, []int64{2, 400, 1}, two))},
		{d.put("turned.npy", npy(t, []int64{400, 2, 1}, turned(two, 400))), "--member-axis", "1"},
		{d.put("1.npy", npy(t, []int64{400}, two[:400])), d.put("2.npy", npy(t, []int64{400}, two[400:]))}} {
		if got := of(with(args, "--task", "ensemble", "--labels", y, "--percent")...); got != team {
			t.Errorf("members %d: %s", axis, differing(got, team))
		}
	}
	narrow[7] = 104.5
	bad := d.put("bad.npy", npy(t, []int64{400}, narrow))
	for _, c := range []struct{ args, said []string }{
		{[]string{"eval", bad, "--labels", y, "--percent"}, []string{"bad.npy: row 7, column 0: percentage is 104.5, outside [0, 100]"}},
		{[]string{"eval", bad, "--labels", y, "--percent", "--json"}, []string{`"value":104.5,`, "leave --percent out"}},
		{[]string{"eval", table, "--prob", "said", "--label", "right"}, []string{"percentages? pass --percent"}},
		{[]string{"eval", bad, "--labels", y, "--percent", "--input", "logits"}, []string{"--percent is for --input probs"}},
		{[]string{"eval", table, "--from", "hubverse", "--percent"}, []string{"--percent does not go with --from hubverse"}},
		{[]string{"eval", bad, "--labels", y, "--ignore-label", "x"}, []string{`--ignore-label is "x"`}},
		{[]string{"eval", bad, "--labels", y, "--sequence", y, "--group", y}, []string{"--sequence does not go with --group"}},
		{[]string{"eval", bad, "--labels", y, "--bytes", y, "--task", "multilabel"}, []string{"--bytes does not go with --task multilabel"}},
		{[]string{"eval", bad, "--labels", y, "--percent", "--ignore-label", "0,1"}, []string{"no row is left to evaluate: 400 rows with label 0, 1 left out"}},
	} {
		code, out, errs := candor(t, c.args...)
		for _, said := range c.said {
			if all := out + errs; code == 0 || !strings.Contains(all, said) {
				t.Errorf("%v: exit code %d: %s", c.args, code, all)
			}
		}
	}
}

// TestTokensOfTables: tables have the document of the arrays, and bytes that are none are an error.
func TestTokensOfTables(t *testing.T) {
	d := newDir(t)
	s := newTokens(d, "a", 6, 90, 3)
	s.labels[4], s.labels[50] = -100, -100
	var csv, lines strings.Builder
	csv.WriteString("z0,z1,z2,token,size,doc\n")
	w := s.wide()
	for i := range s.rows {
		z := w[3*i : 3*i+3]
		fmt.Fprintf(&csv, "%v,%v,%v,%d,%d,%d\n", z[0], z[1], z[2], s.labels[i], s.sizes[i], s.sequences[i])
		fmt.Fprintf(&lines, `{"z": [%v, %v, %v], "token": %d, "size": %d, "doc": "text %d"}`+"\n", z[0], z[1], z[2], s.labels[i], s.sizes[i], s.sequences[i])
	}
	args, more := s.files()
	args = slices.DeleteFunc(args, func(a string) bool { return a == "--bfloat16" })
	args[0] = d.put("wide.npy", npy(t, []int64{90, 3}, w))
	flags := []string{"--ignore-label", "-100", "--classes", "0,1,2", "--metrics", "default,perplexity"}
	of := []string{"--label", "token", "--bytes", "size", "--sequence", "doc"}
	documents(t, slices.Concat(args, more, flags),
		slices.Concat([]string{d.put("t.csv", []byte(csv.String())), "--logit-prefix", "z"}, of, flags),
		slices.Concat([]string{d.put("t.jsonl", []byte(lines.String())), "--prob", "z", "--input", "logits"}, of, flags))
	bad := d.put("bad.csv", []byte("p,y,size\n.5,0,1\n.5,1,-2\n"))
	if code, _, errs := candor(t, "eval", bad, "--prob", "p", "--label", "y", "--bytes", "size"); code == 0 || !strings.Contains(errs, `column "size": number of bytes is -2`) {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// turned returns the transpose of a matrix with so many columns.
func turned(v []float32, columns int) []float32 {
	o := make([]float32, len(v))
	rows := len(v) / columns
	for i := range rows {
		for j := range columns {
			o[j*rows+i] = v[i*columns+j]
		}
	}
	return o
}
