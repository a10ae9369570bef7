package recal_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/recal"
)

func sigmaNear(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*math.Abs(b) }

func sigmaFit(t *testing.T, m recal.Sigma, p *metrics.Predictions) *recal.SigmaMap {
	t.Helper()
	f, err := m.Fit(recal.InMemory(p), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f.(*recal.SigmaMap)
}

func sigmaZMS(t *testing.T, p *metrics.Predictions) float64 {
	t.Helper()
	n := metrics.Must(regress.NewNormal(nil))
	if err := metrics.NewPass(nil, n).Add(p); err != nil {
		t.Fatal(err)
	}
	return n.Value(regress.ZMS)
}

// sigmaForecasts returns n forecasts whose errors are as large as their standard deviations times a factor, all in a unit.
func sigmaForecasts(n int, factor, unit float64) *metrics.Predictions {
	r := rand.New(rand.NewPCG(41, uint64(n)))
	y, mean, sd := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		mean[i] = r.NormFloat64() * unit
		sd[i] = (0.1 + r.Float64()) * unit
		y[i] = mean[i] + float64(factor*sd[i])*r.NormFloat64()
	}
	return metrics.Must(regress.NormalPredictions(y, mean, sd))
}

// TestSigmaGolden compares with LaplaceRedux, documented and as coded; see testdata/golden/README.md.
func TestSigmaGolden(t *testing.T) {
	f, err := os.Open("../testdata/golden/regression_laplace.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Regression []struct {
			Y, Mean, Std []float64
			Documented   float64 `json:"sigma_scaling_documented"`
			AsCoded      float64 `json:"sigma_scaling_as_coded"`
		}
	}
	if err := json.NewDecoder(z).Decode(&golden); err != nil {
		t.Fatal(err)
	}
	for i, c := range golden.Regression {
		p := metrics.Must(regress.NormalPredictions(c.Y, c.Mean, c.Std))
		if s := sigmaFit(t, recal.Sigma{}, p).Scale(); c.Documented == 0 || !sigmaNear(s, c.Documented, 1e-13) {
			t.Errorf("case %d: %.17g, want %.17g", i, s, c.Documented)
		}
		if s := sigmaFit(t, recal.Sigma{AsCoded: true}, p).Scale(); c.AsCoded == 0 || !sigmaNear(s, c.AsCoded, 1e-13) {
			t.Errorf("case %d: as coded %.17g, want %.17g", i, s, c.AsCoded)
		}
	}
	if len(golden.Regression) != 3 {
		t.Errorf("%d cases", len(golden.Regression))
	}
}

// TestSigmaUnits holds that z^2 has the mean 1 after it, in any unit, in place and elsewhere.
func TestSigmaUnits(t *testing.T) {
	first := 0.0
	for _, unit := range []float64{1, 0x1p-996, 0x1p-300, 0x1p400, 0x1p990} {
		p := sigmaForecasts(1000, 2.5, unit)
		f := sigmaFit(t, recal.Sigma{}, p)
		if s := f.Scale(); !sigmaNear(s, 2.5, 0.1) {
			t.Errorf("unit %g: %v", unit, s)
		} else if first == 0 {
			first = s
		} else if s != first {
			t.Errorf("unit %g: %v, and of 1 %v", unit, s, first)
		}
		before := append([]float64(nil), p.F64...)
		f.Apply(&p.Scores, &p.Scores, metrics.Normals)
		if z := sigmaZMS(t, p); !sigmaNear(z, 1, 1e-12) {
			t.Errorf("unit %g: z^2 is %.17g", unit, z)
		}
		for i, v := range p.F64 {
			if i%3 != 1 && v != before[i] {
				t.Fatal("more than the standard deviation has changed")
			}
		}
	}
}

// TestSigmaTypes: the scale of forecasts of any type and number of columns, and what becomes of them in either type.
func TestSigmaTypes(t *testing.T) {
	p := sigmaForecasts(777, 0.4, 1)
	narrow := &metrics.Predictions{Kind: metrics.Normals}
	narrow.Rows, narrow.Classes, narrow.Stride = p.Rows, 2, 4
	bf := &metrics.Predictions{Kind: metrics.Normals}
	bf.Rows, bf.Classes = p.Rows, 3
	for i := range p.Rows {
		r := p.F64[3*i:]
		narrow.F32 = append(narrow.F32, float32(r[2]-r[0]), float32(r[1]), float32(math.NaN()), float32(math.NaN()))
		for _, v := range r[:3] {
			bf.BF16 = append(bf.BF16, uint16(math.Float32bits(float32(v))>>16))
		}
	}
	want := sigmaFit(t, recal.Sigma{}, p)
	if s := sigmaFit(t, recal.Sigma{}, narrow).Scale(); !sigmaNear(s, want.Scale(), 1e-6) {
		t.Errorf("%v, want %v", s, want.Scale())
	}
	if s := sigmaFit(t, recal.Sigma{}, bf).Scale(); !sigmaNear(s, want.Scale(), 1e-2) {
		t.Errorf("%v, want %v", s, want.Scale())
	}
	for name, src := range map[string]*metrics.Predictions{"f64": p, "f32": narrow, "bf16": bf} {
		f := sigmaFit(t, recal.Sigma{}, src)
		for _, wide := range []bool{true, false} {
			dst := &metrics.Predictions{Kind: metrics.Normals}
			dst.Rows, dst.Classes, dst.Stride = src.Rows, src.Classes, 5
			if wide {
				dst.F64 = make([]float64, 5*src.Rows)
			} else {
				dst.F32 = make([]float32, 5*src.Rows)
			}
			f.Apply(&dst.Scores, &src.Scores, metrics.Normals)
			tolerance := 1e-7
			if wide && name == "f64" {
				tolerance = 1e-12
			}
			if z := sigmaZMS(t, dst); !sigmaNear(z, 1, tolerance) {
				t.Errorf("%s, wide %v: z^2 is %.17g", name, wide, z)
			}
		}
	}
	f := sigmaFit(t, recal.Sigma{}, narrow)
	f.Apply(&narrow.Scores, &narrow.Scores, metrics.Normals)
	if z := sigmaZMS(t, narrow); !sigmaNear(z, 1, 1e-7) || narrow.F32[2] == narrow.F32[2] {
		t.Errorf("in place: z^2 is %.17g", z)
	}
}

// TestSigmaInvariance: neither threads, chunks nor the order of rows change a bit.
func TestSigmaInvariance(t *testing.T) {
	p := sigmaForecasts(5000, 1.7, 1)
	for i := range p.Rows {
		p.Weights = append(p.Weights, float64(i%5)*0.37)
	}
	for _, m := range []recal.Sigma{{}, {AsCoded: true}} {
		want := sigmaFile(t, m, recal.InMemory(p), 1)
		for threads := 2; threads < 6; threads++ {
			if got := sigmaFile(t, m, quantileChunks(p, 100*threads+1), threads); got != want {
				t.Errorf("%d threads: %s, want %s", threads, got, want)
			}
		}
		if got := sigmaFile(t, m, recal.InMemory(quantileShuffled(p)), 3); got != want {
			t.Errorf("in another order: %s, want %s", got, want)
		}
	}
}

func sigmaFile(t *testing.T, m recal.Method, d recal.Data, threads int) string {
	t.Helper()
	f, err := m.Fit(d, &recal.Options{Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	b, err := recal.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestSigmaInterval compares with the interval of z^2, and holds that a file gives the same map.
func TestSigmaInterval(t *testing.T) {
	p := sigmaForecasts(400, 3, 1e-3)
	for _, m := range []recal.Sigma{{}, {AsCoded: true}} {
		f := sigmaFit(t, m, p)
		stat := regress.SigmaScale
		if m.AsCoded {
			stat = regress.SigmaScaleAsCoded
		}
		n := metrics.Must(regress.NewNormal(&regress.NormalOptions{Stats: []regress.NormalStat{stat}}))
		if err := metrics.NewPass(nil, n).Add(p); err != nil {
			t.Fatal(err)
		}
		for _, level := range []float64{0.5, 0.95, 0.999} {
			i, want := f.Interval(level), n.Interval(stat, level)
			if !sigmaNear(i.Low, want.Low, 1e-12) || !sigmaNear(i.High, want.High, 1e-12) {
				t.Errorf("%v at %v, want %v", i, level, want)
			}
		}
		b, err := recal.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		back, err := recal.Unmarshal(b)
		if err != nil {
			t.Fatal(err)
		}
		g := back.(*recal.SigmaMap)
		if g.Scale() != f.Scale() || g.Interval(0.9) != f.Interval(0.9) || g.Fit() != f.Fit() || g.Method() != m.String() {
			t.Errorf("%+v came back as %+v", f, g)
		}
	}
	for _, s := range []string{"sigma", "sigma(as_coded)"} {
		if m, err := recal.Parse(s); err != nil || m.String() != s {
			t.Error(m, err)
		}
	}
	for _, s := range []string{"sigma(x)", "sigma(as_coded=1)"} {
		if _, err := recal.Parse(s); err == nil {
			t.Error(s)
		}
	}
}

// TestSigmaOdd: rows and sets that are hardly any.
func TestSigmaOdd(t *testing.T) {
	one := func(y, mean, sd float64) recal.Data {
		return recal.InMemory(metrics.Must(regress.NormalPredictions([]float64{y}, []float64{mean}, []float64{sd})))
	}
	for _, c := range []struct {
		y, sd, documented, coded float64
	}{{3, 2, 1.5, math.Sqrt(3) / 2}, {-4, 1, 4, 2}, {1e150, 1e-150, 1e300, 0}, {1e-300, 1, 1e-300, 1e-150}} {
		f, err := recal.Sigma{}.Fit(one(c.y, 0, c.sd), nil)
		if err != nil || !sigmaNear(f.(*recal.SigmaMap).Scale(), c.documented, 1e-15) || f.(*recal.SigmaMap).Interval(0.95).Low == 0 {
			t.Error(c, f, err)
		}
		if f != nil {
			if i := f.(*recal.SigmaMap).Interval(0.95); i.Low == i.Low || i.High == i.High {
				t.Error(i)
			}
			b, err := recal.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			if g, err := recal.Unmarshal(b); err != nil || g.(*recal.SigmaMap).Scale() != f.(*recal.SigmaMap).Scale() {
				t.Error(g, err)
			}
		}
		f, err = recal.Sigma{AsCoded: true}.Fit(one(c.y, 0, c.sd), nil)
		if c.coded == 0 {
			if err == nil || errors.Is(err, recal.ErrUnreachable) || !strings.Contains(err.Error(), "float64 does not hold it") {
				t.Error(err)
			}
		} else if err != nil || !sigmaNear(f.(*recal.SigmaMap).Scale(), c.coded, 1e-15) {
			t.Error(c, f, err)
		}
	}
	if _, err := (recal.Sigma{}).Fit(one(5, 5, 1), nil); !errors.Is(err, recal.ErrUnreachable) {
		t.Error(err)
	}
	if _, err := (recal.Sigma{}).Fit(one(1e300, 0, 1e-300), nil); err == nil || errors.Is(err, recal.ErrUnreachable) {
		t.Error(err)
	}
	if _, err := (recal.Sigma{}).Fit(recal.InMemory(metrics.Must(regress.NormalPredictions(nil, nil, nil))), nil); err == nil {
		t.Error("no rows")
	}
	var data *metrics.DataError
	if _, err := (recal.Sigma{}).Fit(one(1, 0, 0), nil); !errors.As(err, &data) {
		t.Error(err)
	}
	probs := &metrics.Predictions{Scores: metrics.Scores{F64: []float64{0.5}, Rows: 1, Classes: 1}, Labels: []int32{1}}
	if _, err := (recal.Sigma{}).Fit(recal.InMemory(probs), nil); err == nil || !strings.Contains(err.Error(), "and these are probs") {
		t.Error(err)
	}
	// Rows of weight 0 are absent, whatever they hold; a weight of 2 is a row twice.
	p := metrics.Must(regress.NormalPredictions([]float64{1, 9, 2}, []float64{0, 0, 0}, []float64{1, -1, 1}))
	p.Weights = []float64{2, 0, 1}
	f := sigmaFit(t, recal.Sigma{}, p)
	want := recal.Fit{Rows: 2, Classes: 3, Kind: "normal", Weighted: true, FirstLeftOut: -1, Reads: 1}
	if !sigmaNear(f.Scale(), math.Sqrt2, 1e-15) || f.Fit() != want {
		t.Error(f.Scale(), f.Fit())
	}
	// A forecast stays one; what is none becomes NaN.
	tiny, err := recal.Sigma{}.Fit(one(1e-10, 0, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	huge, err := recal.Sigma{}.Fit(one(1e10, 0, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	rows := metrics.Scores{Rows: 5, Classes: 3}
	rows.F64 = []float64{1, 1e-320, 2, 3, 1e305, 4, 5, 0, 6, math.NaN(), 1, 7, 8, math.Inf(1), 9}
	for _, m := range []recal.Map{tiny, huge} {
		wide := metrics.Scores{F64: make([]float64, 15), Rows: 5, Classes: 3}
		narrow := metrics.Scores{F32: make([]float32, 15), Rows: 5, Classes: 3}
		m.Apply(&wide, &rows, metrics.Normals)
		m.Apply(&narrow, &rows, metrics.Normals)
		for i := range 15 {
			v, w := wide.F64[i], float64(narrow.F32[i])
			bad := i >= 6
			if bad != (v != v) || bad != (w != w) || i%3 == 1 && !bad && (v <= 0 || w <= 0 || math.IsInf(v, 0) || math.IsInf(w, 0)) {
				t.Errorf("%d: %v %v", i, v, w)
			}
		}
	}
	if _, _, err := tiny.Out(metrics.Probs, 3); err == nil {
		t.Error("probabilities")
	}
	for name, apply := range map[string]func(){
		"kind": func() { tiny.Apply(&metrics.Scores{}, &rows, metrics.Quantiles) },
		"shape": func() {
			tiny.Apply(&metrics.Scores{F64: make([]float64, 15), Rows: 4, Classes: 3}, &rows, metrics.Normals)
		},
		"none": func() { tiny.Apply(&metrics.Scores{Rows: 5, Classes: 3}, &rows, metrics.Normals) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error(name)
				}
			}()
			apply()
		}()
	}
}

// sigmaAltered returns the file of a map with other parameters, as Marshal would have written it.
func sigmaAltered(t *testing.T, file []byte, method, parameters string) []byte {
	t.Helper()
	f := map[string]any{}
	if err := json.Unmarshal(file, &f); err != nil {
		t.Fatal(err)
	}
	var raw struct{ Fit json.RawMessage }
	if err := json.Unmarshal(file, &raw); err != nil {
		t.Fatal(err)
	}
	var sum, fit bytes.Buffer
	if err := json.Compact(&fit, raw.Fit); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&sum, "candor-map/1\n%s\n%s\n%s\n", method, fit.Bytes(), parameters)
	f["method"], f["fit"], f["parameters"] = method, raw.Fit, json.RawMessage(parameters)
	f["sha256"] = fmt.Sprintf("%x", sha256.Sum256(sum.Bytes()))
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestForecastFiles: parameters that are none are refused.
func TestForecastFiles(t *testing.T) {
	p := sigmaForecasts(10, 1, 1)
	for _, c := range []struct {
		m              recal.Method
		ok             bool
		method, params string
	}{
		{recal.Sigma{}, true, "sigma", `{"scale":2,"relative_error":0.1}`},
		{recal.Sigma{}, true, "sigma", `{"scale":2,"relative_error":null}`},
		{recal.Sigma{}, false, "sigma", `{"scale":0,"relative_error":0.1}`},
		{recal.Sigma{}, false, "sigma", `{"scale":-1,"relative_error":0.1}`},
		{recal.Sigma{}, false, "sigma", `{"scale":1,"relative_error":-1}`},
		{recal.Sigma{}, false, "sigma", `{"scale":1,"other":1}`},
		{recal.Sigma{}, false, "sigma", `{}`},
		{recal.Quantile{}, true, "quantile(levels=0.1 0.9)", `{"levels":[0.1,0.9],"at":[-3,3]}`},
		{recal.Quantile{}, false, "quantile(levels=0.1 0.9)", `{"levels":[0.1,0.8],"at":[-3,3]}`},
		{recal.Quantile{}, false, "quantile(levels=0.1 0.9)", `{"levels":[0.1,0.9],"at":[3,-3]}`},
		{recal.Quantile{}, false, "quantile(levels=0.1 0.9)", `{"levels":[0.1,0.9],"at":[3]}`},
		{recal.Quantile{}, false, "quantile(levels=0.1 0.9)", `{"levels":[0.1,0.9]}`},
		{recal.Quantile{}, false, "quantile(levels=0.1 0.9)", `[]`},
	} {
		file := sigmaFile(t, c.m, recal.InMemory(p), 1)
		m, err := recal.Unmarshal(sigmaAltered(t, []byte(file), c.method, c.params))
		if (err == nil) != c.ok || err != nil && strings.Contains(err.Error(), "sha256") {
			t.Errorf("%s %s: %v, %v", c.method, c.params, m, err)
		}
	}
	// Levels of other forecasts than normal ones are from 0 to 1, and those of classes are none.
	q := quantileOf(p, []float64{0.1, 0.9})
	file := []byte(sigmaFile(t, recal.Quantile{Levels: []float64{0.1, 0.9}}, recal.InMemory(q), 1))
	for params, ok := range map[string]bool{`{"levels":[0.1,0.9],"at":[0,1]}`: true, `{"levels":[0.1,0.9],"at":[-3,3]}`: false} {
		if _, err := recal.Unmarshal(sigmaAltered(t, file, "quantile(levels=0.1 0.9)", params)); (err == nil) != ok {
			t.Errorf("%s: %v", params, err)
		}
	}
	file = bytes.Replace(file, []byte(`"kind": "quantiles"`), []byte(`"kind": "probs"`), 1)
	if _, err := recal.Unmarshal(sigmaAltered(t, file, "quantile(levels=0.1 0.9)", `{"levels":[0.1,0.9],"at":[0,1]}`)); err == nil {
		t.Error("of probabilities")
	}
}
