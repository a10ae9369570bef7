package recal

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/internal/check"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// mapGoesTogether reports whether a method's options do.
func mapGoesTogether(m Method) bool {
	_, err := m.Fit(InMemory(mapData(20)[0]), nil)
	return err == nil || !strings.Contains(err.Error(), "do not go together")
}

// mapData returns rows of every kind that some method takes: of an event, of three classes, and regression forecasts.
func mapData(n int) []*metrics.Predictions {
	rng := rand.New(rand.NewPCG(4, 4))
	event := &metrics.Predictions{Scores: metrics.Scores{Rows: n, Classes: 1}}
	three := &metrics.Predictions{Scores: metrics.Scores{Rows: n, Classes: 3}, Kind: metrics.Logits}
	normal := &metrics.Predictions{Scores: metrics.Scores{Rows: n, Classes: 3}, Kind: metrics.Normals}
	quantiles := &metrics.Predictions{Scores: metrics.Scores{Rows: n, Classes: 3}, Kind: metrics.Quantiles}
	samples := &metrics.Predictions{Scores: metrics.Scores{Rows: n, Classes: 5}, Kind: metrics.Samples}
	draw := func(p []float64) int32 {
		u := rng.Float64()
		for i, v := range p {
			if u -= v; u < 0 {
				return int32(i)
			}
		}
		return int32(len(p) - 1)
	}
	for range n {
		p := rng.Float64()
		event.F64, event.Labels = append(event.F64, p), append(event.Labels, draw([]float64{1 - p*p, p * p}))
		z := []float64{2 * rng.NormFloat64(), 2 * rng.NormFloat64(), 2 * rng.NormFloat64()}
		soft := []float64{math.Exp(z[0] / 2), math.Exp(z[1]/2 + 0.3), math.Exp(z[2] / 2)}
		sum := soft[0] + soft[1] + soft[2]
		three.F64 = append(three.F64, z...)
		three.Labels = append(three.Labels, draw([]float64{soft[0] / sum, soft[1] / sum, soft[2] / sum}))
		mean, sd, y := rng.NormFloat64(), 0.5+rng.Float64(), rng.NormFloat64()
		normal.F64 = append(normal.F64, mean, sd, mean+1.5*sd*y)
		quantiles.F64 = append(quantiles.F64, mean-sd, mean, mean+sd)
		quantiles.Observed = append(quantiles.Observed, mean+1.5*sd*y)
		for range 5 {
			samples.F64 = append(samples.F64, mean+sd*rng.NormFloat64())
		}
		samples.Observed = append(samples.Observed, mean+1.5*sd*y)
	}
	return []*metrics.Predictions{event, three, normal, quantiles, samples}
}

// mapFitted is a map, and what it was fitted to.
type mapFitted struct {
	m    Map
	from Method
	p    *metrics.Predictions
}

// mapsOf returns the maps of all methods, with each option, of all the n rows that they take.
func mapsOf(t *testing.T, n int) []mapFitted {
	t.Helper()
	if l := mapsMade[n]; l != nil {
		return l
	}
	var l []mapFitted
	for _, o := range methods {
		for _, m := range parseVariants(o.zero) {
			if !mapGoesTogether(m) {
				continue
			}
			before := len(l)
			var errs []error
			for _, p := range mapData(n) {
				fitted, err := m.Fit(InMemory(p), nil)
				if err != nil {
					errs = append(errs, err)
					continue
				}
				l = append(l, mapFitted{fitted, m, p})
			}
			if len(l) == before {
				t.Errorf("%s: %v", m, errors.Join(errs...))
			}
		}
	}
	mapsMade[n] = l
	return l
}

// mapsMade caches maps by number of rows; tests must not change them.
var mapsMade = map[int][]mapFitted{}

// mapApply returns what a map makes of rows.
func mapApply(t *testing.T, m Map, p *metrics.Predictions) []float64 {
	t.Helper()
	_, width, err := m.Out(p.Kind, p.Classes)
	if err != nil {
		t.Fatalf("%s: %v", m.Method(), err)
	}
	dst := metrics.Scores{F64: make([]float64, p.Rows*width), Rows: p.Rows, Classes: width}
	m.Apply(&dst, &p.Scores, p.Kind)
	return dst.F64
}

func mapSame(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// TestMapFiles: the map of a file does what the one did that was written, to the bit, and is written as the same bytes.
func TestMapFiles(t *testing.T) {
	for _, f := range mapsOf(t, 300) {
		name := f.m.Method()
		b, err := Marshal(f.m)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name != f.from.String() {
			t.Errorf("the map of %s is one of %s", f.from, name)
		}
		for what, text := range map[string][]byte{"as it is": b, "compact": mapCompact(t, b), "with spaces": mapSpaced(t, b)} {
			m, err := Unmarshal(text)
			if err != nil {
				t.Errorf("%s, %s: %v", name, what, err)
				continue
			}
			if m.Method() != name || m.Fit() != f.m.Fit() {
				t.Errorf("%s, %s: %s %+v", name, what, m.Method(), m.Fit())
			}
			if again, err := Marshal(m); err != nil || !bytes.Equal(again, b) {
				t.Errorf("%s, %s: it is written otherwise: %v", name, what, err)
			}
			if !mapSame(mapApply(t, m, f.p), mapApply(t, f.m, f.p)) {
				t.Errorf("%s, %s: it does something else", name, what)
			}
		}
	}
}

func mapCompact(t *testing.T, b []byte) []byte {
	t.Helper()
	var c bytes.Buffer
	if err := json.Compact(&c, b); err != nil {
		t.Fatal(err)
	}
	return c.Bytes()
}

func mapSpaced(t *testing.T, b []byte) []byte {
	t.Helper()
	var c bytes.Buffer
	if err := json.Indent(&c, b, "\t", "    "); err != nil {
		t.Fatal(err)
	}
	return append(c.Bytes(), "\r\n \t"...)
}

// TestMapDamage: a file with any byte changed, or truncated anywhere, is an error or the same map.
func TestMapDamage(t *testing.T) {
	done, step := map[string]bool{}, check.Size(17, 5, 1)
	for _, f := range mapsOf(t, 40) {
		name, _, _ := strings.Cut(f.m.Method(), "(")
		b, err := Marshal(f.m)
		if err != nil {
			t.Fatal(err)
		}
		if done[name] || len(b) > 2000 {
			continue
		}
		done[name] = true
		same := 0
		try := func(bad []byte, what string, at int) {
			m, err := Unmarshal(bad)
			if err != nil {
				return
			}
			if again, err := Marshal(m); err != nil || !bytes.Equal(again, b) {
				t.Errorf("%s: %s byte %d gives another map:\n%s", name, what, at, bad)
			}
			same++
		}
		for at := 0; at < len(b); at += step {
			for bit := range 8 {
				bad := slices.Clone(b)
				bad[at] ^= 1 << bit
				try(bad, "another", at)
			}
			try(slices.Delete(slices.Clone(b), at, at+1), "no", at)
			try(slices.Insert(slices.Clone(b), at, b[at]), "twice", at)
		}
		if same == 0 {
			t.Errorf("%s: not even another space is read", name)
		}
		for n := 0; n < len(b)-2; n += step { // all but the last brace and line end
			if _, err := Unmarshal(b[:n]); err == nil {
				t.Errorf("%s: the first %d bytes are a map", name, n)
			}
		}
	}
}

// mapText returns a file with the sum that suits it.
func mapText(t *testing.T, f mapFile) []byte {
	t.Helper()
	var err error
	if f.SHA256, err = f.sum(); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestMapErrors(t *testing.T) {
	p := mapData(300)[0]
	m, err := BBQ{}.Fit(InMemory(p), nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var good mapFile
	if err := json.Unmarshal(b, &good); err != nil {
		t.Fatal(err)
	}
	if _, err := Unmarshal(mapText(t, good)); err != nil {
		t.Fatal(err)
	}
	with := func(f func(*mapFile)) []byte { g := good; f(&g); return mapText(t, g) }
	fit := func(text string) []byte { return with(func(f *mapFile) { f.Fit = json.RawMessage(text) }) }
	for _, c := range []struct {
		b    []byte
		want string
	}{
		{nil, "not the file of a map"},
		{[]byte("null"), "not the file of a map"},
		{[]byte("[]"), "not the file of a map"},
		{[]byte("{}"), "its schema is not candor-map/1"},
		{[]byte("map"), "not the file of a map"},
		{append(slices.Clone(b), '{'), "not the file of a map"},
		{append(slices.Clone(b), b...), "not the file of a map"},
		{bytes.Replace(b, []byte("candor-map/1"), []byte("candor-map/2"), 1), `of the format "candor-map/2", and candor-map/1 is known here: a later`},
		{[]byte(`{"schema":"candor-map/2","other":[1,2]}`), "a later candor reads it"},
		{[]byte(`{"schema":"candor/1"}`), "its schema is not"},
		{[]byte(`{"schema":"candor-conformal-map/1"}`), "this is a conformal map"},
		{bytes.Replace(b, []byte(`"method"`), []byte(`"metric"`), 1), "unknown field"},
		{bytes.Replace(b, []byte(`"method"`), []byte(`"note": "", "method"`), 1), "unknown field"},
		{bytes.Replace(b, []byte(`"bbq"`), []byte(`"ets"`), 1), "changed or damaged"},
		{bytes.Replace(b, []byte(`"rows": 300`), []byte(`"rows": 301`), 1), "changed or damaged"},
		{with(func(f *mapFile) { f.Method = "bbc" }), "there is no method"},
		{with(func(f *mapFile) { f.Method = "bbq(prune=1)" }), "true or false"},
		{with(func(f *mapFile) { f.Parameters = json.RawMessage("null") }), "cannot be read: bbq"},
		{with(func(f *mapFile) { f.Parameters = json.RawMessage(`{"curves":[],"more":1}`) }), "cannot be read: bbq"},
		{fit(`null`), "contradicts itself"},
		{fit(`{}`), "contradicts itself"},
		{fit(`{"rows":1}`), "contradicts itself"},
		{fit(`[]`), "cannot be read: fit"},
		{fit(`{"rows":9,"classes":1,"kind":"probs","weighted":false,"left_out":0,"first_left_out":-1,"reads":2,"more":1}`), "unknown field"},
		{fit(`{"rows":0,"classes":1,"kind":"probs","weighted":false,"left_out":0,"first_left_out":-1,"reads":2}`), "contradicts itself"},
		{fit(`{"rows":9,"classes":0,"kind":"probs","weighted":false,"left_out":0,"first_left_out":-1,"reads":2}`), "contradicts itself"},
		{fit(`{"rows":9,"classes":1,"kind":"prob","weighted":false,"left_out":0,"first_left_out":-1,"reads":2}`), "contradicts itself"},
		{fit(`{"rows":9,"classes":1,"kind":"probs","weighted":false,"left_out":10,"first_left_out":1,"reads":2}`), "contradicts itself"},
		{fit(`{"rows":9,"classes":1,"kind":"probs","weighted":false,"left_out":1,"first_left_out":-1,"reads":2}`), "contradicts itself"},
		{fit(`{"rows":9,"classes":1,"kind":"probs","weighted":false,"left_out":0,"first_left_out":3,"reads":2}`), "contradicts itself"},
		{fit(`{"rows":9.5,"classes":1,"kind":"probs","weighted":false,"left_out":0,"first_left_out":-1,"reads":2}`), "cannot be read: fit"},
	} {
		if _, err := Unmarshal(c.b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.200s: %v, want %s", c.b, err, c.want)
		}
	}
}

// TestMapSame: neither threads nor chunks change a bit of what a fit returns.
func TestMapSame(t *testing.T) {
	for _, f := range mapsOf(t, 300) {
		want, err := Marshal(f.m)
		if err != nil {
			t.Fatal(err)
		}
		for _, threads := range []int{1, 3} {
			d := OpenFunc(func() (Source, error) { return &bbqChunks{p: f.p, rows: 23}, nil })
			m, err := f.from.Fit(d, &Options{Threads: threads})
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := Marshal(m); !bytes.Equal(got, want) {
				t.Errorf("%s of %s: %d threads and chunks of 23 rows give another map", f.from, f.p.Kind, threads)
			}
		}
	}
}

// TestMapWeights: of weights that are all 2 a map is that of none, but where the method adds rows of weight 1 to those that there are,
// and rows of weight 0 are absent. Where weights are refused the error says so.
func TestMapWeights(t *testing.T) {
	for _, f := range mapsOf(t, 300) {
		n := f.p.Rows
		p := *f.p
		p.Weights = make([]float64, n)
		for i := range p.Weights {
			p.Weights[i] = 2
		}
		m, err := f.from.Fit(InMemory(&p), nil)
		if err != nil {
			if !strings.Contains(err.Error(), "weight") {
				t.Errorf("%s: %v", f.from, err)
			}
			continue
		}
		if fit := m.Fit(); !fit.Weighted || fit.Rows != int64(n) {
			t.Errorf("%s: %+v", f.from, fit)
		}
		near := func(what string, a, b []float64) {
			for i := range a {
				if !(math.Abs(a[i]-b[i]) <= 1e-6) {
					t.Errorf("%s: %s: %v becomes %v, want %v", f.from, what, i, a[i], b[i])
					return
				}
			}
		}
		if !strings.Contains(f.m.Method(), "smoothed") && !strings.Contains(f.m.Method(), "venn_abers") {
			near("weights of 2", mapApply(t, m, f.p), mapApply(t, f.m, f.p))
		}
		if p.Labels == nil {
			continue
		}
		// The same rows and half as many others, of weight 0.
		half := p
		half.Rows, half.F64, half.Labels, half.Weights = n/2, p.F64[:n/2*p.Classes], p.Labels[:n/2], nil
		alone, err := f.from.Fit(InMemory(&half), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Weights {
			p.Weights[i] = 1
			if i >= n/2 {
				p.Weights[i] = 0
			}
		}
		if m, err = f.from.Fit(InMemory(&p), nil); err != nil {
			t.Fatal(err)
		}
		if fit := m.Fit(); fit.Rows != int64(n/2) {
			t.Errorf("%s: %+v", f.from, fit)
		}
		near("absent rows", mapApply(t, m, f.p), mapApply(t, alone, f.p))
	}
}

// TestMapApply: in place or not, with strides, of any type, and by rows, a map does the same; it panics where Out is an error.
func TestMapApply(t *testing.T) {
	for _, f := range mapsOf(t, 300) {
		name := f.m.Method() + " of " + f.p.Kind.String()
		want := mapApply(t, f.m, f.p)
		kind, width, _ := f.m.Out(f.p.Kind, f.p.Classes)
		if width == f.p.Classes {
			own := f.p.Scores
			own.F64 = slices.Clone(own.F64)
			if f.m.Apply(&own, &own, f.p.Kind); !mapSame(own.F64, want) {
				t.Errorf("%s: in place it does something else", name)
			}
		}
		// Rows far apart, in both.
		const more = 4
		src := metrics.Scores{Rows: f.p.Rows, Classes: f.p.Classes, Stride: f.p.Classes + more}
		src.F64 = make([]float64, (src.Rows-1)*src.Stride+src.Classes)
		for i := range src.Rows {
			copy(src.F64[i*src.Stride:], f.p.F64[i*src.Classes:][:src.Classes])
		}
		dst := metrics.Scores{Rows: src.Rows, Classes: width, Stride: width + more}
		dst.F64 = make([]float64, (dst.Rows-1)*dst.Stride+dst.Classes)
		for i := range dst.F64 {
			dst.F64[i] = 77
		}
		f.m.Apply(&dst, &src, f.p.Kind)
		for i, v := range dst.F64 {
			row, col := i/dst.Stride, i%dst.Stride
			if col >= width && v != 77 || col < width && math.Float64bits(v) != math.Float64bits(want[row*width+col]) {
				t.Errorf("%s: strides: row %d column %d is %v", name, row, col, v)
				break
			}
		}
		// One row at a time, to float32.
		for i := range min(20, f.p.Rows) {
			one := metrics.Scores{F64: f.p.F64[i*f.p.Classes:][:f.p.Classes], Rows: 1, Classes: f.p.Classes}
			narrow := metrics.Scores{F32: make([]float32, width), Rows: 1, Classes: width}
			f.m.Apply(&narrow, &one, f.p.Kind)
			for j, v := range narrow.F32 {
				if math.Abs(float64(v)-want[i*width+j]) > 2e-7*max(1, math.Abs(want[i*width+j])) {
					t.Errorf("%s: row %d to float32 is %v, want %v", name, i, narrow.F32, want[i*width:][:width])
					break
				}
			}
		}
		if kind == metrics.Probs {
			for i := range f.p.Rows {
				sum := 0.0
				for _, v := range want[i*width:][:width] {
					if !(v >= 0 && v <= 1) {
						t.Fatalf("%s: row %d: %v", name, i, want[i*width:][:width])
					}
					sum += v
				}
				if width > 1 && math.Abs(sum-1) > 1e-12 {
					t.Errorf("%s: the sum of row %d is %v", name, i, sum)
				}
			}
		}
		// NaN makes its row NaN and no other.
		if f.p.Kind == metrics.Probs || f.p.Kind == metrics.Logits {
			bad := *f.p
			bad.F64 = slices.Clone(bad.F64)
			bad.F64[5*bad.Classes+bad.Classes-1] = math.NaN()
			got := mapApply(t, f.m, &bad)
			for i, v := range got {
				if nan := i/width == 5; nan != (v != v) || !nan && v != want[i] {
					t.Errorf("%s: NaN in row 5: row %d is %v", name, i/width, got[i/width*width:][:width])
					break
				}
			}
		}
		for _, c := range []struct {
			k       metrics.Kind
			classes int
		}{{f.p.Kind, f.p.Classes + 1}, {metrics.LogLiks, f.p.Classes}, {metrics.Dirichlet, max(2, f.p.Classes)}} {
			if _, _, err := f.m.Out(c.k, c.classes); err == nil {
				continue
			}
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: %d scores of %v do not panic", name, c.classes, c.k)
					}
				}()
				x := make([]float64, c.classes)
				f.m.Apply(&metrics.Scores{F64: make([]float64, 8), Rows: 1, Classes: c.classes}, &metrics.Scores{F64: x, Rows: 1, Classes: c.classes}, c.k)
			}()
		}
		if _, _, err := f.m.Out(metrics.LogLiks, f.p.Classes); err == nil {
			t.Errorf("%s takes log-likelihoods", name)
		}
	}
}

// TestMapKinds: probabilities and their logits are the same forecast, but for a method that looks at each logit alone: a number that is
// added to all of them is then not nothing.
func TestMapKinds(t *testing.T) {
	for _, f := range mapsOf(t, 300) {
		name, _, _ := strings.Cut(f.m.Method(), "(")
		if f.p.Labels == nil || f.p.Classes == 1 || name == "vector" || name == "matrix" {
			continue
		}
		probs := *f.p
		probs.Kind, probs.F64 = metrics.Probs, make([]float64, len(f.p.F64))
		kernel.SoftmaxF64(probs.F64, 3, f.p.F64, f.p.Rows, 3, 3)
		logs := probs
		logs.Kind, logs.F64 = metrics.LogProbs, make([]float64, len(f.p.F64))
		kernel.LogSliceF64(logs.F64, probs.F64)
		want := mapApply(t, f.m, f.p)
		for _, p := range []*metrics.Predictions{&probs, &logs} {
			m, err := f.from.Fit(InMemory(p), nil)
			if err != nil {
				t.Errorf("%s of %s: %v", f.from, p.Kind, err)
				continue
			}
			if k, _, err := m.Out(p.Kind, 3); err != nil || k != metrics.Probs {
				t.Errorf("%s of %s gives %v, %v", f.from, p.Kind, k, err)
				continue
			}
			// Steps move by a rounding of a score that is on their edge: a row in a hundred may differ.
			off := 0
			for i, v := range mapApply(t, m, p) {
				if !(math.Abs(v-want[i]) < 1e-5) {
					off++
				}
			}
			if off > len(want)/100 {
				t.Errorf("%s: of %s %d of %d numbers differ from those of logits", f.from, p.Kind, off, len(want))
			}
		}
	}
}
