package predictions

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// TestSDFactor: scale parameters of tables and arrays become standard deviations, and invalid ones stay unchanged.
func TestSDFactor(t *testing.T) {
	dir := t.TempDir()
	table := filepath.Join(dir, "f.csv")
	if err := os.WriteFile(table, []byte("mean,b,observed\n1,0.5,2\n3,-4,5\n6,NA,7\n8,0,9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	nan := math.NaN()
	for _, c := range []struct {
		o    ForecastOptions
		want []float64
	}{
		{ForecastOptions{Kind: metrics.Normals, SD: "b", SDFactor: math.Sqrt2}, []float64{1, 0.5 * math.Sqrt2, 2, 3, -4, 5, 6, nan, 7, 8, 0, 9}},
		{ForecastOptions{Kind: metrics.Normals, SD: "b"}, []float64{1, 0.5, 2, 3, -4, 5, 6, nan, 7, 8, 0, 9}},
		{ForecastOptions{Kind: metrics.Normals, SD: "b", Error: "mean", SDFactor: 3}, []float64{1, 1.5, 3, -4, 6, nan, 8, 0}},
	} {
		r, err := OpenForecast([]string{table}, &c.o)
		if err != nil {
			t.Fatal(err)
		}
		chunk, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if got := chunk.F64; !slices.EqualFunc(got, c.want, func(a, b float64) bool { return a == b || a != a && b != b }) {
			t.Errorf("%+v: %v, want %v", c.o, got, c.want)
		}
		r.Close()
	}
	// Arrays of half precision become float32.
	for _, c := range []struct {
		descr string
		data  []byte
		dtype metrics.DType
		want  []float64
	}{
		{"<f8", binaryOf([]float64{1, 0.5, 2, 3, 0.25, 4}), metrics.Float64, []float64{1, 1.5, 2, 3, 0.75, 4}},
		{"<f4", binaryOf([]float32{1, 0.5, 2, 3, 0.25, 4}), metrics.Float32, []float64{1, 1.5, 2, 3, 0.75, 4}},
		{"<f2", binaryOf([]uint16{0x3c00, 0x3800, 0x4000, 0x4200, 0x3400, 0x4400}), metrics.Float32, []float64{1, 1.5, 2, 3, 0.75, 4}},
	} {
		header := "{'descr': '" + c.descr + "', 'fortran_order': False, 'shape': (2, 3), }"
		header += strings.Repeat(" ", 117-len(header)) + "\n"
		path := filepath.Join(dir, "f.npy")
		if err := os.WriteFile(path, append([]byte("\x93NUMPY\x01\x00\x76\x00"+header), c.data...), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := OpenForecast([]string{path}, &ForecastOptions{Kind: metrics.Normals, SDFactor: 3})
		if err != nil {
			t.Fatal(err)
		}
		chunk, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if got := widen(&chunk.Scores); !slices.Equal(got, c.want) || chunk.DType() != c.dtype || r.Info().DType != c.dtype {
			t.Errorf("%s: %v %v, want %v %v", c.descr, chunk.DType(), got, c.dtype, c.want)
		}
		r.Close()
	}
	if _, err := OpenForecast([]string{table}, &ForecastOptions{Kind: metrics.Samples, SDFactor: 2}); err == nil || !strings.Contains(err.Error(), "standard deviations") {
		t.Error(err)
	}
	if _, err := OpenForecast([]string{table}, &ForecastOptions{Kind: metrics.Normals, SDFactor: math.Inf(1)}); err == nil || !strings.Contains(err.Error(), "the factor of scale parameters is +Inf") {
		t.Error(err)
	}
}

// binaryOf returns numbers as in the data of an .npy.
func binaryOf(v any) []byte {
	b, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic(err)
	}
	return b
}
