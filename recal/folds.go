package recal

import (
	"hash/fnv"
	"io"
	"slices"
	"strconv"

	"github.com/candor-go/candor/metrics"
)

// Folds assigns rows to folds by a hash of a seed and the row's number in the whole data set. A row is in the same fold
// however the data are divided into files, chunks and threads.
type Folds struct {
	K    int // number of folds, at least 2; 0 means 5
	Seed uint64
	// Clusters puts rows by the names of their clusters in place of their numbers, so that all rows of a cluster are in one fold. Chunks then
	// have Clusters.
	Clusters bool
}

const errFolds = "recal: there are two folds at least, and none above them"

// Count returns the number of folds.
func (f Folds) Count() int {
	if f.K == 0 {
		return 5
	}
	if f.K < 2 {
		panic(errFolds)
	}
	return f.K
}

// Fold returns the fold, from 0, of the row with this number.
func (f Folds) Fold(row int64) int { return f.of(uint64(row)) }

// FoldOf returns the fold, from 0, of the rows of the cluster with this name.
func (f Folds) FoldOf(cluster string) int {
	h := fnv.New64a()
	io.WriteString(h, cluster)
	return f.of(h.Sum64())
}

// row returns the fold of row i of a chunk. It panics if clusters are wanted and the chunk has none.
func (f Folds) row(c *metrics.Chunk, i int) int {
	switch {
	case !f.Clusters:
		return f.Fold(c.Number(i))
	case c.Clusters == nil:
		panic("recal: the rows have no clusters")
	}
	return f.FoldOf(clusterName(c.ClusterName, c.Clusters[i]))
}

// clusterName returns the name of a cluster: its number, where named is nil.
func clusterName(named func(int32) string, cluster int32) string {
	if named == nil {
		return strconv.Itoa(int(cluster))
	}
	return named(cluster)
}

func (f Folds) of(key uint64) int {
	h := f.Seed*0x9e3779b97f4a7c15 ^ key
	for range 2 { // 64-bit finalizer of MurmurHash3
		h ^= h >> 33
		h *= 0xff51afd7ed558ccd
		h ^= h >> 33
		h *= 0xc4ceb9fe1a85ec53
		h ^= h >> 33
	}
	return int(h % uint64(f.Count()))
}

// Split returns the data without fold i, and fold i. Rows keep their numbers.
func (f Folds) Split(d Data, i int) (rest, fold Data) {
	if i < 0 || i >= f.Count() {
		panic(errFolds)
	}
	pick := func(in bool) Data {
		return OpenFunc(func() (Source, error) {
			src, err := d.Open()
			if err != nil {
				return nil, err
			}
			return &picked{Source: src, keep: func(c *metrics.Chunk, row int) bool { return (f.row(c, row) == i) == in }}, nil
		})
	}
	return pick(false), pick(true)
}

// picked yields the selected rows of a source.
type picked struct {
	Source
	keep func(c *metrics.Chunk, row int) bool
}

func (p *picked) Next() (*metrics.Chunk, error) {
	c, err := p.Source.Next()
	if err != nil {
		return nil, err
	}
	rows := make([]int32, 0, c.Rows)
	for i := range c.Rows {
		if p.keep(c, i) {
			rows = append(rows, int32(i))
		}
	}
	if len(rows) == c.Rows {
		return c, nil
	}
	k := gathered(c, rows)
	if c.Recycle != nil {
		c.Recycle()
	}
	return k, nil
}

// gathered returns a copy of the given rows of a chunk.
func gathered(c *metrics.Chunk, rows []int32) *metrics.Chunk {
	k := &metrics.Chunk{Predictions: metrics.Predictions{Kind: c.Kind}, First: c.First}
	k.Rows, k.Classes, k.Pair = len(rows), c.Classes, c.Pair.Rows(rows)
	k.Numbers = slices.Clone(rows)
	if c.Numbers != nil {
		for i, r := range rows {
			k.Numbers[i] = c.Numbers[r]
		}
	}
	stride := c.Scores.RowStride()
	k.F64, k.F32 = take(c.F64, rows, c.Classes, stride), take(c.F32, rows, c.Classes, stride)
	k.F16, k.BF16 = take(c.F16, rows, c.Classes, stride), take(c.BF16, rows, c.Classes, stride)
	k.Labels, k.Observed, k.Weights = take(c.Labels, rows, 1, 1), take(c.Observed, rows, 1, 1), take(c.Weights, rows, 1, 1)
	k.Decisions, k.ConfidenceScores = take(c.Decisions, rows, 1, 1), take(c.ConfidenceScores, rows, 1, 1)
	k.Bytes, k.Sequences = take(c.Bytes, rows, 1, 1), take(c.Sequences, rows, 1, 1)
	k.Groups, k.Clusters = take(c.Groups, rows, 1, 1), take(c.Clusters, rows, 1, 1)
	k.ClusterName = c.ClusterName
	return k
}

func take[T any](s []T, rows []int32, width, stride int) []T {
	if s == nil {
		return nil
	}
	d := make([]T, 0, len(rows)*width)
	for _, r := range rows {
		d = append(d, s[int(r)*stride:int(r)*stride+width]...)
	}
	return d
}
