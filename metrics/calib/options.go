package calib

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics"
)

// Event is the event whose probability is binned.
type Event = metrics.Event

// Events; see metrics.Event. ByShape is the default.
const (
	ByShape    = metrics.ByShape
	TopLabel   = metrics.TopLabel
	Positive   = metrics.Positive
	AllClasses = metrics.AllClasses
)

// OneRule selects the bin of scores of 1 or above.
type OneRule uint8

const (
	LastBin     OneRule = iota // the last bin
	OverflowBin                // a separate bin after the last (uncertainty_metrics, torchmetrics)
	LastBinOnly                // 1 in the last bin, scores above 1 in no bin; only unchecked scores are above 1
)

// ZeroRule selects the bin of scores of 0 or below.
type ZeroRule uint8

const (
	FirstBin ZeroRule = iota // the first bin
	DropZero                 // no bin, and the row does not count (uncertainty_metrics: p > 0)
	NoBin                    // no bin, but the row counts (right-closed bins of Guo et al.'s code)
	OwnBin                   // a separate bin before the first (numpy.digitize with right=True)
)

// Index selects how the bin of a score is computed.
type Index uint8

const (
	EdgeMul   Index = iota // comparison with the edges i*(1/B), those of numpy.linspace
	EdgeDiv                // comparison with the edges i/B
	FloorMul               // floor(B*p), in the type of the scores (TensorFlow)
	EdgeMul32              // comparison with the float32 edges of torch.linspace
	// EdgeTorch is the rule of torchmetrics. Scores of the positive class are compared with the edges of torch.linspace in
	// their own type, float64 or otherwise float32. Scores of other events are rounded to float32 and compared with the float32
	// edges.
	EdgeTorch
)

// Options select a calibration error. The zero value is candor's default: 15 equal-width bins of the top label's score, or of
// the positive class's score in a binary task. Bins are left-closed, with the last one closed, and scores of 0 count.
type Options struct {
	Bins  int         // number of bins; 0 means DefaultBins
	Event Event       // whose probability is binned
	Side  kernel.Side // side on which bins are closed: LeftClosed [a,b) or RightClosed (a,b]
	One   OneRule
	Zero  ZeroRule
	Index Index
	// BlogEdges makes Bins the number of edges, so there is one bin fewer, as in the blog post "Metrics for uncertainty
	// estimation".
	BlogEdges bool
	// Data selects how ECE and the other functions of predictions in memory read rows: threads, bad rows, renormalization. An
	// accumulator ignores it, because a Pass gives it rows.
	Data metrics.Options
}

// DefaultBins is the default number of bins.
const DefaultBins = 15

// maxBins limits the memory of a state, which takes about 250 bytes per bin.
const maxBins = 1 << 20

// Like returns the options of another system, with its default number of bins. They reproduce its bins, but not the rounding of
// its sums. All systems except torchmetrics use the top label of a binary task:
//
//	um            google/uncertainty_metrics, numpy: 30 bins, p = 0 dropped, p = 1 in an overflow bin
//	tfp           tfp.stats and Keras metrics: floor(B*p), 15 bins
//	torchmetrics  edges of torch.linspace: for a binary task in the type of the scores, otherwise float32 edges and scores
//	              rounded to float32; p = 1 in an overflow bin, 15 bins
//	guo           temperature_scaling by an author of Guo et al. 2017: (a,b], float32 edges, p = 0 in no bin, 15 bins
//	blog          "Metrics for uncertainty estimation": (a,b], 15 edges, so 14 bins, p = 0 in a bin of its own
func Like(system string) (Options, error) {
	switch system {
	case "um":
		return Options{Bins: 30, Event: TopLabel, Zero: DropZero, One: OverflowBin}, nil
	case "tfp":
		return Options{Bins: 15, Event: TopLabel, Index: FloorMul}, nil
	case "torchmetrics":
		return Options{Bins: 15, Index: EdgeTorch, One: OverflowBin}, nil
	case "guo":
		return Options{Bins: 15, Event: TopLabel, Side: kernel.RightClosed, Index: EdgeMul32, Zero: NoBin, One: LastBinOnly}, nil
	case "blog":
		return Options{Bins: 15, Event: TopLabel, Side: kernel.RightClosed, BlogEdges: true, Zero: OwnBin, One: LastBinOnly}, nil
	}
	return Options{}, fmt.Errorf("calib: %q is not one of um, tfp, torchmetrics, guo, blog", system)
}

// normal returns the options with defaults filled in, so that equivalent options are equal.
func (o Options) normal() Options {
	if o.Bins == 0 {
		o.Bins = DefaultBins
	}
	return o
}

// Validate returns an error that describes invalid options, or nil.
func (o Options) Validate() error {
	o = o.normal()
	switch {
	case o.Bins < 1 || o.Bins > maxBins || o.BlogEdges && o.Bins < 2:
		return fmt.Errorf("calib: %d bins; there have to be 1 to %d (2 where they are edges)", o.Bins, maxBins)
	case o.Event > AllClasses || o.Side > kernel.RightClosed || o.One > LastBinOnly || o.Zero > OwnBin || o.Index > EdgeTorch:
		return errors.New("calib: Event, Side, One, Zero or Index has an unknown value")
	case o.Index == FloorMul && o.Side == kernel.RightClosed:
		return errors.New("calib: floor(B*p) makes left-closed bins; it cannot be asked to close them on the right")
	}
	return nil
}

// bins returns the number of bins.
func (o Options) bins() int {
	if o.BlogEdges {
		return o.Bins - 1
	}
	return o.Bins
}

// Names of the options in String, Set and documents.
var (
	eventNames = []string{"shape", "top", "positive", "all"}
	sideNames  = []string{"left", "right"}
	oneNames   = []string{"last", "overflow", "last_only"}
	zeroNames  = []string{"first", "dropped", "nobin", "own"}
	indexNames = []string{"edges", "divided", "floor", "edges32", "torch"}
)

// String returns the options that differ from the default, in a fixed order and the form "bins=30,zero=dropped,one=overflow".
// It is "" for the default. It omits Data. Set reads each option.
func (o Options) String() string {
	o = o.normal()
	var s []string
	add := func(name string, names []string, v int) {
		if v != 0 {
			s = append(s, name+"="+names[v])
		}
	}
	if o.Bins != DefaultBins {
		s = append(s, "bins="+strconv.Itoa(o.Bins))
	}
	add("event", eventNames, int(o.Event))
	add("closed", sideNames, int(o.Side))
	add("one", oneNames, int(o.One))
	add("zero", zeroNames, int(o.Zero))
	add("index", indexNames, int(o.Index))
	if o.BlogEdges {
		s = append(s, "blog_edges")
	}
	return strings.Join(s, ",")
}

// Set changes one option by its name in String: bins, event, closed, one, zero, index, blog_edges. An empty value sets a
// switch. After an error the options are unchanged.
func (o *Options) Set(name, value string) error {
	pick := func(names []string, set func(i int)) error {
		for i, n := range names {
			if n == value {
				set(i)
				return nil
			}
		}
		return fmt.Errorf("%s is %q; it is one of %s", name, value, strings.Join(names, ", "))
	}
	flag := func(p *bool) error {
		switch value {
		case "", "true":
			*p = true
		case "false":
			*p = false
		default:
			return fmt.Errorf("%s is a switch: it takes no value", name)
		}
		return nil
	}
	switch name {
	case "bins":
		i, err := strconv.Atoi(value)
		if err != nil || i < 1 {
			return fmt.Errorf("bins is %q; it is a positive whole number", value)
		}
		o.Bins = i
	case "event":
		return pick(eventNames, func(i int) { o.Event = Event(i) })
	case "closed":
		return pick(sideNames, func(i int) { o.Side = kernel.Side(i) })
	case "one":
		return pick(oneNames, func(i int) { o.One = OneRule(i) })
	case "zero":
		return pick(zeroNames, func(i int) { o.Zero = ZeroRule(i) })
	case "index":
		return pick(indexNames, func(i int) { o.Index = Index(i) })
	case "blog_edges":
		return flag(&o.BlogEdges)
	default:
		return fmt.Errorf("there is no option %q; there are bins, event, closed, one, zero, index, blog_edges", name)
	}
	return nil
}

// Text describes the full definition in words.
func (o Options) Text() string {
	o = o.normal()
	t := []string{[]string{"top label, or of a binary task the positive class", "top label", "positive class", "every class of every row"}[o.Event],
		fmt.Sprintf("%d equal-width bins", o.bins())}
	if o.Side == kernel.LeftClosed {
		t = append(t, "left-closed")
	} else {
		t = append(t, "right-closed")
	}
	t = append(t, []string{"the last bin closed", "p >= 1 in an overflow bin", "the last bin closed, p > 1 in no bin"}[o.One])
	t = append(t, []string{"p = 0 counted", "p = 0 dropped", "p = 0 in no bin", "p = 0 in its own bin"}[o.Zero])
	t = append(t, []string{"edges i*(1/B)", "edges i/B", "bin floor(B*p)", "float32 edges of torch.linspace",
		torchText[o.Event]}[o.Index])
	return strings.Join(t, "; ")
}

// torchText describes the edges of EdgeTorch for each event.
var torchText = []string{
	ByShape:    "edges of torch.linspace, of the positive class in the type of the scores, of the top label in float32",
	TopLabel:   torchNarrow,
	Positive:   "edges of torch.linspace in the type of the scores",
	AllClasses: torchNarrow,
}

const torchNarrow = "scores rounded to float32; float32 edges of torch.linspace"

// edges returns the edges between bins; for EdgeTorch the float32 edges.
func (o Options) edges() []float64 {
	n := o.bins()
	e := kernel.Edges(n)
	switch o.Index {
	case EdgeDiv:
		for i := range e {
			e[i] = float64(i) / float64(n)
		}
	case EdgeMul32, EdgeTorch:
		// Only the conversion to float32 rounds: a product has at most 45 digits, and so does its difference from 1.
		step := float64(1 / float32(n))
		for i := range e {
			e[i] = float64(float32(linspace(step, i, n)))
		}
	}
	return e
}

// linspace returns an edge of torch.linspace(0, 1, n+1), which steps up from 0 in its lower half and down from 1 in its upper
// half. Product and difference are rounded once, because compilers fuse them.
func linspace(step float64, i, n int) float64 {
	if i < (n+1)/2 {
		return step * float64(i)
	}
	return math.FMA(-step, float64(n-i), 1)
}

// wideEdges returns the edges of EdgeTorch in float64.
func (o Options) wideEdges() []float64 {
	n := o.bins()
	e := make([]float64, n+1)
	for i := range e {
		e[i] = linspace(1/float64(n), i, n)
	}
	return e
}

// Fields returns the names and values of all options except the number of bins, in a fixed order.
func (o Options) Fields() [][2]string {
	b := func(v bool) string {
		if v {
			return "true"
		}
		return "false"
	}
	return [][2]string{
		{"event", eventNames[o.Event]}, {"closed", sideNames[o.Side]}, {"one", oneNames[o.One]}, {"zero", zeroNames[o.Zero]},
		{"index", indexNames[o.Index]}, {"blog_edges", b(o.BlogEdges)},
	}
}
