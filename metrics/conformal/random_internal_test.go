package conformal

// What only a test needs: random numbers of another program.

// WithRandom returns a map with another threshold, whose sets use these random numbers, one for each row.
func WithRandom(m *Map, threshold float64, u []float64) *Map {
	c := *m
	c.parts = []Part{{Rows: m.rows, Threshold: threshold}}
	c.draw = func(row int64) float64 { return u[row] }
	return &c
}

// ThresholdWith returns the threshold of rows with these random numbers.
func ThresholdWith(m Method, p []float64, y []int32, width int, coverage float64, u []float64) float64 {
	s := rowScorer{m: &m}
	var l []float64
	for i, label := range y {
		l = append(l, s.class(p[i*width:][:width], int(label), u[i]))
	}
	return threshold(l, coverage)
}
