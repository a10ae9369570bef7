package eval

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/calib"
)

// norm selects how the gaps of bins are combined.
type norm uint8

const (
	l1 norm = iota
	l2
	largest
)

var normNames = []string{"l1", "l2", "max"}

// binning holds the options of a metric over bins of one event.
type binning struct {
	calib.Options      // only Bins and Event if adaptive
	adaptive      bool // if Bins is 0, the metric chooses their number
	norm          norm
}

// binned returns the options of a metric over bins: the base, overridden by the metric's own.
func (m Metric) binned(base calib.Options, classes int, event calib.Event, normal norm) (binning, error) {
	b := binning{Options: base, norm: normal}
	b.Event = event
	rules := false
	for _, a := range m.args {
		switch a.name {
		case "event":
			return b, errors.New("the event is in the name: ece_positive, ece_top_label")
		case "adaptive":
			if a.value != "" && a.value != "false" {
				return b, fmt.Errorf("adaptive is %q; it is a switch", a.value)
			}
			b.adaptive = a.value == ""
		case "norm":
			i := slices.Index(normNames, a.value)
			if i < 0 {
				return b, fmt.Errorf("norm is %q; it is one of %s", a.value, strings.Join(normNames, ", "))
			}
			b.norm = norm(i)
		default:
			if a.name != "bins" && !slices.ContainsFunc(b.Options.Fields(), func(f [2]string) bool { return f[0] == a.name }) {
				return b, fmt.Errorf("there is no option %q; there are %s", a.name, binOptions)
			}
			if err := b.Options.Set(a.name, a.value); err != nil {
				return b, said(err)
			}
			rules = rules || a.name != "bins"
		}
	}
	if b.Bins == 0 {
		b.Bins = calib.DefaultBins
	}
	if b.adaptive {
		if rules {
			return b, errors.New("adaptive goes with bins and norm only: its bins have no rules for 0 and 1, and equal scores are never divided")
		}
		b.Options = calib.Options{Bins: b.Bins, Event: b.Event}
	}
	return b, said(b.Validate())
}

// said strips the package name from an error in options, which would mean nothing to the author of a metric.
func said(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.TrimPrefix(err.Error(), "calib: "))
}

// plain reports whether cells can form exactly these bins, without rules of their own.
func (b *binning) plain() bool {
	return b.adaptive || b.Options == calib.Options{Bins: b.Bins, Event: b.Event} && kernel.GridBins(b.Bins)
}

// Text describes the definition in words.
func (b *binning) Text() string {
	if !b.adaptive {
		return b.Options.Text()
	}
	event, _, _ := strings.Cut(b.Options.Text(), ";")
	return event + "; " + equalMass(b.Bins)
}

// equalMass describes bins of equal mass and their treatment of ties; 0 bins means that the metric chooses their number.
func equalMass(bins int) string {
	number, b := "", "B"
	if bins > 0 {
		b = strconv.Itoa(bins)
		number = b + " "
	}
	return fmt.Sprintf("%sbins of equal mass: bin j begins with all rows of the score of rank round(j*N/%s), from 0, halves to even", number, b)
}

func (b *binning) fields() []Field {
	f := []Field{{"bins", b.Bins}, {"binning", "even"}, {"norm", normNames[b.norm]}}
	if b.adaptive {
		f[1].Value = "adaptive"
	}
	for _, kv := range b.Options.Fields() {
		var v any = kv[1]
		if kv[1] == "true" || kv[1] == "false" {
			v = kv[1] == "true" // a switch
		}
		if !b.adaptive || kv[0] == "event" {
			f = append(f, Field{kv[0], v})
		}
	}
	if b.adaptive {
		f = append(f, tiesTogether)
	}
	return f
}

// tiesTogether is the rule for all bins that are cut by counts of rows.
var tiesTogether = Field{"ties", "together, in the higher bin"}

// Field is an option of a metric with its value: an int, a uint64, a float64, a bool, a string, or nil for none.
type Field struct {
	Name  string
	Value any
}

// byClass holds the options of a metric over bins of each class.
type byClass struct {
	bins      int
	threshold *float64
	side      kernel.Side
	overflow  bool // p = 1 has a bin of its own
	norm      norm
	adaptive  bool
}

const (
	classOptions     = "bins=N, threshold=P, norm=l1|l2"
	evenClassOptions = classOptions + ", closed=left|right, one=last|overflow"
)

// classwise returns the options of a metric over bins of each class. The defaults are those of def or, with um, those of
// uncertainty_metrics, where p = 0 is dropped and p = 1 has a bin of its own.
func (m Metric) classwise(bins int, def byClass, um bool) (byClass, error) {
	c := def
	c.bins = bins
	if um && c.threshold == nil {
		c.threshold = new(0.0)
	}
	one := ""
	for _, a := range m.args {
		switch {
		case a.name == "bins":
			n, err := strconv.Atoi(a.value)
			if err != nil || n < 1 {
				return c, fmt.Errorf("bins is %q; it is a positive whole number", a.value)
			}
			c.bins = n
		case a.name == "threshold":
			v, err := strconv.ParseFloat(a.value, 64)
			if err != nil || !(v >= 0 && v < 1) {
				return c, fmt.Errorf("threshold is %q; it is a number from 0 to below 1", a.value)
			}
			c.threshold = &v
		case a.name == "norm" && a.value == "l1":
			c.norm = l1
		case a.name == "norm" && a.value == "l2":
			c.norm = l2
		case a.name == "norm":
			return c, fmt.Errorf("norm is %q; it is one of l1, l2", a.value)
		case a.name == "closed" && !def.adaptive:
			i := slices.Index([]string{"left", "right"}, a.value)
			if i < 0 {
				return c, fmt.Errorf("closed is %q; it is one of left, right", a.value)
			}
			c.side = kernel.Side(i)
		case a.name == "one" && !def.adaptive:
			if one = a.value; one != "last" && one != "overflow" {
				return c, fmt.Errorf("one is %q; it is one of last, overflow", one)
			}
		default:
			what := evenClassOptions
			if def.adaptive {
				what = classOptions
			}
			return c, fmt.Errorf("there is no option %q; there are %s", a.name, what)
		}
	}
	if one == "overflow" && c.side != kernel.LeftClosed {
		return c, errors.New("one=overflow is for bins that are closed on the left")
	}
	c.overflow = one == "overflow" || one == "" && um && !c.adaptive && c.side == kernel.LeftClosed
	return c, said(c.evenOptions().Validate())
}

// evenOptions returns the options for bins of equal width.
func (c *byClass) evenOptions() calib.ClassOptions {
	o := calib.ClassOptions{Bins: c.bins, Above: c.threshold, Side: c.side}
	if c.overflow {
		o.Bins, o.Edges = 0, append(kernel.Edges(c.bins), 1) // a last bin of width 0
	}
	return o
}

func (c *byClass) fields() []Field {
	f := []Field{{"bins", c.bins}, {"binning", "even"}, {"norm", normNames[c.norm]}, {"threshold", nil}}
	if c.adaptive {
		f[1].Value = "adaptive"
	} else {
		one := "last"
		if c.overflow {
			one = "overflow"
		}
		f = append(f, Field{"closed", []string{"left", "right"}[c.side]}, Field{"one", one})
	}
	if c.threshold != nil {
		f[3].Value = *c.threshold
	}
	if c.adaptive {
		f = append(f, tiesTogether)
	}
	return f
}

// formulas holds the formulas of gaps over bins by norm; that of l1 belongs to the metric.
var formulas = []string{l2: "sqrt(sum_bins (n_b/N) (mean p - mean y)^2)", largest: "max_bins |mean p - mean y|"}

// formula returns the formula for the norm; own is the formula of the descriptor, for the norm normal.
func (b *binning) formula(own string, normal norm) string {
	if b.norm == normal {
		return own
	}
	return formulas[b.norm]
}

// formula returns the formula for the norm and the number of entries.
func (c *byClass) formula() string {
	n, over := "N", ""
	if c.threshold != nil {
		n, over = "N_k", ", over the N_k entries above the threshold"
	}
	if c.norm == l2 {
		return "sqrt((1/K) sum_k sum_bins (n_b/" + n + ") (mean p_k - mean [y = k])^2)" + over
	}
	return "(1/K) sum_k (1/" + n + ") sum_bins |sum (p_k - [y = k])|" + over
}

// text describes the definition in words, for predictions of this many classes.
func (c *byClass) text(classes int) string {
	s := "every class against the rest; "
	if classes == 1 {
		s = "class 1 against the rest; "
	}
	switch n := strconv.Itoa(c.bins); {
	case c.adaptive:
		s += equalMass(c.bins)
	case c.side == kernel.RightClosed:
		s += n + " equal-width bins; right-closed"
	default:
		s += n + " equal-width bins; left-closed"
	}
	if c.overflow {
		s += "; p >= 1 in an overflow bin"
	}
	if c.threshold != nil {
		s += "; only p > " + strconv.FormatFloat(*c.threshold, 'g', -1, 64)
	}
	return s
}
