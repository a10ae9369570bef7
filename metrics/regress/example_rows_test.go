package regress_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
)

func ExampleParseRowMetric() {
	levels := []float64{0.05, 0.5, 0.95}
	p := &metrics.Predictions{Kind: metrics.Quantiles, Observed: []float64{4, 12, 7},
		Scores: metrics.Scores{F64: []float64{2, 5, 9, 3, 6, 10, 6, 7, 8}, Rows: 3, Classes: 3}}
	for _, name := range []string{"wis", "interval_score(level=0.9)", "pinball(level=0.5)"} {
		m, err := regress.ParseRowMetric(name, p.Kind, levels)
		if err != nil {
			log.Fatal(err)
		}
		values := m.New()
		w := metrics.NewWalker(nil, m.Need, func(b *metrics.Block) {
			dst := make([]float64, b.Rows)
			values(dst, b)
			fmt.Printf("%s %.2f\n", m.Name, dst)
		})
		w.Add(&metrics.Chunk{Predictions: *p})
		if err := w.Err(); err != nil {
			log.Fatal(err)
		}
	}
	_, err := regress.ParseRowMetric("interval_score(level=0.5)", p.Kind, levels)
	fmt.Println(err)
	// Output:
	// wis [0.57 3.57 0.07]
	// interval_score(level=0.9) [7.00 47.00 2.00]
	// pinball(level=0.5) [0.50 3.00 0.00]
	// metric interval_score(level=0.5): it takes the quantile of level 0.25, and there is none
}

func ExampleRowNames() {
	for _, k := range []metrics.Kind{metrics.Normals, metrics.Quantiles, metrics.Samples} {
		fmt.Println(k, regress.RowNames(k))
	}
	// Output:
	// normal [error abs_error squared_error nll crps twcrps qwcrps z pit interval_score interval_score_underprediction interval_score_overprediction]
	// quantiles [wis twcrps qwcrps pinball interval_score interval_score_underprediction interval_score_overprediction ae_median]
	// samples [error abs_error squared_error ae_median twcrps qwcrps pit]
}

func ExampleRowMetrics() {
	for _, m := range regress.RowMetrics(metrics.Normals, nil, true) {
		fmt.Println(m.Name)
	}
	// Output:
	// error
	// nll
	// crps
	// z
	// pit
}
