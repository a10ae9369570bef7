package eval_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
	"github.com/candor-go/candor/metrics/ensemble"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/metrics/score"
	"github.com/candor-go/candor/recal"
	"gonum.org/v1/gonum/mat"
)

// Example_library is the code of docs/library.md.
func Example_library() {
	probs := mat.NewDense(4, 3, []float64{0.7, 0.2, 0.1, 0.1, 0.8, 0.1, 0.3, 0.3, 0.4, 0.9, 0.05, 0.05})
	labels := []int32{0, 1, 0, 0}

	p := &metrics.Predictions{Scores: metrics.FromMatrix(probs), Labels: labels}
	ece, err := calib.ECE(p, nil) // 15 equal-width bins, top label

	fmt.Printf("%.4f %v\n", ece, err)

	bins, loss := metrics.Must(calib.NewBins(&calib.Options{Bins: 30})), metrics.Must(score.NewLoss(nil))
	err = metrics.NewPass(nil, bins, loss).Add(p) // one read, many answers
	fmt.Println(bins.ECE(), bins.Interval(0.95), loss.NLL(), loss.Brier(score.BrierDefault))

	fmt.Println(err)

	ace, err := calib.ACE(p, nil) // adaptive calibration error; calib.GCE takes every choice by name
	fmt.Println(ace)

	fmt.Println(err)
	heldOut := &metrics.Predictions{Scores: metrics.FromMatrix(probs), Labels: []int32{0, 1, 0, 1}}
	dst := metrics.Scores{F64: make([]float64, 12), Rows: 4, Classes: 3}

	m, err := recal.Temperature{}.Fit(recal.InMemory(heldOut), nil) // softmax(z/T), with the T of the least NLL
	m.Apply(&dst, &p.Scores, p.Kind)

	fmt.Printf("%.4f %.4f %v\n", dst.F64[:3], m.(*recal.TemperatureMap).T(), err)
	first, second := probs, mat.NewDense(4, 3, []float64{0.5, 0.3, 0.2, 0.1, 0.8, 0.1, 0.1, 0.2, 0.7, 0.9, 0.05, 0.05})

	members := &metrics.Members{Each: []metrics.Scores{metrics.FromMatrix(first), metrics.FromMatrix(second)}, Labels: labels}
	u, err := ensemble.UncertaintyOf(ensemble.InMemory(members), nil) // disagreement of the members, and mean uncertainty of each
	fmt.Println(u.Value(ensemble.MutualInformation), u.Value(ensemble.DataUncertainty))

	fmt.Println(err)
	observed, mean, sd := []float64{23, 17, 21, 24, 19}, []float64{20, 18, 25, 22, 19}, []float64{2, 1, 3, 2, 1}

	normal, curve := metrics.Must(regress.NewNormal(nil)), metrics.Must(regress.NewCalibration(nil))
	err = metrics.NewPass(nil, normal, curve).Add(metrics.Must(regress.NormalPredictions(observed, mean, sd))) // regression forecasts
	fmt.Println(normal.Value(regress.CRPS), normal.Value(regress.RCE), curve.Curve().Area(regress.AreaCrossing))

	fmt.Println(err)
	// Output:
	// 0.2500 <nil>
	// 0.25 {0 0.6599558798277672} 0.47228795380917615 0.2387499999999998
	// <nil>
	// 0.21666666666666667
	// <nil>
	// [0.4730 0.2972 0.2298] 2.6960 <nil>
	// 0.01845335955164984 0.7236311495864634
	// <nil>
	// 1.3183337995397229 -0.25656172487508644 0.07500000000000001
	// <nil>
}

// TestLibraryPage checks that every line of code on docs/library.md is compiled here.
func TestLibraryPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.ReadFile("library_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, ok := strings.Cut(string(page), "```go\n")
	if !ok {
		t.Fatal("the page has no Go code")
	}
	code, _, _ = strings.Cut(code, "```")
	for _, line := range strings.Split(strings.TrimSpace(code), "\n") {
		if !strings.Contains(string(here), line) {
			t.Errorf("not compiled here: %s", line)
		}
	}
}
