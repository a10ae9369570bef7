package rank

// Budget says how many rows, those of the lowest scores, are handed over.
type Budget struct {
	Fraction float64 // of the rows
	Most     int64   // no more than so many; 0 sets no limit
	Bins     int
}

// OracleAccuracy is not made yet.
func (r *Ranking) OracleAccuracy(b Budget) (accuracy, bound float64) { panic("not yet") }

// AbstainPrecision is not made yet.
func (r *Ranking) AbstainPrecision(b Budget) (precision, bound float64) { panic("not yet") }

// AbstainRecall is not made yet.
func (r *Ranking) AbstainRecall(b Budget) (recall, bound float64) { panic("not yet") }

// OracleOptions say which area OracleAUC returns.
type OracleOptions struct {
	Budget
	Grid   *GridOptions
	Within float64
	Doubt  func(p float64) float64
}

// OracleAUC is not made yet.
func (r *Ranking) OracleAUC(o *OracleOptions) (area, bound float64) { panic("not yet") }
