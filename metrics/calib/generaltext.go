package calib

import (
	"fmt"
	"strconv"
	"strings"
)

// Names of the options in String, Set and documents.
var (
	binningNames = []string{"even", "adaptive", "cube_root", "sweep", "sweep_even"}
	ruleNames    = []string{"order", "order_closed", "rank", "rank_outcome", "quantile_linear", "quantile_nearest", "strides"}
	normNames    = []string{"l1", "l2", "max"}
)

// flags returns the switches by name.
func (o *GeneralOptions) flags() []struct {
	name string
	on   *bool
} {
	return []struct {
		name string
		on   *bool
	}{{"class_conditional", &o.ClassConditional}, {"equal_weight", &o.EqualWeight}, {"total", &o.TotalDenominator},
		{"confidence_weighted", &o.ConfidenceWeighted}, {"mean_of_roots", &o.MeanOfRoots}, {"present", &o.PresentClasses},
		{"by_frequency", &o.ByFrequency}}
}

// String returns the options that differ from the default, in a fixed order and the form "binning=adaptive,norm=l2,bins=30". It
// is "" for the default. It omits Data. Set reads each option.
func (o GeneralOptions) String() string {
	var s []string
	name := func(key string, names []string, v int) {
		if v != 0 {
			s = append(s, key+"="+names[v])
		}
	}
	name("binning", binningNames, int(o.Binning))
	name("rule", ruleNames, int(o.EdgeRule))
	name("norm", normNames, int(o.Norm))
	for _, f := range o.flags() {
		if *f.on {
			s = append(s, f.name)
		}
	}
	if o.PointsPerBin != 0 {
		s = append(s, "points="+strconv.Itoa(o.PointsPerBin))
	}
	// Options shared with other types.
	c := ClassOptions{Edges: o.Edges, Above: o.Above}.String()
	e := o.even()
	e.Bins = o.Bins
	for _, more := range []string{c, e.String()} {
		if more != "" {
			s = append(s, more)
		}
	}
	return strings.Join(s, ",")
}

// Set changes one option by its name in String: binning, rule, norm, points, edges, above, a switch, or one of Options. After
// an error the options are unchanged.
func (o *GeneralOptions) Set(name, value string) error {
	pick := func(names []string, set func(i int)) error {
		for i, n := range names {
			if n == value {
				set(i)
				return nil
			}
		}
		return fmt.Errorf("%s is %q; it is one of %s", name, value, strings.Join(names, ", "))
	}
	for _, f := range o.flags() {
		if f.name != name {
			continue
		}
		if value != "" && value != "true" && value != "false" {
			return fmt.Errorf("%s is a switch: it takes no value", name)
		}
		*f.on = value != "false"
		return nil
	}
	switch name {
	case "binning":
		return pick(binningNames, func(i int) { o.Binning = Binning(i) })
	case "rule":
		return pick(ruleNames, func(i int) { o.EdgeRule = EdgeRule(i) })
	case "norm":
		return pick(normNames, func(i int) { o.Norm = Norm(i) })
	case "points":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return fmt.Errorf("points is %q; it is a positive whole number", value)
		}
		o.PointsPerBin = n
	case "above":
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || !(v >= 0 && v < 1) {
			return fmt.Errorf("above is %q; it is from 0 to below 1", value)
		}
		o.Above = &v
	case "edges":
		var edges []float64
		for _, f := range strings.Fields(value) {
			v, err := strconv.ParseFloat(f, 64)
			if err != nil || v-v != 0 {
				return fmt.Errorf("edges are %q; they are numbers with spaces between", value)
			}
			edges = append(edges, v)
		}
		if len(edges) < 2 {
			return fmt.Errorf("edges are %q; there have to be two at least", value)
		}
		o.Edges = edges
	default:
		return o.Options.Set(name, value)
	}
	return nil
}

// Text describes the full definition in words.
func (o GeneralOptions) Text() string {
	o = o.normal()
	event := []string{"top label, or of a binary task the positive class", "top label", "positive class",
		"every class of every row"}[o.Event]
	if o.ClassConditional {
		event = "each class of every row"
		if o.Event == TopLabel {
			event = "top label, by predicted class"
		}
	}
	t := []string{event}
	e := o.even()
	bins := fmt.Sprintf("%d ", e.bins())
	if o.PointsPerBin > 0 {
		bins = fmt.Sprintf("rows/%d ", o.PointsPerBin)
	}
	switch {
	case o.Edges != nil:
		t = append(t, fmt.Sprintf("%d bins between given edges", len(o.Edges)-1))
	case o.Binning == Even:
		t = append(t, bins+"equal-width bins")
	case o.Binning == Adaptive:
		t = append(t, bins+"equal-mass bins")
	case o.Binning == CubeRoot:
		t = append(t, "equal-mass bins, the cube root of the number of scores")
	case o.Binning == SweepMass:
		t = append(t, "equal-mass bins, as many as keep the frequency rising")
	case o.Binning == SweepEven:
		t = append(t, "equal-width bins, as many as keep the frequency rising")
	}
	if o.Binning == Even {
		// The rules of equal-width bins follow the event and the number of bins in Options.Text.
		t = append(t, strings.Split(e.Text(), "; ")[2:]...)
	} else if sweeps := o.Binning >= SweepMass; sweeps && o.EdgeRule == OrderStatisticClosed {
		t = append(t, "edges between them, equal scores divided to find them, the largest score in a bin of its own")
	} else if o.Binning != SweepEven {
		t = append(t, []string{"equal scores together", "equal scores together, 1 in a bin of its own", "by rank, equal scores divided",
			"by rank, equal scores divided by outcome", "edges at linear quantiles, (a,b], the lowest score alone",
			"edges at nearest quantiles", "strides of ceil and floor, (a,b], the lowest score in no bin"}[o.EdgeRule])
		if o.EdgeRule == OrderStatistic && o.Binning <= CubeRoot {
			t = append(t, []string{"left-closed", "right-closed"}[o.Side])
		}
	}
	if o.Above != nil {
		t = append(t, "p > "+strconv.FormatFloat(*o.Above, 'g', -1, 64))
		if o.TotalDenominator {
			t = append(t, "divided by all")
		}
	}
	t = append(t, []string{"mean of |gap|", "root of the mean of gap^2", "largest |gap|"}[o.Norm])
	for _, f := range o.flags()[1:] {
		if *f.on && f.name != "total" {
			t = append(t, strings.ReplaceAll(f.name, "_", " "))
		}
	}
	return strings.Join(t, "; ")
}
