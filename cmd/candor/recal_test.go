package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/recal"
)

// recalDocument is what a test reads of the JSON of candor recal fit.
type recalDocument struct {
	Schema, Method, Says string
	Map                  json.RawMessage
	Folds                int
	Before, After        *document
	Reason               string
	Temperatures         []struct{ Temperature, NLL, ECE any }
}

// fitted runs candor recal fit, which has to succeed, and returns its document.
func fitted(t *testing.T, args ...string) *recalDocument {
	t.Helper()
	out := printed(t, append([]string{"recal", "fit", "--json"}, args...)...)
	d := new(recalDocument)
	dec := json.NewDecoder(strings.NewReader(out))
	if err := dec.Decode(d); err != nil || d.Schema != "candor-recal/1" {
		t.Fatalf("candor recal fit %v: schema %q, %v", args, d.Schema, err)
	}
	return d
}

// recalSet returns a set whose scores are logits that every type of scores holds: eighths.
func recalSet(seed uint64, rows, classes int) *set {
	s := newSet(seed, rows, classes)
	return s.each(func(p float64) float64 {
		z := math.Log(p)
		if classes == 1 {
			z -= math.Log1p(-p)
		}
		return math.Round(8*min(max(z, -15), 15)) / 8
	})
}

// logitsOf are those of the set, in memory.
func (s *set) logitsOf() *metrics.Predictions {
	return &metrics.Predictions{Scores: metrics.Scores{F64: s.probs, Rows: s.rows, Classes: s.classes}, Kind: metrics.Logits, Labels: s.labels}
}

// halves returns the scores as float16, which eighths are exactly.
func (s *set) halves() []byte {
	var b []byte
	for _, v := range s.probs {
		u := math.Float32bits(float32(v))
		h := uint16(u>>16&0x8000) | uint16((u&0x7fffffff)>>13-112<<10)
		if v == 0 {
			h = 0
		}
		b = binary.LittleEndian.AppendUint16(b, h)
	}
	return b
}

// brains returns the scores as bfloat16.
func (s *set) brains() []byte {
	var b []byte
	for _, v := range s.probs {
		b = binary.LittleEndian.AppendUint16(b, uint16(math.Float32bits(float32(v))>>16))
	}
	return b
}

// header is that of an .npy of the set's scores.
func (s *set) header(descr string) string {
	shape := fmt.Sprintf("(%d,)", s.rows)
	if s.classes > 1 {
		shape = fmt.Sprintf("(%d, %d)", s.rows, s.classes)
	}
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
}

// written returns the numbers of an .npy that candor recal apply wrote, as float64, with shape and type.
func written(t *testing.T, path string) (v []float64, shape string, dtype metrics.DType) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return numbersOf(t, b)
}

func numbersOf(t *testing.T, b []byte) (v []float64, shape string, dtype metrics.DType) {
	t.Helper()
	if len(b) < 10 || !bytes.HasPrefix(b, []byte("\x93NUMPY")) {
		t.Fatalf("%d bytes are no .npy", len(b))
	}
	n := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	head, data := string(b[10:n]), b[n:]
	_, after, _ := strings.Cut(head, "'shape': ")
	shape, _, _ = strings.Cut(after, ")")
	if strings.Contains(head, "'<f8'") {
		for i := 0; i < len(data); i += 8 {
			v = append(v, math.Float64frombits(binary.LittleEndian.Uint64(data[i:])))
		}
		return v, shape + ")", metrics.Float64
	}
	for i := 0; i < len(data); i += 4 {
		v = append(v, float64(math.Float32frombits(binary.LittleEndian.Uint32(data[i:]))))
	}
	return v, shape + ")", metrics.Float32
}

// TestRecal fits every method for classes, and holds the map, what is said before and after, and what is applied to the library.
func TestRecal(t *testing.T) {
	d := newDir(t)
	for _, classes := range []int{1, 4} {
		s := recalSet(3, 400, classes)
		other := recalSet(4, 90, classes)
		x, y := d.put("x.npy", npy(t, s.shape(), s.probs)), d.put("y.npy", s.labelFile(t))
		z := d.put("z.npy", npy(t, other.shape(), f32(other.probs)))
		for _, m := range recal.Descriptors() {
			if m.Name == "sigma" || m.Name == "quantile" || classes == 1 && (m.Name == "vector" || m.Name == "matrix" || m.Name == "dirichlet") {
				continue
			}
			method, err := recal.Parse(m.Name)
			if err != nil {
				t.Fatal(err)
			}
			file := d.at(m.Name + ".json")
			doc := fitted(t, m.Name, x, "--labels", y, "--input", "logits", "-o", file, "--folds", "3", "--seed", "5", "--metrics", "nll,brier,ece")
			data := recal.InMemory(s.logitsOf())
			want, err := method.Fit(data, nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := recal.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b, d.read(file)) {
				t.Errorf("%s of %d classes: the file is\n%s, not\n%s", m.Name, classes, d.read(file), b)
			}
			if !sameJSON(t, b, doc.Map) || doc.Method != m.Name || doc.Folds != 3 || !strings.HasPrefix(doc.Says, m.Name+" of 400 rows"+map[int]string{1: ", binary: ", 4: " x 4 classes: "}[classes]) {
				t.Errorf("%s: the document has %s, %q, %q, %d folds", m.Name, doc.Map, doc.Method, doc.Says, doc.Folds)
			}
			if (doc.Temperatures != nil) != (m.Name == "temperature") || doc.After == nil || doc.Reason != "" {
				t.Errorf("%s: %+v", m.Name, doc)
			}
			folds := recal.Folds{K: 3, Seed: 5}
			maps, err := recal.CrossFit(method, data, folds, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				doc  *document
				from recal.Data
			}{{doc.Before, data}, {doc.After, recal.CrossApplied(maps, data, folds)}} {
				e := valuesOf(t, c.from, "nll,brier,ece", classes)
				for _, l := range e.Spec.Metrics {
					if g, w := c.doc.value(t, l.Name), e.Value(l).Value; g != w {
						t.Errorf("%s of %d classes: %s is %v, not %v", m.Name, classes, l.Name, g, w)
					}
				}
			}
			if code, out, errs := candor(t, "recal", "apply", file, z, "--input", "logits", "-o", d.at("o.npy")); code != 0 || out != "" || errs != "" {
				t.Errorf("apply %s: exit code %d: %s%s", m.Name, code, out, errs)
				continue
			}
			got, shape, dtype := written(t, d.at("o.npy"))
			src := &metrics.Scores{F32: f32(other.probs), Rows: other.rows, Classes: classes}
			dst := &metrics.Scores{F32: make([]float32, len(other.probs)), Rows: other.rows, Classes: classes}
			want.Apply(dst, src, metrics.Logits)
			wide := make([]float64, len(dst.F32))
			for i, v := range dst.F32 {
				wide[i] = float64(v)
			}
			wantShape := map[int]string{1: "(90,)", 4: "(90, 4)"}[classes]
			if !sameBits(got, wide) || shape != wantShape || dtype != metrics.Float32 {
				t.Errorf("%s: other numbers, or %s of %v", m.Name, shape, dtype)
			}
		}
	}
}

// valuesOf evaluates data.
func valuesOf(t *testing.T, d recal.Data, list string, classes int) *eval.Evaluation {
	t.Helper()
	l, err := eval.ParseMetrics(list, eval.Shape{Classes: classes})
	if err != nil {
		t.Fatal(err)
	}
	spec := eval.Spec{Classes: classes, Metrics: l}
	spec.Base.Bins = 15
	e, err := eval.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	src, err := d.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if err := e.AddSource(src, nil); err != nil {
		t.Fatal(err)
	}
	return e
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y bytes.Buffer
	if err := json.Compact(&x, a); err != nil {
		t.Fatal(err)
	}
	if err := json.Compact(&y, b); err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// TestRecalLayouts: how rows come in files changes neither map nor what is applied.
func TestRecalLayouts(t *testing.T) {
	d := newDir(t)
	s := recalSet(7, 300, 3)
	y, w := d.put("y.npy", s.labelFile(t)), d.put("w.npy", s.weightFile(t))
	full := d.put("x.npy", npy(t, s.shape(), s.probs))
	layouts := []struct {
		name  string
		args  []string
		dtype metrics.DType
	}{
		{"float64", []string{full}, metrics.Float64},
		{"float32", []string{d.put("f4.npy", s.scores(t))}, metrics.Float32},
		{"float16", []string{d.put("f2.npy", raw(s.header("<f2"), s.halves()))}, metrics.Float32},
		{"bfloat16", []string{d.put("bf.npy", raw(s.header("<u2"), s.brains())), "--bfloat16"}, metrics.Float32},
		{"column-major", []string{d.put("fo.npy", s.fortran(t))}, metrics.Float32},
		{"npz", []string{d.put("z.npz", npz(t, "logits.npy", s.scores(t)))}, metrics.Float32},
		{"shards", []string{d.put("part2.npy", s.part(0, 101).scores(t)), d.put("part10.npy", s.part(101, 300).fortran(t))}, metrics.Float32},
	}
	methods := []string{"temperature", "isotonic", "matrix(off_diagonal=1)"}
	if testing.Short() {
		methods = methods[1:2]
	}
	for _, method := range methods {
		for _, weights := range []bool{false, true} {
			var want []byte
			for i, l := range layouts {
				if i > 0 && i < 5 && strings.HasPrefix(method, "matrix") {
					want = nil // products are computed otherwise of each type
				}
				for _, threads := range []string{"1", "4"} {
					if threads == "4" && l.name != "shards" {
						continue
					}
					args := append([]string{"recal", "fit", method, "--labels", y, "--input", "logits", "-o", d.at("m.json"), "--threads", threads}, l.args...)
					if weights {
						args = append(args, "--weights", w)
					}
					printed(t, args...)
					got := d.read(d.at("m.json"))
					if want == nil {
						want = got
					}
					if !bytes.Equal(want, got) {
						t.Errorf("%s, %s: the map is\n%s, not\n%s", method, l.name, got, want)
					}
				}
			}
			if weights != bytes.Contains(want, []byte(`"weighted": true`)) {
				t.Errorf("%s: weights %v, and the map is %s", method, weights, want)
			}
		}
		m, err := readMap(d.at("m.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range layouts {
			dst := &metrics.Scores{Rows: s.rows, Classes: 3}
			src := &metrics.Scores{Rows: s.rows, Classes: 3}
			var want []float64
			if l.dtype == metrics.Float64 {
				dst.F64, src.F64 = make([]float64, len(s.probs)), s.probs
				m.Apply(dst, src, metrics.Logits)
				want = dst.F64
			} else {
				dst.F32, src.F32 = make([]float32, len(s.probs)), f32(s.probs)
				m.Apply(dst, src, metrics.Logits)
				for _, v := range dst.F32 {
					want = append(want, float64(v))
				}
			}
			for _, threads := range []string{"1", "4"} {
				if threads == "4" && l.name != "shards" {
					continue
				}
				args := append([]string{"recal", "apply", d.at("m.json"), "--input", "logits", "-o", d.at("o.npy"), "--threads", threads}, l.args...)
				if out := printed(t, args...); out != "" {
					t.Errorf("apply says %q", out)
				}
				if got, shape, dtype := written(t, d.at("o.npy")); !sameBits(got, want) || shape != "(300, 3)" || dtype != l.dtype {
					t.Errorf("%s, %s, %s threads: other numbers, or %s of %v", method, l.name, threads, shape, dtype)
				}
			}
		}
	}
	// Probabilities and their logarithms are the same map as logits that are these, and (N, 1) is (N,).
	one := newSet(9, 200, 1)
	y1 := d.put("y1.npy", one.labelFile(t))
	a := fitted(t, "isotonic", d.put("p.npy", one.scores(t)), "--labels", y1, "-o", d.at("p.json"))
	b := fitted(t, "isotonic", d.put("p1.npy", npy(t, []int64{200, 1}, f32(one.probs))), "--labels", y1, "-o", d.at("p1.json"))
	if !bytes.Equal(d.read(d.at("p.json")), d.read(d.at("p1.json"))) || a.After.value(t, "brier") != b.After.value(t, "brier") {
		t.Error("(N, 1) is another set than (N,)")
	}
	printed(t, "recal", "apply", d.at("p.json"), d.at("p1.npy"), "-o", d.at("o.npy"))
	if _, shape, _ := written(t, d.at("o.npy")); shape != "(200, 1)" {
		t.Errorf("shape %s", shape)
	}
	four := newSet(9, 200, 4)
	y4 := d.put("y4.npy", four.labelFile(t))
	p := fitted(t, "temperature", d.put("p4.npy", npy(t, four.shape(), four.probs)), "--labels", y4)
	l := fitted(t, "temperature", d.put("l4.npy", npy(t, four.shape(), four.each(math.Log).probs)), "--labels", y4, "--input", "logprobs")
	if pt, lt := temperatureOf(t, p), temperatureOf(t, l); math.Abs(pt-lt) > 1e-9*pt {
		t.Errorf("T is %v of probabilities, and %v of their logarithms", pt, lt)
	}
}

func temperatureOf(t *testing.T, d *recalDocument) float64 {
	t.Helper()
	m, err := recal.Unmarshal(d.Map)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*recal.TemperatureMap).T()
}

// TestRecalForecasts fits sigma and quantile to tables and arrays.
func TestRecalForecasts(t *testing.T) {
	d := newDir(t)
	normal, quantiles := normalRows(1, 300), quantileRows(1, 300)
	table := d.put("f.csv", normal.csv())
	names := []string{"--mean", "mu", "--std", "sigma", "--observed", "y"}
	three := d.put("f.npy", normal.matrix(t, 0, 1, 2))
	q, qa := d.put("q.csv", quantiles.csv()), d.put("q.npy", quantiles.matrix(t, 0, 2, 4))
	obs := d.put("obs.npy", quantiles.matrix(t, quantiles.column("y")))
	for _, c := range []struct {
		name, method string
		fit, apply   []string
		same         []string // another layout
		shape        string
		task         string
		metric       string
	}{
		{"sigma", "sigma", append([]string{table}, names...), append([]string{table}, names...), []string{three}, "(300, 3)", "regression", "crps"},
		{"quantile of normals", "quantile(levels=0.1 0.5 0.9)", append([]string{table}, names...), append([]string{table}, names...), []string{three}, "(300, 3)", "regression",
			"coverage(level=0.8)"},
		{"quantile of a table", "quantile", []string{q, "--quantile-prefix", "q", "--observed", "y"}, []string{q, "--quantile-prefix", "q", "--observed", "y"}, nil, "", "quantiles",
			"coverage_50"},
		{"quantile of an array", "quantile", []string{qa, "--labels", obs, "--levels", "0.05,0.5,0.95"},
			[]string{qa, "--labels", obs, "--levels", "0.05,0.5,0.95"}, nil, "(300, 3)", "quantiles", "coverage_90"},
	} {
		doc := fitted(t, append([]string{c.method, "-o", d.at("m.json"), "--metrics", c.metric}, c.fit...)...)
		first := d.read(d.at("m.json"))
		if doc.After == nil || doc.After.Input.Rows != 300 {
			t.Fatalf("%s: %+v", c.name, doc)
		}
		if v := doc.After.value(t, c.metric); v != v {
			t.Errorf("%s: no %s", c.name, c.metric)
		}
		explicit := append([]string{c.method, "-o", d.at("m.json"), "--task", c.task}, c.fit...)
		if fitted(t, explicit...); !bytes.Equal(first, d.read(d.at("m.json"))) {
			t.Errorf("%s: --task %s changes the map", c.name, c.task)
		}
		if c.same != nil {
			if fitted(t, append([]string{c.method, "-o", d.at("n.json")}, c.same...)...); !bytes.Equal(first, d.read(d.at("n.json"))) {
				t.Errorf("%s: another layout is another map", c.name)
			}
		}
		printed(t, append([]string{"recal", "apply", d.at("m.json"), "-o", d.at("o.npy")}, c.apply...)...)
		got, shape, dtype := written(t, d.at("o.npy"))
		if c.shape != "" && shape != c.shape || dtype != metrics.Float64 {
			t.Errorf("%s: %s of %v", c.name, shape, dtype)
		}
		m, err := recal.Unmarshal(first)
		if err != nil {
			t.Fatal(err)
		}
		if want := appliedTo(t, m, c.apply); !sameBits(got, want) {
			t.Errorf("%s: other numbers", c.name)
		}
		if c.same != nil {
			printed(t, "recal", "apply", d.at("m.json"), "-o", d.at("o2.npy"), c.same[0])
			if !bytes.Equal(d.read(d.at("o.npy")), d.read(d.at("o2.npy"))) {
				t.Errorf("%s: another layout becomes other numbers", c.name)
			}
		}
	}
	// A picture of all of them, and what a quantile map cannot answer.
	printed(t, append([]string{"recal", "fit", "quantile", "--plot", d.at("q.svg"), table}, names...)...)
	if !bytes.Contains(d.read(d.at("q.svg")), []byte("after (area ")) {
		t.Error("the picture has no curve after")
	}
	code, _, errs := candor(t, append([]string{"recal", "fit", "quantile", "--metrics", "crps,nll", table}, names...)...)
	if code != exitUsage || !strings.Contains(errs, "--metrics: of what quantile makes of the rows, which are quantiles: metric nll: ") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	// Other levels than the map's.
	printed(t, "recal", "fit", "quantile", qa, "--labels", obs, "--levels", "0.05,0.5,0.95", "-o", d.at("m.json"))
	refused(t, d, []string{"recal", "apply", d.at("m.json"), qa, "--labels", obs, "--levels", "0.1,0.5,0.9", "-o", d.at("none.npy")},
		"the quantiles are at the levels [0.1 0.5 0.9], and the map is for those at [0.05 0.5 0.95]")
}

// column returns the number of the column of a name.
func (f *frame) column(name string) int { return slices.Index(f.names, name) }

// appliedTo returns what a map makes of a table's rows.
func appliedTo(t *testing.T, m recal.Map, args []string) (v []float64) {
	t.Helper()
	o := &predictions.ForecastOptions{Kind: metrics.Normals, Mean: "mu", SD: "sigma", Observed: "y"}
	if m.Fit().Kind == metrics.Quantiles.String() {
		o = &predictions.ForecastOptions{Kind: metrics.Quantiles, Prefix: "q", Observed: "y"}
		if strings.HasSuffix(args[0], ".npy") {
			o = &predictions.ForecastOptions{Kind: metrics.Quantiles, Levels: []float64{0.05, 0.5, 0.95}, Observations: args[2:3]}
		}
	}
	r, err := predictions.OpenForecast(args[:1], o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	src := recal.Applied(m, r)
	for {
		c, err := src.Next()
		if err == io.EOF {
			return v
		}
		if err != nil {
			t.Fatal(err)
		}
		v = append(v, c.F64...)
	}
}

// TestRecalShows looks at what candor recal fit prints.
func TestRecalShows(t *testing.T) {
	d := newDir(t)
	s := recalSet(11, 400, 3)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	args := []string{"recal", "fit", "temperature", x, "--labels", y, "--input", "logits"}
	files := d.list()
	text := printed(t, args...)
	tidy(t, text)
	for _, w := range []string{"temperature of 400 rows x 3 classes: T = ", "reads.", "\n Metric ", "before ", "after", "\n nll ", "\n ece ",
		"after: by cross-fitting in 5 folds, each row by a map fitted to the others.", "\nAll rows against T:\n", "the fit\n", "as given\n", "Next: -o MAP.json writes the map"} {
		if !strings.Contains(text, w) {
			t.Errorf("%s\ndoes not say %q", text, w)
		}
	}
	if got := d.list(); !slices.Equal(got, files) {
		t.Errorf("without -o the folder has %v", got)
	}
	md := printed(t, append(args, "--format", "markdown")...)
	for _, w := range []string{"temperature of 400 rows x 3 classes: ", "\n| Metric | before | after |\n", "\n| T | nll | ece | |", "after: by cross-fitting in 5 folds"} {
		if !strings.Contains(strings.ReplaceAll(md, "|  |", "| |"), w) {
			t.Errorf("%s\ndoes not say %q", md, w)
		}
	}
	if csv := printed(t, append(args, "--format", "csv")...); !strings.HasPrefix(csv, "metric,level,better,before,before low,before high,after,after low,after high,after - before,after - before low,after - before high,after - before p,after - before outcome\n") ||
		strings.Count(csv, "\n") != 7 || !strings.Contains(csv, ",,,,,\nconfidence,") {
		t.Errorf("%s", csv)
	}
	if a, b := printed(t, append(args, "--format", "json")...), printed(t, append(args, "--json")...); a != b {
		t.Error("--json is not --format json")
	}
	// The keys of the document, in their order.
	var keys []string
	dec := json.NewDecoder(strings.NewReader(printed(t, append(args, "--json")...)))
	for depth := 0; ; {
		tok, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := tok.(string); ok && depth == 1 {
			keys = append(keys, s)
			var v json.RawMessage
			if err := dec.Decode(&v); err != nil {
				t.Fatal(err)
			}
		}
		switch tok {
		case json.Delim('{'):
			depth++
		case json.Delim('}'):
			depth--
		}
	}
	if want := "schema method says map folds before after differences temperatures"; strings.Join(keys, " ") != want {
		t.Errorf("the document has %v", keys)
	}
	// Pictures of before and after.
	for _, name := range []string{"p.svg", "p.png"} {
		printed(t, append(args, "--plot", d.at(name), "-o", d.at("m.json"))...)
		if b := d.read(d.at(name)); len(b) < 1000 {
			t.Errorf("%s has %d bytes", name, len(b))
		}
	}
	if svg := d.read(d.at("p.svg")); !bytes.Contains(svg, []byte(">before")) || !bytes.Contains(svg, []byte(">after")) {
		t.Error("the picture does not name before and after")
	}
	// Folds go by the seed, and the map does not.
	a, b := fitted(t, "temperature", x, "--labels", y, "--input", "logits"), fitted(t, "temperature", x, "--labels", y, "--input", "logits", "--seed", "1")
	if !sameJSON(t, a.Map, b.Map) || a.After.value(t, "nll") == b.After.value(t, "nll") || a.Before.value(t, "nll") != b.Before.value(t, "nll") {
		t.Error("--seed changes the map, or the rows before, or not the folds")
	}
	ts := map[float64]bool{}
	for _, l := range a.Temperatures {
		v, _ := l.Temperature.(float64)
		ts[v] = true
		if l.NLL == nil || l.ECE == nil {
			t.Errorf("%+v", l)
		}
	}
	if T := temperatureOf(t, a); !ts[1] || !ts[T] || !ts[T/2] || !ts[2*T] {
		t.Errorf("the temperatures are %v", ts)
	}
}

// TestRecalLeavesOut: rows whose true class has probability 0 are told of, one or several.
func TestRecalLeavesOut(t *testing.T) {
	d := newDir(t)
	s := newSet(5, 200, 3)
	zero := func(s *set, i int) *set {
		y := int(s.labels[i])
		return s.with(i, y, 0).with(i, (y+1)%3, 1).with(i, (y+2)%3, 0)
	}
	y := d.put("y.npy", s.labelFile(t))
	one, two := zero(s, 7), zero(zero(s, 7), 9)
	x1, x2 := d.put("one.npy", one.scores(t)), d.put("two.npy", two.scores(t))
	for x, want := range map[string]string{
		x1: "1 row was left out of the fit: its true class got probability 0, which no map changes; it is row 7.",
		x2: "2 rows were left out of the fit: their true classes got probability 0, which no map changes; the first is row 7."} {
		doc := fitted(t, "temperature", x, "--labels", y)
		if !strings.HasSuffix(doc.Says, want) {
			t.Errorf("%q does not end in %q", doc.Says, want)
		}
		text := strings.Join(strings.Fields(printed(t, "recal", "fit", "temperature", x, "--labels", y)), " ")
		for _, w := range []string{"Note: before: nll is infinite", "Note: after: nll is infinite"} {
			if !strings.Contains(text, w) {
				t.Errorf("%s\ndoes not say %q", text, w)
			}
		}
	}
}

// refusedAs is refused with another exit code than that of bad data.
func refusedAs(t *testing.T, d *dir, want int, args []string, says ...string) {
	t.Helper()
	t.Setenv("TMPDIR", d.path)
	before := d.list()
	code, out, errs := candor(t, args...)
	msg := strings.ReplaceAll(errs, d.path+string(os.PathSeparator), "")
	if code != want || out != "" {
		t.Errorf("candor %v: exit code %d, not %d, and %q: %s", args, code, want, out, msg)
	}
	if after := d.list(); !slices.Equal(before, after) {
		t.Errorf("candor %v: the folder had %v and has %v", args, before, after)
	}
	for _, w := range says {
		if !strings.Contains(msg, w) {
			t.Errorf("candor %v:\n%s does not say %q", args, msg, w)
		}
	}
	if strings.Contains(msg, "recal: ") {
		t.Errorf("candor %v: %s names a package", args, msg)
	}
}

func TestRecalFitRefuses(t *testing.T) {
	d := newDir(t)
	s, one := newSet(1, 60, 3), newSet(2, 60, 1)
	x, y, w := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t)), d.put("w.npy", s.weightFile(t))
	b, by := d.put("b.npy", one.scores(t)), d.put("by.npy", one.labelFile(t))
	f := d.put("f.csv", normalRows(1, 60).csv())
	apart := s.only(func(i int) bool { // all rows right
		for _, p := range s.probs[i*3 : i*3+3] {
			if p > s.probs[i*3+int(s.labels[i])] {
				return false
			}
		}
		return true
	})
	ax, ay := d.put("apart.npy", apart.scores(t)), d.put("aparty.npy", apart.labelFile(t))
	lone := apart.part(0, 1)
	lx, ly := d.put("lone.npy", lone.scores(t)), d.put("loney.npy", lone.labelFile(t))
	nan := d.put("nan.npy", s.with(41, 1, math.NaN()).scores(t))
	eight := newSet(3, 60, 8)
	x8, y8 := d.put("x8.npy", eight.scores(t)), d.put("y8.npy", eight.labelFile(t))
	same := make([]int32, 60)
	sy := d.put("same.npy", npy(t, []int64{60}, same))
	m := d.at("m.json")
	for _, c := range []struct {
		code int
		args []string
		want []string
	}{
		{exitUsage, nil, []string{"METHOD is missing: one of temperature, ets, "}},
		{exitUsage, []string{"temperature"}, []string{"no predictions are named"}},
		{exitUsage, []string{"temprature", x, "--labels", y}, []string{`there is no method "temprature"; there are temperature, ets, `, "(did you mean temperature?)"}},
		{exitUsage, []string{"isotnic(top_label)", x, "--labels", y}, []string{"(did you mean isotonic?)"}},
		{exitUsage, []string{"qqqqqqq", x, "--labels", y}, []string{`no method "qqqqqqq"; there are temperature, `}},
		{exitUsage, []string{"histogram(bins=0)", x, "--labels", y}, []string{`method histogram: bins is "0"; it is a whole number from 1 to`}},
		{exitUsage, []string{"histogram(size=3)", x, "--labels", y}, []string{`method histogram: there is no option "size"; there are bins, `}},
		{exitUsage, []string{"temperature(bins=3)", x, "--labels", y}, []string{`there is no option "bins"; it takes none`}},
		{exitUsage, []string{"histogram(bins=3", x, "--labels", y}, []string{"it is NAME or NAME(OPTION=VALUE,...)"}},
		{exitUsage, []string{"isotonic", x, "--labels", y, "--folds", "1"}, []string{"--folds is 1; it is a number from 2 to 1000"}},
		{exitUsage, []string{"isotonic", x, "--labels", y, "--folds", "1001"}, []string{"--folds is 1001"}},
		{exitUsage, []string{"sigma", x, "--labels", y, "--task", "classification"}, []string{"sigma is for --task regression"}},
		{exitUsage, []string{"sigma", x, "--labels", y, "--input", "logits"}, []string{"--input does not go with --task regression"}},
		{exitUsage, []string{"quantile", f, "--task", "binary"}, []string{"quantile is for --task regression and quantiles"}},
		{exitUsage, []string{"temperature", f, "--task", "regression"}, []string{`temperature is for classes, and --task is "regression"`}},
		{exitUsage, []string{"temperature", x, "--labels", y, "--task", "ensemble"}, []string{`--task is "ensemble"`}},
		{exitUsage, []string{"isotonic", b, "--labels", by, "--task", "classification"}, []string{"--task classification takes a score for each class"}},
		{exitUsage, []string{"isotonic", x, "--labels", y, "--task", "binary"}, []string{"--task binary takes one score a row"}},
		{exitUsage, []string{"temperature", "-", "--labels", y}, []string{"standard input only once; name a file"}},
		{exitUsage, []string{"temperature", x, "--labels", "-"}, []string{"standard input only once; name a file"}},
		{exitUsage, []string{"temperature", x, "--labels", y, "--weights", "-"}, []string{"standard input only once; name a file"}},
		{exitUsage, []string{"isotonic", x, "--labels", y, "-o", x}, []string{"-o x.npy: that file is read; name another one"}},
		{exitUsage, []string{"isotonic", x, "--labels", y, "-o", y}, []string{"-o y.npy: that file is read"}},
		{exitUsage, []string{"isotonic", x, "--labels", y, "--plot", "a/p.svg", "-o", m}, []string{"cannot write a/p.svg"}},
		{exitUsage, []string{"isotonic", x, "--labels", y, "-o", "-"}, []string{"-o -: standard output has the result; name a file"}},
		{exitUsage, []string{"isotonic", x, "--labels", y, "-o", d.path}, []string{"is a directory"}},
		{exitUsage, []string{"isotonic", x, "--labels", y, "-o", d.at("none/m.json")}, []string{"cannot write none/m.json: no such file or directory"}},
		{exitUsage, []string{"isotonic", x, "--labels", y, "--plot", d.at("p.txt"), "-o", m}, []string{"ends in .png, .svg or .pdf"}},
		{exitUsage, []string{"isotonic", x, "--labels", y, "-o", d.at("m.svg"), "--plot", d.at("m.svg")}, []string{"--plot and -o both name"}},
		{exitUsage, []string{"isotonic", x, "--labels", y, "--metrics", "eec"}, []string{"(did you mean ece?)"}},
		{exitUsage, []string{"isotonic", x, "--labels", y, "--on-invalid", "drop"}, []string{"unknown flag: --on-invalid"}},
		{exitUsage, []string{"isotonic", x, "--labels", y, "--threads", "-1"}, []string{"--threads is -1"}},
		{exitData, []string{"temperature", x}, []string{"x.npy: no labels; pass --labels FILE"}},
		{exitData, []string{"temperature", d.at("none.npy"), "--labels", y}, []string{"none.npy: no such file"}},
		{exitData, []string{"temperature", nan, "--labels", y}, []string{"nan.npy: row 41, column 1: score is NaN: look for a division by 0 or an overflow in the code that computed the scores\n"}},
		{exitData, []string{"temperature", x, "--labels", y, "--input", "dirichlet"}, []string{"dirichlet"}},
		{exitData, []string{"temperature", ax, "--labels", ay}, []string{"the likelihood has no maximum: every row's label has the largest logit", "fit to rows that the model has not seen"}},
		{exitData, []string{"temperature", lx, "--labels", ly}, []string{"the likelihood has no maximum: every row's label has the largest logit"}},
		{exitData, []string{"vector", ax, "--labels", ay}, []string{"the likelihood has no maximum"}},
		{exitData, []string{"vector", x, "--labels", sy}, []string{"the likelihood has no maximum: all labels are class 0"}},
		{exitData, []string{"matrix", x, "--labels", sy}, []string{"the likelihood has no maximum: all labels are class 0", "or give a weight to bias"}},
		{exitData, []string{"platt", b, "--labels", sy}, []string{"the likelihood has no maximum"}},
		{exitData, []string{"beta", b, "--labels", sy}, []string{"the likelihood has no maximum"}},
		{exitData, []string{"matrix", b, "--labels", by}, []string{"matrix is for two classes or more"}},
		{exitData, []string{"bbq", x, "--labels", y, "--weights", w}, []string{"bbq weighs its histograms by counts of rows"}},
		{exitData, []string{"sigma", f, "--mean", "mu", "--std", "sigma", "--observed", "none"}, []string{`no column "none"`}},
		{exitUsage, []string{"histogram(bins=65536)", x8, "--labels", y8, "--max-memory", "56MiB"}, []string{"histogram(bins=65536) of 60 rows x 8 classes takes about ",
			"for the maps of all rows and of 5 folds; pass --max-memory "}},
	} {
		args := append([]string{"recal", "fit"}, c.args...)
		if !slices.Contains(args, "-o") && len(c.args) > 1 {
			args = append(args, "-o", m)
		}
		refusedAs(t, d, c.code, args, c.want...)
	}
	// A map that was there stays.
	d.put("m.json", []byte("old"))
	refusedAs(t, d, exitData, []string{"recal", "fit", "temperature", ax, "--labels", ay, "-o", m})
	if string(d.read(m)) != "old" {
		t.Error("a fit that failed wrote its map")
	}
}

// TestRecalOfOneRow: a map of all rows there is, and none of a fold: what would be after is missing, and why is said.
func TestRecalOfOneRow(t *testing.T) {
	d := newDir(t)
	s := newSet(1, 40, 3)
	one := s.part(0, 1)
	x, y := d.put("x.npy", one.scores(t)), d.put("y.npy", one.labelFile(t))
	doc := fitted(t, "isotonic", x, "--labels", y, "-o", d.at("m.json"))
	if doc.After != nil || !strings.HasSuffix(doc.Reason, " of 5: there are no rows to fit to") || !strings.HasPrefix(doc.Says, "isotonic of 1 row x 3 classes: ") {
		t.Errorf("%+v", doc)
	}
	if _, err := readMap(d.at("m.json")); err != nil {
		t.Error(err)
	}
	text := printed(t, "recal", "fit", "isotonic", x, "--labels", y, "--plot", d.at("p.svg"))
	if !strings.Contains(text, "There is no after: fold ") {
		t.Errorf("%s", text)
	}
	// One row is wrong, so that its fold's map has none but right ones to be fitted to.
	apart := s.each(func(p float64) float64 { return p })
	for i := range apart.rows {
		best := 0
		for j := range 3 {
			if apart.probs[i*3+j] > apart.probs[i*3+best] {
				best = j
			}
		}
		apart.labels[i] = int32(best)
	}
	wrong := apart.label((apart.labels[4]+1)%3, 4)
	x, y = d.put("x.npy", wrong.scores(t)), d.put("y.npy", wrong.labelFile(t))
	doc = fitted(t, "temperature", x, "--labels", y, "-o", d.at("m.json"))
	fold := recal.Folds{}.Fold(4) + 1
	if want := fmt.Sprintf("fold %d of 5: the likelihood has no maximum: every row's label has the largest logit", fold); doc.After != nil || !strings.HasPrefix(doc.Reason, want) {
		t.Errorf("%q is not %q", doc.Reason, want)
	}
	if len(doc.Temperatures) == 0 {
		t.Error("the fit to all rows has no table of temperatures")
	}
}

func TestRecalApplyRefuses(t *testing.T) {
	d := newDir(t)
	s, one := newSet(1, 60, 3), newSet(2, 60, 1)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	b, by := d.put("b.npy", one.scores(t)), d.put("by.npy", one.labelFile(t))
	rows := normalRows(1, 60)
	f, f3 := d.put("f.csv", rows.csv()), d.put("f.npy", rows.matrix(t, 0, 1, 2))
	rows.rows[17][1] = -1
	bad := d.put("bad.csv", rows.csv())
	part := d.put("part.npy", s.part(0, 20).with(3, 2, math.NaN()).with(5, 0, 2).scores(t))
	logits := recalSet(1, 60, 3)
	l := d.put("l.npy", logits.scores(t))
	m, v, bm, sm := d.at("m.json"), d.at("v.json"), d.at("bm.json"), d.at("sm.json")
	printed(t, "recal", "fit", "isotonic", x, "--labels", y, "-o", m)
	printed(t, "recal", "fit", "vector", l, "--labels", y, "--input", "logits", "-o", v)
	printed(t, "recal", "fit", "isotonic", b, "--labels", by, "-o", bm)
	names := []string{"--mean", "mu", "--std", "sigma", "--observed", "y"}
	printed(t, append([]string{"recal", "fit", "sigma", f, "-o", sm}, names...)...)
	whole := d.read(m)
	cut := d.put("cut.json", whole[:len(whole)/2])
	changed := d.put("changed.json", bytes.Replace(whole, []byte(`"rows": 60`), []byte(`"rows": 61`), 1))
	later := d.put("later.json", bytes.Replace(whole, []byte("candor-map/1"), []byte("candor-map/9"), 1))
	other := d.put("other.json", []byte("{}"))
	o := d.at("o.npy")
	for _, c := range []struct {
		code int
		args []string
		want []string
	}{
		{exitUsage, nil, []string{"candor recal apply takes a map's file and predictions"}},
		{exitUsage, []string{m}, []string{"takes a map's file and predictions"}},
		{exitUsage, []string{m, x}, []string{"-o FILE is missing"}},
		{exitUsage, []string{m, x, "-o", d.at("o.txt")}, []string{"its extension names no format; end the name in .npy, .csv, .tsv, .parquet, .arrow, .feather or .arrows"}},
		{exitUsage, []string{m, x, "-o", x}, []string{"-o x.npy: that file is read"}},
		{exitUsage, []string{m, x, "-o", d.at("none/o.npy")}, []string{"cannot write none/o.npy"}},
		{exitUsage, []string{m, x, "-o", d.path + "/"}, []string{"names no format"}},
		{exitUsage, []string{"-", x, "-o", o}, []string{"the map is read from a file"}},
		{exitUsage, []string{sm, f, "--input", "probs", "-o", o}, []string{"--input is for classes, and the map is for regression forecasts"}},
		{exitUsage, []string{m, x, "--labels", y, "-o", o}, []string{"a map of classes needs none"}},
		{exitUsage, []string{m, x, "--mean", "mu", "-o", o}, []string{"--mean is for --task regression"}},
		{exitData, []string{d.at("none.json"), x, "-o", o}, []string{"none.json: no such file; check the name and the folder"}},
		{exitData, []string{d.path, x, "-o", o}, []string{"is a directory"}},
		{exitData, []string{x, m, "-o", o}, []string{"x.npy: this is not the file of a map", "the map stands before the predictions"}},
		{exitData, []string{other, x, "-o", o}, []string{"other.json: this is not the file of a map: its schema is not candor-map/1"}},
		{exitData, []string{cut, x, "-o", o}, []string{"cut.json: this is not the file of a map"}},
		{exitData, []string{changed, x, "-o", o}, []string{"changed.json: the map was changed or damaged"}},
		{exitData, []string{later, x, "-o", o}, []string{`later.json: the map is of the format "candor-map/9"`, "a later candor reads it"}},
		{exitData, []string{m, d.at("none.npy"), "-o", o}, []string{"none.npy: no such file"}},
		{exitData, []string{m, b, "-o", o}, []string{"b.npy: the map isotonic is of rows of 3 scores, and these have 1"}},
		{exitData, []string{bm, x, "-o", o}, []string{"x.npy: the map isotonic is of rows of 1 scores, and these have 3"}},
		{exitData, []string{v, x, "-o", o}, []string{"x.npy: the map vector was fitted to logits, and these are probs"}},
		{exitData, []string{m, l, "-o", o}, []string{"l.npy: row ", "pass --input logits"}},
		{exitData, []string{m, x, part, "-o", o}, []string{"part.npy: row 3, column 2: score is NaN: look for a division by 0 or an overflow in the code that computed the scores\n",
			"part.npy: row 5, column 0: probability is 2"}},
		{exitData, []string{sm, b, "-o", o}, []string{"b.npy: normal forecasts have 1 axis"}},
		{exitData, append([]string{sm, bad, "-o", o}, names...), []string{`bad.csv: line 19, column "sigma": `}},
		{exitData, append([]string{sm, d.at("none.csv"), "-o", o}, names...), []string{"none.csv: no such file"}},
		{exitData, []string{m, f, "-o", o}, []string{`f.csv: no column of scores is named: the columns are "site", "mu", "sigma", "y", "kind"; name it by --prob`}},
	} {
		for _, threads := range []string{"1", "4"} {
			refusedAs(t, d, c.code, append(append([]string{"recal", "apply"}, c.args...), "--threads", threads), c.want...)
		}
	}
	d.put("o.npy", []byte("old"))
	refusedAs(t, d, exitData, []string{"recal", "apply", m, part, "-o", o})
	if string(d.read(o)) != "old" {
		t.Error("what was there is gone")
	}
	if code, _, errs := candor(t, "recal", "apply", sm, f3, "-o", o); code != 0 {
		t.Errorf("exit code %d: %s", code, errs)
	}
	for name, hint := range map[string]string{"nonsense": "", "aply": " (did you mean apply?)"} {
		refusedAs(t, d, exitUsage, []string{"recal", name}, "there is no command 'candor recal "+name+"'"+hint+": it is fit, best, apply or export")
	}
}

// TestRecalPipes: "-" is standard input and output, and many chunks by several threads are as one.
func TestRecalPipes(t *testing.T) {
	d := newDir(t)
	rows := 600_000
	if testing.Short() {
		rows /= 2
	}
	s := newSet(13, rows, 1)
	x := d.put("x.npy", s.scores(t))
	few := s.part(0, 1000)
	m := d.at("m.json")
	printed(t, "recal", "fit", "beta", d.put("few.npy", few.scores(t)), "--labels", d.put("y.npy", few.labelFile(t)), "-o", m)
	of, err := readMap(m)
	if err != nil {
		t.Fatal(err)
	}
	src := &metrics.Scores{F32: f32(s.probs), Rows: rows, Classes: 1}
	dst := &metrics.Scores{F32: make([]float32, rows), Rows: rows, Classes: 1}
	of.Apply(dst, src, metrics.Probs)
	want := npy(t, []int64{int64(rows)}, dst.F32)
	cut := rows / 3
	a, b := d.put("part2.npy", s.part(0, cut).scores(t)), d.put("part10.npy", s.part(cut, rows).scores(t))
	files := d.list()
	for _, c := range []struct {
		in   string
		args []string
	}{{x, []string{"-"}}, {"", []string{x}}, {"", []string{x, "--threads", "1"}}, {"", []string{b, a}}} {
		if got := process(t, []string{"TMPDIR=" + d.path}, c.in, append([]string{"recal", "apply", m, "-o", "-"}, c.args...)...); !bytes.Equal(got, want) {
			t.Errorf("%v < %q: %d other bytes", c.args, c.in, len(got))
		}
	}
	if l := d.list(); !slices.Equal(l, files) {
		t.Errorf("the folder has %v", l)
	}
	var errs bytes.Buffer
	if code := run([]string{"recal", "apply", m, d.at("few.npy"), "-o", "-"}, bytes.NewReader(nil), broken{}, &errs); code != exitUsage || !strings.Contains(errs.String(), "no space left") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
	errs.Reset()
	if code := run([]string{"recal", "fit", "beta", d.at("few.npy"), "--labels", d.at("y.npy")}, bytes.NewReader(nil), broken{}, &errs); code != exitUsage ||
		!strings.Contains(errs.String(), "cannot write the result: no space left") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

// TestRecalApplyUnobserved: what is applied to forecasts needs nothing that was observed, and the numbers do not depend on it.
func TestRecalApplyUnobserved(t *testing.T) {
	d := newDir(t)
	normal, quantiles := normalRows(7, 300), quantileRows(8, 300)
	names := []string{"--mean", "mu", "--std", "sigma"}
	without := func(f *frame) []byte { // a table without the column y
		y := f.column("y")
		o := newFrame(slices.Delete(slices.Clone(f.names), y, y+1)...)
		for _, row := range f.rows {
			o.row(slices.Delete(slices.Clone(row), y, y+1)...)
		}
		return o.csv()
	}
	for _, method := range []string{"sigma", "quantile(levels=0.1 0.5 0.9)"} {
		table := d.put("f.csv", normal.csv())
		fitted(t, append([]string{method, "-o", d.at("m.json"), table, "--observed", "y"}, names...)...)
		printed(t, append([]string{"recal", "apply", d.at("m.json"), table, "--observed", "y", "-o", d.at("o.npy")}, names...)...)
		want, shape, _ := written(t, d.at("o.npy"))
		if shape != "(300, 3)" {
			t.Fatal(shape)
		}
		if method == "sigma" { // observed values are written only if given
			var two []float64
			for i := 0; i < len(want); i += 3 {
				two = append(two, want[i], want[i+1])
			}
			want, shape = two, "(300, 2)"
		}
		text, two := d.put("t.csv", without(normal)), d.put("two.npy", normal.matrix(t, 0, 1))
		narrow := d.put("n.npy", normal.matrix(t, 1, 0))
		vectors := d.put("v.npz", npz(t, "mean.npy", normal.matrix(t, 0), "sd.npy", normal.matrix(t, 1)))
		for _, args := range [][]string{append([]string{text}, names...), {two}, {narrow, "--mean", "1", "--std", "0"}, {vectors},
			append([]string{table}, names...)} {
			printed(t, append([]string{"recal", "apply", d.at("m.json"), "-o", d.at("p.npy")}, args...)...)
			if got, is, _ := written(t, d.at("p.npy")); !sameBits(got, want) || is != shape {
				t.Errorf("%s, %v: %s, or other numbers", method, args, is)
			}
		}
		// The default name is looked for, and what it has is kept.
		named := strings.Replace(strings.Replace(strings.Replace(string(normal.csv()), "mu", "mean", 1), "sigma", "sd", 1), "y", "observed", 1)
		printed(t, "recal", "apply", d.at("m.json"), d.put("named.csv", []byte(named)), "-o", d.at("p.npy"))
		if _, is, _ := written(t, d.at("p.npy")); is != "(300, 3)" {
			t.Errorf("%s: %s", method, is)
		}
		// Errors stay errors.
		if method != "sigma" {
			printed(t, "recal", "apply", d.at("m.json"), two, "--error", "0", "--std", "1", "-o", d.at("p.npy"))
			if got, _, _ := written(t, d.at("p.npy")); sameBits(got, want) {
				t.Error("quantiles of errors are those of what they are off")
			}
		}
	}
	q, qa := d.put("q.csv", quantiles.csv()), d.put("q.npy", quantiles.matrix(t, 0, 2, 4))
	fitted(t, "quantile", "-o", d.at("m.json"), q, "--quantile-prefix", "q", "--observed", "y")
	printed(t, "recal", "apply", d.at("m.json"), q, "--quantile-prefix", "q", "--observed", "y", "-o", d.at("o.npy"))
	want, shape, _ := written(t, d.at("o.npy"))
	printed(t, "recal", "apply", d.at("m.json"), d.put("t.csv", without(quantiles)), "--quantile-prefix", "q", "-o", d.at("p.npy"))
	if got, is, _ := written(t, d.at("p.npy")); !sameBits(got, want) || is != shape {
		t.Errorf("quantiles of a table: %s, or other numbers", is)
	}
	obs := d.put("obs.npy", quantiles.matrix(t, quantiles.column("y")))
	fitted(t, "quantile", "-o", d.at("m.json"), qa, "--labels", obs, "--levels", "0.05,0.5,0.95")
	printed(t, "recal", "apply", d.at("m.json"), qa, "--labels", obs, "--levels", "0.05,0.5,0.95", "-o", d.at("o.npy"))
	want, _, _ = written(t, d.at("o.npy"))
	printed(t, "recal", "apply", d.at("m.json"), qa, "--levels", "0.05,0.5,0.95", "-o", d.at("p.npy"))
	if got, _, _ := written(t, d.at("p.npy")); !sameBits(got, want) {
		t.Error("quantiles of an array: other numbers")
	}
	// What was observed is written as it is, also where it is not known of some rows.
	fitted(t, "sigma", "-o", d.at("m.json"), d.put("f.csv", normal.csv()), "--mean", "mu", "--std", "sigma", "--observed", "y")
	text := "mean,sd,observed\n1,2,1.5\n3,4,NA\n"
	printed(t, "recal", "apply", d.at("m.json"), d.put("some.csv", []byte(text)), "-o", d.at("p.npy"))
	if got, is, _ := written(t, d.at("p.npy")); is != "(2, 3)" || got[0] != 1 || got[2] != 1.5 || got[3] != 3 || !(got[4] > 0) || got[5] == got[5] {
		t.Errorf("%s: %v", is, got)
	}
	refusedAs(t, d, exitData, []string{"recal", "apply", d.at("m.json"), d.put("bad.csv", []byte("mean,sd\n1,2\n3,-4\n")), "-o", d.at("none.npy")}, "line 3")
	// A column that is named has to be there.
	fitted(t, "quantile", "-o", d.at("m.json"), q, "--quantile-prefix", "q", "--observed", "y")
	refused(t, d, []string{"recal", "apply", d.at("m.json"), d.at("t.csv"), "--quantile-prefix", "q", "--observed", "z", "-o", d.at("none.npy")},
		`no column "z"`)
}

// TestRecalBounds: --bounds writes what the library says, of one column, of two, and of classes, as an array and as a table.
func TestRecalBounds(t *testing.T) {
	d := newDir(t)
	for _, c := range []struct {
		classes int
		header  string
	}{{1, "prob,low,high"}, {2, "prob,low,high"}, {3, "prob_0,prob_1,prob_2,low_0,low_1,low_2,high_0,high_1,high_2"}} {
		s := recalSet(5, 300, c.classes)
		x, y, m := d.put("x.npy", npy(t, s.shape(), s.probs)), d.put("y.npy", s.labelFile(t)), d.at("m.json")
		printed(t, "recal", "fit", "venn_abers", x, "--labels", y, "--input", "logits", "-o", m)
		printed(t, "recal", "apply", m, x, "--input", "logits", "--bounds", "-o", d.at("o.npy"), "--threads", "3")
		got, _, _ := written(t, d.at("o.npy"))
		b := d.read(m)
		of, err := recal.Unmarshal(b)
		if err != nil {
			t.Fatal(err)
		}
		one := &metrics.Scores{Rows: 300, Classes: 1, F64: make([]float64, 300)}
		for i := range 300 {
			switch c.classes {
			case 1:
				one.F64[i] = s.probs[i]
			case 2:
				one.F64[i] = s.probs[2*i+1] - s.probs[2*i]
			}
		}
		if c.classes == 3 {
			one = &metrics.Scores{Rows: 300, Classes: 3, F64: s.probs}
		}
		k := one.Classes
		part := func() *metrics.Scores { return &metrics.Scores{Rows: 300, Classes: k, F64: make([]float64, 300*k)} }
		p, low, high := part(), part(), part()
		of.Apply(p, one, metrics.Logits)
		of.(*recal.CurveMap).Bounds(low, high, one, metrics.Logits)
		for i := range 300 {
			for j := range k {
				at := 3*k*i + j
				for n, v := range []float64{p.F64[k*i+j], low.F64[k*i+j], high.F64[k*i+j]} {
					if math.Abs(got[at+n*k]-v) > 1e-9 {
						t.Fatalf("%d classes: row %d, column %d is %v, want %v", c.classes, i, j+n*k, got[at+n*k], v)
					}
				}
				if k == 1 && !(low.F64[i] <= p.F64[i] && p.F64[i] <= high.F64[i]) {
					t.Errorf("%v is not within %v and %v", p.F64[i], low.F64[i], high.F64[i])
				}
			}
		}
		printed(t, "recal", "apply", m, x, "--input", "logits", "--bounds", "-o", d.at("o.csv"))
		if head, _, _ := strings.Cut(string(d.read(d.at("o.csv"))), "\n"); head != c.header {
			t.Errorf("the columns are %s", head)
		}
	}
	x := d.at("x.npy")
	refusedAs(t, d, exitUsage, []string{"recal", "apply", d.at("m.json"), x, "--input", "logits", "--bounds", "--as", "logits", "-o", d.at("p.npy")}, "--bounds writes probabilities; leave --as out")
	printed(t, "recal", "fit", "venn_abers(top_label)", x, "--labels", d.at("y.npy"), "--input", "logits", "-o", d.at("top.json"))
	refusedAs(t, d, exitUsage, []string{"recal", "apply", d.at("top.json"), x, "--input", "logits", "--bounds", "-o", d.at("p.npy")}, "--bounds is for maps by venn_abers without top_label, and this one is venn_abers(top_label)")
}
