package calib_test

import (
	"fmt"
	"log"

	"github.com/candor-go/candor/internal/testrows"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/metrics/score"
)

func ExampleECE() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{
			F32: []float32{
				0.7, 0.2, 0.1,
				0.1, 0.8, 0.1,
				0.3, 0.3, 0.4,
				0.6, 0.3, 0.1,
			},
			Rows: 4, Classes: 3,
		},
		Labels: []int32{0, 1, 0, 0},
	}
	o := calib.Options{Bins: 5}
	ece, err := calib.ECE(p, &o)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f (%s)\n", ece, o.Text())
	// Output: 0.3250 (top label, or of a binary task the positive class; 5 equal-width bins; left-closed; the last bin closed; p = 0 counted; edges i*(1/B))
}

// The bars of a reliability diagram, with Wilson's interval of each frequency.
func ExampleBins_Bins() {
	b := metrics.Must(calib.NewBins(&calib.Options{Bins: 4, Event: calib.Positive}))
	if err := metrics.NewPass(nil, b).Add(testrows.Ten()); err != nil {
		log.Fatal(err)
	}
	for _, bar := range b.Bins(0.95) {
		fmt.Printf("%.2f to %.2f: %d rows, says %.3f, happened %.3f [%.2f, %.2f]\n",
			bar.Lower, bar.Upper, bar.Count, bar.Confidence, bar.Frequency, bar.Interval.Low, bar.Interval.High)
	}
	// Output:
	// 0.00 to 0.25: 2 rows, says 0.100, happened 0.000 [0.00, 0.66]
	// 0.25 to 0.50: 2 rows, says 0.325, happened 0.500 [0.09, 0.91]
	// 0.50 to 0.75: 3 rows, says 0.617, happened 0.667 [0.21, 0.94]
	// 0.75 to 1.00: 3 rows, says 0.950, happened 1.000 [0.44, 1.00]
}

// The bins give the decomposition of the Brier score.
func ExamplePartition_Murphy() {
	b, err := calib.BinsOf(testrows.Ten(), &calib.Options{Event: calib.Positive, Bins: 4})
	if err != nil {
		log.Fatal(err)
	}
	t := score.BrierTerms(b.Murphy())
	fmt.Printf("brier %.3f, of which reliability %.4f\n", t.Brier(), t.Reliability)
	// Output: brier 0.129, of which reliability 0.0104
}

// ECE with its interval, and the mean ECE of a calibrated model.
func ExampleBins_Interval() {
	b := metrics.Must(calib.NewBins(&calib.Options{Event: calib.Positive}))
	if err := metrics.NewPass(nil, b).Add(testrows.Ten()); err != nil {
		log.Fatal(err)
	}
	i := b.Interval(metrics.DefaultLevel)
	fmt.Printf("ece %.3f [%.3f, %.3f], by chance %.3f\n", b.ECE(), i.Low, i.High, b.Floor())
	// Output: ece 0.155 [0.000, 0.410], by chance 0.217
}

// A test of whether an ECE exceeds chance. A calibrated model has Floor on average, and more than its 95% quantile in one case
// of twenty.
func ExamplePartition_P() {
	b, err := calib.BinsOf(testrows.Ten(), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("ece %.3f, by chance %.3f and up to %.3f, p = %.2f\n", b.ECE(), b.Floor(), b.FloorQ95(), b.P())
	fmt.Printf("ten rows like these show a gap of %.2f or more\n", b.DetectableGap())
	// Output:
	// ece 0.155, by chance 0.217 and up to 0.347, p = 0.79
	// ten rows like these show a gap of 0.34 or more
}

// The largest gap says little if its bin has few rows, as the interval shows.
func ExamplePartition_MCEInterval() {
	b, err := calib.BinsOf(testrows.Ten(), &calib.Options{Bins: 2})
	if err != nil {
		log.Fatal(err)
	}
	mce, rows := b.MCE()
	i := b.MCEInterval(metrics.DefaultLevel)
	fmt.Printf("mce %.3f in %d rows [%.3f, %.3f]\n", mce, rows, i.Low, i.High)
	// Output: mce 0.050 in 6 rows [0.000, 0.635]
}

// If there is no answer, there is a reason.
func ExamplePartition_IntervalReason() {
	p := testrows.Ten()
	p.Weights = []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 2}
	b, err := calib.BinsOf(p, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("interval:", b.Interval(metrics.DefaultLevel), b.IntervalReason())
	fmt.Println("floor:", b.Floor(), b.FloorReason())
	fmt.Printf("debiased: %.3f %q\n", b.Debiased(), b.DebiasedReason())
	// Output:
	// interval: {NaN NaN} with weights the variance under calibration is sum w^2 p(1-p), which is not kept
	// floor: NaN with weights the variance under calibration is sum w^2 p(1-p), which is not kept
	// debiased: 0.000 ""
}

// The same bins give other errors than ECE. The debiased error is 0: gaps of ten rows are no more than chance.
func ExamplePartition_Debiased() {
	b, err := calib.BinsOf(testrows.Ten(), &calib.Options{Bins: 4})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("rmsce %.4f, debiased %.4f\n", b.RMSCE(), b.Debiased())
	fmt.Printf("ece %.4f, bins alike %.4f, rows by their confidence %.4f\n", b.ECE(), b.EqualWeight(), b.ConfidenceWeighted())
	// Output:
	// rmsce 0.0981, debiased 0.0000
	// ece 0.0850, bins alike 0.0938, rows by their confidence 0.0353
}

// NN_calibration loses scores on some edges. Both rows are wrong, and neither is in a bin.
func ExampleNNCalibration() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.8, 0.8}, Rows: 2, Classes: 1},
		Labels: []int32{0, 0},
	}
	ece, mce, err := calib.NNCalibration(p, 15, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ece, mce)
	// Output: 0 0
}

// uq_benchmark_2019 counts rows and averages them in different bins.
func ExampleUQBenchmark() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.7, 0.75, 1, 1}, Rows: 4, Classes: 1},
		Labels: []int32{1, 0, 1, 1},
	}
	uq, err := calib.UQBenchmark(p, 4, nil)
	if err != nil {
		log.Fatal(err)
	}
	ece, err := calib.ECE(p, &calib.Options{Bins: 4, Event: calib.TopLabel})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f %.4f\n", uq, ece)
	// Output: 0.0563 0.2625
}

// The ECE of the same rows in other systems.
func ExampleLike() {
	for _, system := range []string{"um", "tfp", "torchmetrics", "guo", "blog"} {
		o, err := calib.Like(system)
		if err != nil {
			log.Fatal(err)
		}
		o.Bins, o.Event = 10, calib.Positive
		ece, err := calib.ECE(testrows.Ten(), &o)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%-12s %.3f  %s\n", system, ece, o)
	}
	// Output:
	// um           0.195  bins=10,event=positive,one=overflow,zero=dropped
	// tfp          0.085  bins=10,event=positive,index=floor
	// torchmetrics 0.155  bins=10,event=positive,one=overflow,index=torch
	// guo          0.195  bins=10,event=positive,closed=right,one=last_only,zero=nobin,index=edges32
	// blog         0.155  bins=10,event=positive,closed=right,one=last_only,zero=own,blog_edges
}

// Each class has its own bins. The static calibration error is the mean over the classes.
func ExampleClassBins() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{
			F32: []float32{
				0.7, 0.2, 0.1,
				0.1, 0.8, 0.1,
				0.3, 0.3, 0.4,
				0.6, 0.3, 0.1,
			},
			Rows: 4, Classes: 3,
		},
		Labels: []int32{0, 1, 0, 0},
	}
	b := metrics.Must(calib.NewClassBins(&calib.ClassOptions{Bins: 2}))
	if err := metrics.NewPass(nil, b).Add(p); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("sce %.4f\n", b.SCE())
	for _, bar := range b.Class(0).Bins(metrics.DefaultLevel) {
		fmt.Printf("class 0, %.1f to %.1f: %d rows, says %.2f, happened %.2f\n", bar.Lower, bar.Upper, bar.Count, bar.Confidence, bar.Frequency)
	}
	// Output:
	// sce 0.2500
	// class 0, 0.0 to 0.5: 2 rows, says 0.20, happened 0.50
	// class 0, 0.5 to 1.0: 2 rows, says 0.65, happened 1.00
}

// A reliability curve without bins, with windows of four scores. A calibrated model's points are on the diagonal.
func ExampleWindow() {
	points, err := calib.Window(testrows.Ten(), &calib.WindowOptions{Event: calib.Positive, Width: 4})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range points {
		fmt.Printf("says %.4f, happened %.4f, gap %+.4f\n", p.Confidence, p.Frequency, p.Gap())
	}
	// Output:
	// says 0.2125, happened 0.2500, gap -0.0375
	// says 0.3375, happened 0.3750, gap -0.0375
	// says 0.4625, happened 0.5000, gap -0.0375
	// says 0.5500, happened 0.5000, gap +0.0500
	// says 0.6875, happened 0.7500, gap -0.0625
	// says 0.7750, happened 0.8750, gap -0.1000
	// says 0.8750, happened 1.0000, gap -0.1250
}

// One class against the rest: with a window of one score, and as uncertainty_metrics draws it. That system omits the last
// window, and its default window gives a curve of zeros for fewer than 100 scores.
func ExampleWindowOptions() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F64: []float64{0.5, 0.3, 0.2, 0.25, 0.25, 0.5, 0.7, 0.1, 0.2}, Rows: 3, Classes: 3},
		Labels: []int32{0, 2, 1},
	}
	for _, o := range []calib.WindowOptions{
		{Class: new(0), Width: 1},
		{Class: new(0), Width: 1, Parity: true},
		{Class: new(0), Parity: true},
	} {
		points, err := calib.Window(p, &o)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(points)
	}
	// Output:
	// [{0.25 0} {0.5 1} {0.7 0}]
	// [{0.25 0} {0.5 1}]
	// [{0 0} {0 0} {0 0}]
}

// A diagram of gaps, with an interval of each gap.
func ExampleBin() {
	b, err := calib.BinsOf(testrows.Ten(), &calib.Options{Bins: 2})
	if err != nil {
		log.Fatal(err)
	}
	for _, bar := range b.Bins(metrics.DefaultLevel) {
		i := bar.GapInterval()
		fmt.Printf("about %.2f: gap %+.4f [%+.3f, %+.3f]\n", bar.Centre(), bar.Gap(), i.Low, i.High)
	}
	// Output:
	// about 0.25: gap -0.0375 [-0.487, +0.167]
	// about 0.75: gap -0.0500 [-0.187, +0.347]
}

// The reliability diagram of each class against the rest, from one state.
func ExampleClassBins_Class() {
	p := &metrics.Predictions{
		Scores: metrics.Scores{F32: []float32{0.7, 0.2, 0.1, 0.1, 0.8, 0.1, 0.3, 0.3, 0.4, 0.6, 0.3, 0.1}, Rows: 4, Classes: 3},
		Labels: []int32{0, 1, 0, 0},
	}
	b := metrics.Must(calib.NewClassBins(&calib.ClassOptions{Bins: 2}))
	if err := metrics.NewPass(nil, b).Add(p); err != nil {
		log.Fatal(err)
	}
	for class := range b.Classes() {
		for _, bar := range b.Class(class).Bins(metrics.DefaultLevel) {
			if bar.Count > 0 {
				fmt.Printf("class %d, about %.2f: %d rows, gap %+.3f\n", class, bar.Centre(), bar.Count, bar.Gap())
			}
		}
	}
	// Output:
	// class 0, about 0.25: 2 rows, gap -0.300
	// class 0, about 0.75: 2 rows, gap -0.350
	// class 1, about 0.25: 3 rows, gap +0.267
	// class 1, about 0.75: 1 rows, gap -0.200
	// class 2, about 0.25: 4 rows, gap +0.175
}

// The text tells whether decisions and scores are the caller's.
func ExampleBins_Text() {
	p := &metrics.Predictions{
		Scores:    metrics.Scores{F32: []float32{0.7, 0.3, 0.4, 0.6}, Rows: 2, Classes: 2},
		Labels:    []int32{0, 0},
		Decisions: []int32{0, 0}, ConfidenceScores: []float64{0.9, 0.1},
	}
	b, err := calib.BinsOf(p, &calib.Options{Event: calib.TopLabel})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f: %s\n", b.ECE(), b.Text())
	// Output: 0.45: top label; 15 equal-width bins; left-closed; the last bin closed; p = 0 counted; edges i*(1/B); the caller's decisions; binned by the caller's scores
}

// Besides the mean of the classes' errors, there are their root mean square and the largest of them.
func ExampleClassBins_Max() {
	b := metrics.Must(calib.NewClassBins(&calib.ClassOptions{Bins: 2}))
	if err := metrics.NewPass(nil, b).Add(fourRows()); err != nil {
		log.Fatal(err)
	}
	most, class := b.Max()
	fmt.Printf("sce %.4f, rms %.4f, largest %.4f of class %d\n", b.SCE(), b.RMS(), most, class)
	// Output: sce 0.2500, rms 0.2583, largest 0.3250 of class 0
}

func fourRows() *metrics.Predictions {
	return &metrics.Predictions{
		Scores: metrics.Scores{
			F32: []float32{
				0.7, 0.2, 0.1,
				0.1, 0.8, 0.1,
				0.3, 0.3, 0.4,
				0.6, 0.3, 0.1,
			},
			Rows: 4, Classes: 3,
		},
		Labels: []int32{0, 1, 0, 0},
	}
}

// The adaptive calibration error over two files, accumulated separately and merged.
func ExampleClassScores() {
	var files [2]*calib.ClassScores
	for i := range files {
		files[i] = metrics.Must(calib.NewClassScores(nil))
		if err := metrics.NewPass(nil, files[i]).Add(fourRows()); err != nil {
			log.Fatal(err)
		}
	}
	all := files[0]
	if err := all.Merge(files[1]); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d rows, %d entries of %d classes: ace %.4f, rms %.4f\n", all.Len(), all.Kept(), all.Classes(), all.ACE(2), all.RMS(2))
	for _, bar := range all.Class(0, 2).Bins(metrics.DefaultLevel) {
		fmt.Printf("class 0, %.1f to %.1f: %d rows, says %.2f, happened %.2f\n", bar.Lower, bar.Upper, bar.Count, bar.Confidence, bar.Frequency)
	}
	// Output:
	// 8 rows, 24 entries of 3 classes: ace 0.2167, rms 0.2311
	// class 0, 0.0 to 0.6: 4 rows, says 0.20, happened 0.50
	// class 0, 0.6 to 1.0: 4 rows, says 0.65, happened 1.00
}

// The rows in order of each class's probability. Package rank computes areas from them.
func ExampleClassScores_EachClass() {
	s := metrics.Must(calib.NewClassScores(nil))
	if err := metrics.NewPass(nil, s).Add(fourRows()); err != nil {
		log.Fatal(err)
	}
	orders := make([]string, s.Classes())
	s.EachClass(func(class int, o cells.Ordered) {
		o.Each(func(x *cells.Cell) { orders[class] += fmt.Sprintf(" %.1f: %v/%d", x.P, x.Events, x.N) })
	})
	for class, o := range orders {
		fmt.Printf("class %d%s\n", class, o)
	}
	// Output:
	// class 0 0.1: 0/1 0.3: 1/1 0.6: 1/1 0.7: 1/1
	// class 1 0.2: 0/1 0.3: 0/2 0.8: 1/1
	// class 2 0.1: 0/3 0.4: 0/1
}

// A threshold keeps few entries: the thresholded adaptive calibration error (TACE). MaxBytes limits their memory.
func ExampleClassScoresOptions() {
	for _, o := range []calib.ClassScoresOptions{{Above: new(0.25)}, {Above: new(0.25), MaxBytes: 40}} {
		s := metrics.Must(calib.NewClassScores(&o))
		if err := metrics.NewPass(nil, s).Add(fourRows()); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%v: %d kept, %d outside [0,1], tace %.4f\n", s.Options(), s.Kept(), s.Out(), s.ACE(2))
		if err := s.Err(); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// above=0.25: 7 kept, 0 outside [0,1], tace 0.3778
	// above=0.25,max_bytes=40: 7 kept, 0 outside [0,1], tace NaN
	// calib.ClassScores: 7 entries take 56 bytes and the limit is 40: give it a larger limit or a higher threshold, or take SCE, whose memory does not grow with the rows
}
