package metrics_test

import (
	"fmt"
	"log"
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/score"
	"gonum.org/v1/gonum/mat"
)

// forecast returns five rows of three classes.
func forecast() *metrics.Predictions {
	return &metrics.Predictions{
		Scores: metrics.Scores{
			F32: []float32{
				0.7, 0.2, 0.1,
				0.1, 0.8, 0.1,
				0.3, 0.3, 0.4,
				0.6, 0.3, 0.1,
				0.05, 0.05, 0.9,
			},
			Rows: 5, Classes: 3,
		},
		Labels: []int32{0, 1, 0, 0, 2},
	}
}

// The predictions are read once, whatever the number of accumulators.
func ExamplePass() {
	loss, bins := metrics.Must(score.NewLoss(nil)), metrics.Must(calib.NewBins(&calib.Options{Bins: 10}))
	pass := metrics.NewPass(nil, loss, bins)
	if err := pass.Add(forecast()); err != nil {
		log.Fatal(err)
	}
	a := pass.Audit()
	fmt.Printf("%d rows x %d classes of %v %v\n", a.Rows, a.Classes, a.DType, a.Kind)
	fmt.Printf("accuracy %.3f, confidence %.3f\n", loss.Accuracy(), loss.Confidence())
	fmt.Printf("nll %.4f, brier %.4f\n", loss.NLL(), loss.Brier(score.BrierDefault))
	fmt.Printf("ece %.4f\n", bins.ECE())
	// Output:
	// 5 rows x 3 classes of float32 probs
	// accuracy 0.800, confidence 0.680
	// nll 0.4800, brier 0.2430
	// ece 0.2800
}

// Two processes see a part of the rows each. Their states, sent as bytes, merge into the one that all the rows give.
func ExamplePass_shards() {
	p := forecast()
	shard := func(lo, hi int) []byte {
		q := *p
		q.F32, q.Labels, q.Rows = p.F32[lo*p.Classes:hi*p.Classes], p.Labels[lo:hi], hi-lo
		bins := metrics.Must(calib.NewBins(nil))
		if err := metrics.NewPass(nil, bins).Add(&q); err != nil {
			log.Fatal(err)
		}
		state, err := bins.AppendBinary(nil)
		if err != nil {
			log.Fatal(err)
		}
		return state
	}
	var total, second calib.Bins
	if err := total.UnmarshalBinary(shard(0, 2)); err != nil {
		log.Fatal(err)
	}
	if err := second.UnmarshalBinary(shard(2, 5)); err != nil {
		log.Fatal(err)
	}
	if err := total.Merge(&second); err != nil {
		log.Fatal(err)
	}
	ece, err := calib.ECE(p, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(total.Len(), total.ECE() == ece)
	// Output: 5 true
}

// Rows that are not what was said are an error, which says which and why.
func ExamplePass_badData() {
	p := forecast()
	p.Labels[3] = 3
	err := metrics.NewPass(nil, metrics.Must(score.NewLoss(nil))).Add(p)
	fmt.Println(err)
	// Output: row 3: label is 3, not one of the 3 classes 0 to 2: labels that start at 1? subtract 1
}

// A matrix of gonum is read where it lies.
func ExampleFromMatrix() {
	m := mat.NewDense(3, 2, []float64{
		2, -1,
		0.5, 1,
		-3, 3,
	})
	l, err := score.LossOf(&metrics.Predictions{Scores: metrics.FromMatrix(m), Kind: metrics.Logits, Labels: []int32{0, 0, 1}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("accuracy %.3f, nll %.4f\n", l.Accuracy(), l.NLL())
	// Output: accuracy 0.667, nll 0.3417
}

// What was decided need not be the most probable class: to miss class 1 is dear here, so 0.3 is enough for it. Accuracy and
// confidence are those of the decisions; the negative log-likelihood is of the probabilities, whatever was decided.
func ExamplePredictions_decisions() {
	p := forecast()
	p.Decisions = []int32{0, 1, 1, 1, 2}

	loss := metrics.Must(score.NewLoss(nil))
	pass := metrics.NewPass(nil, loss)
	if err := pass.Add(p); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("accuracy %.3f, confidence %.3f, nll %.4f\n", loss.Accuracy(), loss.Confidence(), loss.NLL())
	fmt.Println(pass.Audit().Decided, pass.Audit().Scored)
	// Output:
	// accuracy 0.600, confidence 0.600, nll 0.4800
	// true false
}

// What was decided, and how sure the caller is of it, is no longer the model's to say: rows are binned by the caller's
// scores, and in each bin the probabilities are compared with what happened.
func ExamplePredictions_confidenceScores() {
	p := forecast()
	p.ConfidenceScores = []float64{0.2, 0.9, 0.3, 0.8, 0.95}
	bins, err := calib.BinsOf(p, &calib.Options{Bins: 2})
	if err != nil {
		log.Fatal(err)
	}
	for _, b := range bins.Bins(metrics.DefaultLevel) {
		fmt.Printf("sure of %.1f to %.1f: %d rows, says %.3f, right %.3f\n", b.Lower, b.Upper, b.Count, b.Confidence, b.Frequency)
	}
	p.ConfidenceScores[4] = math.NaN()
	fmt.Println(metrics.NewPass(nil, bins).Add(p))
	// Output:
	// sure of 0.0 to 0.5: 2 rows, says 0.550, right 0.500
	// sure of 0.5 to 1.0: 3 rows, says 0.767, right 1.000
	// row 4: confidence score is NaN: it must be finite; check the code that computed it; Options.Drop leaves such rows out
}
