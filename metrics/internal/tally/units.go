package tally

// AddUnits adds finite or infinite values that carry the user's unit, so that no window is known to hold them: neither
// they nor their squares, or with weights the products, are rounded but to float64.
func (m *Mean) AddUnits(v, weights []float64) {
	if len(v) == 1 {
		var first, second [1]float64
		m.addUnits(v, weights, first[:], second[:])
		return
	}
	var first, second [512]float64
	m.addUnits(v, weights, first[:], second[:])
}

// addUnits does so by as many values at a time as there is room.
func (m *Mean) addUnits(v, weights, first, second []float64) {
	for len(v) > 0 {
		n := min(len(v), len(first))
		p, q := first[:n], second[:n]
		bad := 0.0
		if weights == nil {
			for i, x := range v[:n] {
				p[i], q[i] = x, float64(x*x)
				bad += q[i] - q[i]
			}
		} else {
			for i, x := range v[:n] {
				p[i] = float64(weights[i] * x)
				q[i] = float64(p[i] * x)
				bad += q[i] - q[i]
			}
		}
		if bad != 0 {
			for i, x := range v[:n] {
				w := 1.0
				if weights != nil {
					w = weights[i]
				}
				if p[i]-p[i] != 0 {
					if p[i] = 0; x-x == 0 {
						addLarge(&m.S1, w, x)
					}
				}
				if q[i]-q[i] != 0 {
					q[i] = 0
					m.Over++
				}
			}
		}
		m.S1.AddExactAll(p)
		m.S2.AddExactAll(q)
		if v = v[n:]; weights != nil {
			weights = weights[n:]
		}
	}
}
