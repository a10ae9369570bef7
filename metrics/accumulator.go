package metrics

import (
	"encoding"
	"errors"

	"github.com/candor-go/candor/kernel"
)

// Need says what an accumulator takes from a block beside the columns that every block has.
type Need uint8

const (
	NeedRank   Need = 1 << iota // the label's rank: Stats.Rank
	NeedRows                    // every probability of the rows: Block.Probs
	NeedSpread                  // of all of a row: Stats.Rest and Stats.Entropy; of Samples Block.Abs and Block.Spread
	NeedPeak                    // the score of the arg max as it was given: Block.Peak
	NeedLogit                   // the same of one logit or log-probability a row, and of nothing else
	NeedTies                    // the place of the label's score as it was given among those of its row: Block.Places
)

// Accumulator is what a Pass feeds: a sufficient statistic, kept in integers.
type Accumulator interface {
	// Needs says what the blocks must carry.
	Needs() Need
	// Empty returns an accumulator of the same options that has seen no rows.
	Empty() Accumulator
	// AddBlock adds the rows of a block, which the Pass has checked. Nothing of the block is kept.
	AddBlock(b *Block)
	// Merge adds the rows that another accumulator has seen. It is an error, which names the difference and changes
	// nothing, if the two differ in type, in options or in the kind of predictions.
	Merge(Accumulator) error
	// Len returns the number of rows seen.
	Len() int64
	// AppendBinary appends the state: equal rows and options give equal bytes, in whatever order the rows came.
	encoding.BinaryAppender
	// UnmarshalBinary replaces the receiver, options and all. It refuses damaged and newer states.
	encoding.BinaryUnmarshaler
}

// ErrMismatch is wrapped by the error of a Merge of unlike accumulators.
var ErrMismatch = errors.New("states do not match")

// Block is a run of checked rows on its way to the accumulators.
type Block struct {
	Rows    int
	Classes int           // 1 for a binary task
	DType   DType         // of the scores
	Stats   *kernel.Stats // the columns, of which the first Rows elements count; Positive is set if Classes <= 2, Rest and Entropy may be nil
	Labels  []int32
	Hit     []uint8   // 1 where the arg max is the label
	Weights []float64 // nil, or one weight > 0 a row
	Probs   Tile      // the probabilities of the rows, if a NeedRows accumulator is fed; of what has no classes the rows as they are
	Peak    []float64 // the score of the arg max as it was given (a logit, if they are), if a NeedPeak accumulator is fed, or a NeedLogit one that takes it
	Places  []Place   // of the label's score as it was given, if a NeedTies accumulator is fed

	Kind     Kind      // of the scores
	Observed []float64 // of Samples and Quantiles, in place of Labels
	Abs      []float64 // of Samples, if a NeedSpread accumulator is fed, the sums that kernel.SampleSpreadF64 has of their distances:
	Spread   []float64 // from the observed number, and from each other

	// Normal are the columns of Normals, of which the first Rows elements count.
	Normal *kernel.NormalColumns

	// The top label's event. Where the caller made no decisions Score is Stats.Top and Right is Hit.
	Decisions []int32   // nil, or the caller's
	Score     []float64 // the probability of the decision
	Right     []uint8   // 1 where the decision is the label
	By        []float64 // nil, or the caller's scores by which rows are binned

	first   int64
	numbers []int32 // of the rows, from first on, where they do not follow each other
	index   []int32 // of each row among those of the block before any were dropped; nil if none was
}

// Place is how many classes of a row have a higher score than its label, and how many of a lower and of a higher number have the same.
type Place struct{ Above, Before, After int32 }

// Tile holds rows of probabilities, row i from element i*Stride on. One of the slices is set: F32 where the scores are float32,
// or narrower and widened, and were not divided by their rows' sums; F64 otherwise.
type Tile struct {
	F32    []float32
	F64    []float64
	Width  int // of a row: Classes, or for a binary task the two of y = 0 and y = 1
	Stride int

	// Scale, if set, is what the entries of each row are to be multiplied by, as kernel.LogitTermsF32 has it: for whoever asked a
	// Walker for terms.
	Scale []float32

	// Ahead is how many bytes it is from an entry to memory that is read next, for kernels that fetch it; 0 if none is.
	Ahead int
}

// At returns number j of row i, without its Scale.
func (t *Tile) At(i, j int) float64 {
	at := i*t.Stride + j
	if t.F64 != nil {
		return t.F64[at]
	}
	return float64(t.F32[at])
}

// Row writes row i, without its Scale, to dst, which has room for Width numbers, and returns these.
func (t *Tile) Row(dst []float64, i int) []float64 {
	dst = dst[:t.Width]
	if at := i * t.Stride; t.F64 != nil {
		copy(dst, t.F64[at:])
	} else {
		widen(dst, t.F32[at:])
	}
	return dst
}

// Number returns the number, in the whole set, of the block's row i.
func (b *Block) Number(i int) int64 {
	if b.index != nil {
		i = int(b.index[i])
	}
	if b.numbers != nil {
		return b.first + int64(b.numbers[i])
	}
	return b.first + int64(i)
}

// Must returns v, and panics if there is an error. It is for constructors whose options stand in the code:
//
//	ece := metrics.Must(calib.NewBins(&calib.Options{Bins: 20}))
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
