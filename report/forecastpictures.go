package report

import (
	"fmt"

	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/report/picture"
)

// ForecastPictures are the pictures of regression forecasts, without titles. One that the metrics do not keep is nil.
type ForecastPictures struct {
	Calibration *picture.CalibrationCurve
	Coverage    *picture.Coverage
	PIT, Rank   *picture.Histogram
	Spread      *picture.Spread
}

// ForecastPicturesOf returns the pictures of an evaluation.
func ForecastPicturesOf(e *eval.Evaluation) *ForecastPictures {
	level, rows := e.Spec.Level, e.Audit.Rows
	f := &ForecastPictures{}
	if c := e.Calibration(false); c != nil {
		l := c.Curve()
		f.Calibration = &picture.CalibrationCurve{Levels: l.Levels, Frequencies: l.Frequencies, Level: level, Area: l.Area(regress.AreaCrossing), Rows: rows}
		for i := range l.Levels {
			in := l.Interval(i, level)
			f.Calibration.Low, f.Calibration.High = append(f.Calibration.Low, in.Low), append(f.Calibration.High, in.High)
		}
	}
	if l := e.Central(); len(l) > 2 {
		p := &picture.Coverage{Level: level, Rows: rows}
		for _, c := range l {
			p.Levels, p.Held, p.Low, p.High = append(p.Levels, c.Level), append(p.Held, c.Coverage), append(p.Low, c.Low), append(p.High, c.High)
			p.Widths = append(p.Widths, c.Width)
		}
		f.Coverage = p
	} else if c := e.Calibration(true); c != nil {
		p := &picture.Coverage{Level: level, Rows: rows}
		curve := c.Central()
		for i, l := range curve.Levels {
			if l > 0 && l < 1 {
				in := curve.Interval(i, level)
				p.Levels, p.Held, p.Low, p.High = append(p.Levels, l), append(p.Held, curve.Frequencies[i]), append(p.Low, in.Low), append(p.High, in.High)
			}
		}
		f.Coverage = p
	}
	if h := e.PIT(); h != nil {
		f.PIT = picture.HistogramOfPIT(h, level)
		f.PIT.Level, f.PIT.Rows = level, rows
	}
	if h := e.Ranks(); h != nil {
		f.Rank = picture.HistogramOfRanks(h, level)
		f.Rank.Level, f.Rank.Rows = level, rows
		if n := e.Spec.VectorMembers(); n > 0 {
			f.Rank.X, f.Rank.Together = fmt.Sprintf("average rank of what was observed among %d members", n), true
		}
	}
	if s := e.Spread(); s != nil {
		const bins = 15
		p := &picture.Spread{Level: level, ENCE: s.ENCE(bins), Rows: rows}
		for _, b := range s.Bins(bins) {
			in := b.Interval(level)
			p.RMV, p.RMSE, p.Counts = append(p.RMV, b.RMV), append(p.RMSE, b.RMSE), append(p.Counts, b.Count)
			p.Low, p.High = append(p.Low, in.Low), append(p.High, in.High)
		}
		f.Spread = p
	}
	return f
}

// object returns the numbers of the pictures.
func (f *ForecastPictures) object() (o object) {
	if p := f.Calibration; p != nil {
		l := make([]object, len(p.Levels))
		for i := range l {
			l[i] = object{{"level", number(p.Levels[i])}, {"frequency", number(p.Frequencies[i])}, {"low", number(p.Low[i])}, {"high", number(p.High[i])}}
		}
		o = append(o, field{"calibration", object{{"text", "share of observed values at or below the forecast's quantile of each level"}, {"points", l}}})
	}
	if p := f.Coverage; p != nil {
		l := make([]object, len(p.Levels))
		for i := range l {
			l[i] = object{{"level", number(p.Levels[i])}, {"frequency", number(p.Held[i])}, {"low", number(p.Low[i])}, {"high", number(p.High[i])}}
			if p.Widths != nil {
				l[i] = append(l[i], field{"width", number(p.Widths[i])})
			}
		}
		o = append(o, field{"coverage", object{{"text", "share of observed values in the central interval of each level"}, {"points", l}}})
	}
	for _, h := range []struct {
		name, text string
		of         *picture.Histogram
	}{{"pit", "histogram of the probability integral transform, and where each density lies for a calibrated forecast", f.PIT},
		{"rank", "histogram of the ranks of observed values among the samples, from 0 to 1, and where each density lies for a calibrated forecast", f.Rank}} {
		if h.of == nil {
			continue
		}
		if h.of.Together {
			h.text = "histogram of the ranks of what was observed among the members, which are ordered by the mean of their ranks in each number, and where each density lies for calibrated forecasts"
		}
		l := make([]object, len(h.of.Bars))
		for i, b := range h.of.Bars {
			l[i] = object{{"lower", number(b.Lower)}, {"upper", number(b.Upper)}, {"density", number(b.Density)}, {"low", number(b.Low)}, {"high", number(b.High)}}
		}
		o = append(o, field{h.name, object{{"text", h.text}, {"bars", l}}})
	}
	if p := f.Spread; p != nil {
		l := make([]object, len(p.RMV))
		for i := range l {
			l[i] = object{{"count", p.Counts[i]}, {"stated", number(p.RMV[i])}, {"error", number(p.RMSE[i])}, {"low", number(p.Low[i])}, {"high", number(p.High[i])}}
		}
		o = append(o, field{"spread", object{{"text", "root mean squared error against the root of the mean stated variance, in bins of rows with similar variances"}, {"bins", l}}})
	}
	return o
}
