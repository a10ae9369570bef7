package predictions

import (
	"fmt"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// log1p replaces the scores of a chunk and what was observed by ln(1 + x). A value of -1 or less is an *Error with its place.
func (r *ForecastReader) log1p(c *metrics.Chunk) *Error {
	row, column := -1, -1
	value := 0.0
	bad := func(i, j int, v float64) {
		if row < 0 || i < row {
			row, column, value = i, j, v
		}
	}
	stride := max(c.Stride, c.Classes)
	for i := range c.Rows {
		switch {
		case c.F64 != nil:
			logs(c.F64[i*stride:][:c.Classes], func(j int, v float64) { bad(i, j, v) })
		case c.F32 != nil:
			logs(c.F32[i*stride:][:c.Classes], func(j int, v float64) { bad(i, j, v) })
		default:
			return fault("save forecasts as float32 or float64", "the transform does not take %v", r.info.DType)
		}
	}
	logs(c.Observed, func(i int, v float64) { bad(i, -1, v) })
	if row < 0 {
		return nil
	}
	at := c.First + int64(row)
	what := "the observed value"
	if column >= 0 {
		what = "the forecast"
		switch {
		case r.levels != nil:
			what = fmt.Sprintf("the quantile of level %v", r.levels[column])
		case r.info.Classes > 1:
			what = fmt.Sprintf("sample %d", column)
		}
	}
	e := fault("leave "+setting.Transform.String()+" out, or such rows", "%s is %v, and ln(1 + x) takes values above -1", what, value)
	e.File, e.Row = r.from.Locate(at)
	if line := r.from.line(at); line > 0 {
		e.Row, e.Line = -1, line
	}
	if column >= 0 && column < len(r.scoreColumns) {
		e.Name = r.scoreColumns[column]
	}
	e.Value = fmt.Sprint(value)
	return e
}

// logs replaces values by ln(1 + x), and calls bad for those of -1 or less. NaN stays NaN.
func logs[T float32 | float64](x []T, bad func(i int, v float64)) {
	for i, v := range x {
		if v <= -1 {
			bad(i, float64(v))
			continue
		}
		x[i] = T(kernel.Log1p64(float64(v)))
	}
}
