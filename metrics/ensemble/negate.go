package ensemble

func (m *mean) negate() {
	m.sum.Negate()
	m.infinite.Negate()
	m.undefined.Negate()
}

// Negate turns the sums of u into their negatives: a Merge of u then takes its rows out of another. Until it is merged, u must not be used
// otherwise.
func (u *Uncertainty) Negate() {
	u.rows.Negate()
	for i := range u.mean {
		u.mean[i].negate()
	}
}

// Negate is as that of Uncertainty.
func (d *Diversity) Negate() {
	d.rows.Negate()
	for i := range d.mean {
		d.mean[i].negate()
	}
	d.errs.negate()
	for i := range d.wrong {
		d.wrong[i].Negate()
	}
}
