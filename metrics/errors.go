package metrics

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/setting"
)

// Reason says why a row is bad.
type Reason uint8

// The reasons, in the order in which a row is examined. A row counts under the first that applies.
const (
	BadLabel      Reason = iota // label < 0 or >= the number of classes
	BadDecision                 // decision < 0 or >= the number of classes
	BadConfidence               // a confidence score that is NaN or infinite
	BadObserved                 // an observed number that is NaN or infinite
	BadWeight                   // negative, NaN, infinite, or not 0 and outside [2**-32, 2**32]
	BadBytes                    // a number of bytes that is NaN or outside [0, 2**32]
	NotFinite                   // NaN or +Inf; -Inf among probabilities; logits that are all -Inf
	NotPositive                 // a parameter of a Dirichlet distribution, or a standard deviation, that is not above 0
	Crossing                    // a quantile below the one before it, or a probability of survival likewise
	OutsideUnit                 // a probability below 0 or above 1
	BadSum                      // probabilities that sum to more than 0.02 away from 1
	BadTime                     // a time of survival that is not above 0
	BadEvent                    // an event of survival that is neither 0 nor 1
	BadCovariance               // a covariance matrix that is not symmetric or not positive definite
	reasons
)

// Fault is one kind of bad row, with a count and the first example.
type Fault struct {
	Reason Reason
	Count  int64
	Row    int64   // number of the first such row
	Column int     // offending column of that row, -1 if the whole row is at fault
	Value  float64 // the offending score, sum, label, decision or weight
}

// DataError says which rows of the predictions cannot be used. It covers every row that was read, so its counts do not
// depend on threads or block sizes.
type DataError struct {
	Rows       int64   // rows read
	Kind       Kind    // declared kind of the scores
	Classes    int     // 1 for a binary task
	Dimensions int     // of Multivariate and MultivariateNormals; 0 for other kinds
	Faults     []Fault // ordered by first row
	Percent    bool    // the caller divided percentages by 100, so messages have them
	Strict     bool    // rows cannot be dropped or renormalised, so no remedy mentions Options.Drop or Options.Renormalize
}

// sumTolerance is the largest accepted distance of a row's sum from 1.
const sumTolerance = 0.02

// Merge adds the faults found in other rows of the same predictions.
func (e *DataError) Merge(o *DataError) {
	e.Rows += o.Rows
	for _, f := range o.Faults {
		i := slices.IndexFunc(e.Faults, func(g Fault) bool { return g.Reason == f.Reason })
		if i < 0 {
			e.Faults = append(e.Faults, f)
			continue
		}
		g := &e.Faults[i]
		n := g.Count + f.Count
		if f.Row < g.Row {
			*g = f
		}
		g.Count = n
	}
	slices.SortFunc(e.Faults, func(f, g Fault) int { return cmp.Or(cmp.Compare(f.Row, g.Row), cmp.Compare(f.Reason, g.Reason)) })
}

// Error names the first bad row, the number of rows like it, what was found and what to do.
func (e *DataError) Error() string {
	var b strings.Builder
	for i, f := range e.Faults {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(e.describe(f))
	}
	return b.String()
}

func (e *DataError) describe(f Fault) string {
	where := fmt.Sprintf("row %d", f.Row)
	switch d := e.Dimensions; {
	case f.Column < 0:
	case e.Kind == MultivariateNormals && f.Column < d:
		where += fmt.Sprintf(", mean of number %d", f.Column)
	case e.Kind == MultivariateNormals && f.Column < e.Classes-d:
		where += fmt.Sprintf(", covariance of numbers %d and %d", f.Column/d-1, f.Column%d)
	case d > 0 && f.Column < e.Classes-d:
		where += fmt.Sprintf(", member %d, number %d", f.Column/d, f.Column%d)
	case d > 0:
		where += fmt.Sprintf(", observed number %d", f.Column%d)
	default:
		where += fmt.Sprintf(", column %d", f.Column)
	}
	what, remedy := e.explain(f)
	like := ""
	if f.Count > 1 {
		like = fmt.Sprintf(" (%s of %s rows like it)", group(f.Count), group(e.Rows))
	}
	return where + ": " + what + like + ": " + remedy
}

// Remedy returns advice for one of the Faults.
func (e *DataError) Remedy(f Fault) string {
	_, remedy := e.explain(f)
	return remedy
}

func (e *DataError) explain(f Fault) (what, remedy string) {
	v := strconv.FormatFloat(f.Value, 'g', 7, 64)
	switch {
	case e.Percent && f.Reason == OutsideUnit:
		v = strconv.FormatFloat(100*f.Value, 'g', 7, 64)
	case f.Reason == BadLabel, f.Reason == BadDecision:
		v = strconv.FormatInt(int64(f.Value), 10)
	case f.Reason == BadWeight, v == "1":
		v = strconv.FormatFloat(f.Value, 'g', -1, 64) // seven digits would hide what is wrong
	}
	k := max(2, e.Classes)
	switch f.Reason {
	case BadLabel:
		what = fmt.Sprintf("label is %s, not one of the %d classes 0 to %d", v, k, k-1)
		switch {
		case f.Value == float64(k):
			remedy = "labels that start at 1? subtract 1"
		case f.Value == -1 && k == 2:
			remedy = "labels -1 and +1? save (labels > 0); rows to be ignored? leave them out, or give them weight 0"
		case f.Value < 0:
			remedy = "rows to be ignored? pass " + setting.IgnoreLabel.String() + ", or give them weight 0"
		default:
			remedy = "do labels and predictions belong together?"
		}
	case BadDecision:
		what = fmt.Sprintf("decision is %s, not one of the %d classes 0 to %d", v, k, k-1)
		switch {
		case f.Value == float64(k):
			remedy = "decisions that start at 1? subtract 1"
		case f.Value < 0:
			remedy = "rows without a decision? leave them out, or give them weight 0"
		default:
			remedy = "do decisions and predictions belong together?"
		}
	case BadConfidence:
		what = "confidence score is " + v
		remedy = "it must be finite; check the code that computed it" + e.leftOut()
	case BadWeight:
		what = fmt.Sprintf("weight is %s; it must be 0, or lie between 2^-32 and 2^32", v)
		remedy = "scale the weights"
	case BadBytes:
		what = fmt.Sprintf("number of bytes is %s; it must lie between 0 and 2^32", v)
		remedy = "count the bytes of each token's text" + e.leftOut()
	case BadObserved:
		what = "observed value is " + v
		remedy = "it must be finite" + e.leftOut()
	case BadTime:
		what = fmt.Sprintf("time is %s; times are above 0", v)
		remedy = "a row that was never seen? leave it out; a time from another origin? count from when the prediction was made" + e.leftOut()
	case BadEvent:
		what = fmt.Sprintf("event is %s; it is 1 if the event happened at the row's time, or 0 if the row is censored", v)
		remedy = "another code of the event? convert it to 0 and 1; several kinds of events? choose one, and count the others as censored if that is right" + e.leftOut()
	case BadCovariance:
		d := e.Dimensions
		remedy = "correlations, a triangle or an inverse? save the covariance matrix; an estimate from few rows? shrink it, or add to its diagonal" + e.leftOut()
		switch i, j := f.Column/d-1, f.Column%d; {
		case i != j:
			what = fmt.Sprintf("it is %s, and its mirror image is not: a covariance matrix is symmetric", v)
		case !(f.Value > 0):
			what = fmt.Sprintf("variance is %s; it must be above 0", v)
		default:
			what = "the covariance matrix is not positive definite: this number follows from those before it"
		}
	case Crossing:
		if e.Kind == Survival {
			what = fmt.Sprintf("probability of the event is %s, below that at the time before it", v)
			remedy = "the probability that the event has happened by a time never falls as the time rises: check the order of the columns; are these probabilities of survival? pass " + setting.OfSurvival.String() + e.leftOut()
			break
		}
		what = fmt.Sprintf("quantile is %s, below the one before it", v)
		remedy = "quantiles must rise with their levels: sort each row, or check the code that computed them" + e.leftOut()
	case NotPositive:
		if e.Kind == Normals {
			what = fmt.Sprintf("standard deviation is %s; it must be above 0", v)
			remedy = "a variance or its logarithm? take the root or the exponential" + e.leftOut()
			break
		}
		what = fmt.Sprintf("parameter is %s; parameters of a Dirichlet distribution must be above 0", v)
		remedy = "logits or evidence? convert them to parameters: exp(logit) or evidence + 1"
	case NotFinite:
		switch {
		case e.Kind == Samples:
			what = "sample is " + v
		case e.Kind == Quantiles:
			what = "quantile is " + v
		case e.Kind == Normals:
			what = normalColumn(e.Classes, f.Column) + " is " + v
		case e.Kind == LogLiks:
			what = "log-likelihood is " + v
		case e.Kind == Survival:
			what = survivalColumn(e.Classes, f.Column) + " is " + v
		case e.Kind == Multivariate || e.Kind == MultivariateNormals:
			what = "it is " + v
		case f.Column < 0:
			what = "every logit is -Inf, so no class is possible"
		default:
			what = "score is " + v
		}
		remedy = "look for a division by 0 or an overflow in the code that computed the scores" + e.leftOut()
		if (e.Kind == Normals || e.Kind == Quantiles || e.Kind == Survival || e.Kind == Multivariate || e.Kind == MultivariateNormals) && f.Value != f.Value {
			remedy = "a missing value? check the code that computed it" + e.leftOut()
		}
	case OutsideUnit:
		if e.Percent {
			what = fmt.Sprintf("percentage is %s, outside [0, 100]", v)
			remedy = "probabilities or logits? leave " + setting.Percent.String() + " out; otherwise correct it" + e.leftOut()
			break
		}
		if e.Kind == Survival {
			what = fmt.Sprintf("probability of the event is %s, outside [0, 1]", v)
			remedy = "hazards or risk scores? convert them to probabilities that the event happens by the horizon" + e.leftOut()
			if f.Value < 0 && f.Value > -1e-3 || f.Value > 1 && f.Value < 1.001 {
				remedy = "rounding error? clip the probabilities to [0, 1]" + e.leftOut()
			}
			break
		}
		what = fmt.Sprintf("probability is %s, outside [0, 1]", v)
		remedy = "logits? pass " + setting.Logits.String()
		if f.Value > 1 && f.Value <= 100 {
			remedy = "logits? pass " + setting.Logits.String() + "; percentages? pass " + setting.Percent.String()
		}
		if f.Value < 0 && f.Value > -1e-3 || f.Value > 1 && f.Value < 1.001 {
			remedy = "rounding error? clip the probabilities to [0, 1]"
			if e.Classes > 1 && f.Value > 0 && !e.Strict {
				remedy += ", or pass " + setting.Renormalize.String() + ", which divides each row by its sum"
			}
		}
	case BadSum:
		what = fmt.Sprintf("probabilities sum to %s, not 1", v)
		divide := "pass " + setting.Renormalize.String()
		if e.Strict {
			divide = "divide each row by its sum"
		}
		remedy = fmt.Sprintf("logits? pass %v; unnormalised? %s; independent labels are not one distribution", setting.Logits, divide)
		if e.Kind == LogProbs || e.Kind == Logits { // a binary logit that OfEvent made from two scores
			what = fmt.Sprintf("the exponentials sum to %s, not 1", v)
			remedy = "logits? pass " + setting.Logits.String()
		}
	}
	return what, remedy
}

// leftOut returns the end of a remedy, which names the option that leaves out bad rows.
func (e *DataError) leftOut() string {
	if e.Strict {
		return ""
	}
	return "; " + setting.Drop.String() + " leaves such rows out"
}

// normalColumn names column i of Normals; -1 stands for the observed value minus the mean, which is in no column.
func normalColumn(columns, i int) string {
	if i < 0 {
		return "observed value minus mean"
	}
	return [][]string{{"error", "standard deviation"}, {"mean", "standard deviation", "observed value"}}[columns-2][i]
}

// survivalColumn names column i of Survival.
func survivalColumn(columns, i int) string {
	switch i {
	case columns - 1:
		return "event"
	case columns - 2:
		return "time"
	}
	return "probability of the event"
}

// group formats n with commas between thousands.
func group(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// faults collects the bad rows that one worker found.
type faults [reasons]Fault

func (f *faults) add(r Reason, row int64, column int, value float64) {
	g := &f[r]
	if g.Count == 0 || row < g.Row {
		g.Row, g.Column, g.Value = row, column, value
	}
	g.Reason = r
	g.Count++
}

func (f *faults) merge(o *faults) {
	for r := range f {
		g, h := &f[r], &o[r]
		if h.Count == 0 {
			continue
		}
		n := g.Count + h.Count
		if g.Count == 0 || h.Row < g.Row {
			*g = *h
		}
		g.Count = n
	}
}

func (f *faults) list() []Fault {
	var l []Fault
	for _, g := range f {
		if g.Count > 0 {
			l = append(l, g)
		}
	}
	sort.SliceStable(l, func(i, j int) bool { return l[i].Row < l[j].Row })
	return l
}
