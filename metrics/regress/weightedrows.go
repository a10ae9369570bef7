package regress

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/metrics"
)

// weightedName reports whether a spelling is of twcrps or qwcrps.
func weightedName(spelling string) bool {
	name, _, _ := strings.Cut(strings.TrimSpace(spelling), "(")
	name = strings.TrimSpace(name)
	return name == "twcrps" || name == "qwcrps"
}

// parseWeighted returns the row metric of a spelling such as "twcrps(from=10,fair)" or "qwcrps(emphasis=left)".
func parseWeighted(spelling string, k metrics.Kind, levels []float64, l Law) (metrics.RowMetric, error) {
	name, inner, open := strings.Cut(strings.TrimSpace(spelling), "(")
	name = strings.TrimSpace(name)
	fail := func(format string, args ...any) (metrics.RowMetric, error) {
		return metrics.RowMetric{}, fmt.Errorf("metric %s: "+format, append([]any{name}, args...)...)
	}
	if k == metrics.Quantiles {
		if err := rowsCheck(levels); err != nil {
			return fail("%w", err)
		}
	}
	o := WeightedCRPSOptions{From: math.Inf(-1), To: math.Inf(1), Law: l}
	if k == metrics.Quantiles {
		o.Quantiles = levels
	}
	if name == "qwcrps" {
		o.Emphasis = Tails
	}
	full := name
	if open {
		var ok bool
		if inner, ok = strings.CutSuffix(inner, ")"); !ok || strings.ContainsAny(inner, "()") {
			return metrics.RowMetric{}, fmt.Errorf("%q: it is NAME or NAME(OPTION=VALUE)", spelling)
		}
		for part := range strings.SplitSeq(inner, ",") {
			option, v, _ := strings.Cut(part, "=")
			option, v = strings.TrimSpace(option), strings.TrimSpace(v)
			number, err := strconv.ParseFloat(v, 64)
			switch {
			case option == "" && inner == "":
			case name == "qwcrps" && option == "emphasis":
				i := slices.Index(emphasisNames[:], v)
				if i <= 0 {
					return fail("emphasis is %q; it is one of %s", v, strings.Join(emphasisNames[1:], ", "))
				}
				o.Emphasis = Emphasis(i)
			case name == "twcrps" && (option == "from" || option == "to"):
				if err != nil || number != number {
					return fail("%s is %q; it is a number", option, v)
				}
				if option == "from" {
					o.From = number
				} else {
					o.To = number
				}
			case name == "twcrps" && option == "fair" && k == metrics.Samples && v == "":
				o.Fair = true
			default:
				return fail("there is no option %q", option)
			}
		}
		if inner = strings.ReplaceAll(inner, " ", ""); inner != "" {
			full += "(" + inner + ")"
		}
	}
	if o.From == 0 && o.To == 0 || !(o.From < o.To) {
		return fail("the interval from %v to %v holds no values", o.From, o.To)
	}
	if _, err := NewWeightedCRPS(&o); err != nil {
		return fail("%w", err)
	}
	return metrics.RowMetric{Name: full, Need: metrics.NeedRows, New: weightedRows(o)}, nil
}

// rowsWeighted is the metric without options.
func rowsWeighted(name string, k metrics.Kind) func(float64, []float64) (func() rowsFunc, error) {
	return func(_ float64, levels []float64) (func() rowsFunc, error) {
		m, err := parseWeighted(name, k, levels, NormalLaw)
		return m.New, err
	}
}

// weightedRows returns the scores of rows. They are NaN where WeightedCRPS has a Reason.
func weightedRows(o WeightedCRPSOptions) func() rowsFunc {
	return func() rowsFunc {
		s := metrics.Must(NewWeightedCRPS(&o))
		return func(dst []float64, b *metrics.Block) {
			if b.Kind == metrics.Quantiles && b.Classes != len(o.Quantiles) {
				panic(errRowsLevels)
			}
			if b.Kind == metrics.Normals && b.Classes == 2 && !s.whole() || o.Fair && b.Classes == 1 {
				for i := range dst {
					dst[i] = math.NaN()
				}
				return
			}
			for from := 0; from < b.Rows; {
				to := min(from+weightedBatch(b), b.Rows)
				copy(dst[from:to], s.batch(b, from, to))
				from = to
			}
		}
	}
}
