package regress

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/candor-go/candor/metrics"
)

// vectorNames are the metrics with a value for each row of Multivariate, in the order of VectorScore.
var vectorNames = [vectorScores]string{"energy_score", "energy_score_fair", "variogram_score", "dawid_sebastiani"}

// parseVector returns the row metric of a spelling such as "variogram_score(order=1,weights=inverse_distance)".
func parseVector(spelling string) (metrics.RowMetric, error) {
	name, inner, open := strings.Cut(strings.TrimSpace(spelling), "(")
	name = strings.TrimSpace(name)
	fail := func(format string, args ...any) (metrics.RowMetric, error) {
		return metrics.RowMetric{}, fmt.Errorf("metric %s: "+format, append([]any{name}, args...)...)
	}
	score := vectorScores
	for i, n := range vectorNames {
		if n == name {
			score = VectorScore(i)
		}
	}
	if score == vectorScores {
		return fail("%w", metrics.ErrNoRows)
	}
	o, full := VectorOptions{Score: score}, name
	if open {
		var ok bool
		if inner, ok = strings.CutSuffix(inner, ")"); !ok || strings.ContainsAny(inner, "()") {
			return metrics.RowMetric{}, fmt.Errorf("%q: it is NAME or NAME(OPTION=VALUE)", spelling)
		}
		if inner = strings.ReplaceAll(inner, " ", ""); inner != "" {
			full += "(" + inner + ")"
			for part := range strings.SplitSeq(inner, ",") {
				option, v, _ := strings.Cut(part, "=")
				number, err := strconv.ParseFloat(v, 64)
				switch {
				case score == Variogram && option == "order" && err == nil:
					if o.Order = number; number == 0 {
						o.Order = math.NaN()
					}
				case score == Variogram && option == "weights" && (v == "equal" || v == "inverse_distance"):
					o.Near = v == "inverse_distance"
				default:
					return fail("there is no option %q", part)
				}
			}
		}
	}
	if _, err := NewVectors(&o); err != nil {
		return fail("%w", err)
	}
	return metrics.RowMetric{Name: full, Need: metrics.NeedRows, New: func() rowsFunc {
		s := metrics.Must(NewVectors(&o))
		return func(dst []float64, b *metrics.Block) {
			s.batch(b, 0, b.Rows)
			copy(dst, s.scores[map[bool]int{true: 1}[score == EnergyFair]])
		}
	}}, nil
}

// rowsVector is the metric without options.
func rowsVector(score VectorScore) func(float64, []float64) (func() rowsFunc, error) {
	return func(float64, []float64) (func() rowsFunc, error) {
		m, err := parseVector(vectorNames[score])
		return m.New, err
	}
}
