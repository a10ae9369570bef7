package main

import (
	"math"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/parallel"
	"github.com/candor-go/candor/metrics/score"
	"gonum.org/v1/gonum/floats"
)

// runCandor is the real thing: one read, with the exact states that could be merged with others.
func runCandor(p *metrics.Predictions) (answers, error) {
	loss, bins := metrics.Must(score.NewLoss(&score.Options{TopK: 1})), metrics.Must(calib.NewBins(nil))
	if err := metrics.NewPass(&metrics.Options{Threads: 1}, loss, bins).Add(p); err != nil {
		return answers{}, err
	}
	return answers{loss.Accuracy(), loss.NLL(), loss.Brier(score.BrierDefault), loss.Entropy(), bins.ECE(), 0}, nil
}

// runACE is the adaptive calibration error: the mean over the classes of the ECE by bins of equal mass of the scores above 0.
func runACE(p *metrics.Predictions, bins int) float64 {
	classes := make([]parallel.Bins, p.Classes)
	parallel.ClassEqualMassF32(classes, p.F32, p.Rows, p.Classes, p.Classes, p.Labels, bins, 0, 1)
	sum := 0.0
	for i := range classes {
		sum += classes[i].ECE()
	}
	return sum / float64(p.Classes)
}

// A tally adds up what the rivals find of each row, in float64.
type tally struct {
	hits, nll, brier, entropy float64
	gaps                      [calib.DefaultBins]float64 // sum of score - event
}

func (t *tally) bin(score float64, event bool) {
	gap := score
	if event {
		gap--
	}
	t.gaps[min(int(score*calib.DefaultBins), calib.DefaultBins-1)] += gap
}

func (t *tally) answers(rows int) answers {
	ece := 0.0
	for _, g := range t.gaps {
		ece += math.Abs(g)
	}
	n := float64(rows)
	return answers{t.hits / n, t.nll / n, t.brier / n, t.entropy / n, ece / n, 0}
}

// widen returns row i as float64, which is what gonum and package math take.
func widen(dst []float64, p *metrics.Predictions, i int) []float64 {
	at := i * len(dst)
	if p.BF16 != nil {
		for j, v := range p.BF16[at : at+len(dst)] {
			dst[j] = float64(math.Float32frombits(uint32(v) << 16))
		}
		return dst
	}
	for j, v := range p.F32[at : at+len(dst)] {
		dst[j] = float64(v)
	}
	return dst
}

// runPlain is the loop that one would write in Go without any library.
func runPlain(p *metrics.Predictions) (answers, error) {
	if p.Classes == 1 {
		return plainBinary(p), nil
	}
	var t tally
	row, exps := make([]float64, p.Classes), make([]float64, p.Classes)
	for i, y := range p.Labels {
		widen(row, p, i)
		top := 0
		for j, x := range row {
			if x > row[top] {
				top = j
			}
		}
		largest, sum := row[top], 0.0
		for j, x := range row {
			exps[j] = math.Exp(x - largest)
			sum += exps[j]
		}
		logSum := math.Log(sum)
		for j, x := range row {
			q := exps[j] / sum
			t.brier += q * q
			t.entropy -= q * (x - largest - logSum)
		}
		t.brier += 1 - 2*exps[y]/sum
		t.nll += logSum - (row[y] - largest)
		hit := top == int(y)
		if hit {
			t.hits++
		}
		t.bin(1/sum, hit)
	}
	return t.answers(p.Rows), nil
}

func plainBinary(p *metrics.Predictions) answers {
	var t tally
	for i, y := range p.Labels {
		q := float64(p.F32[i])
		yes, no := math.Log(q), math.Log(1-q)
		t.entropy -= q*yes + (1-q)*no
		event := y == 1
		if event {
			t.nll -= yes
			t.brier += (1 - q) * (1 - q)
		} else {
			t.nll -= no
			t.brier += q * q
		}
		if event == (q > 0.5) {
			t.hits++
		}
		t.bin(q, event)
	}
	return t.answers(p.Rows)
}

// columnRows is how many rows the columns of runGonum hold: they stay in cache.
const columnRows = 1024

// runGonum takes from gonum/floats all that it has for the task; exponentials are package math's.
func runGonum(p *metrics.Predictions) (answers, error) {
	if p.Classes == 1 {
		return gonumBinary(p), nil
	}
	var t tally
	logs, probs := make([]float64, p.Classes), make([]float64, p.Classes)
	var nll, brier, entropy [columnRows]float64
	for at := 0; at < p.Rows; at += columnRows {
		n := min(columnRows, p.Rows-at)
		for i := range n {
			y := int(p.Labels[at+i])
			widen(logs, p, at+i)
			top := floats.MaxIdx(logs)
			floats.AddConst(-floats.LogSumExp(logs), logs)
			for j, l := range logs {
				probs[j] = math.Exp(l)
			}
			nll[i] = -logs[y]
			brier[i] = floats.Dot(probs, probs) - 2*probs[y] + 1
			entropy[i] = -floats.Dot(probs, logs)
			if top == y {
				t.hits++
			}
			t.bin(probs[top], top == y)
		}
		t.nll += floats.Sum(nll[:n])
		t.brier += floats.Sum(brier[:n])
		t.entropy += floats.Sum(entropy[:n])
	}
	return t.answers(p.Rows), nil
}

// gonumBinary sums columns by gonum; logarithms are package math's.
func gonumBinary(p *metrics.Predictions) answers {
	var t tally
	var yes, no, logYes, logNo, nll, miss [columnRows]float64
	for at := 0; at < p.Rows; at += columnRows {
		n := min(columnRows, p.Rows-at)
		for i := range n {
			q, event := float64(p.F32[at+i]), p.Labels[at+i] == 1
			yes[i], no[i] = q, 1-q
			logYes[i], logNo[i] = math.Log(q), math.Log(1-q)
			nll[i], miss[i] = -logNo[i], q
			if event {
				nll[i], miss[i] = -logYes[i], 1-q
			}
			if event == (q > 0.5) {
				t.hits++
			}
			t.bin(q, event)
		}
		t.nll += floats.Sum(nll[:n])
		t.brier += floats.Dot(miss[:n], miss[:n])
		t.entropy -= floats.Dot(yes[:n], logYes[:n]) + floats.Dot(no[:n], logNo[:n])
	}
	return t.answers(p.Rows)
}
