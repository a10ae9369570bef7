package metrics

import (
	"strconv"

	"github.com/candor-go/candor/kernel"
)

// DType is the storage type of a matrix of scores.
type DType uint8

// The storage types. Half precision is kept as its bits in a uint16.
const (
	Float64 DType = iota
	Float32
	Float16
	BFloat16
)

// String returns the type's name as it stands in documents: "float64", "float32", "float16", "bfloat16".
func (d DType) String() string {
	switch d {
	case Float64:
		return "float64"
	case Float32:
		return "float32"
	case Float16:
		return "float16"
	case BFloat16:
		return "bfloat16"
	}
	return "DType(" + strconv.Itoa(int(d)) + ")"
}

// Size returns the bytes of one value.
func (d DType) Size() int {
	switch d {
	case Float64:
		return 8
	case Float32:
		return 4
	}
	return 2
}

// Epsilon returns the distance from 1 to the next larger value of the type.
func (d DType) Epsilon() float64 {
	switch d {
	case Float64:
		return 0x1p-52
	case Float32:
		return 0x1p-23
	case Float16:
		return 0x1p-10
	}
	return 0x1p-7
}

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

// Scores is a row-major view of a model's outputs: row i is Data[i*Stride : i*Stride+Classes].
// Exactly one of the data slices is set; it is read and never kept or changed.
//
// Classes == 1 means a binary task: the one score of a row belongs to the event y = 1. Classes == 2 means two classes, which are judged
// by the more probable one of each row; OfEvent makes a binary task of them.
type Scores struct {
	F64  []float64
	F32  []float32
	F16  []uint16 // IEEE 754 binary16 bits
	BF16 []uint16 // the upper halves of float32 bits

	Rows    int
	Classes int
	Stride  int // 0 means Classes

	// Pair, if set, is what OfEvent made the scores of, for a check.
	Pair *Pair
}

// DType returns the storage type of the slice that is set, Float64 if none is.
func (s *Scores) DType() DType {
	switch {
	case s.F32 != nil:
		return Float32
	case s.F16 != nil:
		return Float16
	case s.BF16 != nil:
		return BFloat16
	}
	return Float64
}

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

// Shape faults of Predictions are bugs of the caller and panic with one of these texts.
const (
	errOneSlice  = "metrics: exactly one slice of scores has to be set"
	errShape     = "metrics: rows, classes and stride do not fit the scores"
	errLabels    = "metrics: labels and rows differ in number"
	errObserved  = "metrics: observations and rows differ in number"
	errWeights   = "metrics: weights and rows differ in number"
	errDecided   = "metrics: decisions and rows differ in number"
	errScored    = "metrics: confidence scores and rows differ in number"
	errDirichlet = "metrics: a Dirichlet distribution has parameters of two classes or more"
	errNormals   = "metrics: a normal forecast is two or three numbers a row"
	errNoClasses = "metrics: decisions and confidence scores are of classes, which these scores are not"
	errPair      = "metrics: a pair of scores is of a binary task, one for each row"
	errNumbers   = "metrics: numbers of rows and rows differ in number"
	errChunks    = "metrics: the chunks of a source differ in shape or kind"
	errFilled    = "metrics: accumulators that are to be filled have seen rows"
)

// Row writes row i to dst, widened: of Classes elements.
func (s *Scores) Row(dst []float64, i int) {
	at := i * s.stride()
	for j := range s.Classes {
		dst[j] = s.score(at + j)
	}
}

// score returns the element i of the slice that is set, widened.
func (s *Scores) score(i int) float64 {
	var one [1]float32
	switch s.DType() {
	case Float64:
		return s.F64[i]
	case Float32:
		return float64(s.F32[i])
	case Float16:
		kernel.WidenF16(one[:], s.F16[i:i+1])
	default:
		kernel.WidenBF16(one[:], s.BF16[i:i+1])
	}
	return float64(one[0])
}

func (s *Scores) stride() int {
	if s.Stride == 0 {
		return s.Classes
	}
	return s.Stride
}

// check panics unless the shapes fit each other.
func (p *Predictions) check() {
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
	st := p.stride()
	if p.Rows < 0 || p.Classes < 1 || st < p.Classes || p.Rows > 0 && (n < p.Classes || (n-p.Classes)/st < p.Rows-1) {
		panic(errShape)
	}
	if p.Pair != nil && (p.Classes != 1 || len(p.Pair.Raw) != 2*p.Rows) {
		panic(errPair)
	}
	switch p.Kind {
	case Normals:
		if p.Classes != 2 && p.Classes != 3 {
			panic(errNormals)
		}
	case Samples, Quantiles:
		if len(p.Observed) != p.Rows {
			panic(errObserved)
		}
	case LogLiks:
	case Dirichlet:
		if p.Classes < 2 {
			panic(errDirichlet)
		}
		fallthrough
	default:
		if len(p.Labels) != p.Rows {
			panic(errLabels)
		}
	}
	if !p.Kind.classes() && (p.Decisions != nil || p.ConfidenceScores != nil) {
		panic(errNoClasses)
	}
	if p.Weights != nil && len(p.Weights) != p.Rows {
		panic(errWeights)
	}
	if p.Decisions != nil && len(p.Decisions) != p.Rows {
		panic(errDecided)
	}
	if p.ConfidenceScores != nil && len(p.ConfidenceScores) != p.Rows {
		panic(errScored)
	}
}

// shape returns the audit of predictions before any row is read.
func (p *Predictions) shape() Audit {
	return Audit{Classes: p.Classes, DType: p.DType(), Kind: p.Kind, Weighted: p.Weights != nil,
		Decided: p.Decisions != nil, Scored: p.ConfidenceScores != nil}
}
