package fuzz

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// addMaps adds the files of maps of all methods, taken to pieces.
func addMaps(f *testing.F) {
	event := &metrics.Predictions{Scores: metrics.Scores{Classes: 1}}
	three := &metrics.Predictions{Scores: metrics.Scores{Classes: 3}, Kind: metrics.Logits}
	normal := &metrics.Predictions{Scores: metrics.Scores{Classes: 3}, Kind: metrics.Normals}
	quantiles := &metrics.Predictions{Scores: metrics.Scores{Classes: 3}, Kind: metrics.Quantiles}
	for i := range 24 {
		x, y := float64(i)/24, i%7%3
		event.F64, event.Labels = append(event.F64, x), append(event.Labels, int32(i*i%5%2))
		three.F64, three.Labels = append(three.F64, x, 1-x, math.Sin(float64(i))), append(three.Labels, int32(y))
		normal.F64 = append(normal.F64, x, 1+x, math.Cos(float64(i)))
		quantiles.F64, quantiles.Observed = append(quantiles.F64, x, x+1, x+2), append(quantiles.Observed, 3*x)
	}
	for _, name := range append(recal.Names(), "bbq(as_coded)", "histogram(empty=identity)", "isotonic(interpolate)", "temperature(") {
		m, err := recal.Parse(name)
		if err != nil {
			f.Add(name, []byte("{}"), []byte("{}"))
			continue
		}
		for _, p := range []*metrics.Predictions{event, three, normal, quantiles} {
			p.Rows = len(p.F64) / p.Classes
			fitted, err := m.Fit(recal.InMemory(p), nil)
			if err != nil {
				continue
			}
			b, err := recal.Marshal(fitted)
			if err != nil {
				f.Fatal(err)
			}
			var file struct{ Fit, Parameters json.RawMessage }
			if err := json.Unmarshal(b, &file); err != nil {
				f.Fatal(err)
			}
			var fit, parameters bytes.Buffer
			json.Compact(&fit, file.Fit)
			json.Compact(&parameters, file.Parameters)
			f.Add(name, fit.Bytes(), parameters.Bytes())
		}
	}
}

// mapFile returns the file of a map with the sum that the documentation says, nil if the parts are no JSON.
func mapFile(method string, fit, parameters []byte) []byte {
	var sum bytes.Buffer
	fmt.Fprintf(&sum, "candor-map/1\n%s\n", method)
	for _, part := range [][]byte{fit, parameters} {
		if json.Compact(&sum, part) != nil {
			return nil
		}
		sum.WriteByte('\n')
	}
	s := sha256.Sum256(sum.Bytes())
	b, err := json.Marshal(map[string]any{"schema": "candor-map/1", "method": method, "fit": json.RawMessage(fit),
		"parameters": json.RawMessage(parameters), "sha256": hex.EncodeToString(s[:])})
	if err != nil {
		return nil
	}
	return b
}

// FuzzUnmarshal reads files of maps, whole ones as they come and ones made of parts, with a sum that suits them: what is read is
// written as a file that reads the same, and is applied without a panic, to rows of any numbers, one by one as all together.
func FuzzUnmarshal(f *testing.F) {
	addMaps(f)
	f.Fuzz(func(t *testing.T, method string, fit, parameters []byte) {
		if len(method) > 1000 || len(fit) > 1000 || len(parameters) > 20000 {
			return
		}
		recal.Unmarshal(parameters)
		file := mapFile(method, fit, parameters)
		m, err := recal.Unmarshal(file)
		if err != nil {
			return
		}
		b, err := recal.Marshal(m)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v\n%s", err, file)
		}
		again, err := recal.Unmarshal(b)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, b)
		}
		if second, err := recal.Marshal(again); err != nil || !bytes.Equal(second, b) {
			t.Fatalf("a second time it is written otherwise: %v\n%s\n%s", err, b, second)
		}
		classes := m.Fit().Classes
		if m.Method() != again.Method() || m.Fit() != again.Fit() || classes > 100 {
			return
		}
		for k := metrics.Kind(0); k.Valid(); k++ {
			if _, width, err := m.Out(k, classes); err == nil && width <= 1000 {
				applyBoth(t, m, again, k, classes, width)
			}
		}
	})
}

func applyBoth(t *testing.T, m, again recal.Map, k metrics.Kind, classes, width int) {
	src := metrics.Scores{Classes: classes, Rows: 9}
	numbers := []float64{0, 1, 0.5, math.Inf(-1), -3, 1e308, 0x1p-1074, math.NaN(), 0.25, -1e308, math.Inf(1), 0x1p-54}
	for i := range src.Rows * classes {
		src.F64 = append(src.F64, numbers[(i+i/len(numbers))%len(numbers)])
	}
	dst := metrics.Scores{F64: make([]float64, src.Rows*width), Rows: src.Rows, Classes: width}
	m.Apply(&dst, &src, k)
	for i := range src.Rows {
		from := metrics.Scores{F64: src.F64[i*classes:][:classes], Rows: 1, Classes: classes}
		to := metrics.Scores{F64: make([]float64, width), Rows: 1, Classes: width}
		again.Apply(&to, &from, k)
		for j, v := range to.F64 {
			if w := dst.F64[i*width+j]; v != w && (v == v || w == w) {
				t.Fatalf("%s: row %d %v becomes %v, and alone %v", m.Method(), i, from.F64, dst.F64[i*width:][:width], to.F64)
			}
		}
	}
}
