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
const mostPoints = 2000

// curvePicture returns one of the pictures over ranks.
func curvePicture(kind string, e *eval.Evaluation, d *report.Document) picture.Drawing {
	c := &picture.Curves{Subtitle: d.Verdict()}
	switch kind {
	case "risk-coverage":
		riskCoverage(c, e)
	case "rejection":
		rejection(c, e)
	case "confidence":
		confidence(c, e)
	case "roc":
		r, _ := e.Ranking(rocEvent(e))
		area, _ := r.AUROC()
		c.Title, c.Subtitle = "Class 1 told from the other by its probability", c.Subtitle+"\nAUROC "+value(area)
		if rocEvent(e) == calib.TopLabel {
			c.Title = "Right told from wrong by confidence"
		}
		c.X, c.Y = "false positive rate", "true positive rate"
		roc(c, r.ROC(mostPoints))
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
		c.X, c.Y = "share of the own rows refused", "share of the out-of-distribution rows found"
		roc(c, o.ROC(mostPoints))
	}
	return c
}

// roc adds a receiver operating characteristic and the line of chance.
func roc(c *picture.Curves, points []rank.Point) {
	x, y := coordinates(points)
	c.Curves = []picture.Curve{{Name: "by score", X: x, Y: y}, {Name: "chance", X: []float64{0, 1}, Y: []float64{0, 1}, Bound: true}}
}

func coordinates(points []rank.Point) (x, y []float64) {
	for _, p := range points {
		x, y = append(x, p.X), append(y, p.Y)
	}
	return x, y
}

// riskCoverage draws the share of errors among the rows that are kept, most confident first.
func riskCoverage(c *picture.Curves, e *eval.Evaluation) {
	r, _ := e.Ranking(calib.TopLabel)
	aurc, _ := r.AURC()
	excess, _ := r.EAURC()
	augrc, _ := r.AUGRC()
	c.Title = "Risk of the most confident rows"
	c.Subtitle += fmt.Sprintf("\nAURC %s, of which %s above the best order; AUGRC %s", value(aurc), value(excess), value(augrc))
	c.X, c.Y, c.Fit = "coverage: share of rows that are kept, most confident first", "share of errors among them", true
	x, y := coordinates(r.RiskCoverage(mostPoints))
	wrong := 1 - e.Loss.Accuracy()
	order := "by confidence"
	if e.Spec.Scored {
		order = "by the caller's scores"
	}
	c.Curves = []picture.Curve{{Name: order, X: x, Y: y}}
	var bx, by []float64
	for i := range 201 {
		at := float64(i) / 200
		risk := 0.0
		if at > 1-wrong {
			risk = 1 - (1-wrong)/at
		}
		bx, by = append(bx, at), append(by, risk)
	}
	c.Curves = append(c.Curves, picture.Curve{Name: "best: all errors last", X: bx, Y: by, Bound: true},
		picture.Curve{Name: "chance", X: []float64{0, 1}, Y: []float64{wrong, wrong}, Bound: true})
}

// rejection draws the accuracy of the rows kept, by the share of rows rejected. Out-of-distribution rows are always wrong.
func rejection(c *picture.Curves, e *eval.Evaluation) {
	c.Title = "Accuracy when the least confident rows are rejected"
	c.X, c.Y, c.Fit = "share of rows rejected, least confident first", "accuracy of the others", true
	points := e.Rejection(mostPoints)
	if len(points) == 0 {
		return
	}
	// The best possible curve depends on the share of rows that can be right.
	right, of := e.Loss.Accuracy(), "best: all errors rejected first"
	if e.Spec.Out {
		c.Subtitle += fmt.Sprintf("\nWith %s out-of-distribution rows, all of them errors", report.Count(e.Out.Rows))
		right, of = points[0].Best, "theoretical maximum: all out-of-distribution rows rejected first, and no other error"
	}
	var x, y, bx, best []float64
	for _, p := range points {
		x, y = append(x, p.Rejected), append(y, p.Accuracy)
	}
	for i := range 200 {
		at := float64(i) / 200
		bx, best = append(bx, at), append(best, math.Min(1, right/(1-at)))
	}
	c.Curves = []picture.Curve{{Name: "by confidence", X: x, Y: y}, {Name: of, X: bx, Y: best, Bound: true}}
}

// confidence draws the accuracy of the rows above a confidence.
func confidence(c *picture.Curves, e *eval.Evaluation) {
	c.Title = "Accuracy of the rows above a confidence"
	c.X, c.Y, c.Fit = "least confidence", "accuracy of the rows above it", true
	if e.Spec.Out {
		c.Subtitle += fmt.Sprintf("\nWith %s out-of-distribution rows, all of them errors", report.Count(e.Out.Rows))
	}
	x, y := coordinates(e.Confident())
	c.Curves = []picture.Curve{{Name: "accuracy", X: x, Y: y},
		{Name: "calibrated: at least the confidence", X: []float64{0, 1}, Y: []float64{0, 1}, Bound: true}}
}
