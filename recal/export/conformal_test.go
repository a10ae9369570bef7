package export_test

import (
	"errors"
	"fmt"
	"go/format"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/conformal"
	"github.com/candor-go/candor/recal/export"
)

// A conformalTrial is a conformal map and the rows that its code is held against the map on.
type conformalTrial struct {
	name  string
	m     *conformal.Map
	input metrics.Kind
	width int // numbers in a row that the code takes
	x, u  []float64
}

// applied is the random number of a row of predictions: that of metrics/conformal with the seed 0.
func applied(row uint64) float64 {
	h := uint64(0x6170706c79696e67) + row
	for range 2 {
		h ^= h >> 33
		h *= 0xff51afd7ed558ccd
		h ^= h >> 33
		h *= 0xc4ceb9fe1a85ec53
		h ^= h >> 33
	}
	return (float64(h>>12) + 0.5) * 0x1p-52
}

func (c *conformalTrial) how() string {
	switch {
	case !c.m.Method().Score.Classes():
		return "interval"
	case c.m.Method().Randomized:
		return "random"
	}
	return "rows"
}

// want returns the map's sets, 0 and 1, or intervals.
func (c *conformalTrial) want(x []float64) (l []float64) {
	rows, width := len(x)/c.width, c.width
	p := metrics.Predictions{Kind: c.input, Labels: make([]int32, rows)}
	if !c.m.Method().Score.Classes() {
		p.Labels, p.Observed = nil, make([]float64, rows)
		if c.input == metrics.Normals { // with a standard deviation and an observed number
			given := x
			x = nil
			for i := range rows {
				x = append(x, given[i*width], given[i*width+width-1], 0)
			}
			if width == 1 {
				for i := range rows {
					x[3*i+1] = 1
				}
			}
			width, p.Observed = 3, nil
		}
	}
	p.Scores = metrics.Scores{Rows: rows, Classes: width, F64: x}
	var sets func([]bool, *metrics.Block)
	if c.m.Method().Score.Classes() {
		sets = c.m.Sets()
	}
	w := metrics.NewWalker(nil, metrics.NeedRows, func(b *metrics.Block) {
		if sets == nil {
			ends := make([]float64, 2*b.Rows)
			c.m.Intervals(ends, b)
			l = append(l, ends...)
			return
		}
		in := make([]bool, b.Rows*c.m.Classes())
		sets(in, b)
		for _, v := range in {
			if v {
				l = append(l, 1)
			} else {
				l = append(l, 0)
			}
		}
	})
	w.Add(&metrics.Chunk{Predictions: p})
	return l
}

var conformalMethods = []string{"lac", "lac(by_class)", "lac(nonempty)", "aps", "aps(randomized)", "aps(randomized,nonempty)", "aps(keep_last)", "raps", "raps(lambda=0.2,k=2,by_class)",
	"raps(lambda=0.1,k=1,keep_last,by_class,nonempty)", "raps(k=1,randomized)"}

func conformalTrials(t *testing.T) (l []conformalTrial) {
	rng := rand.New(rand.NewPCG(3, 4))
	add := func(name string, p *metrics.Predictions, coverage float64, input metrics.Kind, width int, x []float64) {
		method, err := conformal.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		m, _, err := conformal.Fit(metrics.InMemory(p), method, coverage, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if method.Score == conformal.CQR {
			m = m.WithLevels(0.1, 0.9)
		}
		c := conformalTrial{fmt.Sprintf("%s of %d at %v as %v", name, width, coverage, input), m, input, width, x, nil}
		for i := range len(x) / width {
			c.u = append(c.u, applied(uint64(i)))
		}
		l = append(l, c)
	}
	for _, classes := range []int{1, 2, 7} {
		for _, kind := range []metrics.Kind{metrics.Probs, metrics.Logits, metrics.LogProbs} {
			p, x := classRows(rng, 300, classes, kind), classRows(rng, 60, classes, kind).F64
			if kind == metrics.Probs && classes == 7 { // equal ones, and 0 and 1
				x = append(x, 0, 0.25, 0.25, 0, 0.25, 0.25, 0, 0, 0, 1, 0, 0, 0, 0)
			}
			// Where a threshold is the sum of all classes, 1, a set depends on the last digit of a softmax: two classes are for 0.6.
			coverage := 0.8
			if classes < 3 && kind != metrics.Probs {
				coverage = 0.6
			}
			for _, name := range conformalMethods {
				add(name, p, coverage, kind, classes, x)
			}
			if kind == metrics.Probs { // the calibration rows: the score of one is the threshold
				add("lac", p, coverage, kind, classes, p.F64)
				add("raps(lambda=0.1,k=1)", p, coverage, kind, classes, p.F64)
			}
			add("lac(by_class)", classRows(rng, 20, classes, kind), 0.95, kind, classes, x) // thresholds are infinite
			add("aps(keep_last)", classRows(rng, 10, classes, kind), 0.95, kind, classes, x)
			// Where sets are small many would be empty.
			add("lac(nonempty)", p, 0.3, kind, classes, x)
		}
	}
	normals := &metrics.Predictions{Scores: metrics.Scores{Rows: 100, Classes: 3, F64: make([]float64, 300)}, Kind: metrics.Normals}
	quantiles := &metrics.Predictions{Scores: metrics.Scores{Rows: 100, Classes: 2, F64: make([]float64, 200)}, Kind: metrics.Quantiles, Observed: make([]float64, 100)}
	var means, pairs []float64
	for i := range 100 {
		mean, sd := 10*rng.NormFloat64(), 0.2+rng.Float64()
		copy(normals.F64[3*i:], []float64{mean, sd, mean + sd*rng.NormFloat64()})
		copy(quantiles.F64[2*i:], []float64{mean - 2*sd, mean + 2*sd})
		quantiles.Observed[i] = mean + sd*rng.NormFloat64()
		if i < 30 {
			means, pairs = append(means, mean), append(pairs, mean, sd)
		}
	}
	few := &metrics.Predictions{Scores: metrics.Scores{Rows: 3, Classes: 3, F64: normals.F64[:9]}, Kind: metrics.Normals}
	for _, p := range []*metrics.Predictions{normals, few} {
		add("split", p, 0.9, metrics.Normals, 1, means)
		add("normalized", p, 0.9, metrics.Normals, 2, pairs)
	}
	// At 0.2 the quantiles, which are wide, move together until some cross.
	wide := append(slices.Clone(quantiles.F64[:60]), 0, 0.001, 5, 5)
	add("cqr", quantiles, 0.9, metrics.Quantiles, 2, wide)
	add("cqr", quantiles, 0.2, metrics.Quantiles, 2, wide)
	return l
}

// compareConformal holds results against the map's: sets are equal, ends to the tolerance.
func compareConformal(t *testing.T, name string, c *conformalTrial, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d numbers, want %d", name, len(got), len(want))
		return
	}
	if c.how() != "interval" {
		tolerance = 0
	}
	per, bad := len(want)/(len(c.x)/c.width), 0
	for i, v := range want {
		if !(got[i] == v || math.Abs(got[i]-v) <= tolerance*math.Max(1, math.Abs(v))) {
			if bad++; bad <= 3 {
				r := i / per
				t.Errorf("%s: row %v: result %d is %v, want %v", name, c.x[r*c.width:(r+1)*c.width], i%per, got[i], v)
			}
		}
	}
}

// TestConformalGo compiles the Go code of all maps into one program and holds its results against the maps'.
func TestConformalGo(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs the Go compiler")
	}
	folder := t.TempDir()
	all := conformalTrials(t)
	var imports, calls strings.Builder
	sizes := map[int]bool{}
	for i := range all {
		c := &all[i]
		name := fmt.Sprintf("m%d", i)
		b, err := export.ConformalGo(c.m, c.input, name)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if f, err := format.Source(b); err != nil || string(f) != string(b) {
			t.Errorf("%s: gofmt has it otherwise (%v):\n%s", c.name, err, b)
		}
		write(t, folder, name+"/map.go", b)
		fmt.Fprintf(&imports, "\t\"exported/%s\"\n", name)
		call := "ones(" + name + ".Set(x))"
		switch {
		case c.how() == "random":
			call = "ones(" + name + ".Set(x, u))"
		case c.how() == "interval" && c.width == 1:
			call = "ends(" + name + ".Interval(x[0]))"
		case c.how() == "interval":
			call = "ends(" + name + ".Interval(x[0], x[1]))"
		default:
			w, k := c.want(c.x), c.m.Classes()
			for at := 0; at < len(w); at += k {
				n := 0
				for _, v := range w[at : at+k] {
					n += int(v)
				}
				sizes[n] = true
			}
		}
		fmt.Fprintf(&calls, "\trun(%q, %d, func(x []float64, u float64) []float64 { return %s })\n", name, c.width, call)
		write(t, folder, name+".x", floats(c.x))
		write(t, folder, name+".u", floats(c.u))
	}
	for n := range 8 {
		if !sizes[n] {
			t.Errorf("no set has %d classes", n)
		}
	}
	write(t, folder, "go.mod", []byte("module exported\n\ngo 1.21\n"))
	write(t, folder, "main.go", []byte(`package main

import (
	"encoding/binary"
	"math"
	"os"

`+imports.String()+`)

func main() {
`+calls.String()+`}

func ones(in []bool) []float64 {
	l := make([]float64, len(in))
	for i, v := range in {
		if v {
			l[i] = 1
		}
	}
	return l
}

func ends(low, high float64) []float64 { return []float64{low, high} }

func numbers(name string) []float64 {
	b, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	x := make([]float64, len(b)/8)
	for j := range x {
		x[j] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*j:]))
	}
	return x
}

func run(name string, width int, f func([]float64, float64) []float64) {
	var out []byte
	x := numbers(name + ".x")
	for i, u := range numbers(name + ".u") {
		for _, v := range f(x[i*width:(i+1)*width], u) {
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
		}
	}
	if err := os.WriteFile(name+".y", out, 0o644); err != nil {
		panic(err)
	}
}
`))
	run(t, folder, "go", "run", ".")
	for i := range all {
		compareConformal(t, all[i].name, &all[i], read(t, folder, fmt.Sprintf("m%d.y", i)), all[i].want(all[i].x), 1e-15)
	}
}

// TestConformalOtherLanguages runs the JavaScript in Node.js, the Python with numpy, the SQL in DuckDB and the model in onnxruntime, and holds
// the results against the maps'.
func TestConformalOtherLanguages(t *testing.T) {
	python := os.Getenv("CANDOR_TABLES_PYTHON")
	if python == "" {
		t.Skip("CANDOR_TABLES_PYTHON names no Python with numpy, DuckDB and onnxruntime")
	}
	folder := t.TempDir()
	all := conformalTrials(t)
	for i := range all {
		c := &all[i]
		name := fmt.Sprintf("m%d", i)
		put := func(end string, b []byte, err error) {
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			write(t, folder, name+end, b)
		}
		b, err := export.ConformalPython(c.m, c.input)
		put(".py", b, err)
		b, err = export.ConformalJavaScript(c.m, c.input)
		put(".mjs", b, err)
		if s := c.m.Method().Score; s == conformal.LAC || !s.Classes() {
			b, err = export.ConformalSQL(c.m, c.input, sqlColumns(c))
			put(".sql", b, err)
		} else if _, err := export.ConformalSQL(c.m, c.input, export.SQLOptions{}); !errors.Is(err, export.ErrNotThere) {
			t.Errorf("%s: SQL: %v", c.name, err)
		}
		if c.width > 1 || c.how() == "interval" { // a model's rows have all classes
			b, err = export.ConformalONNX(c.m, c.input)
			put(".onnx", b, err)
		}
		write(t, folder, name+".how", fmt.Appendf(nil, "%s %d", c.how(), c.width))
		write(t, folder, name+".x", floats(c.x))
		write(t, folder, name+".u", floats(c.u))
	}
	n := fmt.Sprint(len(all))
	here, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	run(t, folder, python, filepath.Join(here, "conformal.py"), n)
	run(t, folder, "node", filepath.Join(here, "conformal.mjs"), folder, n)
	for i := range all {
		c := &all[i]
		want := c.want(c.x)
		name := fmt.Sprintf("m%d", i)
		for _, end := range []string{".py", ".mjs", ".sql"} {
			if _, err := os.Stat(filepath.Join(folder, name+end)); err == nil {
				compareConformal(t, c.name+end, c, read(t, folder, name+end+".y"), want, 1e-15)
			}
		}
		if _, err := os.Stat(filepath.Join(folder, name+".onnx")); err == nil {
			narrow := make([]float64, len(c.x))
			for j, v := range c.x {
				narrow[j] = float64(float32(v))
			}
			compareConformal(t, c.name+".onnx", c, read(t, folder, name+".onnx.y"), c.want(narrow), 1e-6)
		}
	}
}

// sqlColumns names the columns of a map of two classes, which are one or two.
func sqlColumns(c *conformalTrial) (o export.SQLOptions) {
	if c.width == 2 && c.how() != "interval" {
		o.Columns = []string{"no", "yes"}
	}
	return o
}
