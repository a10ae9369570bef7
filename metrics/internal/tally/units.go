package tally

// AddUnits adds finite or infinite values that carry the user's unit, so that no window is known to hold them: neither
// they nor their squares, or with weights the products, are rounded but to float64.
func (m *Mean) AddUnits(v, weights []float64) {
	for i, x := range v {
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		if x-x == 0 {
			if p := float64(w * x); p-p == 0 {
				m.S1.AddExact(p)
			} else {
				addLarge(&m.S1, w, x)
			}
		}
		if q := float64(float64(w*x) * x); q-q == 0 {
			m.S2.AddExact(q)
		} else {
			m.Over++
		}
	}
}
