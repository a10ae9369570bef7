package regress_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

// Three forecasts with five quantiles each. The last observed value is far above the range that its forecast considers
// likely.
func ExampleQuantiles() {
	p := &metrics.Predictions{
		Kind:     metrics.Quantiles,
		Observed: []float64{101, 88, 160},
		Scores: metrics.Scores{
			F64: []float64{
				80, 92, 100, 109, 125,
				75, 85, 90, 97, 110,
				90, 105, 112, 120, 140,
			},
			Rows: 3, Classes: 5,
		},
	}
	s := metrics.Must(regress.NewQuantiles(&regress.QuantileOptions{Levels: []float64{0.05, 0.25, 0.5, 0.75, 0.95}, ByLevel: true}))
	if err := metrics.NewPass(nil, s).Add(p); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("wis %.3f = %.3f dispersion + %.3f underprediction + %.3f overprediction\n",
		s.WIS(), s.Dispersion(), s.Underprediction(), s.Overprediction())
	fmt.Printf("pinball %.3f, crps %.3f\n", s.Pinball(), s.CRPS())
	for _, l := range s.Levels() {
		fmt.Printf("%v: %.3f\n", l, s.PinballAt(l))
	}
	// Output:
	// wis 13.733 = 2.333 dispersion + 11.267 underprediction + 0.133 overprediction
	// pinball 6.867, crps 14.550
	// 0.05: 1.733
	// 0.25: 5.583
	// 0.5: 8.500
	// 0.75: 11.417
	// 0.95: 7.100
}

// Each mean has an interval, which is wide for so few rows.
func ExampleQuantiles_WISInterval() {
	p := &metrics.Predictions{ // observed - mean, standard deviation
		Kind:   metrics.Normals,
		Scores: metrics.Scores{F64: []float64{0.3, 1, -1.2, 1, 0.8, 2, 4, 2, -0.1, 1, 2.2, 1}, Rows: 6, Classes: 2},
	}
	s := metrics.Must(regress.NewQuantiles(&regress.QuantileOptions{Levels: []float64{0.1, 0.5, 0.9}, ByLevel: true}))
	if err := metrics.NewPass(nil, s).Add(p); err != nil {
		log.Fatal(err)
	}
	show := func(name string, v float64, i metrics.Interval) {
		fmt.Printf("%-16s%.3f [%.3f, %.3f]\n", name, v, i.Low, i.High)
	}
	show("wis", s.WIS(), s.WISInterval(0.95))
	show("dispersion", s.Dispersion(), s.DispersionInterval(0.95))
	show("underprediction", s.Underprediction(), s.UnderpredictionInterval(0.95))
	show("overprediction", s.Overprediction(), s.OverpredictionInterval(0.95))
	show("crps", s.CRPS(), s.CRPSInterval(0.95))
	show("pinball", s.Pinball(), s.PinballInterval(0.95))
	show("pinball at 0.9", s.PinballAt(0.9), s.PinballAtInterval(0.9, 0.95))
	// Output:
	// wis             0.967 [0.214, 1.720]
	// dispersion      0.228 [0.157, 0.298]
	// underprediction 0.667 [-0.089, 1.424]
	// overprediction  0.072 [-0.057, 0.201]
	// crps            1.014 [0.220, 1.808]
	// pinball         0.484 [0.107, 0.860]
	// pinball at 0.9  0.463 [0.073, 0.854]
}

// Samples have quantiles too. Unless levels form pairs, there is no weighted interval score.
func ExampleQuantiles_WISReason() {
	p := &metrics.Predictions{
		Kind:     metrics.Samples,
		Observed: []float64{3, 7},
		Scores:   metrics.Scores{F64: []float64{2, 5, 1, 4, 3, 9, 6, 6, 8, 7}, Rows: 2, Classes: 5},
	}
	for _, levels := range [][]float64{{0.25, 0.5, 0.75}, {0.25, 0.75}, {0.5, 0.75}} {
		s := metrics.Must(regress.NewQuantiles(&regress.QuantileOptions{Levels: levels}))
		fmt.Println(s.Reason())
		if err := metrics.NewPass(nil, s).Add(p); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.3f %.3f %q\n", s.Pinball(), s.WIS(), s.WISReason())
	}
	// Output:
	// there are no rows
	// 0.167 0.333 ""
	// there are no rows
	// 0.250 0.500 ""
	// there are no rows
	// 0.125 NaN "the weighted interval score takes pairs of quantiles, and there is one of level 0.75 but none of 0.25"
}

// States of parts of the rows merge into the state of all rows.
func ExampleQuantiles_Merge() {
	var all regress.Quantiles
	for i, x := range [][]float64{{0.1, 1, -2, 1}, {0.5, 1, 0.2, 2}} { // observed - mean, standard deviation
		s := metrics.Must(regress.NewQuantiles(nil))
		p := &metrics.Predictions{Kind: metrics.Normals, Scores: metrics.Scores{F64: x, Rows: 2, Classes: 2}}
		if err := metrics.NewPass(nil, s).Add(p); err != nil {
			log.Fatal(err)
		}
		b, err := s.AppendBinary(nil)
		if err != nil {
			log.Fatal(err)
		}
		var part regress.Quantiles
		if err := part.UnmarshalBinary(b); err != nil {
			log.Fatal(err)
		}
		if i == 0 {
			all = part
		} else if err := all.Merge(&part); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("%d rows, wis %.3f; %v %d\n", all.Len(), all.WIS(), all.Needs() == metrics.NeedRows, all.Empty().Len())
	// Output:
	// 4 rows, wis 0.558; true 0
}
