package predictions_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions"
)

// write writes an array to a file in a folder and returns its path.
func write(dir, name string, shape []int64, data any) string {
	var b bytes.Buffer
	if err := predictions.WriteNPY(&b, shape, data); err != nil {
		panic(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		panic(err)
	}
	return path
}

// Open the scores and the labels, then take chunks of rows until io.EOF.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	// Three rows of two classes.
	probs := write(dir, "probs.npy", []int64{3, 2}, []float32{0.75, 0.25, 0.5, 0.5, 0, 1})
	labels := write(dir, "labels.npy", []int64{3}, []int64{0, 1, 1})

	r, err := predictions.Open([]string{probs}, &predictions.Options{Labels: []string{labels}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	fmt.Println(r.Info().Rows, "rows of", r.Info().Classes, "classes,", r.Info().DType)
	for {
		c, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(c.F32, c.Labels)
		c.Recycle() // the next chunks may use its memory
	}
	// Output:
	// 3 rows of 2 classes, float32
	// [0.75 0.25 0.5 0.5 0 1] [0 1 1]
}

// An Error says what is wrong, where, and what to do.
func ExampleError() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	probs := write(dir, "probs.npy", []int64{3, 2}, []float32{0.75, 0.25, 0.5, 0.5, 0, 1})
	_, err = predictions.Open([]string{probs}, nil)
	var e *predictions.Error
	if errors.As(err, &e) {
		fmt.Println(filepath.Base(e.File))
		fmt.Println(e.Reason)
		fmt.Println(e.Remedy)
	}
	// Output:
	// probs.npy
	// no labels
	// pass a file as Labels, or an .npz with an array named labels
}

func ExampleOpenMembers() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	// Two members, three rows, two classes.
	probs := write(dir, "probs.npy", []int64{2, 3, 2}, []float32{0.75, 0.25, 0.5, 0.5, 0, 1, 0.5, 0.5, 0.25, 0.75, 0.25, 0.75})
	labels := write(dir, "labels.npy", []int64{3}, []int64{0, 1, 1})

	r, err := predictions.OpenMembers([]string{probs}, &predictions.Options{Labels: []string{labels}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	for {
		c, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		for m, s := range c.Each {
			fmt.Println(m, s.F32, c.Labels)
		}
		c.Recycle()
	}
	i := r.Info()
	fmt.Println(i.Members, i.Rows, i.Classes, r.BytesRead() == i.Bytes)
	// Output:
	// 0 [0.75 0.25 0.5 0.5 0 1] [0 1 1]
	// 1 [0.5 0.5 0.25 0.75 0.25 0.75] [0 1 1]
	// 2 3 2 true
}

func ExampleMembersReader_File() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	// Several files are a member each, in natural order.
	b := write(dir, "run10.npy", []int64{3}, []float64{0.5, 0.25, 1})
	a := write(dir, "run2.npy", []int64{3}, []float64{0.5, 0.5, 0.75})
	r, err := predictions.OpenMembers([]string{b, a}, &predictions.Options{NoLabels: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	_, row := r.Locate(2)
	fmt.Println(filepath.Base(r.File(0)), filepath.Base(r.File(1)), row)
	// Output: run2.npy run10.npy 2
}

func ExampleOpen_samples() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	samples := write(dir, "samples.npy", []int64{2, 3}, []float32{18, 20, 25, 7, 7.5, 9})
	observed := write(dir, "obs.npy", []int64{2}, []int32{21, 8})
	r, err := predictions.Open([]string{samples}, &predictions.Options{Kind: metrics.Samples, Observed: []string{observed}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	c, err := r.Next()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.F32, c.Observed)
	c.Recycle()
	// Output: [18 20 25 7 7.5 9] [21 8]
}

func ExampleOpenForecast() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "rain.csv")
	text := "site,day,mm,q0.9,q0.1,q0.5\nnorth,1,4.2,9,0,3\nsouth,1,0,2.5,0,0.5\nnorth,2,NA,12,1,6\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		panic(err)
	}
	r, err := predictions.OpenForecast([]string{path}, &predictions.ForecastOptions{
		Kind: metrics.Quantiles, Prefix: "q", Observed: "mm", Groups: []string{"site"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	c, err := r.Next()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Levels(), c.F64, c.Observed)
	fmt.Println(r.GroupColumns(), c.Groups, r.Group(1))
	c.Recycle()
	// Output:
	// [0.1 0.5 0.9] [0 3 9 0 0.5 2.5 1 6 12] [4.2 0 NaN]
	// [site] [0 1 0] [south]
}

func ExampleForecastReader_Line() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "errors.csv")
	if err := os.WriteFile(path, []byte("error,sd\n0.5,1\n-2,0\n"), 0o600); err != nil {
		panic(err)
	}
	r, err := predictions.OpenForecast([]string{path}, &predictions.ForecastOptions{Kind: metrics.Normals, Error: "error"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	err = metrics.NewPass(nil).AddSource(r)
	var bad *metrics.DataError
	if errors.As(err, &bad) {
		file, _ := r.Locate(bad.Faults[0].Row)
		fmt.Println(filepath.Base(file), "line", r.Line(bad.Faults[0].Row), "of", r.Info().Bytes, "bytes")
	}
	// Output: errors.csv line 3 of 20 bytes
}

func ExampleNPYHeader() {
	head := predictions.NPYHeader([]int64{1000, 2}, metrics.Float64)
	fmt.Println(len(head))
	fmt.Printf("%q\n", bytes.TrimRight(head[10:], " \n"))
	// Output:
	// 128
	// "{'descr': '<f8', 'fortran_order': False, 'shape': (1000, 2), }"
}

func ExampleOpenLabels() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	// Three rows of two independent labels.
	probs := write(dir, "probs.npy", []int64{3, 2}, []float32{0.75, 0.5, 0.25, 0, 1, 0.5})
	labels := write(dir, "labels.npy", []int64{3, 2}, []int64{1, 0, 0, 0, 1, 1})

	r, err := predictions.OpenLabels([]string{probs}, &predictions.Options{Labels: []string{labels}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	for {
		var c *metrics.LabelChunk
		c, err = r.Next()
		if err != nil {
			break
		}
		fmt.Println(c.Rows, c.Classes, c.F32, c.Labels)
		c.Recycle()
	}
	i := r.Info()
	file, row := r.Locate(2)
	fmt.Println(err == io.EOF, i.Shape, r.BytesRead() == i.Bytes, filepath.Base(file), row)
	// Output:
	// 3 2 [0.75 0.5 0.25 0 1 0.5] [1 0 0 0 1 1]
	// true (3, 2) true probs.npy 2
}

func ExampleReader_Group() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	probs := write(dir, "probs.npy", []int64{4}, []float32{0.75, 0.25, 0.5, 0.5})
	labels := write(dir, "labels.npy", []int64{4}, []int64{1, 0, 1, 0})
	years := write(dir, "year.npy", []int64{4}, []int64{2024, 2025, 2024, 2025})

	r, err := predictions.Open([]string{probs}, &predictions.Options{Labels: []string{labels}, Groups: []string{years}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	c, err := r.Next()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.GroupColumns(), c.Groups, r.Group(1))
	c.Recycle()
	// Output:
	// [year] [0 1 0 1] [2025]
}
