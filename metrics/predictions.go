package metrics

import "strconv"

// Kind says what the scores are. It is said by the caller and never guessed.
type Kind uint8

// The kinds of scores.
const (
	Probs  Kind = iota // probabilities: each in [0,1], a row's sum is 1
	Logits             // unnormalised log-probabilities; -Inf is a class that cannot be
	// LogProbs are logarithms of probabilities; -Inf is a probability of 0. A row's exponentials have to sum to 1 as Probs
	// do, and what is left of that by rounding is divided out, as a softmax does.
	LogProbs
	// Dirichlet are the parameters of a Dirichlet distribution over the classes, each above 0; the probabilities are its means,
	// the parameters divided by their row's sum.
	Dirichlet
	// Samples are draws from a forecast of a number, Classes of them a row, with what was observed in place of a label. There are
	// no probabilities: blocks have no columns.
	Samples
	// LogLiks are log-likelihoods of the row's observation, one for each of Classes draws of a model's parameters. There are
	// neither labels nor columns.
	LogLiks
	// Normals are normal regression forecasts, with what was observed in the row itself: Classes is 3, and a row the mean, the standard
	// deviation (above 0) and the observed number, or 2, and a row the observed number minus the mean, and the standard deviation.
	// There are no labels.
	Normals
	// Quantiles are a forecast's quantiles at Classes levels, in rising order of the levels and so never falling within a row, with
	// Observed in place of labels.
	Quantiles
	kinds
)

// String returns the kind's name as it stands in documents and flags: "probs", "logits", "logprobs", "dirichlet", "samples",
// "loglik", "normal", "quantiles".
func (k Kind) String() string {
	switch k {
	case Probs:
		return "probs"
	case Logits:
		return "logits"
	case LogProbs:
		return "logprobs"
	case Dirichlet:
		return "dirichlet"
	case Samples:
		return "samples"
	case LogLiks:
		return "loglik"
	case Normals:
		return "normal"
	case Quantiles:
		return "quantiles"
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// logs tells whether scores are logarithms, which kernels exponentiate.
func (k Kind) logs() bool { return k == Logits || k == LogProbs }

// observes tells whether rows of the kind have a true number beside them.
func (k Kind) observes() bool { return k == Samples || k == Quantiles }

// Valid tells whether k is one of the kinds.
func (k Kind) Valid() bool { return k < kinds }

// classes tells whether scores are those of classes, of which a row's label is one.
func (k Kind) classes() bool { return k < Samples }

// Predictions pairs rows of scores with the true classes. It is a view: nothing in it is kept or changed.
type Predictions struct {
	Scores
	Kind   Kind
	Labels []int32 // one a row, 0 <= label < Classes (0 or 1 if Classes is 1)
	// Observed are the true numbers that Samples and Quantiles forecast, one a row and finite, in place of Labels; LogLiks and Normals
	// have neither.
	Observed []float64
	Weights  []float64 // one a row, 0 (an absent row) or from 2^-32 to 2^32; nil: every row counts once

	// Decisions are the classes that the caller decided for, one a row, where they are not the arg maxes: another
	// threshold, costs, a rule beside the model. The top label of a row is then its decision, and the row's score the
	// probability that the decision was given. 0 <= decision < Classes (0 or 1 if Classes is 1).
	Decisions []int32
	// ConfidenceScores are the scores by which rows are binned and ranked by confidence, one a row and finite, where these are not
	// the probabilities: what is compared with frequencies stays the probability. Below 0 is in the first bin, above 1 in the last.
	ConfidenceScores []float64
}

// Chunk is a run of consecutive rows that a Source hands out.
type Chunk struct {
	Predictions
	First int64 // number of the chunk's first row in the whole set
	// Numbers, if set, says that row i has the number First + Numbers[i]: of rows that were picked from others.
	Numbers []int32
	// Groups, if set, has the number of the group that each row is in. A Pass does not look at it.
	Groups []int32
	// Recycle, if set, is called once when nothing reads the chunk's slices any more, from any goroutine.
	Recycle func()
}

// Source yields the rows of a set of predictions in order.
// Next is called from one goroutine at a time; it returns io.EOF after the last chunk. An error that wraps io.EOF is an
// error like any other. All chunks with rows are of one type, kind and number of classes, with weights, decisions and
// confidence scores or without, or the Pass panics.
// Chunks may be in use at the same time as Next runs, and are recycled in any order.
type Source interface {
	Next() (*Chunk, error)
}

// LengthError is the error of predictions whose labels, weights or other columns are not as many as their rows.
type LengthError struct {
	Column    string // "labels", "weights", "observations", "decisions" or "confidence scores"
	Len, Rows int
}

func (e *LengthError) Error() string {
	return strconv.Itoa(e.Len) + " " + e.Column + " for " + strconv.Itoa(e.Rows) + " rows: there has to be one for each row"
}

// Shape faults of Predictions are bugs of the caller and panic with one of these texts.
const (
	errOneSlice  = "metrics: exactly one slice of scores has to be set"
	errShape     = "metrics: rows, classes and stride do not fit the scores"
	errDirichlet = "metrics: a Dirichlet distribution has parameters of two classes or more"
	errNormals   = "metrics: a normal forecast is two or three numbers a row"
	errNoClasses = "metrics: decisions and confidence scores are of classes, which these scores are not"
	errPair      = "metrics: a pair of scores is of a binary task, one for each row"
	errNumbers   = "metrics: numbers of rows and rows differ in number"
	errChunks    = "metrics: the chunks of a source differ in shape or kind"
	errFilled    = "metrics: accumulators that are to be filled have seen rows"
)

// Slice returns a view of the rows [from, to).
func (p *Predictions) Slice(from, to int) Predictions {
	return Predictions{Scores: p.Scores.Slice(from, to), Kind: p.Kind, Labels: part(p.Labels, from, to), Observed: part(p.Observed, from, to),
		Weights: part(p.Weights, from, to), Decisions: part(p.Decisions, from, to), ConfidenceScores: part(p.ConfidenceScores, from, to)}
}

func part[T any](v []T, from, to int) []T {
	if v == nil {
		return nil
	}
	return v[from:to:to]
}

// check panics unless the scores have the shape that they say, and returns a *LengthError unless the other columns have their rows.
// Complete predictions have the column that their kind needs beside the scores.
func (p *Predictions) check(complete bool) error {
	set, n := 0, 0
	for _, l := range []struct {
		set bool
		n   int
	}{{p.F64 != nil, len(p.F64)}, {p.F32 != nil, len(p.F32)}, {p.F16 != nil, len(p.F16)}, {p.BF16 != nil, len(p.BF16)}} {
		if l.set {
			set, n = set+1, l.n
		}
	}
	if set != 1 && !(set == 0 && p.Rows == 0) {
		panic(errOneSlice)
	}
	st := p.RowStride()
	if p.Rows < 0 || p.Classes < 1 || st < p.Classes || p.Rows > 0 && (n < p.Classes || (n-p.Classes)/st < p.Rows-1) {
		panic(errShape)
	}
	if p.Pair != nil && (p.Classes != 1 || len(p.Pair.Raw) != 2*p.Rows) {
		panic(errPair)
	}
	if p.Kind == Normals && p.Classes != 2 && p.Classes != 3 {
		panic(errNormals)
	}
	if p.Kind == Dirichlet && p.Classes < 2 {
		panic(errDirichlet)
	}
	if !p.Kind.classes() && (p.Decisions != nil || p.ConfidenceScores != nil) {
		panic(errNoClasses)
	}
	for _, c := range []struct {
		name string
		must bool
		n    int
	}{
		{"labels", p.Labels != nil || complete && p.Kind.classes(), len(p.Labels)},
		{"observations", p.Observed != nil || complete && p.Kind.observes(), len(p.Observed)},
		{"weights", p.Weights != nil, len(p.Weights)},
		{"decisions", p.Decisions != nil, len(p.Decisions)},
		{"confidence scores", p.ConfidenceScores != nil, len(p.ConfidenceScores)},
	} {
		if c.must && c.n != p.Rows {
			return &LengthError{c.name, c.n, p.Rows}
		}
	}
	return nil
}

// shape returns the audit of predictions before any row is read.
func (p *Predictions) shape() Audit {
	return Audit{Classes: p.Classes, DType: p.DType(), Kind: p.Kind, Weighted: p.Weights != nil,
		Decided: p.Decisions != nil, Scored: p.ConfidenceScores != nil}
}
