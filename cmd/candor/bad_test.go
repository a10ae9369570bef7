package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/predictions"
)

// refused runs a command line that has to end with exit code 3, say all of want, print nothing and leave nothing
// behind; it returns the message.
func refused(t *testing.T, d *dir, args []string, want ...string) string {
	t.Helper()
	t.Setenv("TMPDIR", d.path) // temporary files would be seen too
	before := d.list()
	code, out, errs := candor(t, args...)
	if code != exitData {
		t.Errorf("candor %v: exit code %d, not %d: %s", args, code, exitData, errs)
	}
	if out != "" {
		t.Errorf("candor %v: standard output has %q", args, out)
	}
	if after := d.list(); !slices.Equal(before, after) {
		t.Errorf("candor %v: the folder had %v and has %v", args, before, after)
	}
	msg := strings.ReplaceAll(errs, d.path+string(os.PathSeparator), "")
	for _, w := range want {
		if !strings.Contains(msg, w) {
			t.Errorf("candor %v:\n%s does not say %q", args, msg, w)
		}
	}
	if !strings.HasPrefix(msg, "candor: ") || strings.Count(msg, "candor: ") != 1 {
		t.Errorf("candor %v: the message is %q", args, msg)
	}
	return msg
}

func TestBadFiles(t *testing.T) {
	s := newSet(1, 100, 4)
	good, labels := s.scores(t), s.labelFile(t)
	header := func(descr, shape string) string {
		return "{'descr': " + descr + ", 'fortran_order': False, 'shape': " + shape + ", }"
	}
	ints := make([]int64, 400)
	floatLabels := make([]float64, 100)
	floatLabels[3] = 0.25
	for _, c := range []struct {
		name   string
		scores []byte // nil: no such file
		labels []byte
		want   []string
	}{
		{"truncated", good[:len(good)-7], labels, []string{"x.npy: truncated: header says 100 x 4 float32 = 1600 bytes", "file has 1593", "row 99 is the first incomplete", "write it again"}},
		{"truncated header", good[:40], labels, []string{"x.npy: truncated", "write it again"}},
		{"cut in the magic", good[:4], labels, []string{"x.npy: ", "cut off in its first bytes", "write it again"}},
		{"oversized", append(slices.Clone(good), make([]byte, 16)...), labels, []string{"x.npy: too long: header says 100 x 4 float32 = 1600 bytes", "file has 1616", "a file of its own"}},
		{"more rows than any memory", raw(header("'<f4'", "(1000000000000000, 1000)"), make([]byte, 64)), labels, []string{"x.npy: truncated: header says 1000000000000000 x 1000", "write it again"}},
		{"more bytes than a number holds", raw(header("'<f4'", "(9000000000000000000, 4)"), make([]byte, 64)), labels, []string{"x.npy: damaged header", "larger than any file", "write it again"}},
		{"more classes than are read", raw(header("'<f4'", "(0, 9000000000000000000)"), nil), labels, []string{"x.npy: 9000000000000000000 classes", "is it transposed?"}},
		{"negative shape", raw(header("'<f4'", "(-1, 4)"), make([]byte, 64)), labels, []string{"x.npy: damaged header", "a negative dimension", "write it again"}},
		{"garbled header", raw("{'descr': '<f4', 'shape'", nil), labels, []string{"x.npy: damaged header", "write it again"}},
		{"objects", raw(header("'|O'", "(100, 4)"), []byte("\x80\x04K\x01.")), labels, []string{"x.npy: scores are Python objects", "save plain numbers"}},
		{"a pickle", []byte("\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00"), labels, []string{"x.npy: ", "a Python pickle", "it can run any code, so it is not read", "numpy.save"}},
		{"a torch file", npz(t, "archive/data.pkl", []byte("\x80\x02."), "archive/data/0", []byte("1234")), labels, []string{"x.npy: ", "PyTorch file (torch.save)", "torch.load"}},
		{"a zip of other things", npz(t, "a.txt", []byte("hello")), labels, []string{"x.npy: a zip file without arrays", "numpy.savez"}},
		{"a state", []byte("cSTA\x01\x00 and so on"), labels, []string{"x.npy: ", "a state of candor", "candor merge"}},
		{"text", []byte("0.1,0.9\n0.2,0.8\n"), labels, []string{"x.npy: ", "text (CSV?)", "numpy.loadtxt"}},
		{"empty", []byte{}, labels, []string{"x.npy: empty file", "interrupted?"}},
		{"missing", nil, labels, []string{"x.npy: no such file", "check the name"}},
		{"no labels", good, nil, []string{"y.npy: no such file", "check the name"}},
		{"three axes", npy(t, []int64{10, 10, 4}, f32(s.probs)), labels, []string{"x.npy: scores have 3 axes, shape (10, 10, 4)", "a vector (N,) or a matrix (N, K)"}},
		{"whole numbers", npy(t, []int64{100, 4}, ints), labels, []string{"x.npy: scores are int64", "save the model's probabilities"}},
		{"no rows", npy(t, []int64{0, 4}, []float32{}), labels, []string{"x.npy: no rows", "given any data?"}},
		{"no classes", npy(t, []int64{100, 0}, []float32{}), labels, []string{"x.npy: no classes", "a matrix (N, K)"}},
		{"complex", raw(header("'<c8'", "(100, 4)"), make([]byte, 3200)), labels, []string{"x.npy: scores are complex numbers", "a.real"}},
		{"fewer labels", good, npy(t, []int64{99}, s.labels[:99]), []string{"y.npy: 99 labels for the 100 rows of x.npy", "are they of the same data"}},
		{"more labels", good, npy(t, []int64{101}, append(slices.Clone(s.labels), 0)), []string{"y.npy: 101 labels for the 100 rows of x.npy", "are they of the same data"}},
		{"transposed", npy(t, []int64{4, 100}, f32(s.probs)), labels, []string{"y.npy: 100 labels for the 4 rows", "transposed?"}},
		{"labels that are scores", good, npy(t, []int64{100}, floatLabels), []string{"y.npy: row 3: label 0.25 is not a class number", "from 0 to classes-1"}},
		{"one-hot labels", good, npy(t, []int64{100, 4}, ints), []string{"y.npy: labels have shape (100, 4)", "argmax"}},
		{"truncated labels", good, labels[:len(labels)-2], []string{"y.npy: truncated", "row 99 is the first incomplete", "write it again"}},
		{"a label beyond int32", good, npy(t, []int64{100}, append(slices.Clone(ints[:99]), 1<<33)), []string{"y.npy: row 99: label 8589934592 does not fit", "from 0 to classes-1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDir(t)
			x, y := d.at("x.npy"), d.at("y.npy")
			if c.scores != nil {
				d.put("x.npy", c.scores)
			}
			if c.labels != nil {
				d.put("y.npy", c.labels)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			refused(t, d, []string{"eval", x, "--labels", y, "--state", d.at("s.state")}, c.want...)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
				t.Errorf("%d MiB were allocated for a small file", n>>20)
			}
		})
	}
}

func TestBadPlaces(t *testing.T) {
	d := newDir(t)
	s := newSet(1, 50, 3)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	refused(t, d, []string{"eval", d.path, "--labels", y}, ": is a directory", "name its files")
	refused(t, d, []string{"eval", x, "--labels", d.path}, ": is a directory", "name its files")
	refused(t, d, []string{"eval", x}, "x.npy: no labels", "--labels FILE")
	refused(t, d, []string{"eval", x, y}, "y.npy: scores are int32", "--labels")
	z := d.put("z.npz", npz(t, "probs.npy", s.scores(t), "truth.npy", s.labelFile(t)))
	refused(t, d, []string{"eval", z}, "z.npz: no labels", "--labels FILE", "truth int32 (50,)")
	refused(t, d, []string{"eval", z + ":nothing", "--labels", y}, "has no array \"nothing\"", "probs float32 (50, 3)")
	refused(t, d, []string{"eval", x, "--labels", y + "," + y}, "2 files of labels for 1 of scores", "give one file for all rows")

	// A folder without permissions cannot be told from one with them by user 0, who may read everything.
	if os.Getuid() != 0 {
		p := d.put("p.npy", s.scores(t))
		if err := os.Chmod(p, 0); err != nil {
			t.Fatal(err)
		}
		refused(t, d, []string{"eval", p, "--labels", y}, "p.npy: no permission to read it", "chmod")
	}
}

// bad is a set with rows that cannot be used.
type bad struct {
	name  string
	set   *set
	flags []string
	want  []string
}

const badRows = 5000 // some blocks and, with small buffers, some chunks

func badSets() []bad {
	s := newSet(2, badRows, 4)
	b := newSet(3, badRows, 1)
	nan, inf := math.NaN(), math.Inf(1)
	logits := s.each(func(p float64) float64 { return 2 * math.Log(p) })
	weights := func(s *set, v float64) *set {
		o := s.clone()
		o.weights[4001], o.weights[17] = v, v
		return o
	}
	decisions := func(s *set, v int32) *set {
		o := s.clone()
		o.decisions[4001], o.decisions[17] = v, v
		return o
	}
	by := func(s *set, v float64) *set {
		o := s.clone()
		o.by[4001], o.by[17] = v, v
		return o
	}
	double := func(s *set, row int, v float64) *set {
		o := s.clone()
		for j := range s.classes {
			o.probs[row*s.classes+j] *= v
			o.probs[(row+900)*s.classes+j] *= v
		}
		return o
	}
	gone := logits.clone()
	for j := range 4 {
		gone.probs[4444*4+j] = math.Inf(-1)
		gone.probs[1234*4+j] = math.Inf(-1)
	}
	all := s.each(func(p float64) float64 { return p * 0.5 })
	ones := s.clone()
	for i := range ones.labels {
		ones.labels[i]++
	}
	first := slices.Index(ones.labels, 4)
	above := 0
	for _, y := range ones.labels {
		if y == 4 {
			above++
		}
	}
	like := func(n int) string { return fmt.Sprintf("(%d of 5,000 rows like it)", n) }
	logit := []string{"--input", "logits"}
	return []bad{
		{"label below 0", s.label(-100, 4500, 7, 2500), nil, []string{"y.npy: row 7: label is -100, not one of the 4 classes 0 to 3", like(3), "pass --ignore-label, or give them weight 0"}},
		{"label above", s.label(17, 4500, 70), nil, []string{"y.npy: row 70: label is 17", like(2), "do labels and predictions belong together?"}},
		{"label K", s.label(4, 4500, 70), nil, []string{"y.npy: row 70: label is 4", like(2), "labels that start at 1? subtract 1"}},
		{"labels from 1", ones, nil, []string{fmt.Sprintf("y.npy: row %d: label is 4", first), fmt.Sprintf("(%s of 5,000 rows like it)", comma(above)), "labels that start at 1? subtract 1"}},
		{"binary label", b.label(2, 77), nil, []string{"y.npy: row 77: label is 2, not one of the 2 classes 0 to 1", "subtract 1"}},
		{"NaN", s.with(3000, 1, nan).with(21, 2, nan), nil, []string{"x.npy: row 21, column 2: score is NaN", like(2), "a division by 0", "--on-invalid drop"}},
		{"NaN logit", logits.with(3000, 1, nan).with(21, 2, nan), logit, []string{"x.npy: row 21, column 2: score is NaN", like(2), "a division by 0"}},
		{"binary NaN", b.with(3000, 0, nan).with(21, 0, nan), nil, []string{"x.npy: row 21, column 0: score is NaN", like(2)}},
		{"+Inf", s.with(3000, 3, inf).with(22, 3, inf), nil, []string{"x.npy: row 22, column 3: score is +Inf", like(2), "an overflow"}},
		{"+Inf logit", logits.with(3000, 3, inf).with(22, 3, inf), logit, []string{"x.npy: row 22, column 3: score is +Inf", like(2), "an overflow"}},
		{"-Inf among probabilities", s.with(22, 3, -inf), nil, []string{"x.npy: row 22, column 3: score is -Inf", "an overflow"}},
		{"negative", s.with(2222, 0, -0.25).with(1111, 1, -0.25), nil, []string{"x.npy: row 1111, column 1: probability is -0.25, outside [0, 1]", like(2), "--input logits"}},
		{"just below 0", s.with(2222, 0, -1e-6).with(1111, 1, -1e-6), nil, []string{"x.npy: row 1111, column 1: probability is -1e-06", like(2), "rounding", "clip"}},
		{"above 1", s.with(2222, 0, 1.5).with(1111, 1, 1.5), nil, []string{"x.npy: row 1111, column 1: probability is 1.5", like(2), "--input logits"}},
		{"binary above 1", b.with(2222, 0, 97.5).with(1111, 0, 97.5), nil, []string{"x.npy: row 1111, column 0: probability is 97.5", like(2), "percentages? pass --percent"}},
		{"sum 0.5", double(s, 600, 0.5), nil, []string{"x.npy: row 600: probabilities sum to 0.5, not 1", like(2), "--input logits", "--renormalize"}},
		{"all sums 0.5", all, nil, []string{"x.npy: row 0: probabilities sum to 0.5, not 1", "(5,000 of 5,000 rows like it)", "--renormalize"}},
		{"sum 12.4", s.each(func(p float64) float64 { return 0.25 }).with(600, 0, 1).with(600, 1, 1).with(600, 2, 1).with(600, 3, 0.5), nil, []string{"x.npy: row 600: probabilities sum to 3.5, not 1", "--input logits"}},
		{"logits as probabilities", logits, nil, []string{"x.npy: row 0, column 0: probability is -", like2(badRows), "logits? pass --input logits"}},
		{"logits as log-probabilities", logits, []string{"--input", "logprobs"}, []string{"x.npy: row ", "the exponentials sum to ", "logits? pass --input logits"}},
		{"only -Inf", gone, logit, []string{"x.npy: row 1234: every logit is -Inf", like(2), "--on-invalid drop"}},
		{"weight below 0", weights(s, -1), nil, []string{"w.npy: row 17: weight is -1; it must be 0, or lie between", like(2), "scale the weights"}},
		{"weight NaN", weights(s, nan), nil, []string{"w.npy: row 17: weight is NaN", like(2), "scale the weights"}},
		{"weight Inf", weights(s, inf), nil, []string{"w.npy: row 17: weight is +Inf", like(2), "scale the weights"}},
		{"weight 1e-20", weights(s, 1e-20), nil, []string{"w.npy: row 17: weight is 1e-20", like(2), "scale the weights"}},
		{"decision below 0", decisions(s, -1), nil, []string{"d.npy: row 17: decision is -1, not one of the 4 classes 0 to 3", like(2), "rows without a decision? leave them out"}},
		{"decision K", decisions(s, 4), nil, []string{"d.npy: row 17: decision is 4", like(2), "decisions that start at 1? subtract 1"}},
		{"decision of a binary task", decisions(b, 7), nil, []string{"d.npy: row 17: decision is 7, not one of the 2 classes 0 to 1", like(2), "do decisions and predictions belong together?"}},
		{"confidence score NaN", by(s, nan), nil, []string{"s.npy: row 17: confidence score is NaN", like(2), "it must be finite", "--on-invalid drop"}},
		{"confidence score +Inf", by(b, inf), nil, []string{"s.npy: row 17: confidence score is +Inf", like(2)}},
		{"two kinds", s.label(-1, 50).with(40, 2, nan), nil, []string{"x.npy: row 40, column 2: score is NaN", "y.npy: row 50: label is -1"}},
	}
}

func like2(n int) string { return fmt.Sprintf("(%s of %s rows like it)", comma(n), comma(n)) }

func comma(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// beside returns the flag of the file that a bad set needs beside scores and labels, and the letter of its name; "" if none.
func (b *bad) beside() (flag, letter string, file func(s *set, t testing.TB) []byte) {
	switch kind, _, _ := strings.Cut(b.name, " "); kind {
	case "weight":
		return "--weights", "w", (*set).weightFile
	case "decision":
		return "--decisions", "d", (*set).decisionFile
	case "confidence":
		return "--confidence-scores", "s", (*set).byFile
	}
	return "", "", nil
}

func TestBadRows(t *testing.T) {
	for _, c := range badSets() {
		t.Run(c.name, func(t *testing.T) {
			d := newDir(t)
			x, y := d.put("x.npy", c.set.scores(t)), d.put("y.npy", c.set.labelFile(t))
			args := append([]string{"eval", x, "--labels", y, "--state", d.at("s.state")}, c.flags...)
			beside, letter, file := c.beside()
			if beside != "" {
				args = append(args, beside, d.put(letter+".npy", file(c.set, t)))
			}
			msg := refused(t, d, append(args, "--threads", "1"), c.want...)
			threads := []string{"2", "3", "8"}
			if testing.Short() {
				threads = threads[1:2]
			}
			for _, n := range threads {
				if m := refused(t, d, append(args, "--threads", n)); m != msg {
					t.Errorf("with %s threads:\n%s, with one\n%s", n, m, msg)
				}
			}
			// In shards the row is counted within its own file, whose name is said; so are all the numbers.
			var xs, ys, ws []string
			cuts := []int{0, 10, 610, 1000, 4400, badRows}
			for i := 1; i < len(cuts); i++ {
				p := c.set.part(cuts[i-1], cuts[i])
				xs = append(xs, d.put(fmt.Sprintf("x-%d.npy", 9+i), p.scores(t)))
				ys = append(ys, d.put(fmt.Sprintf("y-%d.npy", 9+i), p.labelFile(t)))
				if beside != "" {
					ws = append(ws, d.put(fmt.Sprintf("%s-%d.npy", letter, 9+i), file(p, t)))
				}
			}
			var want []string
			for _, w := range c.want {
				var row int
				name, rest, ok := strings.Cut(w, ".npy: row ")
				if _, err := fmt.Sscanf(rest, "%d", &row); !ok || err != nil {
					want = append(want, strings.ReplaceAll(w, ".npy: row ", "-10.npy: row "))
					continue
				}
				i, _ := slices.BinarySearch(cuts, row+1)
				want = append(want, strings.Replace(w, fmt.Sprintf("%s.npy: row %d", name, row), fmt.Sprintf("%s-%d.npy: row %d", name, 9+i, row-cuts[i-1]), 1))
			}
			args = append(append([]string{"eval"}, xs...), "--labels", strings.Join(ys, ","), "--state", d.at("s.state"))
			args = append(args, c.flags...)
			if beside != "" {
				args = append(args, beside, strings.Join(ws, ","))
			}
			refused(t, d, args, append(want, "over all 5 files")...)

			// One file of labels for all shards has its own row numbers.
			if strings.HasPrefix(c.name, "label") {
				args = append(append([]string{"eval"}, xs...), "--labels", y)
				refused(t, d, args, c.want...)
			}
			if beside != "" {
				args = append(append([]string{"eval"}, xs...), "--labels", y, beside, d.at(letter+".npy"))
				refused(t, d, args, c.want...)
			}
		})
	}
}

func TestBadShards(t *testing.T) {
	d := newDir(t)
	a, b := newSet(1, 40, 3), newSet(2, 50, 4)
	x1, y1 := d.put("x1.npy", a.scores(t)), d.put("y1.npy", a.labelFile(t))
	x2, y2 := d.put("x2.npy", b.scores(t)), d.put("y2.npy", b.labelFile(t))
	refused(t, d, []string{"eval", x1, x2, "--labels", y1 + "," + y2}, "x2.npy: 4 classes (shape (50, 4)), but x1.npy has 3 (shape (40, 3))", "shards must agree")
	x3 := d.put("x3.npy", npy(t, a.shape(), a.probs))
	refused(t, d, []string{"eval", x1, x3, "--labels", y1 + "," + y1}, "x3.npy: float64, but x1.npy is float32", "shards must agree")
	refused(t, d, []string{"eval", x1, x1, "--labels", y1 + "," + y2}, "y2.npy: 50 labels for the 40 rows of x1.npy")
	z1 := d.put("z1.npz", npz(t, "probs.npy", a.scores(t), "labels.npy", a.labelFile(t)))
	z2 := d.put("z2.npz", npz(t, "probs.npy", a.scores(t)))
	refused(t, d, []string{"eval", z1, z2}, "z2.npz: no labels, but", "z1.npz has some", "--labels")
}

// states writes the states of two halves of a set and returns their paths.
func states(t *testing.T, d *dir, flags ...string) (a, b string) {
	s := newSet(5, 200, 3)
	for i, p := range []*set{s.part(0, 90), s.part(90, 200)} {
		x, y := d.put(fmt.Sprintf("x%d.npy", i), p.scores(t)), d.put(fmt.Sprintf("y%d.npy", i), p.labelFile(t))
		evaluate(t, append([]string{x, "--labels", y, "--state", d.at(fmt.Sprintf("%d.state", i))}, flags...)...)
	}
	return d.at("0.state"), d.at("1.state")
}

func TestBadStates(t *testing.T) {
	d := newDir(t)
	a, b := states(t, d)
	good := d.read(a)
	out := d.at("out.state")
	flipped := slices.Clone(good)
	flipped[len(flipped)/2] ^= 1
	for _, c := range []struct {
		name string
		data []byte
		want []string
	}{
		{"truncated", good[:len(good)-10], []string{"copy it again"}},
		{"a few bytes", good[:6], []string{"copy it again"}},
		{"empty", []byte{}, []string{"empty file"}},
		{"damaged", flipped, []string{"damaged", "copy it again"}},
		{"with more behind it", append(slices.Clone(good), 0), []string{"copy it again"}},
		{"predictions", d.read(d.at("x0.npy")), []string{"predictions go to candor eval"}},
		{"text", []byte("hello, world\n"), []string{"predictions go to candor eval"}},
	} {
		p := d.put("bad.state", c.data)
		for _, args := range [][]string{{"merge", p, b}, {"merge", b, p}, {"merge", p}} {
			refused(t, d, append(args, "-o", out), append(c.want, "bad.state: not a state that can be read")...)
		}
	}
	refused(t, d, []string{"merge", a, d.at("none.state")}, "none.state: no such file", "check the name")
	refused(t, d, []string{"merge", a, d.path}, ": is a directory", "name the state files")

	// States that differ in anything that answers depend on do not merge.
	for name, flags := range map[string][]string{
		"bins of":           {"--bins", "10"},
		"confidence levels": {"--confidence", "0.9"},
		"metrics":           {"--metrics", "ece"},
		"p = 0 dropped":     {"--like", "um", "--bins", "15"},
		"renormalised":      {"--renormalize"},
		"scores are":        {"--input", "logits"},
	} {
		e := newDir(t)
		s := newSet(5, 200, 3)
		x, y := e.put("x.npy", s.scores(t)), e.put("y.npy", s.labelFile(t))
		if slices.Contains(flags, "logits") {
			e.put("x.npy", s.each(math.Log).scores(t))
		}
		evaluate(t, append([]string{x, "--labels", y, "--state", e.at("other.state")}, flags...)...)
		remedy := "like with like"
		if name == "metrics" {
			remedy = "candor merge --common"
		}
		refused(t, e, []string{"merge", a, e.at("other.state"), "-o", e.at("out.state")}, "0.state against ", "other.state: ", name, remedy)
	}
	for _, s := range []*set{newSet(6, 100, 5), newSet(7, 100, 1)} {
		e := newDir(t)
		x, y := e.put("x.npy", s.scores(t)), e.put("y.npy", s.labelFile(t))
		evaluate(t, x, "--labels", y, "--state", e.at("other.state"))
		refused(t, e, []string{"merge", a, e.at("other.state")}, "3 classes and")
	}
	e := newDir(t)
	s := newSet(6, 100, 3)
	x, y := e.put("x.npy", npy(t, s.shape(), s.probs)), e.put("y.npy", s.labelFile(t))
	evaluate(t, x, "--labels", y, "--state", e.at("other.state"))
	refused(t, e, []string{"merge", a, e.at("other.state")}, "scores of type float32 and of type float64")
	evaluate(t, e.put("x4.npy", s.scores(t)), "--labels", y, "--weights", e.put("w.npy", s.weightFile(t)), "--state", e.at("other.state"))
	refused(t, e, []string{"merge", a, e.at("other.state")}, "one has weights, the other has none")
	evaluate(t, e.at("x4.npy"), "--labels", y, "--decisions", e.put("d.npy", s.decisionFile(t)), "--state", e.at("other.state"))
	refused(t, e, []string{"merge", a, e.at("other.state")}, "one has decisions, the other has none")
	evaluate(t, e.at("x4.npy"), "--labels", y, "--confidence-scores", e.put("s.npy", s.byFile(t)), "--state", e.at("other.state"))
	refused(t, e, []string{"merge", a, e.at("other.state")}, "one has confidence scores, the other has none")
}

// TestNothingLeft drops all rows.
func TestNothingLeft(t *testing.T) {
	d := newDir(t)
	s := newSet(1, 30, 3).each(func(float64) float64 { return math.NaN() })
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	refused(t, d, []string{"eval", x, "--labels", y, "--on-invalid", "drop", "--state", d.at("s")}, "x.npy: no row is left", "30 bad rows were left out", "--on-invalid error")
	g := newSet(1, 30, 3)
	x = d.put("x.npy", g.scores(t))
	w := d.put("w.npy", npy(t, []int64{30}, make([]float64, 30)))
	refused(t, d, []string{"eval", x, "--labels", y, "--weights", w}, "no row is left", "30 rows of weight 0")
}

// clean takes out of a document what dropped rows may change.
func clean(t *testing.T, doc string) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(doc), &m); err != nil {
		t.Fatal(err)
	}
	delete(m, "warnings")
	delete(m, "state") // it counts the dropped rows too
	delete(m["input"].(map[string]any), "dropped")
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestDrop(t *testing.T) {
	for n, c := range badSets() {
		switch c.name {
		case "all sums 0.5", "logits as probabilities", "logits as log-probabilities", "two kinds":
			continue // almost no row is left, or it is not one bad thing
		}
		if testing.Short() && n%2 > 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			d := newDir(t)
			beside, letter, file := c.beside()
			names := "default"
			if check.Full() || !testing.Short() && n%3 == 0 { // rows are dropped before any metric sees them
				names = quick(c.set.classes)
			}
			run := func(s *set, threads string) string {
				args := []string{"eval", d.put("x.npy", s.scores(t)), "--labels", d.put("y.npy", s.labelFile(t)), "--json", "--on-invalid", "drop", "--metrics", names, "--threads", threads}
				if beside != "" {
					args = append(args, beside, d.put(letter+".npy", file(s, t)))
				}
				code, out, errs := candor(t, append(args, c.flags...)...)
				if code != 0 {
					t.Fatal(errs)
				}
				return out
			}
			out := run(c.set, "3")
			var doc document
			if err := json.Unmarshal([]byte(out), &doc); err != nil {
				t.Fatal(err)
			}
			if doc.Input.Dropped < 1 || doc.Input.Rows+doc.Input.Dropped != badRows {
				t.Fatalf("%d rows and %d dropped", doc.Input.Rows, doc.Input.Dropped)
			}
			if !slices.Contains(doc.Warnings, strings.Replace(fmt.Sprintf("%s bad rows were left out", comma(int(doc.Input.Dropped))), "1 bad rows were", "1 bad row was", 1)) {
				t.Errorf("the warnings are %q", doc.Warnings)
			}
			if check.Full() { // else the good rows alone are read with another number of threads, which their document does not show
				if one := run(c.set, "1"); one != out {
					t.Error("the document depends on the threads")
				}
			}
			// The same rows, found by the simplest means.
			good := c.set.only(func(i int) bool {
				if y := c.set.labels[i]; y < 0 || int(y) >= max(2, c.set.classes) {
					return false
				}
				if w := c.set.weights[i]; beside == "--weights" && !(w >= 0x1p-32 && w <= 0x1p32) {
					return false
				}
				if y := c.set.decisions[i]; beside == "--decisions" && (y < 0 || int(y) >= max(2, c.set.classes)) {
					return false
				}
				if v := c.set.by[i]; beside == "--confidence-scores" && v-v != 0 {
					return false
				}
				sum, finite := 0.0, false
				for _, p := range c.set.probs[i*c.set.classes:][:c.set.classes] {
					if math.IsNaN(p) || math.IsInf(p, 1) || len(c.flags) == 0 && (p < 0 || p > 1) {
						return false
					}
					finite = finite || !math.IsInf(p, 0)
					sum += p
				}
				return finite && (len(c.flags) > 0 || c.set.classes == 1 || math.Abs(sum-1) < 0.02)
			})
			if int64(good.rows) != doc.Input.Rows {
				t.Fatalf("%d rows are good, the document has %d", good.rows, doc.Input.Rows)
			}
			if clean(t, run(good, "2")) != clean(t, out) {
				t.Error("the document is not that of the good rows")
			}
		})
	}
}

// TestMasked: -Inf is a legal logit and a legal log-probability.
func TestMasked(t *testing.T) {
	s := newSet(4, 400, 5)
	for i := range s.rows {
		if j := (int(s.labels[i]) + 1) % 5; i%3 == 0 {
			s.probs[i*5+j] = 0
			sum := 0.0
			for k := range 5 {
				sum += s.probs[i*5+k]
			}
			for k := range 5 {
				s.probs[i*5+k] /= sum
			}
		}
	}
	d := newDir(t)
	y := d.put("y.npy", s.labelFile(t))
	want := evaluate(t, d.put("p.npy", npy(t, s.shape(), s.probs)), "--labels", y, "--metrics", quick(5))
	logs := s.each(math.Log)
	for _, kind := range []string{"logits", "logprobs"} {
		got := evaluate(t, d.put("l.npy", npy(t, s.shape(), logs.probs)), "--labels", y, "--input", kind, "--metrics", quick(5))
		for key := range want.Metrics {
			if a, b := got.value(t, key), want.value(t, key); math.Abs(a-b) > 1e-12*math.Max(1, math.Abs(b)) {
				t.Errorf("%s: %s is %v of %s, %v of probabilities", kind, key, a, kind, b)
			}
		}
	}
	// A label that was masked makes nll infinite, and says so.
	s.probs[0], s.probs[1], s.probs[2], s.probs[3], s.probs[4] = 0, 1, 0, 0, 0
	s.labels[0] = 0
	e := evaluate(t, d.put("l.npy", npy(t, s.shape(), s.each(math.Log).probs)), "--labels", d.put("y.npy", s.labelFile(t)), "--input", "logits", "--metrics", "default,nll_infinite_rows")
	if e.Metrics["nll"].Value != "+Inf" || e.value(t, "nll_infinite_rows") != 1 || e.Metrics["nll"].Reason == "" {
		t.Errorf("nll is %+v", e.Metrics["nll"])
	}
}

// TestTwoClasses: documents of a binary task and of two classes have all three errors.
func TestTwoClasses(t *testing.T) {
	d := newDir(t)
	b := newSet(9, 3000, 1)
	k := &set{rows: b.rows, classes: 2, labels: b.labels, weights: b.weights, decisions: b.decisions, by: b.by}
	for i, p := range b.probs {
		b.probs[i] = float64(float32(p))
		k.probs = append(k.probs, 1-b.probs[i], b.probs[i])
	}
	y := d.put("y.npy", b.labelFile(t))
	const more = "default,accuracy,ece_positive,ece_top_label,base_rate,entropy"
	db := evaluate(t, d.put("b.npy", npy(t, b.shape(), b.probs)), "--labels", y, "--metrics", more, "--task", "binary")
	dc := evaluate(t, d.put("c.npy", npy(t, []int64{int64(b.rows), 1}, b.probs)), "--labels", y, "--metrics", more)
	dk := evaluate(t, d.put("k.npy", npy(t, k.shape(), k.probs)), "--labels", y, "--metrics", more, "--task", "classification")
	if db.State.SHA256 != dc.State.SHA256 {
		t.Error("(N,) and (N, 1) have different states")
	}
	for _, key := range []string{"ece_positive", "ece_top_label", "accuracy", "nll", "base_rate", "entropy"} {
		if a, c := db.value(t, key), dk.value(t, key); math.Abs(a-c) > 1e-12 {
			t.Errorf("%s is %v binary and %v of two classes", key, a, c)
		}
	}
	if db.value(t, "ece") != db.value(t, "ece_positive") || dk.value(t, "ece") != dk.value(t, "ece_top_label") {
		t.Error("ece is of the positive class for a binary task and of the top label for two classes")
	}
	if math.Abs(2*db.value(t, "brier")-dk.value(t, "brier")) > 1e-12 {
		t.Errorf("brier is %v binary and %v of two classes", db.value(t, "brier"), dk.value(t, "brier"))
	}
	if !strings.HasPrefix(db.Metrics["ece"].Text, "positive class") || !strings.HasPrefix(dk.Metrics["ece"].Text, "top label") {
		t.Error("the texts do not say which ece it is")
	}
	for path, want := range map[string]string{d.at("b.npy"): "gap of P(y = 1)", d.at("k.npy"): "gap of top label"} {
		if _, out, _ := candor(t, "eval", path, "--labels", y, "--metrics", more, "--task", map[string]string{d.at("b.npy"): "binary", d.at("k.npy"): "classification"}[path]); !strings.Contains(out, want) {
			t.Errorf("the table of %s does not say %q", path, want)
		}
	}
}

// TestHalves: float16 and bfloat16 files, which Python does not have both of.
func TestHalves(t *testing.T) {
	d := newDir(t)
	s := newSet(4, 300, 4).each(func(p float64) float64 { return math.Log(p) })
	bits := make([]uint16, len(s.probs))
	for i, v := range s.probs {
		bits[i] = uint16(math.Float32bits(float32(v)) >> 16)
		s.probs[i] = float64(math.Float32frombits(uint32(bits[i]) << 16))
	}
	x, y := d.put("x.npy", npy(t, s.shape(), bits)), d.put("y.npy", s.labelFile(t))
	refused(t, d, []string{"eval", x, "--labels", y, "--input", "logits"}, "x.npy: scores are uint16", "--bfloat16")
	a := evaluate(t, x, "--labels", y, "--input", "logits", "--bfloat16")
	b := evaluate(t, d.put("f.npy", s.scores(t)), "--labels", y, "--input", "logits")
	if a.Input.DType != "bfloat16" || a.value(t, "nll") != b.value(t, "nll") {
		t.Errorf("%s: nll %v, float32 %v", a.Input.DType, a.value(t, "nll"), b.value(t, "nll"))
	}
	h := predictions.Half{0x3C00, 0, 0x3800, 0x3800} // 1 0, 0.5 0.5
	e := evaluate(t, d.put("h.npy", npy(t, []int64{2, 2}, h)), "--labels", d.put("y2.npy", npy(t, []int64{2}, []int64{0, 1})), "--metrics", "default,confidence", "--task", "classification")
	if e.Input.DType != "float16" || e.value(t, "confidence") != 0.75 || e.value(t, "accuracy") != 0.5 {
		t.Errorf("float16: %+v", e.Input)
	}
	if bytes.Contains([]byte(e.Verdict), []byte("NaN")) {
		t.Error(e.Verdict)
	}
}
