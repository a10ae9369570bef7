package picture_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/binfree"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/cells"
	"github.com/candor-go/candor/report/picture"
)

func ExampleCORP() {
	c := metrics.Must(cells.New(nil))
	if err := metrics.NewPass(nil, c).Add(predictions()); err != nil {
		log.Fatal(err)
	}
	fit := metrics.Must(binfree.CORPOf(c, nil))
	histogram, _ := calib.EvenOf(c, 50)
	d := &picture.CORP{
		Title: "Three rows", Subtitle: "CORP reliability diagram", Fit: fit, Event: c.Event(),
		Band: fit.Band(0.9, nil), Level: 0.9, Bins: histogram.Bins(metrics.DefaultLevel),
	}
	var b bytes.Buffer
	fmt.Println(picture.Write(&b, "svg", d), bytes.Contains(b.Bytes(), []byte("3 rows; event: a right top label")))
	// Output: <nil> true
}
