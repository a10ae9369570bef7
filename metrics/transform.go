package metrics

import "fmt"

// Transform is what forecasts and observed values go through before they are compared.
type Transform uint8

const (
	Untransformed Transform = iota
	Log1p                   // ln(1 + x), of quantiles and samples above -1
)

var transforms = [...]string{"none", "log1p"}

func (t Transform) String() string { return transforms[t] }

// Valid reports whether t is one of the constants.
func (t Transform) Valid() bool { return int(t) < len(transforms) }

// ParseTransform returns the transform of a name.
func ParseTransform(name string) (Transform, error) {
	for i, n := range transforms {
		if n == name {
			return Transform(i), nil
		}
	}
	return 0, fmt.Errorf("metrics: %q is no transform", name)
}
