package picture

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/calib"
)

// Y selects the vertical axis of a diagram.
type Y uint8

const (
	Accuracy  Y = iota // the event's frequency
	Frequency          // the same
	Gap                // frequency minus mean score, in points: above 0 is underconfident
)

// ParseY returns the Y named accuracy, frequency or gap; ok is false for other names.
func ParseY(s string) (y Y, ok bool) {
	for i, n := range []string{"accuracy", "frequency", "gap"} {
		if n == s {
			return Y(i), true
		}
	}
	return 0, false
}

// ByHorizon is the event of survival: it has happened by a time. Partitions have no such event, and pictures have words for it.
const ByHorizon calib.Event = 1 << 7

// names are the words for an event.
type names struct {
	score, up string // of the axes
	says      string // a short name of the score
	is        string // "is right 93.4%"
}

func namesOf(e calib.Event) names {
	switch e {
	case ByHorizon:
		return names{"probability of the event by then", "share with the event by then", "probability", "the event happens in"}
	case calib.Positive:
		return names{"probability of y = 1", "share of y = 1", "probability", "y = 1 in"}
	case calib.AllClasses:
		return names{"probability of the class", "share of the class", "probability", "occurs in"}
	}
	return names{"confidence: the probability of the chosen class", "share that is right", "confidence", "right in"}
}

// gapOf returns the name of an axis of gaps, in points.
func gapOf(e calib.Event) string {
	n := namesOf(e)
	return n.up + " − " + n.says + ", points"
}

// percent formats a level as a percentage with all its digits; 0 means the default.
func percent(v float64) string {
	if v == 0 {
		v = metrics.DefaultLevel
	}
	return strconv.FormatFloat(math.Round(1e8*v)/1e6, 'f', -1, 64) + "%"
}

// thousands formats a number with commas.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// said returns the texts that are not empty, each on a line of its own.
func said(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n")
}

// joined returns the parts that are not empty in one sentence.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// rowsSaid says how many rows there are; "" if 0.
func rowsSaid(n int64) string {
	if n <= 0 {
		return ""
	}
	return counted(n, "row")
}

// pValue formats a p-value.
func pValue(p float64) string {
	switch {
	case math.IsNaN(p):
		return ""
	case p < 0.0001:
		return "p < 0.0001"
	case p < 0.01:
		return fmt.Sprintf("p = %.4f", p)
	}
	return fmt.Sprintf("p = %.2f", p)
}

// Short returns names without what they all have in common at their beginning and end, up to a sign that separates parts of names:
// runs/a/probs.npy and runs/b/probs.npy become a and b. Names that would be empty stay as they are.
func Short(names []string) []string {
	if len(names) < 2 {
		return names
	}
	head, tail := names[0], names[0]
	for _, n := range names[1:] {
		for !strings.HasPrefix(n, head) {
			head = head[:len(head)-1]
		}
		for !strings.HasSuffix(n, tail) {
			tail = tail[1:]
		}
	}
	const signs = "/\\._- :="
	if i := strings.LastIndexAny(head, signs); i >= 0 {
		head = head[:i+1]
	} else {
		head = ""
	}
	if i := strings.IndexAny(tail, signs); i >= 0 {
		tail = tail[i:]
	} else {
		tail = ""
	}
	out := make([]string, len(names))
	for i, n := range names {
		if len(n) <= len(head)+len(tail) {
			return names
		}
		out[i] = n[len(head) : len(n)-len(tail)]
	}
	return out
}

// finite reports whether all values are finite.
func finite(v ...float64) bool {
	for _, x := range v {
		if x-x != 0 {
			return false
		}
	}
	return true
}

// same panics unless each column has the same length as the first. Optional columns may be nil.
func same(n int, columns ...[]float64) {
	for _, c := range columns {
		if c != nil && len(c) != n {
			panic("picture: the columns of a picture differ in length")
		}
	}
}

// ends returns the interval of row i; none if columns are nil.
func ends(low, high []float64, i int) metrics.Interval {
	if low == nil || high == nil {
		return metrics.NoInterval()
	}
	return metrics.Interval{Low: low[i], High: high[i]}
}

// anyKnown reports whether there are intervals.
func anyKnown(low, high []float64) bool {
	for i := range low {
		if known(ends(low, high, i)) {
			return true
		}
	}
	return false
}

// brief formats ticks in the usual way: with commas, or with a power of ten if they are far from 1.
func brief(ticks []float64) []string {
	most, least := 0.0, math.Inf(1)
	for _, v := range ticks {
		if v != 0 {
			most, least = math.Max(most, math.Abs(v)), math.Min(least, math.Abs(v))
		}
	}
	out := make([]string, len(ticks))
	switch {
	case most < 1e4 && least >= 1e-3 || most == 0:
		return labels(ticks)
	case most < 1e6 && !slices.ContainsFunc(ticks, func(v float64) bool { return v < 0 || v != math.Trunc(v) }):
		for i, v := range ticks {
			out[i] = thousands(int64(v))
		}
		return out
	}
	for i, v := range ticks {
		out[i] = power(v)
	}
	return out
}

// power formats a number like 2.5e−7, or 0.
func power(v float64) string {
	if v == 0 {
		return "0"
	}
	m, e, _ := strings.Cut(strconv.FormatFloat(v, 'e', 2, 64), "e")
	if strings.Contains(m, ".") {
		m = strings.TrimRight(strings.TrimRight(m, "0"), ".")
	}
	n, err := strconv.Atoi(e)
	if err != nil || n == 0 {
		return minus(m)
	}
	return minus(m + "e" + strconv.Itoa(n))
}

// upTo returns the upper end of an axis from 0, with some room above a value; 1 if there is no value.
func upTo(most float64) float64 {
	if !(most > 1e-290 && most < 1e290) {
		return 1
	}
	return most * 1.08
}

// small formats an error with three decimals, or with two significant digits below 0.01: with many classes, each error is small.
func small(v float64) string {
	if v > 0 && v < 0.01 {
		return minus(strconv.FormatFloat(v, 'g', 2, 64))
	}
	return minus(strconv.FormatFloat(v, 'f', 3, 64))
}
