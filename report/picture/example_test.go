package picture_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/report/picture"
)

// predictions are three rows of two classes.
func predictions() *metrics.Predictions {
	return &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.1, 0.9, 0.8, 0.2, 0.3, 0.7}, Rows: 3, Classes: 2},
		Labels: []int32{1, 0, 0},
	}
}

// bins are those of the top label.
func bins() []calib.Bin {
	b := metrics.Must(calib.NewBins(nil))
	if err := metrics.NewPass(nil, b).Add(predictions()); err != nil {
		log.Fatal(err)
	}
	return b.Bins(0.95)
}

// The reliability diagram of three rows, as a file and as an element of a page.
func Example() {
	d := &picture.Reliability{Title: "Three rows", Bins: bins(), Event: calib.TopLabel}
	fmt.Println(strings.Contains(string(d.Scene().SVG()), ">Three rows<"))
	fmt.Println(string(d.Panel().Inline("rel", "")[:69]))
	fmt.Println(d.Panel().Desc)
	// Output:
	// true
	// <svg class="pic" viewBox="0 0 360 433" role="img" aria-labelledby="re
	// 3 bins have rows, none of which is clearly off.
}

func ExampleMass() {
	d := &picture.Mass{Title: "Three rows", Bins: bins()}
	fmt.Println(d.Panel().Desc)
	// Output: In none of 3 groups of equal size is the gap clear of chance.
}

func ExampleOverlay() {
	d := &picture.Overlay{Y: picture.Gap}
	for i, name := range picture.Short([]string{"runs/before.npy", "runs/after.npy"}) {
		d.Sets = append(d.Sets, picture.Set{Name: name, Bins: bins()[:5+10*i]})
	}
	fmt.Println(d.Panel().Title, d.Sets[0].Name, d.Sets[1].Name)
	// Output: Reliability of several sets before after
}

func ExampleClasses() {
	c := metrics.Must(calib.NewClassBins(nil))
	if err := metrics.NewPass(nil, c).Add(predictions()); err != nil {
		log.Fatal(err)
	}
	d := &picture.Classes{Title: "Each class", Most: 16}
	for i := range c.Classes() {
		d.Classes = append(d.Classes, picture.Class{Name: fmt.Sprint("class ", i), Bins: c.Class(i).Bins(0.95)})
	}
	fmt.Println(d.Panel().Desc)
	// Output: No class has the 30 rows that it takes to judge one.
}

func ExampleParseY() {
	y, ok := picture.ParseY("gap")
	fmt.Println(y == picture.Gap, ok)
	// Output: true true
}

func ExampleRisk() {
	d := &picture.Risk{Coverage: []float64{0.25, 0.5, 0.75, 1}, Risk: []float64{0, 0, 0.02, 0.06}}
	fmt.Println(d.Finding())
	// Output: Of all rows 6.0% are wrong; of the 50% that come first, 0.00%.
}

func ExampleCurves() {
	d := &picture.Curves{
		Title: "Right told from wrong", X: "share of wrong rows kept", Y: "share of right rows kept", Finding: "AUROC 0.8",
		Curves: []picture.Curve{
			{Name: "by confidence", X: []float64{0, 0.1, 1}, Y: []float64{0, 0.7, 1}},
			{Name: "chance", X: []float64{0, 1}, Y: []float64{0, 1}, Bound: true},
		},
	}
	fmt.Println(d.Panel().Desc)
	// Output: AUROC 0.8
}

// Any of these is a Drawing.
func ExampleDrawing() {
	for _, d := range []picture.Drawing{&picture.Reliability{}, &picture.Mass{}, &picture.Overlay{}, &picture.Classes{}, &picture.Risk{}, &picture.Curves{}} {
		fmt.Println(d.Panel().Title)
	}
	// Output:
	// Reliability diagram
	// Gaps by groups of equal size
	// Reliability of several sets
	// Reliability of each class
	// Errors among the rows that are kept
	// Curves
}

// A cell of a table: a value with its interval and its ideal.
func ExampleCell() {
	d := picture.NewCell(0.031, metrics.Interval{Low: 0.027, High: 0.035})
	d.Ideal = 0
	fmt.Println(len(d.Scene().Marks))
	// Output: 4
}

func ExampleStrip() {
	d := &picture.Strip{Says: 0.965, Is: 0.911, Interval: metrics.Interval{Low: 0.905, High: 0.916}, Desc: "It says 96.5% and is right 91.1% of the time."}
	fmt.Println(d.Panel().Title)
	// Output: What it says, and how often it is right
}

func ExampleMembers() {
	d := &picture.Members{Metric: "ece", Values: []float64{0.031, 0.028, 0.035}, Ensemble: 0.012}
	fmt.Println(d.Panel().Desc)
	// Output: Of 3 members 3 have a higher value than the ensemble.
}

func ExampleCORP() {
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(predictions()); err != nil {
		log.Fatal(err)
	}
	fit := metrics.Must(binfree.CORPOf(c, nil))
	histogram, _ := calib.EvenOf(c, 50)
	d := &picture.CORP{Fit: fit, Event: c.Event(), Band: fit.Band(0.95, nil), Bins: histogram.Bins(metrics.DefaultLevel)}
	fmt.Println(d.Panel().Desc)
	// Output: The recalibrated curve has 2 steps, from a share of 0.0% to 100.0%; miscalibration (MCB) is 0.180.
}

func ExampleBelt() {
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(predictions()); err != nil {
		log.Fatal(err)
	}
	histogram, _ := calib.EvenOf(c, 50)
	d := &picture.Belt{Belt: binfree.BeltOf(c, nil), Event: c.Event(), Bins: histogram.Bins(metrics.DefaultLevel)}
	fmt.Println(d.Panel().Desc)
	// Output: The diagonal is within the 95% belt at all scores.
}

func ExampleCalibrationCurve() {
	d := &picture.CalibrationCurve{
		Rows: 400, Area: 0.0625,
		Levels:      []float64{0, 0.25, 0.5, 0.75, 1},
		Frequencies: []float64{0, 0.375, 0.5, 0.625, 1},
	}
	fmt.Println(d.Finding())
	// Output: The curve has the shape of forecasts that are too narrow. Farthest at level 0.25: 37.5% of the rows.
}

func ExampleHistogramOfPIT() {
	pit := metrics.Must(regress.NewPIT(&regress.PITOptions{Bins: 3}))
	if err := pit.AddValues([]float64{0.05, 0.11, 0.2, 0.34, 0.42, 0.57, 0.63, 0.75, 0.86, 0.99}, nil); err != nil {
		panic(err)
	}
	fmt.Println(picture.HistogramOfPIT(pit, metrics.DefaultLevel).Verdict())
	// Output: Flat within chance: neither a U, a hump nor a slope.
}

func ExampleHistogramOfRanks() {
	p := &metrics.Predictions{Kind: metrics.Samples, Observed: []float64{2.5, 9}}
	p.F64, p.Rows, p.Classes = []float64{1, 2, 3, 4, 5, 6}, 2, 3
	ranks := metrics.Must(regress.NewRanks(nil))
	if err := metrics.NewPass(nil, ranks).Add(p); err != nil {
		panic(err)
	}
	fmt.Println(picture.HistogramOfRanks(ranks, 0.95).X)
	// Output: rank of the observed value among 3 samples
}

func ExampleHistogram() {
	d := &picture.Histogram{Rows: 400, X: "probability integral transform", Bars: []picture.Bar{
		{Lower: 0, Upper: 0.25, Density: 1.4, Low: 0.8, High: 1.2},
		{Lower: 0.25, Upper: 0.75, Density: 0.6, Low: 0.8, High: 1.2},
		{Lower: 0.75, Upper: 1, Density: 1.4, Low: 0.8, High: 1.2},
	}}
	fmt.Println(d.Verdict())
	// Output: Forecasts are too narrow (U shape).
}

func ExampleCoverage() {
	d := &picture.Coverage{Rows: 100}
	for _, i := range []struct{ level, held, width float64 }{{0.5, 0.44, 1.3}, {0.8, 0.75, 2.6}, {0.9, 0.81, 3.9}} {
		w := metrics.Wilson(i.held, 100, metrics.DefaultLevel)
		d.Levels, d.Held, d.Widths = append(d.Levels, i.level), append(d.Held, i.held), append(d.Widths, i.width)
		d.Low, d.High = append(d.Low, w.Low), append(d.High, w.High)
	}
	fmt.Println(d.Finding())
	// Output: The 90% interval holds 81.0% of the rows: too narrow.
}

func ExampleSpread() {
	d := &picture.Spread{RMV: []float64{0.5, 1, 2}, RMSE: []float64{0.6, 1.2, 2.2}, ENCE: 0.17}
	fmt.Println(d.Finding())
	// Output: Errors are 1.1 to 1.2 times the stated spread.
}
