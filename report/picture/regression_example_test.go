package picture_test

import (
	"bytes"
	"fmt"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/report/picture"
)

func ExampleCalibrationCurve() {
	d := &picture.CalibrationCurve{
		Title: "Forecasts that are too narrow", Rows: 400, Area: 0.0625,
		Levels:      []float64{0, 0.25, 0.5, 0.75, 1},
		Frequencies: []float64{0, 0.375, 0.5, 0.625, 1},
	}
	var b bytes.Buffer
	fmt.Println(picture.Write(&b, "svg", d), bytes.Contains(b.Bytes(), []byte("miscalibration area 0.062")))
	// Output: <nil> true
}

func ExampleHistogramOfPIT() {
	pit := metrics.Must(regress.NewPIT(&regress.PITOptions{Bins: 2}))
	if err := pit.AddValues([]float64{0.05, 0.11, 0.2, 0.34, 0.42, 0.57, 0.63, 0.75, 0.86, 0.99}, nil); err != nil {
		panic(err)
	}
	d := picture.HistogramOfPIT(pit, metrics.DefaultLevel)
	d.Title = "Ten forecasts"
	var b bytes.Buffer
	fmt.Println(picture.Write(&b, "svg", d), bytes.Contains(b.Bytes(), []byte("p = 1.00")))
	// Output: <nil> true
}

func ExampleHistogramOfRanks() {
	p := &metrics.Predictions{Kind: metrics.Samples, Observed: []float64{2.5, 9}}
	p.F64, p.Rows, p.Classes = []float64{1, 2, 3, 4, 5, 6}, 2, 3
	ranks := metrics.Must(regress.NewRanks(nil))
	if err := metrics.NewPass(nil, ranks).Add(p); err != nil {
		panic(err)
	}
	var b bytes.Buffer
	fmt.Println(picture.Write(&b, "pdf", picture.HistogramOfRanks(ranks, 0.95)), b.Len() > 0)
	// Output: <nil> true
}

func ExampleHistogram() {
	d := &picture.Histogram{X: "probability integral transform", Bars: []picture.Bar{
		{Lower: 0, Upper: 0.5, Density: 1.2, Low: 0.8, High: 1.2},
		{Lower: 0.5, Upper: 1, Density: 0.8, Low: 0.8, High: 1.2},
	}}
	var b bytes.Buffer
	fmt.Println(picture.Write(&b, "png", d), b.Len() > 0)
	// Output: <nil> true
}

func ExampleCoverage() {
	d := &picture.Coverage{Title: "Intervals", Rows: 100}
	for _, i := range []struct{ level, held, width float64 }{{0.5, 0.44, 1.3}, {0.8, 0.75, 2.6}, {0.95, 0.91, 3.9}} {
		w := metrics.Wilson(i.held, 100, metrics.DefaultLevel)
		d.Levels, d.Held, d.Widths = append(d.Levels, i.level), append(d.Held, i.held), append(d.Widths, i.width)
		d.Low, d.High = append(d.Low, w.Low), append(d.High, w.High)
	}
	var b bytes.Buffer
	fmt.Println(picture.Write(&b, "svg", d), bytes.Contains(b.Bytes(), []byte("stated but missing")))
	// Output: <nil> true
}

func ExampleSpread() {
	d := &picture.Spread{Title: "Errors against spread", RMV: []float64{0.5, 1, 2}, RMSE: []float64{0.6, 1.2, 2.2}, ENCE: 0.17}
	var b bytes.Buffer
	fmt.Println(picture.Write(&b, "svg", d), bytes.Contains(b.Bytes(), []byte("3 bins; ENCE 0.170")))
	// Output: <nil> true
}
