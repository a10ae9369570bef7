package main

import (
	"fmt"
	"math"

	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/rank"
	"github.com/candor-go/candor/report"
	"github.com/candor-go/candor/report/picture"
)

// mostPoints is the largest number of points drawn for a curve: more than a picture can show.
const mostPoints = 500

// curvePicture returns one of the pictures over ranks.
func curvePicture(kind string, e *eval.Evaluation, d *report.Document) picture.Drawing {
	c := &picture.Curves{Subtitle: d.Verdict(), Percent: true}
	switch kind {
	case "risk-coverage":
		return riskCoverage(e, d)
	case "rejection":
		rejection(c, e)
	case "confidence":
		confidence(c, e)
	case "roc":
		r, _ := e.Ranking(rocEvent(e))
		area, _ := r.AUROC()
		of := "a row with y = 1 scores above one with y = 0"
		c.Title, c.X, c.Y = "Class 1 told from the other by its probability", "share of rows with y = 0 that are kept", "share of rows with y = 1 that are kept"
		if rocEvent(e) == calib.TopLabel {
			of = "a right row scores above a wrong one"
			c.Title, c.X, c.Y = "Right told from wrong by confidence", "share of wrong rows that are kept", "share of right rows that are kept"
		}
		said := "AUROC " + value(area)
		if in := r.AUROCInterval(e.Spec.Level); !math.IsNaN(in.Low) {
			said += fmt.Sprintf(" [%s, %s], %s interval", value(in.Low), value(in.High), percent(e.Spec.Level))
		}
		c.Subtitle += "\n" + said + ". It is the chance that " + of + "."
		c.Finding, c.Square = said, true
		roc(c, r.ROC(mostPoints))
	case "decision":
		decisionCurve(c, e)
	case "ood-roc":
		o := e.Foreign()
		if o == nil {
			break // scores that cannot be compared; the metrics give the reason
		}
		area, _ := o.AUROC()
		fpr, _ := o.FPRAt(0.95)
		c.Title = "Out-of-distribution rows found by their doubt"
		c.Subtitle = fmt.Sprintf("%s rows and %s out-of-distribution ones, by 1 - the top probability.\nAUROC %s; false positive rate where 95%% are found %s",
			report.Count(e.Audit.Rows), report.Count(e.Out.Rows), value(area), value(fpr))
		c.X, c.Y = "share of the other rows refused", "share of the out-of-distribution rows found"
		c.Finding, c.Square = "AUROC "+value(area), true
		roc(c, o.ROC(mostPoints))
	}
	return c
}

// roc adds a receiver operating characteristic and the line of chance.
func roc(c *picture.Curves, points []rank.Point) {
	x, y := coordinates(points)
	c.Curves = []picture.Curve{{Name: "by score", X: x, Y: y}, {Name: "chance", X: []float64{0, 1}, Y: []float64{0, 1}, Bound: true}}
}

// decisionCurve draws the net benefit of acting on the probability beside those of acting on every row and on none.
func decisionCurve(c *picture.Curves, e *eval.Evaluation) {
	r, _ := e.Ranking(calib.Positive)
	c.Title = "Net benefit of acting on the probability"
	c.X, c.Y = "threshold from which on rows are acted on", "net benefit above acting on none"
	var x, y, all, low, high []float64
	first, last, best := 0, 0, 0.0
	for i := 1; i < 100; i++ {
		t := float64(i) / 100
		b, _ := r.MeanOutcome(t, rank.Benefit(t, false))
		over, _ := r.MeanOutcome(t, rank.Benefit(t, true))
		if math.IsNaN(b) {
			return
		}
		x, y, all = append(x, t), append(y, b), append(all, b-over)
		in := r.OutcomeInterval(t, rank.Benefit(t, false), e.Spec.Level)
		low, high = append(low, in.Low), append(high, in.High)
		best = math.Max(best, math.Max(b, b-over))
		if b > 0 && over > 0 {
			if first == 0 {
				first = i
			}
			last = i
		}
	}
	switch {
	case first == 0:
		c.Finding = "At no threshold does the model do better than acting on every row and than acting on none"
	case first == last:
		c.Finding = fmt.Sprintf("At a threshold of %d%% the model does better than acting on every row and than acting on none", first)
	default:
		c.Finding = fmt.Sprintf("Thresholds at which the model does better than acting on every row and than acting on none: from %d%% to %d%%", first, last)
	}
	c.Subtitle += "\n" + c.Finding + ".\nA row with y = 1 that is acted on counts 1, one with y = 0 counts -t/(1-t) at the threshold t."
	c.Low, c.High = -math.Max(best, 0.01)/10, 1.05*math.Max(best, 0.01)
	zero := []float64{0, 0}
	model := picture.Curve{Name: "by the model", X: x, Y: y}
	if e.Spec.Cluster == "" && !math.IsNaN(low[0]) { // the interval is for independent rows without weights
		model.Low, model.High = low, high
		c.Band = percent(e.Spec.Level) + " interval at each threshold by itself"
	}
	c.Curves = []picture.Curve{model, {Name: "acting on every row", X: x, Y: all, Bound: true}, {Name: "acting on none", X: []float64{0.01, 0.99}, Y: zero, Bound: true}}
}

func coordinates(points []rank.Point) (x, y []float64) {
	for _, p := range points {
		x, y = append(x, p.X), append(y, p.Y)
	}
	return x, y
}

// riskCoverage draws the share of errors among the rows that are kept, most confident first.
func riskCoverage(e *eval.Evaluation, d *report.Document) picture.Drawing {
	r, _ := e.Ranking(calib.TopLabel)
	aurc, _ := r.AURC()
	excess, _ := r.EAURC()
	augrc, _ := r.AUGRC()
	p := &picture.Risk{Title: "Errors among the rows that are kept"}
	if e.Spec.Scored {
		p.Order = "the caller's scores"
	}
	p.Coverage, p.Risk = coordinates(r.RiskCoverage(mostPoints))
	p.Subtitle = d.Verdict() + "\n" + p.Finding() + fmt.Sprintf("\nAURC %s, of which %s above the best order; AUGRC %s", value(aurc), value(excess), value(augrc))
	return p
}

// rejection draws the accuracy of the rows kept, by the share of rows rejected. Out-of-distribution rows are always wrong.
func rejection(c *picture.Curves, e *eval.Evaluation) {
	c.Title = "Accuracy when the least confident rows are refused"
	c.X, c.Y, c.Fit = "share of rows refused, least confident first", "accuracy of the others", true
	points := e.Rejection(mostPoints)
	if len(points) == 0 {
		return
	}
	c.Subtitle += fmt.Sprintf("\nWith %s out-of-distribution rows, all of them errors", report.Count(e.Out.Rows))
	// The best possible curve depends on the share of rows that can be right.
	right, of := points[0].Best, "theoretical maximum: all out-of-distribution rows refused first, and no other error"
	var x, y, bx, best []float64
	for _, p := range points {
		x, y = append(x, p.Rejected), append(y, p.Accuracy)
	}
	for i := range 200 {
		at := float64(i) / 200
		bx, best = append(bx, at), append(best, math.Min(1, right/(1-at)))
	}
	c.Curves = []picture.Curve{{Name: "by confidence", X: x, Y: y, Steps: true}, {Name: of, X: bx, Y: best, Bound: true}}
}

// confidence draws the accuracy of the rows above a confidence.
func confidence(c *picture.Curves, e *eval.Evaluation) {
	c.Title = "Accuracy of the rows above a confidence"
	c.X, c.Y, c.Fit = "least confidence", "accuracy of the rows above it", true
	if e.Spec.Out {
		c.Subtitle += fmt.Sprintf("\nWith %s out-of-distribution rows, all of them errors", report.Count(e.Out.Rows))
	}
	if k := e.Spec.Classes; k > 2 && e.Spec.Choices == eval.NoChoices {
		c.From = 1 / float64(k) // no confidence is below
	} else if k <= 2 && !e.Spec.Out {
		c.From = 0.5
	}
	x, y := coordinates(e.Confident())
	c.Curves = []picture.Curve{{Name: "accuracy", X: x, Y: y},
		{Name: "calibrated: at least the confidence", X: []float64{0, 1}, Y: []float64{0, 1}, Bound: true}}
}
