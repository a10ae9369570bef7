package main

import (
	"archive/zip"
	"encoding/binary"
	"encoding/json"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/candor-go/candor/report"
)

// formats returns the folder of files that other software wrote, which stands beside the real sets.
func formats(t *testing.T) string {
	t.Helper()
	return filepath.Join(realSets(t), "..", "formats")
}

// truth is what a folder's files hold: scores of five classes and of an event, labels, weights.
type truth struct {
	p, pb, w []float64
	y, yb    []int
}

// truthOf reads the arrays of a truth.npz.
func truthOf(t *testing.T, name string) *truth {
	t.Helper()
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	words := func(name string) (l []uint64) {
		f, err := z.Open(name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err != nil {
			t.Fatal(err)
		}
		for b = b[10+int(binary.LittleEndian.Uint16(b[8:])):]; len(b) > 0; b = b[8:] {
			l = append(l, binary.LittleEndian.Uint64(b))
		}
		return l
	}
	numbers := func(name string) (l []float64) {
		for _, v := range words(name) {
			l = append(l, math.Float64frombits(v))
		}
		return l
	}
	integers := func(name string) (l []int) {
		for _, v := range words(name) {
			l = append(l, int(int64(v)))
		}
		return l
	}
	return &truth{numbers("p"), numbers("pb"), numbers("w"), integers("y"), integers("yb")}
}

// heldRows is the rows that a file holds by its outcome, a rule in words, with the figures that they have.
type heldRows struct {
	classes int // 1 of an event
	p, w    []float64
	y       []int
	near    float64 // how far figures may be off
}

// rule makes the rows of the truth that an outcome says. Its words:
//
//	f64 f32 f16 bf16       scores are rounded to a type
//	digits:N decimals:N    scores and weights are rounded to N significant digits, or decimals
//	score:P                all scores are P
//	logits                 scores are logits, whose softmax is near the truth
//	binary                 the rows are those of the event
//	event:K                labels are whether the class is K
//	labels:1x2,0x3         labels are these: 1 1 0 0 0; there are as many rows
//	predicted              labels are what the scores predict
//	certain:N              each N-th row is sure of a class: that which has the greatest score in the truth
//	weighted               rows have weights
//	rows:A-B               the rows from A to B
//	without:A,B            rows that are left out
func (v *truth) rule(t *testing.T, words string) *heldRows {
	t.Helper()
	s := &heldRows{classes: 5, p: slices.Clone(v.p), w: slices.Repeat([]float64{1}, len(v.w)), y: slices.Clone(v.y), near: 1e-12}
	out := map[int]bool{}
	integer := func(text string) int {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("outcome %q: %v", words, err)
		}
		return n
	}
	fields := strings.Fields(words)
	if slices.Contains(fields, "binary") {
		s.classes, s.p, s.y = 1, slices.Clone(v.pb), slices.Clone(v.yb)
	}
	if slices.ContainsFunc(fields, func(word string) bool { return word == "f32" || word == "f16" || word == "bf16" }) {
		s.near = 0x1p-24 // kernel.ProbStatsF32 has squares of scores as float32
	}
	if slices.Contains(fields, "weighted") {
		s.w = slices.Clone(v.w)
	}
	round := func(l []float64, to func(float64) float64) {
		for i := range l {
			l[i] = to(l[i])
		}
	}
	for _, word := range fields {
		name, with, _ := strings.Cut(word, ":")
		switch name {
		case "f64", "binary", "weighted":
		case "f32":
			round(s.p, func(v float64) float64 { return float64(float32(v)) })
		case "f16":
			round(s.p, func(v float64) float64 { return toPrecision(v, 11, -24) })
		case "bf16":
			round(s.p, func(v float64) float64 { return toPrecision(float64(float32(v)), 8, -133) })
		case "digits", "decimals":
			to := func(v float64) float64 {
				text := strconv.FormatFloat(v, map[string]byte{"digits": 'e', "decimals": 'f'}[name], integer(with)-map[string]int{"digits": 1}[name], 64)
				v, err := strconv.ParseFloat(text, 64)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			round(s.p, to)
			round(s.w, to)
		case "score":
			p, err := strconv.ParseFloat(with, 64)
			if err != nil {
				t.Fatal(err)
			}
			round(s.p, func(float64) float64 { return p })
		case "logits":
			if slices.Contains(fields, "f32") {
				s.near = 1e-6 // as kernel.LogitStatsF32 has it
			}
		case "event":
			for i, y := range v.y {
				s.y[i] = 0
				if y == integer(with) {
					s.y[i] = 1
				}
			}
		case "labels":
			s.y = nil
			for _, run := range strings.Split(with, ",") {
				label, times, _ := strings.Cut(run, "x")
				s.y = append(s.y, slices.Repeat([]int{integer(label)}, integer(times))...)
			}
			for i := len(s.y); i < len(v.y); i++ {
				out[i] = true
			}
			s.y = append(s.y, make([]int, len(v.y)-len(s.y))...)
		case "predicted":
			for i := range s.y {
				s.y[i] = s.predicted(i)
			}
		case "certain":
			for i := 0; i < len(s.y); i += integer(with) {
				top := s.predicted(i)
				clear(s.p[5*i : 5*i+5])
				s.p[5*i+top] = 1
			}
		case "rows":
			from, to, _ := strings.Cut(with, "-")
			for i := range s.y {
				out[i] = out[i] || i < integer(from) || i > integer(to)
			}
		case "without":
			for _, row := range strings.Split(with, ",") {
				out[integer(row)] = true
			}
		default:
			t.Fatalf("outcome %q: no rule is named %q", words, word)
		}
	}
	kept := &heldRows{classes: s.classes, near: s.near}
	for i := range s.y {
		if !out[i] {
			kept.p = append(kept.p, s.p[i*s.classes:(i+1)*s.classes]...)
			kept.w, kept.y = append(kept.w, s.w[i]), append(kept.y, s.y[i])
		}
	}
	return kept
}

// toPrecision rounds to so many binary digits, ties to even, none below 2^least.
func toPrecision(v float64, digits, least int) float64 {
	_, e := math.Frexp(v)
	unit := math.Ldexp(1, max(e-digits, least))
	return math.RoundToEven(v/unit) * unit
}

// predicted is the class with the greatest score of a row, the first of equals.
func (s *heldRows) predicted(i int) int {
	if s.classes == 1 {
		if s.p[i] > 0.5 {
			return 1
		}
		return 0
	}
	row := s.p[i*s.classes : (i+1)*s.classes]
	return slices.Index(row, slices.Max(row))
}

// figures computes accuracy, nll, brier and ece as their definitions have them.
func (s *heldRows) figures() map[string]float64 {
	const bins = 15
	var all, hits, nll, brier, ece float64
	var gaps [bins]float64
	for i, y := range s.y {
		w := s.w[i]
		all += w
		top, hit := s.predicted(i), 0.0
		if top == y {
			hit = 1
			hits += w
		}
		var p, judged, happened float64 // of the label; what the bins are of
		if s.classes == 1 {
			judged, happened = s.p[i], float64(y)
			if p = judged; y == 0 {
				p = 1 - p
			}
			brier += w * (judged - happened) * (judged - happened)
		} else {
			row := s.p[i*s.classes : (i+1)*s.classes]
			p, judged, happened = row[y], row[top], hit
			for k, v := range row {
				if k == y {
					v--
				}
				brier += w * v * v
			}
		}
		nll -= w * math.Log(p)
		bin := 0
		for bin+1 < bins && judged >= float64(bin+1)*(1.0/bins) {
			bin++
		}
		gaps[bin] += w * (judged - happened)
	}
	for _, g := range gaps {
		ece += math.Abs(g)
	}
	return map[string]float64{"accuracy": hits / all, "nll": nll / all, "brier": brier / all, "ece": ece / all}
}

// holds compares a document with the figures.
func (s *heldRows) holds(t *testing.T, d *document) {
	t.Helper()
	if int(d.Input.Rows) != len(s.y) {
		t.Errorf("%d rows, want %d", d.Input.Rows, len(s.y))
	}
	for name, want := range s.figures() {
		got := d.value(t, name)
		if math.IsInf(want, 0) {
			if got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
			continue
		}
		if !(math.Abs(got-want) <= s.near) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// fileLine is a line of a table of files with what comes of them.
type fileLine struct{ file, arguments, outcome string }

// writtenTable reads such a table, and compares its files with those of a folder.
func writtenTable(t *testing.T, table, dir string, wanted func(name string) bool) (l []fileLine) {
	t.Helper()
	b, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(dir, path); err == nil && !d.IsDir() && wanted(filepath.ToSlash(name)) {
			missing[filepath.ToSlash(name)] = true
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(b), "\n"), "\n") {
		f := strings.Split(line, "\t")
		if len(f) != 3 {
			t.Fatalf("%s, line %d: %d cells", table, i+1, len(f))
		}
		if i == 0 {
			continue
		}
		l = append(l, fileLine{f[0], f[1], f[2]})
	}
	for _, w := range l {
		if _, ok := missing[w.file]; !ok {
			t.Errorf("%s: %s is not in the folder", table, w.file)
		}
	}
	for _, w := range l {
		delete(missing, w.file)
	}
	for name := range missing {
		t.Errorf("%s has no line of %s", table, name)
	}
	return l
}

// mostAllocated is what the command may allocate for one of these files, none of which has a megabyte.
const mostAllocated = 128 << 20

// run runs a command line whose FILE is path. Its outcome is "error" and the message; "unread" and what it will be, where another error
// says what the file is; or what holds checks.
func (w *fileLine) run(t *testing.T, path string, holds func(d *document, out string)) {
	t.Helper()
	args := strings.Fields(w.arguments)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "FILE", path)
	}
	if args[0] == "eval" {
		args = append(args, "--json", "--metrics", "accuracy,nll,brier,ece")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	code, out, errs := candor(t, args...)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > mostAllocated {
		t.Errorf("it allocates %d bytes", n)
	}
	var said []string
	for line := range strings.Lines(errs) {
		var e struct{ Error struct{ Message string } }
		text, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "candor: ")
		if json.Unmarshal([]byte(line), &e) == nil {
			text, ok = e.Error.Message, true
		}
		if ok {
			text = strings.ReplaceAll(text, path, "FILE")
			said = append(said, strings.ReplaceAll(text, "\n", " | "))
		}
	}
	want, fails := strings.CutPrefix(w.outcome, "error ")
	words, unread := strings.CutPrefix(w.outcome, "unread ")
	switch {
	case fails && (code != exitData || len(said) != 1 || said[0] != want):
		t.Errorf("exit code %d: %q\nwant %q", code, said, want)
	case fails:
	case unread && code == exitData && len(said) == 1 && strings.Contains(said[0], "not a table"):
	case unread && code == 0:
		t.Errorf("it is read now: its outcome is %q", words)
	case code != 0:
		t.Errorf("exit code %d: %s", code, errs)
	default:
		d := new(document)
		if args[0] == "eval" {
			if err := json.Unmarshal([]byte(out), d); err != nil {
				t.Fatal(err)
			}
		}
		holds(d, out)
	}
}

// TestWrittenFiles: each file of other software has the outcome that the table says: the figures of what was written, rounded as the file
// has it, or an error.
func TestWrittenFiles(t *testing.T) {
	dir := filepath.Join(formats(t), "written")
	compareWritten(t, dir, filepath.Join("..", "..", "testdata", "tables", "written.tsv"))
}

// TestWrittenAnew: files that other software of today wrote give the figures of what was written. CANDOR_WRITTEN names the folder that
// testdata/tables/anew.py made.
func TestWrittenAnew(t *testing.T) {
	dir := os.Getenv("CANDOR_WRITTEN")
	if dir == "" {
		t.Skip("CANDOR_WRITTEN is not set: the files are made by a leg of CI")
	}
	compareWritten(t, dir, filepath.Join(dir, "written.tsv"))
}

func compareWritten(t *testing.T, dir, table string) {
	v := truthOf(t, filepath.Join(dir, "truth.npz"))
	for _, w := range writtenTable(t, table, dir, func(name string) bool { return name != "written.tsv" }) {
		t.Run(w.file, func(t *testing.T) {
			w.run(t, filepath.Join(dir, filepath.FromSlash(w.file)), func(d *document, _ string) { v.rule(t, w.outcome).holds(t, d) })
		})
	}
}

// TestParquetTesting: each file of Apache's parquet-testing is read, or refused with the reason that the table says.
func TestParquetTesting(t *testing.T) {
	dir := filepath.Join(formats(t), "parquet-testing")
	table := filepath.Join("..", "..", "testdata", "tables", "parquet-testing.tsv")
	for _, w := range writtenTable(t, table, dir, func(name string) bool { return strings.HasSuffix(name, ".parquet") }) {
		t.Run(w.file, func(t *testing.T) {
			w.run(t, filepath.Join(dir, filepath.FromSlash(w.file)), func(d *document, out string) {
				if strings.HasPrefix(w.arguments, "inspect ") {
					first, _, _ := strings.Cut(out, "\n")
					if !strings.HasSuffix(first, ": Parquet, "+w.outcome) {
						t.Errorf("%s, want %s", first, w.outcome)
					}
				} else if got := report.Count(d.Input.Rows) + " rows"; got != w.outcome {
					t.Errorf("%s, want %s", got, w.outcome)
				}
			})
		})
	}
}
