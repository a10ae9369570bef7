package recal

import (
	"fmt"
	"slices"

	"github.com/candor-go/candor/metrics"
)

// Applied returns a source of the rows of src after the map, with their labels, weights and numbers, in full precision: as
// float64, and as logits if the map computes logits, so that nothing rounds to 0 or 1. The map must accept the rows (see
// Map.Out). Decisions and confidence scores are dropped, since they belong to the original scores.
func Applied(m Map, src metrics.Source) metrics.Source { return &applied{m, src} }

type applied struct {
	m   Map
	src metrics.Source
}

func (a *applied) Next() (*metrics.Chunk, error) {
	c, err := a.src.Next()
	if err != nil {
		return nil, err
	}
	o, err := newOutcome(c, a.m)
	if err != nil {
		return nil, err
	}
	o.apply(a.m, &c.Scores, c.Kind)
	d := o.chunk(c)
	if c.Recycle != nil {
		c.Recycle()
	}
	return d, nil
}

// outcome holds the results of a map in full precision. The logit of a binary task is stored as the two logits of its
// classes, because a Pass accepts no single number for a certain event.
type outcome struct {
	metrics.Scores
	kind  metrics.Kind
	exact bool
	event bool // two columns stand for one event
}

// newOutcome returns room for the results of a chunk.
func newOutcome(c *metrics.Chunk, m Map) (*outcome, error) {
	kind, width, err := m.Out(c.Kind, c.Classes)
	if err != nil {
		return nil, err
	}
	o := &outcome{kind: kind}
	if l, ok := m.(logitMap); ok && l.exact() {
		o.kind, o.exact, o.event = metrics.Logits, true, width == 1
	}
	if o.event {
		width = 2
	}
	o.Rows, o.Classes = c.Rows, width
	o.F64 = make([]float64, c.Rows*width)
	return o, nil
}

func (o *outcome) apply(m Map, src *metrics.Scores, k metrics.Kind) {
	if o.exact {
		ApplyAs(m, o.kind, &o.Scores, src, k)
		return
	}
	m.Apply(&o.Scores, src, k)
}

// chunk returns the results with the labels, weights and numbers of c.
func (o *outcome) chunk(c *metrics.Chunk) *metrics.Chunk {
	d := &metrics.Chunk{Predictions: metrics.Predictions{Scores: o.Scores, Kind: o.kind}, First: c.First, Numbers: slices.Clone(c.Numbers)}
	if o.event {
		d.Scores.OfEvent(o.kind, 1)
	}
	d.Labels, d.Observed, d.Weights, d.Groups = slices.Clone(c.Labels), slices.Clone(c.Observed), slices.Clone(c.Weights), slices.Clone(c.Groups)
	d.Clusters, d.ClusterName = slices.Clone(c.Clusters), c.ClusterName
	if c.Kind == metrics.Normals && o.kind != c.Kind {
		d.Observed = observedOf(c)
	}
	return d
}

// CrossFit fits the method once for each fold, to all rows outside it, and returns the maps in the order of the folds. If there are
// accumulators it then feeds them each row after the map that was fitted without it. Compare their answers with those of the rows as given.
func CrossFit(m Method, d Data, f Folds, o *Options, accs ...metrics.Accumulator) ([]Map, error) {
	var maps []Map
	for i := range f.Count() {
		rest, _ := f.Split(d, i)
		fitted, err := m.Fit(rest, o)
		if err != nil {
			return nil, fmt.Errorf("fold %d of %d: %w", i+1, f.Count(), err)
		}
		maps = append(maps, fitted)
	}
	if len(accs) == 0 {
		return maps, nil
	}
	src, err := CrossApplied(maps, d, f).Open()
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if err := metrics.NewPass(&metrics.Options{Threads: o.threads()}, accs...).AddSource(src); err != nil {
		return nil, err
	}
	return maps, nil
}

// CrossApplied returns data recalibrated by the maps that CrossFit returned for the same data and folds; the map of a row's
// fold is applied to it. Rows keep their order and numbers, and are as Applied yields them.
func CrossApplied(maps []Map, d Data, f Folds) Data {
	if len(maps) != f.Count() {
		panic(errMaps)
	}
	return OpenFunc(func() (Source, error) {
		src, err := d.Open()
		if err != nil {
			return nil, err
		}
		return &crossApplied{src, maps, f}, nil
	})
}

const errMaps = "recal: there is a map for each fold"

type crossApplied struct {
	src   Source
	maps  []Map
	folds Folds
}

func (a *crossApplied) Close() error { return a.src.Close() }

func (a *crossApplied) Next() (*metrics.Chunk, error) {
	c, err := a.src.Next()
	if err != nil {
		return nil, err
	}
	d, err := crossed(a.maps, a.folds, c)
	if err != nil {
		return nil, err
	}
	if c.Recycle != nil {
		c.Recycle()
	}
	return d, nil
}

// crossed returns the rows of a chunk, each by the map of its fold.
func crossed(maps []Map, folds Folds, c *metrics.Chunk) (*metrics.Chunk, error) {
	all, err := newOutcome(c, maps[0])
	if err != nil {
		return nil, err
	}
	rows := make([][]int32, len(maps))
	for i := range c.Rows {
		f := folds.row(c, i)
		rows[f] = append(rows[f], int32(i))
	}
	width := all.Classes
	for f, m := range maps {
		if len(rows[f]) == 0 {
			continue
		}
		g := gathered(c, rows[f])
		o, err := newOutcome(g, m)
		if err != nil {
			return nil, err
		}
		o.apply(m, &g.Scores, c.Kind)
		for i, r := range rows[f] {
			copy(all.F64[int(r)*width:][:width], o.F64[i*width:])
		}
	}
	return all.chunk(c), nil
}
