package predictions

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
)

const forecastCount = 2500

// Values that all numeric types represent exactly.
func meanAt(i int) float64     { return float64(i%89) - 40 }
func sdAt(i int) float64       { return float64(i%13 + 1) }
func observedAt(i int) float64 { return float64(i%61) - 30 }

// wantNormals checks rows of mean, sd and observed value, or of error and sd.
func wantNormals(t *testing.T, what string, got forecastRows, k int) {
	t.Helper()
	if got.rows != forecastCount || len(got.values) != forecastCount*k {
		t.Fatalf("%s: %d rows, %d values", what, got.rows, len(got.values))
	}
	for i := range got.rows {
		want := []float64{meanAt(i), sdAt(i), observedAt(i)}[:k]
		if !slices.Equal(got.values[i*k:][:k], want) {
			t.Fatalf("%s: row %d is %v, want %v", what, i, got.values[i*k:][:k], want)
		}
	}
}

// columnsOf returns a matrix of columns, by index.
func columnsOf(descr string, fortran bool, n int, columns ...func(int) float64) []byte {
	k := len(columns)
	return npy(1, descr, fortran, []int{n, k}, func(i int) float64 { return columns[i%k](i / k) })
}

func TestNormalMatrix(t *testing.T) {
	none := func(int) float64 { return 77 }
	const n = forecastCount
	for _, size := range []int{0, 100, 1000} {
		if testing.Short() && size == 1000 {
			continue
		}
		for _, fortran := range []bool{false, true} {
			for descr, dtype := range map[string]metrics.DType{"<f2": metrics.Float16, "<f4": metrics.Float32, ">f4": metrics.Float32, "<f8": metrics.Float64} {
				if testing.Short() && fortran == ((int(descr[0]+descr[2])/2+size)%2 == 0) {
					continue
				}
				base := ForecastOptions{Kind: metrics.Normals, BufferBytes: size}
				read := func(what string, o ForecastOptions, k int, dtype metrics.DType, b []byte) {
					t.Helper()
					got, r, err := readForecast([]string{save(t, "x.npy", b)}, &o)
					if err != nil {
						t.Fatal(what, err)
					}
					wantNormals(t, what+descr, got, k)
					if i := r.Info(); i.DType != dtype || i.Rows != n || i.Classes != k || r.BytesRead() != i.Bytes {
						t.Errorf("%s: %+v, %d bytes read", what, i, r.BytesRead())
					}
					if r.Line(3) != -1 || r.Levels() != nil {
						t.Error("an array has lines, or levels")
					}
				}
				read("three", base, 3, dtype, columnsOf(descr, fortran, n, meanAt, sdAt, observedAt))
				read("two", base, 2, dtype, columnsOf(descr, fortran, n, meanAt, sdAt))

				wide := max(dtype, metrics.Float32)
				if dtype == metrics.Float16 {
					wide = metrics.Float32
				}
				if dtype == metrics.Float64 {
					wide = metrics.Float64
				}
				o := base
				o.SD, o.Mean, o.Observed = "0", "4", "2"
				read("picked", o, 3, wide, columnsOf(descr, fortran, n, sdAt, none, observedAt, none, meanAt))
				o = base
				o.Error, o.SD = "1", "0"
				read("turned", o, 2, wide, columnsOf(descr, fortran, n, sdAt, meanAt))
				for observed, narrow := range map[string]bool{"<f4": true, ">f2": true, "<f8": false, "<i2": false} {
					o = base
					o.Observations = []string{save(t, "o.npy", npy(1, observed, false, []int{n}, observedAt))}
					d := metrics.Float64
					if narrow && wide == metrics.Float32 {
						d = metrics.Float32
					}
					read("with observations", o, 3, d, columnsOf(descr, fortran, n, meanAt, sdAt))
					o.Mean, o.SD = "2", "0"
					read("picked with observations", o, 3, d, columnsOf(descr, fortran, n, sdAt, none, meanAt))
				}
			}
		}
	}
}

func TestNormalVectors(t *testing.T) {
	const n = forecastCount
	vector := func(descr string, f func(int) float64) []byte { return npy(1, descr, false, []int{n}, f) }
	for i, types := range [][3]string{{"<f4", "<f2", ">f4"}, {"<f8", "<f4", "<f4"}, {"<f4", "<f4", "<i4"}, {">f8", "<f8", "<i8"}} {
		m, s, y := vector(types[0], meanAt), vector(types[1], sdAt), vector(types[2], observedAt)
		w := vector("<f4", func(i int) float64 { return float64(1 + i%3) })
		dtype := metrics.Float64
		if types[0] == "<f4" && types[2] == ">f4" {
			dtype = metrics.Float32
		}
		for j, size := range []int{0, 1, 5000} {
			if testing.Short() && j != i%3 {
				continue
			}
			o := ForecastOptions{Kind: metrics.Normals, BufferBytes: size, Mean: save(t, "m.npy", m), SD: save(t, "s.npy", s), Observed: save(t, "y.npy", y),
				Weights: []string{save(t, "w.npy", w)}}
			check := func(what string, paths []string, o ForecastOptions, k, parts int) {
				t.Helper()
				got, r, err := readForecast(paths, &o)
				if err != nil {
					t.Fatal(what, err)
				}
				wantNormals(t, what, got, k)
				if i := r.Info(); k == 3 && i.DType != dtype || i.Shape != fmt.Sprintf("(%d, %d)", n, k) || r.BytesRead() != i.Bytes {
					t.Errorf("%s: %+v, %d bytes read", what, i, r.BytesRead())
				}
				for i, w := range got.weights {
					if w != float64(1+i%3) {
						t.Fatalf("%s: weight %d is %v", what, i, w)
					}
				}
				if file, at := r.Locate(n - 1); file == "" || at != n/int64(parts)-1 && parts == 1 {
					t.Error(what, file, at)
				}
			}
			check("files", nil, o, 3, 1)
			o.Observations, o.Observed = []string{o.Observed}, ""
			check("files and observations", nil, o, 3, 1)
			o = ForecastOptions{Kind: metrics.Normals, BufferBytes: size, Error: o.Mean, SD: o.SD}
			check("errors", nil, o, 2, 1)

			o = ForecastOptions{Kind: metrics.Normals, BufferBytes: size}
			whole := save(t, "x.npz", npz(size == 0, entry{"mu.npy", m}, entry{"sigma.npy", s}, entry{"y_true.npy", y}, entry{"weights.npy", w}))
			check("npz", []string{whole}, o, 3, 1)
			named := save(t, "x.npz", npz(size == 0, entry{"a.npy", m}, entry{"b.npy", s}, entry{"c.npy", y}, entry{"mean.npy", w}))
			o.Mean, o.SD, o.Observed = "a", "b", "c"
			check("named", []string{named}, o, 3, 1)
			o = ForecastOptions{Kind: metrics.Normals, BufferBytes: size, Error: "a", SD: "b"}
			check("named errors", []string{named}, o, 2, 1)
			o = ForecastOptions{Kind: metrics.Normals, BufferBytes: size}
			matrix := save(t, "x.npz", npz(true, entry{"normals.npy", columnsOf(types[0], false, n, meanAt, sdAt, observedAt)}, entry{"x.npy", w}))
			got, _, err := readForecast([]string{matrix}, &o)
			if err != nil {
				t.Fatal(err)
			}
			wantNormals(t, "matrix in an npz", got, 3)

			var shards []string
			dir := t.TempDir()
			at := 0
			for j, rows := range []int{1000, 0, 1500} {
				part := func(f func(int) float64) []byte {
					from := at
					return npy(1, "<f8", false, []int{rows}, func(i int) float64 { return f(from + i) })
				}
				b := npz(false, entry{"mean.npy", part(meanAt)}, entry{"sd.npy", part(sdAt)}, entry{"observed.npy", part(observedAt)})
				name := fmt.Sprintf("%s/%d.npz", dir, 9+j)
				if err := os.WriteFile(name, b, 0o600); err != nil {
					t.Fatal(err)
				}
				shards, at = append(shards, name), at+rows
			}
			slices.Reverse(shards)
			got, r, err := readForecast(shards, &o)
			if err != nil {
				t.Fatal(err)
			}
			wantNormals(t, "shards", got, 3)
			if file, at := r.Locate(1007); file != dir+"/11.npz:mean" || at != 7 {
				t.Error(file, at)
			}
		}
	}
}

func TestQuantileMatrix(t *testing.T) {
	const n = 700
	x := npy(1, "<f2", false, []int{n, 3}, func(i int) float64 { return float64(i % 1000) })
	obs := save(t, "o.npy", npy(1, "<i8", false, []int{n}, observedAt))
	for _, levels := range [][]float64{{0.1, 0.5, 0.9}, {0.9, 0.1, 0.5}} {
		for _, size := range []int{0, 100} {
			got, r, err := readForecast([]string{save(t, "q.npy", x)}, &ForecastOptions{Kind: metrics.Quantiles, Levels: levels, Observations: []string{obs}, BufferBytes: size})
			if err != nil {
				t.Fatal(err)
			}
			wantValues(t, "levels", r.Levels(), 0.1, 0.5, 0.9)
			for i := range n {
				want := []float64{float64(3 * i % 1000), float64((3*i + 1) % 1000), float64((3*i + 2) % 1000)}
				if levels[0] == 0.9 {
					want = []float64{want[1], want[2], want[0]}
				}
				if !slices.Equal(got.values[3*i:][:3], want) || got.observed[i] != observedAt(i) {
					t.Fatalf("row %d is %v, %v, want %v", i, got.values[3*i:][:3], got.observed[i], want)
				}
			}
		}
	}
	both := save(t, "q.npz", npz(true, entry{"quantiles.npy", x}, entry{"observed.npy", npy(1, "<f4", false, []int{n}, observedAt)}))
	got, _, err := readAll([]string{both}, &Options{Kind: metrics.Quantiles})
	if err != nil || len(got.observed) != n || len(got.scores) != 3*n {
		t.Error(len(got.observed), err)
	}
	samples, _, err := readForecast([]string{save(t, "s.npy", x)}, &ForecastOptions{Kind: metrics.Samples, Observations: []string{obs}})
	if err != nil || samples.rows != n {
		t.Error(samples.rows, err)
	}
}

func TestArrayGroups(t *testing.T) {
	const n = forecastCount
	rows := save(t, "x.npy", columnsOf("<f4", false, n, meanAt, sdAt, observedAt))
	text := func(descr string, size int, put func(cell []byte, s string)) []byte {
		b := npyHead(1, fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d,)}", descr, n))
		for i := range n {
			cell := make([]byte, size)
			put(cell, []string{"north", "süd", "", "ost"}[i/3%4])
			b = append(b, cell...)
		}
		return b
	}
	runes := func(bo binary.ByteOrder) func([]byte, string) {
		return func(cell []byte, s string) {
			for i, r := range []rune(s) {
				bo.PutUint32(cell[4*i:], uint32(r))
			}
		}
	}
	texts := func(i int) string { return []string{"north", "süd", "", "ost"}[i/3%4] }
	numbers := func(i int) float64 { return float64(i/2%7) - 3 }
	for name, c := range map[string]struct {
		file []byte
		want func(i int) string
	}{
		"U":   {text("<U5", 20, runes(binary.LittleEndian)), texts},
		">U":  {text(">U5", 20, runes(binary.BigEndian)), texts},
		"U2":  {text(">U2", 8, func(cell []byte, s string) { runes(binary.BigEndian)(cell, string([]rune(s)[:min(2, len([]rune(s)))])) }), func(i int) string { return []string{"no", "sü", "", "os"}[i/3%4] }},
		"S":   {text("|S6", 6, func(cell []byte, s string) { copy(cell, s) }), texts},
		"i1":  {npy(1, "|i1", false, []int{n}, numbers), func(i int) string { return fmt.Sprint(numbers(i)) }},
		">i2": {npy(1, ">i2", false, []int{n, 1}, numbers), func(i int) string { return fmt.Sprint(numbers(i)) }},
		"i4":  {npy(1, "<i4", false, []int{n}, numbers), func(i int) string { return fmt.Sprint(numbers(i)) }},
		">i8": {npy(1, ">i8", false, []int{n}, numbers), func(i int) string { return fmt.Sprint(numbers(i)) }},
		"u2":  {npy(1, "<u2", false, []int{n}, func(i int) float64 { return 65535 - float64(i%5) }), func(i int) string { return fmt.Sprint(65535 - i%5) }},
		"b1":  {npy(1, "|b1", false, []int{n}, func(i int) float64 { return float64(i & 1) }), func(i int) string { return fmt.Sprint(i&1 == 1) }},
	} {
		for _, size := range []int{0, 500} {
			second := npy(1, "<i4", false, []int{n}, func(i int) float64 { return float64(i % 2) })
			o := &ForecastOptions{Kind: metrics.Normals, BufferBytes: size, Groups: []string{save(t, "g.npy", c.file), save(t, "h.npy", second)}}
			got, r, err := readForecast([]string{rows}, o)
			if err != nil {
				t.Fatal(name, err)
			}
			wantNormals(t, name, got, 3)
			seen := int32(-1)
			for i, g := range got.groups {
				if v := r.Group(g); !slices.Equal(v, []string{c.want(i), fmt.Sprint(i % 2)}) {
					t.Fatalf("%s: row %d is of group %d %q, want %q", name, i, g, v, c.want(i))
				}
				if g > seen+1 {
					t.Fatalf("%s: group %d after %d", name, g, seen)
				}
				seen = max(seen, g)
			}
		}
	}
}

func TestForecastArrayErrors(t *testing.T) {
	matrix := func(n, k int, descr string) string { return save(t, "x.npy", npy(1, descr, false, []int{n, k}, score)) }
	vector := func(name string, n int, descr string) string {
		return save(t, name+".npy", npy(1, descr, false, []int{n}, score))
	}
	eight := vector("eight", 8, "<f8")
	nine := vector("nine", 9, "<f8")
	whole := save(t, "n.npz", npz(true, entry{"mean.npy", npy(1, "<f8", false, []int{9}, score)}, entry{"std.npy", npy(1, "<f8", false, []int{9}, score)}))
	many := save(t, "many.npy", npy(1, "<i4", false, []int{100_001}, func(i int) float64 { return float64(i) }))
	type options = ForecastOptions
	const normals, quantiles = metrics.Normals, metrics.Quantiles
	one := func(path string) []string { return []string{path} }
	for _, c := range []struct {
		name    string
		paths   []string
		options options
		want    string
	}{
		{"vector", one(nine), options{Kind: normals}, "nine.npy: normal forecasts have 1 axis, shape (9,); normal forecasts are a matrix (N, 3) of mean, standard deviation and observed value, or (N, 2)"},
		{"cube", one(save(t, "x.npy", npy(1, "<f8", false, []int{2, 3, 4}, score))), options{Kind: normals}, "normal forecasts have 3 axes"},
		{"four columns", one(matrix(9, 4, "<f4")), options{Kind: normals}, "x.npy: normal forecasts have 4 columns, shape (9, 4)"},
		{"one column", one(matrix(9, 1, "<f4")), options{Kind: normals}, "normal forecasts have 1 columns"},
		{"four columns and observations", one(matrix(9, 4, "<f4")), options{Kind: normals, Observations: one(nine)}, "normal forecasts have shape (9, 4); with observed values in a file (Observations) save (N, 2)"},
		{"observed twice", one(matrix(9, 3, "<f4")), options{Kind: normals, Observations: one(nine), Mean: "0", SD: "1", Observed: "2"}, `observed values are in a column, "2", and in a file`},
		{"names", one(matrix(9, 3, "<f4")), options{Kind: normals, Mean: "mu"}, `the columns of an .npy matrix have no names, such as "mu" for the mean; number them from 0`},
		{"no such column", one(matrix(9, 3, "<f4")), options{Kind: normals, SD: "3"}, "no column 3 for the standard deviation: it has 3"},
		{"column twice", one(matrix(9, 3, "<f4")), options{Kind: normals, SD: "2"}, "column 2 is the standard deviation and the observed value"},
		{"two and a mean", one(matrix(9, 2, "<f4")), options{Kind: normals, Mean: "0"}, "two columns are an error and a standard deviation, or a mean"},
		{"error and observations", one(matrix(9, 2, "<f4")), options{Kind: normals, Error: "0", SD: "1", Observations: one(nine)}, "errors are observed values minus means, and have none beside them"},
		{"integers", one(matrix(9, 3, "<i4")), options{Kind: normals}, "normal forecasts are int32: floating-point numbers are read"},
		{"other length", one(matrix(9, 2, "<f4")), options{Kind: normals, Observations: one(eight)}, "eight.npy: 8 observations for the 9 rows of "},
		{"no rows", one(matrix(0, 3, "<f4")), options{Kind: normals}, "no rows: its shape is (0, 3)"},
		{"weight", one(matrix(9, 3, "<f4")), options{Kind: normals, Weight: "w"}, `a column of weights, "w", is for tables; name a file of weights as Weights`},
		{"no levels", one(matrix(9, 3, "<f4")), options{Kind: quantiles, Observations: one(nine)}, "an .npy matrix has no names, so the levels of its quantiles are not known; name them, one for each column, as Levels"},
		{"prefix", one(matrix(9, 3, "<f4")), options{Kind: quantiles, Prefix: "q"}, "a prefix of names of columns is for tables"},
		{"column observed", one(matrix(9, 3, "<f4")), options{Kind: quantiles, Levels: []float64{.1, .2, .3}, Observed: "y"}, `a column of observed values, "y", is for tables`},
		{"other levels", one(matrix(9, 3, "<f4")), options{Kind: quantiles, Levels: []float64{.1, .2}, Observations: one(nine)}, "x.npy: 2 levels for 3 columns, shape (9, 3); name a level for each column"},
		{"no observations", one(matrix(9, 3, "<f4")), options{Kind: quantiles, Levels: []float64{.1, .2, .3}}, "no observations; pass Observations obs.npy, the numbers that the quantiles forecast"},
		{"nothing", nil, options{Kind: normals}, "no forecasts; name a table"},
		{"no sd", nil, options{Kind: normals, Mean: nine, Observed: nine}, "no file of standard deviations; name a file for each of"},
		{"no mean", nil, options{Kind: normals, SD: nine}, "no file of means"},
		{"no observed", nil, options{Kind: normals, Mean: nine, SD: nine}, "no file of observed values; name their file as Observed"},
		{"two of observed", nil, options{Kind: normals, Mean: nine, SD: nine, Observed: eight, Observations: one(nine)}, "eight.npy, and in "},
		{"vectors of two lengths", nil, options{Kind: normals, Mean: nine, SD: eight, Observed: nine}, "eight.npy: 8 standard deviations for the 9 rows of "},
		{"matrix for a vector", nil, options{Kind: normals, Mean: matrix(9, 3, "<f4"), SD: nine, Observed: nine}, "means have shape (9, 3): a vector (N,) is read"},
		{"no file", nil, options{Kind: normals, Mean: "none.npy", SD: nine, Observed: nine}, "none.npy: no such file"},
		{"npz without observed", one(whole), options{Kind: normals}, "n.npz: no array of observed values; it has mean float64 (9,), std float64 (9,); name the array, as Observed obs, or a file, as Observations obs.npy"},
		{"npz without the name", one(whole), options{Kind: normals, SD: "s"}, `n.npz: no array "s" of standard deviations; it has mean`},
		{"groups of floats", one(matrix(9, 3, "<f4")), options{Kind: normals, Groups: one(nine)}, `nine.npy: groups are float64; save whole numbers or text`},
		{"groups of other length", one(matrix(9, 3, "<f4")), options{Kind: normals, Groups: one(vector("g", 8, "<i4"))}, `g.npy: 8 groups for the 9 rows of normal forecasts`},
		{"groups of a matrix", one(matrix(9, 3, "<f4")), options{Kind: normals, Groups: one(matrix(9, 2, "<i4"))}, `groups have shape (9, 2): a vector (N,) is read`},
		{"groups by name", one(matrix(9, 3, "<f4")), options{Kind: normals, Groups: one("site")}, `site: no such file`},
		{"many groups", one(matrix(100_001, 3, "<f4")), options{Kind: normals, Groups: one(many), BufferBytes: 300}, `x.npy: row 100000: more than 100,000 groups: column "many" has 100,001 values so far`},
		{"table as array", one(save(t, "x.dat", []byte(threeRows))), options{Kind: normals}, `x.dat: not an .npy or .npz file: it looks like text (CSV?); name it .csv, .tsv or .txt to have it read as a table`},
	} {
		_, _, err := readForecast(c.paths, &c.options)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "\\\\", "\\"), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	for _, c := range []struct {
		options Options
		want    string
	}{
		{Options{Kind: normals, Labels: one(nine)}, "normal forecasts have observed values in their rows, not labels"},
		{Options{Kind: normals, Observed: one(nine)}, "not beside them; read them by OpenForecast"},
		{Options{Kind: normals, Decisions: one(nine)}, "normal forecasts have no classes to decide for"},
		{Options{Kind: quantiles, Labels: one(nine)}, "quantiles are compared with observed values, not with labels"},
		{Options{Kind: quantiles, NoLabels: true}, "quantiles cannot be evaluated without observed values"},
	} {
		_, _, err := readAll(one(matrix(9, 3, "<f4")), &c.options)
		wantError(t, err, c.want)
	}
	if _, _, err := readAll(one(matrix(9, 3, "<f4")), &Options{Kind: normals}); err != nil {
		t.Error(err)
	}
}
