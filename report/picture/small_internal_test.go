package picture

import "testing"

func TestSmall(t *testing.T) {
	for v, want := range map[float64]string{0: "0.000", 0.2345: "0.234", 0.01: "0.010", 0.009449: "0.0094", 0.0012345: "0.0012", 0.00009876: "9.9e-05"} {
		if got := small(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
}
