package binfree

// Negate turns the sums of a into their negatives: a Merge of a then takes its rows out of another. Until it is merged, a must not be used
// otherwise.
func (a *EProcess) Negate() {
	a.rows, a.outside = -a.rows, -a.outside
	for k := range a.logs {
		a.logs[k].Negate()
	}
}
