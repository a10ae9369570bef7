package page

import "testing"

// TestMinus: negative numbers have a minus sign, and names keep their hyphens.
func TestMinus(t *testing.T) {
	for in, want := range map[string]string{
		"-0.5":                                   "−0.5",
		"-Inf":                                   "−Inf",
		"-.5 and 3.021e-06":                      "−.5 and 3.021e−06",
		"by -1.5 points [-2.0, -1.0], from (-3)": "by −1.5 points [−2.0, −1.0], from (−3)",
		"resnet-50 is better than model-a":       "resnet-50 is better than model-a",
		"D-calibration shows nothing":            "D-calibration shows nothing",
		"out-of-distribution, 2024-05-01":        "out-of-distribution, 2024-05-01",
	} {
		if got := minus(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
