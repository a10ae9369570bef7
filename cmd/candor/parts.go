package main

import (
	"encoding/binary"
	"slices"

	seal "github.com/candor-go/candor/internal/exact"
)

// partNames are the types in the Go library that keep parts of states, by their magic.
var partNames = map[string]string{
	stateMagic: "eval.Evaluation", "cAUD": "metrics.Audit", "cSUM": "compact.Sums", "cCMq": "compared.Comparison",
	"cCEL": "cells.Cells", "cRAT": "score.BaseRates", "cLOS": "score.Loss", "cMEA": "score.Mean", "cTOP": "score.TopHits", "cCLP": "score.Clipped",
	"cBAL": "score.Balanced", "cDEC": "score.Decomposition", "cTOK": "score.Tokens", "cDCO": "score.DecisionCosts", "cCRP": "score.SampleCRPS",
	"cBIN": "calib.Bins", "cCLS": "calib.ClassBins", "cCSC": "calib.ClassScores", "cCHO": "calib.Chosen", "cLSC": "calib.LabelScores",
	"cREN": "rank.Entries", "cRET": "rank.Retention", "cOOD": "rank.Scores", "cEPR": "binfree.EProcess", "cCAN": "binfree.Canonical", "cCLU": "clustered.Sums", "cJNT": "paired.Joint", "cPCT": "paired.Count",
	"cNRM": "regress.Normal", "cERR": "regress.Errors", "cPIT": "regress.PIT", "cRKH": "regress.Ranks", "cSPR": "regress.Spread",
	"rCAL": "regress.Calibration", "rINT": "regress.Intervals", "rQUA": "regress.Quantiles", "rPEN": "regress.Penalties", "rICO": "regress.IntervalCORP", "rNVE": "regress.NormalVectors", "rWCR": "regress.WeightedCRPS", "rVEC": "regress.Vectors", "rVRK": "regress.VectorRanks",
	"sKEP": "survival.Kept",
	"cUNC": "ensemble.Uncertainty", "cDVY": "ensemble.Diversity", "cKNO": "ensemble.Knowledge", "cINF": "ensemble.Information",
}

// partsIn returns the parts of a state that holds several evaluations, those of one kind together: its frames, and as the head what is in none.
func partsIn(state []byte) (l []partInfo) {
	const frame = 4 + 2 + 8 // magic, version and length
	l = []partInfo{{Name: "head", Count: 1}}
	for b := state[frame : len(state)-8]; len(b) > 0; {
		if len(b) > frame && (b[0] == 'c' || b[0] == 'r') {
			if name := partNames[string(b[:4])]; name != "" && binary.LittleEndian.Uint64(b[6:]) < uint64(len(b)) {
				if _, _, rest, err := seal.Open(string(b[:4]), b); err == nil {
					i := slices.IndexFunc(l, func(p partInfo) bool { return p.Name == name })
					if i < 0 {
						i = len(l)
						l = append(l, partInfo{Name: name})
					}
					l[i].Count++
					l[i].Bytes += int64(len(b) - len(rest))
					b = rest
					continue
				}
			}
		}
		l[0].Bytes++
		b = b[1:]
	}
	return l
}
