package metrics

import "gonum.org/v1/gonum/mat"

// FromMatrix returns the rows of m as Scores. If m is a mat.RawMatrixer, such as *mat.Dense, the Scores share its memory and
// stride; otherwise the elements are copied. A matrix with one column is a binary task (see Scores).
func FromMatrix(m mat.Matrix) Scores {
	rows, classes := m.Dims()
	if r, ok := m.(mat.RawMatrixer); ok {
		raw := r.RawMatrix()
		return Scores{F64: raw.Data, Rows: rows, Classes: classes, Stride: raw.Stride}
	}
	data := make([]float64, rows*classes)
	for i := range rows {
		for j := range classes {
			data[i*classes+j] = m.At(i, j)
		}
	}
	return Scores{F64: data, Rows: rows, Classes: classes, Stride: classes}
}
