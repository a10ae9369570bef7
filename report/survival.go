package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/survival"
	"github.com/candor-go/candor/report/picture"
)

// Survival is what predictions of the time until an event say at each horizon, and of whole curves.
type Survival struct {
	Events   int64 // rows with the event, at whatever time
	Horizons []eval.Horizon
	// Curves is the test of whole curves; nil without one, and Why says why.
	Curves *survival.DCalibration
	Why    string
	// Brier is the Brier score over the times of the curves; without a time at which rows can be judged it is empty.
	Brier []eval.BrierPoint
}

// survivalOf returns the results of an evaluation.
func survivalOf(e *eval.Evaluation) *Survival {
	s := &Survival{Horizons: e.JudgeHorizons(), Events: e.Events(), Brier: e.BrierCurve()}
	s.Curves, s.Why = e.DCalibration(0)
	return s
}

// timeText formats a time.
func timeText(t float64) string { return strconv.FormatFloat(t, 'g', -1, 64) }

// ofEvents says how many rows have the event.
func (d *Document) ofEvents() string {
	return fmt.Sprintf(", %s, %s censored", countOf(d.Survival.Events, "event"), Count(d.Input.Rows-d.Survival.Events))
}

// survivalVerdict says what the probabilities come to at each horizon.
func (d *Document) survivalVerdict() string {
	var b strings.Builder
	for i := range d.Survival.Horizons {
		b.WriteString(" " + d.HorizonVerdict(i))
	}
	if c := d.Survival.Curves; c != nil && c.P < 0.01 {
		fmt.Fprintf(&b, " As a whole the curves are off: p = %s of D-calibration.", short(c.P))
	} else if c != nil {
		b.WriteString(" D-calibration shows nothing against the curves as a whole.")
	}
	return b.String()
}

// HorizonVerdict returns the verdict at a horizon, by its number.
func (d *Document) HorizonVerdict(i int) string {
	h := &d.Survival.Horizons[i]
	s := fmt.Sprintf("By %s", timeText(h.Time))
	if h.Reason != "" {
		return s + ": nothing to judge, since " + h.Reason + "."
	}
	s += fmt.Sprintf(" it expects the event in %s of the rows, and %s %s have it: ", percent(h.Says.Value), percent(h.Happens.Value), ends(h.Happens.Interval))
	switch {
	case math.IsNaN(h.Gap.Interval.Low):
		return s + d.unjudged()
	case h.Side > 0:
		return s + "too high by " + points(h.Gap.Value) + "."
	case h.Side < 0:
		return s + "too low by " + points(h.Gap.Value) + "."
	}
	return s + "no overall miscalibration seen at this N."
}

// Diagram returns the bins of the reliability diagram at a horizon, by its number, as pictures take them: frequencies are those of the Kaplan-Meier
// curves of the bins. There is no band, since censoring decides how far a calibrated bin may lie off. Where all rows of a bin or none have the event,
// Greenwood's standard error is 0 and says nothing, and where the last row of a bin is censored before the horizon the frequency is a lower bound:
// both are without an interval. It is empty if the horizon cannot be judged.
func (s *Survival) Diagram(i int, level float64) []calib.Bin {
	l := make([]calib.Bin, len(s.Horizons[i].Bins))
	for j := range l {
		b := &s.Horizons[i].Bins[j]
		in := b.Interval(level)
		if !(b.SE > 0) || b.Short {
			in = metrics.NoInterval()
		}
		l[j] = calib.Bin{Lower: b.Lower, Upper: b.Upper, Count: int64(b.Count), Weight: b.Weight, Confidence: b.Predicted, Frequency: b.Observed, Interval: in, Band: metrics.NoInterval()}
	}
	return l
}

// Pictured returns the reliability diagram at all horizons that can be judged: of one by itself, of several over each other.
func (d *Document) Pictured(y picture.Y) picture.Drawing {
	var about []string
	var sets []picture.Set
	for i := range d.Survival.Horizons {
		about = append(about, d.HorizonVerdict(i))
		if bins := d.Survival.Diagram(i, d.level); len(bins) > 0 {
			sets = append(sets, picture.Set{Name: "by " + timeText(d.Survival.Horizons[i].Time), Bins: bins})
		}
	}
	about = append(about, "Shares with the event are those of a Kaplan-Meier curve in each of 15 bins of equal width.")
	if len(sets) == 1 {
		return &picture.Reliability{Title: "Reliability " + sets[0].Name, Subtitle: strings.Join(about, "\n"), Bins: sets[0].Bins, Event: picture.ByHorizon, Y: y, Level: d.level}
	}
	return &picture.Overlay{Title: "Reliability by horizon", Subtitle: strings.Join(about, "\n"), Sets: sets, Event: picture.ByHorizon, Y: y, Level: d.level}
}

// SmoothPicture returns the smooth calibration curves by hazard regression of those horizons that can be judged, by their numbers, each with its
// band; without numbers those of all.
func (d *Document) SmoothPicture(horizons ...int) *picture.Curves {
	p := &picture.Curves{Title: "Smooth calibration by horizon", X: "probability of the event by then", Y: "share with the event by then", Square: true, Percent: true,
		Band: LevelText(d.level) + " of each point", Curves: []picture.Curve{{Name: "right", X: []float64{0, 1}, Y: []float64{0, 1}, Bound: true}}}
	var about []string
	for i := range d.Survival.Horizons {
		if horizons != nil && !slices.Contains(horizons, i) {
			continue
		}
		h := &d.Survival.Horizons[i]
		about = append(about, d.HorizonVerdict(i))
		if len(h.Curve) < 2 {
			continue
		}
		c := picture.Curve{Name: "by " + timeText(h.Time)}
		for _, x := range h.Curve {
			in := x.Interval(d.level)
			c.X, c.Y, c.Low, c.High = append(c.X, x.Predicted), append(c.Y, x.Observed), append(c.Low, in.Low), append(c.High, in.High)
		}
		p.Curves = append(p.Curves, c)
	}
	p.Subtitle = strings.Join(append(about, "Curves are those of a Cox regression on a restricted cubic spline of log(-log(1 - probability)). They assume proportional hazards."), "\n")
	p.Finding = "The share with the event by the probability, smoothed."
	return p
}

// BrierPicture returns the Brier score over time, with its band and that of the share with the event alone.
func (d *Document) BrierPicture() *picture.Curves {
	p := &picture.Curves{Title: "Brier score over time", X: "time", Y: "Brier score", Fit: true, Band: LevelText(d.level) + " of each point"}
	model, reference := picture.Curve{Name: "model"}, picture.Curve{Name: "share with the event, the same for every row", Bound: true}
	for _, x := range d.Survival.Brier {
		model.X, model.Y = append(model.X, x.Time), append(model.Y, x.Score.Value)
		model.Low, model.High = append(model.Low, x.Score.Interval.Low), append(model.High, x.Score.Interval.High)
		reference.X, reference.Y = append(reference.X, x.Time), append(reference.Y, x.Reference)
	}
	if n := len(model.X); n > 0 {
		p.To = model.X[n-1]
		low, high := 0.0, 0.0
		for i := range model.X {
			for _, v := range []float64{model.High[i], model.Y[i], reference.Y[i]} {
				if v > high {
					high = v
				}
			}
		}
		p.Low, p.High, p.Fit = low, math.Ceil(20*high)/20, false
	}
	p.Curves = []picture.Curve{reference, model}
	p.Subtitle = "Rows that were censored earlier are stood for by those that are known."
	p.Finding = "The Brier score at each time; below the dashed line the model knows more than the share of events."
	return p
}

// fields are those of the document.
func (s *Survival) fields(d *Document) object {
	l := make([]object, len(s.Horizons))
	for i := range l {
		h := &s.Horizons[i]
		bins := make([]object, len(h.Bins))
		for j := range bins {
			b := &h.Bins[j]
			in := b.Interval(d.level)
			bins[j] = object{{"lower", number(b.Lower)}, {"upper", number(b.Upper)}, {"count", int64(b.Count)}, {"weight", number(b.Weight)},
				{"predicted", number(b.Predicted)}, {"observed", number(b.Observed)}, {"low", number(in.Low)}, {"high", number(in.High)}, {"short", b.Short}}
		}
		curve := make([]object, len(h.Curve))
		for j, x := range h.Curve {
			in := x.Interval(d.level)
			curve[j] = object{{"predicted", number(x.Predicted)}, {"observed", number(x.Observed)}, {"low", number(in.Low)}, {"high", number(in.High)}}
		}
		l[i] = object{{"horizon", number(h.Time)}, {"events", h.Events}, {"censored_before", h.Unknown}, {"verdict", d.HorizonVerdict(i)}, {"bins", bins}, {"curve", curve}}
		if h.Reason != "" {
			l[i] = append(l[i], field{"reason", h.Reason})
		}
	}
	o := object{{"horizons", l}}
	if len(s.Brier) > 0 {
		points := make([]object, len(s.Brier))
		for i, x := range s.Brier {
			points[i] = object{{"time", number(x.Time)}, {"brier", number(x.Score.Value)}, {"low", number(x.Score.Interval.Low)}, {"high", number(x.Score.Interval.High)}, {"reference", number(x.Reference)}}
		}
		o = append(o, field{"brier_curve", points})
	}
	if s.Curves != nil {
		shares := make([]number, len(s.Curves.Shares))
		for i, v := range s.Curves.Shares {
			shares[i] = number(v)
		}
		o = append(o, field{"d_calibration", object{{"shares", shares}, {"chi2", number(s.Curves.Chi2)}, {"p", number(s.Curves.P)}}})
	}
	return o
}
