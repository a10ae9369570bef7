package file_test

import (
	"bytes"
	"fmt"

	"github.com/candor-go/candor/report/picture"
	"github.com/candor-go/candor/report/picture/file"
)

func ExampleWrite() {
	d := &picture.Members{Title: "Five members", Metric: "ece", Values: []float64{0.1, 0.2, 0.15, 0.12, 0.13}, Ensemble: 0.05}
	for _, format := range file.Formats() {
		var b bytes.Buffer
		if err := file.Write(&b, format, d.Scene()); err != nil {
			panic(err)
		}
		fmt.Printf("%s %q\n", format, b.Bytes()[:4])
	}
	// Output:
	// png "\x89PNG"
	// svg "<svg"
	// pdf "%PDF"
}

func ExampleFormatOf() {
	fmt.Println(file.FormatOf("reliability.PNG"))
	fmt.Println(file.FormatOf("reliability.jpg"))
	// Output:
	// png true
	//  false
}
