package predictions

import (
	"fmt"
	"io"
	"testing"

	"github.com/candor-go/candor/metrics"
)

// tag is the label at C-order index i of every test matrix.
func tag(i int) float64 { return float64(i * 7 % 5 & 1) }

// readLabels opens and drains, and checks every score and label of a matrix of k columns.
func readLabels(paths []string, o *Options, k int, value func(i int) float64) (rows int, err error) {
	r, err := OpenLabels(paths, o)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	for {
		c, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return rows, err
		}
		if c.First != int64(rows) || c.Classes != k || len(c.Labels) != c.Rows*k || c.Stride != 0 || c.LabelStride != 0 {
			return rows, fmt.Errorf("chunk of %d x %d, %d labels, at row %d", c.Rows, c.Classes, len(c.Labels), c.First)
		}
		for i, v := range widen(&c.Scores) {
			if at := rows*k + i; v != score(at) || float64(c.Labels[i]) != value(at) {
				return rows, fmt.Errorf("row %d, column %d: %v and %d, want %v and %v", at/k, at%k, v, c.Labels[i], score(at), value(at))
			}
		}
		for i, w := range c.Weights {
			if w != float64(rows+i) {
				return rows, fmt.Errorf("weight %d is %v", rows+i, w)
			}
		}
		rows += c.Rows
		c.Recycle()
		c.Recycle()
	}
	i := r.Info()
	if r.BytesRead() != i.Bytes || int64(rows) != i.Rows || i.Classes != k {
		return rows, fmt.Errorf("%d rows, %d bytes of %+v", rows, r.BytesRead(), i)
	}
	return rows, r.Close()
}

func TestLabelMatrices(t *testing.T) {
	const n = 700
	for _, descr := range []string{"|b1", "|i1", "|u1", "<i2", ">u2", "<i4", ">i4", "<u4", "<i8", ">u8"} {
		for i, k := range []int{1, 3, 40} {
			if testing.Short() && i != int(descr[2])%3 {
				continue
			}
			for _, fortran := range []bool{false, true} {
				x, y := npy(1, "<f4", false, []int{n, k}, score), npy(1, descr, fortran, []int{n, k}, tag)
				w := npy(1, "<f8", false, []int{n}, func(i int) float64 { return float64(i) })
				if fortran {
					x = npy(1, ">f2", k == 3, []int{n, k}, score)
				}
				o := Options{Labels: []string{save(t, "y.npy", y)}, Weights: []string{save(t, "w.npy", w)}, BufferBytes: 5000}
				if got, err := readLabels([]string{save(t, "x.npy", x)}, &o, k, tag); got != n || err != nil {
					t.Errorf("%s, %d labels, %v: %d rows: %v", descr, k, fortran, got, err)
				}
				for _, deflated := range []bool{false, true} {
					box := save(t, "x.npz", npz(deflated, entry{"probs.npy", x}, entry{"labels.npy", y}, entry{"weights.npy", w}))
					if got, err := readLabels([]string{box}, &Options{}, k, tag); got != n || err != nil {
						t.Errorf("%s, %d labels, %v, in an .npz: %d rows: %v", descr, k, fortran, got, err)
					}
				}
			}
		}
	}
	// A single label, as vectors.
	x, y := save(t, "x.npy", npy(1, "<f4", false, []int{n}, score)), save(t, "y.npy", npy(1, "|b1", false, []int{n}, tag))
	if got, err := readLabels([]string{x}, &Options{Labels: []string{y}}, 1, tag); got != n || err != nil {
		t.Error(got, err)
	}
}

func TestLabelMatricesOfShards(t *testing.T) {
	const k = 7
	var scores, each []string
	at := 0
	for i, n := range []int{100, 0, 3, 900} {
		from := at * k
		scores = append(scores, save(t, fmt.Sprintf("x%d.npy", i), npy(1, "<f4", i == 3, []int{n, k}, func(i int) float64 { return score(from + i) })))
		each = append(each, save(t, fmt.Sprintf("y%d.npy", i), npy(1, "<i4", i == 0, []int{n, k}, func(i int) float64 { return tag(from + i) })))
		at += n
	}
	one := save(t, "y.npy", npy(1, "|u1", true, []int{at, k}, tag))
	for _, labels := range [][]string{each, {one}} {
		if got, err := readLabels(scores, &Options{Labels: labels, BufferBytes: 700}, k, tag); got != at || err != nil {
			t.Errorf("%d rows: %v", got, err)
		}
	}
	r, err := OpenLabels(scores, &Options{Labels: each})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if file, row := r.Locate(104); file != scores[3] || row != 1 {
		t.Error(file, row)
	}
}

func TestLabelMatrixErrors(t *testing.T) {
	x := save(t, "x.npy", npy(1, "<f4", false, []int{6, 4}, score))
	y := func(descr string, value func(int) float64, shape ...int) string {
		return save(t, "y.npy", npy(1, descr, false, shape, value))
	}
	for _, c := range []struct {
		o    Options
		want []string
	}{
		{Options{Labels: []string{y("|i1", tag, 6, 3)}}, []string{"labels have shape (6, 3)", "x.npy (6, 4)", "a 0 or 1 for each label"}},
		{Options{Labels: []string{y("|i1", tag, 6)}}, []string{"labels have shape (6,)"}},
		{Options{Labels: []string{y("|i1", tag, 5, 4)}}, []string{"5 labels for the 6 rows"}},
		{Options{Labels: []string{y("<f4", tag, 6, 3)}}, []string{"labels have shape (6, 3)"}},
		{Options{}, []string{"no labels"}},
		{Options{Labels: []string{y("|i1", tag, 6, 4)}, Kind: metrics.Dirichlet}, []string{"cannot be dirichlet"}},
		{Options{Labels: []string{y("|i1", tag, 6, 4)}, Decisions: []string{x}}, []string{"Decisions"}},
		{Options{NoLabels: true}, []string{"cannot be evaluated without"}},
	} {
		_, err := OpenLabels([]string{x}, &c.o)
		wantError(t, err, c.want...)
	}
	big := func(i int) float64 {
		if i == 9 {
			return 1 << 40
		}
		return 0
	}
	for _, fortran := range []bool{false, true} {
		o := &Options{Labels: []string{save(t, "y.npy", npy(1, "<i8", fortran, []int{6, 4}, big))}}
		_, err := readLabels([]string{x}, o, 4, big)
		if e := wantError(t, err, "does not fit in int32"); e.Row != 2 || e.Column != 1 {
			t.Errorf("%+v", e)
		}
	}
	short := npy(1, "|i1", false, []int{6, 4}, tag)
	_, err := OpenLabels([]string{x}, &Options{Labels: []string{save(t, "y.npy", short[:len(short)-1])}})
	wantError(t, err, "truncated")
	if _, err := OpenLabels(nil, nil); err == nil {
		t.Error("no files are read")
	}
}
