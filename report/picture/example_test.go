package picture_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
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

// The reliability diagram of three rows, as SVG.
func Example() {
	var b bytes.Buffer
	d := &picture.Reliability{Title: "Three rows", Bins: bins(), Event: calib.TopLabel, Y: picture.Accuracy}
	if err := picture.Write(&b, "svg", d); err != nil {
		log.Fatal(err)
	}
	fmt.Println(bytes.Contains(b.Bytes(), []byte("Three rows")))
	// Output: true
}

func ExampleWrite() {
	d := &picture.Reliability{
		Title: "Three rows", Bins: bins(), Event: calib.TopLabel, Y: picture.Accuracy,
		Lines: []picture.Line{{Name: "accuracy 0.667", At: 0.667}, {Name: "mean confidence 0.8", At: 0.8}},
	}
	for _, format := range picture.Formats() {
		var b bytes.Buffer
		if err := picture.Write(&b, format, d); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %q\n", format, b.Bytes()[:4])
	}
	// Output:
	// png "\x89PNG"
	// svg "<?xm"
	// pdf "%PDF"
}

func ExampleOverlay() {
	d := &picture.Overlay{
		Title: "Before and after", Y: picture.Gap,
		Sets: []picture.Set{{Name: "before", Bins: bins()}, {Name: "after", Bins: bins()}},
	}
	var b bytes.Buffer
	fmt.Println(picture.Write(&b, "svg", d), bytes.Contains(b.Bytes(), []byte("accuracy - confidence")))
	// Output: <nil> true
}

func ExampleClasses() {
	c := metrics.Must(calib.NewClassBins(nil))
	if err := metrics.NewPass(nil, c).Add(predictions()); err != nil {
		log.Fatal(err)
	}
	d := &picture.Classes{Title: "Each class", Most: 16, Order: picture.MostRows, Y: picture.Frequency}
	for i := range c.Classes() {
		d.Classes = append(d.Classes, picture.Class{Name: fmt.Sprint("class ", i), Bins: c.Class(i).Bins(0.95)})
	}
	var b bytes.Buffer
	fmt.Println(picture.Write(&b, "pdf", d), b.Len() > 0)
	d.Order = picture.LargestError
	fmt.Println(picture.Write(&b, "pdf", d))
	// Output:
	// <nil> true
	// <nil>
}

func ExampleFormatOf() {
	fmt.Println(picture.FormatOf("reliability.PNG"))
	fmt.Println(picture.FormatOf("reliability.jpg"))
	// Output:
	// png true
	//  false
}

func ExampleParseY() {
	y, ok := picture.ParseY("gap")
	fmt.Println(y == picture.Gap, ok)
	// Output: true true
}

func ExampleCurves() {
	d := &picture.Curves{
		Title: "Risk of the most confident rows", X: "coverage", Y: "share of errors", Fit: true,
		Curves: []picture.Curve{
			{Name: "by confidence", X: []float64{0.25, 0.5, 0.75, 1}, Y: []float64{0, 0, 0.02, 0.06}},
			{Name: "chance", X: []float64{0, 1}, Y: []float64{0.06, 0.06}, Bound: true},
		},
	}
	var b bytes.Buffer
	fmt.Println(picture.Write(&b, "svg", d), bytes.Contains(b.Bytes(), []byte(">by confidence<")))
	// Output: <nil> true
}

// Any of these is a Drawing; the largest gap that a picture marks is of a bin with Enough rows.
func ExampleDrawing() {
	for _, d := range []picture.Drawing{&picture.Reliability{}, &picture.Overlay{}, &picture.Classes{}, &picture.Curves{}} {
		var b bytes.Buffer
		fmt.Println(picture.Write(&b, "png", d))
	}
	fmt.Println(picture.Enough)
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// <nil>
	// 30
}
