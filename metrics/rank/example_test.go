package rank_test

import (
	"fmt"
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/rank"
)

// ranked returns the ranking of four scores of an event.
func ranked() *rank.Ranking {
	c := metrics.Must(cells.New(nil))
	p := &metrics.Predictions{Labels: []int32{0, 0, 1, 1}}
	p.Rows, p.Classes, p.F64 = 4, 1, []float64{0.1, 0.4, 0.35, 0.8}
	if err := metrics.NewPass(nil, c).Add(p); err != nil {
		panic(err)
	}
	return rank.RankingOf(c)
}

func ExampleRanking_AUPRC() {
	r := ranked()
	for _, a := range []rank.PRArea{rank.AveragePrecision, rank.Trapezoid, rank.DavisGoadrich} {
		area, bound := r.AUPRC(a)
		fmt.Printf("%.4f within %v\n", area, bound)
	}
	// For errors, by doubt.
	area, _ := r.Turned().AUPRC(rank.AveragePrecision)
	fmt.Printf("%.4f\n", area)
	// Output:
	// 0.8333 within 0
	// 0.7917 within 0
	// 0.7973 within 0
	// 0.8333
}

func ExampleRanking_ROC() {
	r := ranked()
	for _, p := range r.ROC(0) {
		fmt.Printf("%v: fpr %v, tpr %v\n", p.Threshold, p.X, p.Y)
	}
	fpr, _ := r.FPRAt(0.95)
	fmt.Println("fpr95", fpr)
	// Output:
	// +Inf: fpr 0, tpr 0
	// 0.8: fpr 0, tpr 0.5
	// 0.4: fpr 0.5, tpr 0.5
	// 0.35: fpr 0.5, tpr 1
	// 0.1: fpr 1, tpr 1
	// fpr95 0.5
}

func ExampleRanking_PrecisionRecall() {
	for _, p := range ranked().PrecisionRecall(4) { // at most 4 points
		fmt.Printf("%v: recall %v, precision %.3f\n", p.Threshold, p.X, p.Y)
	}
	// Output:
	// +Inf: recall 0, precision 1.000
	// 0.4: recall 0.5, precision 0.500
	// 0.1: recall 1, precision 0.500
}

func ExampleRanking_RiskCoverage() {
	for _, p := range ranked().RiskCoverage(0) {
		fmt.Printf("%v: coverage %v, risk %.3f\n", p.Threshold, p.X, p.Y)
	}
	// Output:
	// 0.8: coverage 0.25, risk 0.000
	// 0.4: coverage 0.5, risk 0.500
	// 0.35: coverage 0.75, risk 0.333
	// 0.1: coverage 1, risk 0.500
}

func ExampleRanking_GridAUC() {
	r := ranked()
	a, _ := r.GridAUC(nil) // Keras's default
	fmt.Println(a)
	for _, s := range []rank.Summation{rank.Interpolation, rank.Minoring, rank.Majoring} {
		roc, _ := r.GridAUC(&rank.GridOptions{Thresholds: 3, Curve: rank.CurveROC, Summation: s})
		pr, _ := r.GridAUC(&rank.GridOptions{Thresholds: 3, Curve: rank.CurvePR, Summation: s})
		fmt.Printf("%.4f %.4f\n", roc, pr)
	}
	// Output:
	// 0.75
	// 0.7500 0.8207
	// 0.5000 0.2500
	// 1.0000 1.0000
}

func ExampleRanking_Intervals() {
	r := ranked()
	aurc, _ := r.AURC()
	eaurc, _ := r.EAURC()
	augrc, _ := r.AUGRC()
	var i rank.Intervals
	if r.IntervalReason() == "" {
		i = r.Intervals(metrics.DefaultLevel, &metrics.Resampling{Seed: 1, Replicates: 500})
	}
	fmt.Printf("%.4f: %.1f to %.1f\n", aurc, i.AURC.Low, i.AURC.High)
	fmt.Printf("%.4f: %.1f to %.1f\n", eaurc, i.EAURC.Low, i.EAURC.High)
	fmt.Printf("%.4f: %.1f to %.1f\n", augrc, i.AUGRC.Low, i.AUGRC.High)
	// Output:
	// 0.3333: 0.0 to 1.0
	// 0.1250: 0.0 to 1.0
	// 0.1875: 0.0 to 0.5
}

func ExampleRanking_OracleAccuracy() {
	r := ranked()
	half := rank.Budget{Fraction: 0.5}
	a, _ := r.OracleAccuracy(half)
	precision, _ := r.AbstainPrecision(half)
	recall, _ := r.AbstainRecall(half)
	binned, _ := r.OracleAccuracy(rank.Budget{Fraction: 0.5, Most: 2, Bins: 100})
	fmt.Println(a, precision, recall, binned)
	// Output: 0.75 0.5 0.5 0.75
}

func ExampleRanking_OracleAUC() {
	r := ranked()
	quarter := rank.Budget{Fraction: 0.25}
	area, _ := r.OracleAUC(&rank.OracleOptions{Budget: quarter})
	// The rows nearest to 1/2, whatever the threshold.
	doubt := func(p float64) float64 { return math.Abs(p - 0.5) }
	doubtful, _ := r.OracleAUC(&rank.OracleOptions{Budget: quarter, Doubt: doubt, Curve: rank.CurvePR})
	// As in the reference.
	even, _ := r.OracleAUC(&rank.OracleOptions{Budget: quarter, Thresholds: 200})
	fmt.Printf("%.4f %.4f %.4f\n", area, doubtful, even)
	// Output: 0.8750 1.0000 0.8750
}

func ExampleRetention() {
	p := &metrics.Predictions{Labels: []int32{0, 1, 1}}
	p.Rows, p.Classes, p.F64 = 3, 2, []float64{0.9, 0.1, 0.6, 0.4, 0.25, 0.75}
	wrong := metrics.Must(rank.NewRetention(nil))
	nll := metrics.Must(rank.NewRetention(&rank.RetentionOptions{Loss: rank.NLL}))
	brier := metrics.Must(rank.NewRetention(&rank.RetentionOptions{Loss: rank.Brier}))
	c := metrics.Must(cells.New(&cells.Options{Event: metrics.TopLabel}))
	if err := metrics.NewPass(nil, wrong, nll, brier, c).Add(p); err != nil {
		fmt.Println(err)
		return
	}
	for _, x := range []*rank.Retention{wrong, nll, brier} {
		area, _ := x.Area(nil)
		helped, _ := x.Area(&rank.AreaOptions{Oracle: true})
		lines, _ := x.Area(&rank.AreaOptions{Trapezoid: true})
		fmt.Printf("%.4f, with an oracle %.4f, by trapezoids %.4f\n", area, helped, lines)
	}
	accuracy, _ := rank.RankingOf(c).RetentionAccuracy(nil)
	fmt.Printf("retention_accuracy %.4f\n", accuracy)
	fmt.Println(nll.Len(), nll.Outside(), nll.Infinite(), nll.Exact(), wrong.Options().Loss == rank.ZeroOne)
	for _, p := range wrong.Curve(0, nil) {
		fmt.Printf("%v: %.2f retained, %.2f of them wrong\n", p.Threshold, p.X, p.Y)
	}
	// Output:
	// 0.0833, with an oracle 0.0833, by trapezoids 0.0556
	// 0.1846, with an oracle 0.1506, by trapezoids 0.1734
	// 0.0952, with an oracle 0.0858, by trapezoids 0.0789
	// retention_accuracy 0.9167
	// 3 0 0 true true
	// +Inf: 0.00 retained, 0.00 of them wrong
	// 0.9: 0.33 retained, 0.00 of them wrong
	// 0.75: 0.67 retained, 0.00 of them wrong
	// 0.6: 1.00 retained, 0.33 of them wrong
}

// sets returns in-distribution and out-of-distribution rows. The labels of the latter have no meaning.
func sets() (in, out *metrics.Predictions) {
	in, out = &metrics.Predictions{Labels: []int32{0, 1, 1, 0}}, &metrics.Predictions{Labels: make([]int32, 3)}
	in.Rows, in.Classes, in.F64 = 4, 2, []float64{0.9, 0.1, 0.05, 0.95, 0.4, 0.6, 0.3, 0.7}
	out.Rows, out.Classes, out.F64 = 3, 2, []float64{0.55, 0.45, 0.35, 0.65, 0.2, 0.8}
	return in, out
}

func ExampleOOD() {
	in, out := sets()
	for _, d := range []rank.Detector{rank.MaxSoftmax, rank.Entropy, rank.Energy, rank.MaxLogit, rank.DempsterShafer} {
		a, b := rank.NewScores(d), rank.NewScores(d)
		if err := metrics.NewPass(nil, a).Add(in); err != nil {
			fmt.Println(err)
			return
		}
		if err := metrics.NewPass(nil, b).Add(out); err != nil {
			fmt.Println(err)
			return
		}
		o, err := rank.NewOOD(a, b)
		if err != nil {
			fmt.Printf("%v: %v\n", a.Detector(), a.Reason())
			continue
		}
		auroc, _ := o.AUROC()
		i := o.AUROCInterval(metrics.DefaultLevel)
		apOut, _ := o.AUPRCOut(rank.AveragePrecision)
		apIn, _ := o.AUPRCIn(rank.AveragePrecision)
		fpr, _ := o.FPRAt(0.95)
		fmt.Printf("%v: AUROC %.3f [%.2f, %.2f], AP out %.3f, in %.3f, FPR95 %.2f, %d points, exact %v, weighted %v\n",
			d, auroc, i.Low, i.High, apOut, apIn, fpr, len(o.ROC(0)), a.Exact(), a.Weighted())
	}
	// Output:
	// max_softmax: AUROC 0.750 [0.32, 0.95], AP out 0.756, in 0.854, FPR95 0.50, 8 points, exact true, weighted false
	// entropy: AUROC 0.750 [0.32, 0.95], AP out 0.756, in 0.854, FPR95 0.50, 8 points, exact true, weighted false
	// energy: energy takes logits of two classes or more: give those, or take max_softmax or entropy
	// max_logit: max_logit takes logits of two classes or more: give those, or take max_softmax or entropy
	// dempster_shafer: dempster_shafer takes logits of two classes or more: give those, or take max_softmax or entropy
}

func ExampleRejectionClassification() {
	in, out := sets()
	c, s := metrics.Must(cells.New(&cells.Options{Event: metrics.TopLabel})), rank.NewScores(rank.MaxSoftmax)
	if err := metrics.NewPass(nil, c).Add(in); err != nil {
		fmt.Println(err)
		return
	}
	if err := metrics.NewPass(nil, s).Add(out); err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range rank.RejectionClassification(c, s, 4) {
		fmt.Printf("below %.2f %.2f are rejected: accuracy %.2f of at most %.2f\n", p.Threshold, p.Rejected, p.Accuracy, p.Best)
	}
	for _, p := range rank.ConfidenceAccuracy(c, s, []float64{0.5, 0.7, 0.9, 0.99}) {
		fmt.Printf("from %.2f accuracy %.2f\n", p.X, p.Y)
	}
	fmt.Println(len(rank.RejectionClassificationUM(c, s, 100)), "points as uncertainty-metrics draws them, of at most", rank.MaxExact)
	// Output:
	// below 0.55 0.00 are rejected: accuracy 0.43 of at most 0.57
	// below 0.70 0.43 are rejected: accuracy 0.50 of at most 1.00
	// below 0.90 0.71 are rejected: accuracy 1.00 of at most 1.00
	// below 0.95 0.86 are rejected: accuracy 1.00 of at most 1.00
	// from 0.50 accuracy 0.43
	// from 0.70 accuracy 0.50
	// from 0.90 accuracy 1.00
	// 100 points as uncertainty-metrics draws them, of at most 262144
}
