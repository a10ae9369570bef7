package recal

import (
	"fmt"
	"slices"

	"github.com/candor-go/candor/metrics"
)

// Applied yields what a map makes of a source's rows, with their labels, weights and numbers: float64 of float64 scores, else float32.
// The map has to take the rows (see Map.Out); decisions and confidence scores are left behind, for they belong to what was said before.
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
	d, err := outOf(c, a.m)
	if err != nil {
		return nil, err
	}
	a.m.Apply(&d.Scores, &c.Scores, c.Kind)
	if c.Recycle != nil {
		c.Recycle()
	}
	return d, nil
}

// outOf returns a chunk with room for what a map makes of another one, and with all that stays.
func outOf(c *metrics.Chunk, m Map) (*metrics.Chunk, error) {
	k, width, err := m.Out(c.Kind, c.Classes)
	if err != nil {
		return nil, err
	}
	d := &metrics.Chunk{Predictions: metrics.Predictions{Kind: k}, First: c.First, Numbers: slices.Clone(c.Numbers)}
	d.Rows, d.Classes = c.Rows, width
	if c.F64 != nil {
		d.F64 = make([]float64, c.Rows*width)
	} else {
		d.F32 = make([]float32, c.Rows*width)
	}
	d.Labels, d.Observed, d.Weights, d.Groups = slices.Clone(c.Labels), slices.Clone(c.Observed), slices.Clone(c.Weights), slices.Clone(c.Groups)
	if c.Kind == metrics.Normals && k != c.Kind {
		d.Observed = observedOf(c)
	}
	return d, nil
}

// CrossFit fits the method to all folds but one, for each fold, and returns the maps in the order of the folds. Then it gives each row,
// recalibrated by the map that has not seen it, to the accumulators, if there are any: what they say can be compared with what they say
// of the rows as they are.
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

// CrossApplied is data whose rows are each recalibrated by the map of their fold, one of those that CrossFit returned for the same data
// and folds. Rows keep their order and numbers, and have what Applied gives them.
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
	d, err := outOf(c, a.maps[0])
	if err != nil {
		return nil, err
	}
	rows := make([][]int32, len(a.maps))
	for i := range c.Rows {
		f := a.folds.Of(number(c, i))
		rows[f] = append(rows[f], int32(i))
	}
	width := d.Classes
	for f, m := range a.maps {
		if len(rows[f]) == 0 {
			continue
		}
		g := gathered(c, rows[f])
		o, err := outOf(g, m)
		if err != nil {
			return nil, err
		}
		m.Apply(&o.Scores, &g.Scores, c.Kind)
		for i, r := range rows[f] {
			at := int(r) * width
			if d.F64 != nil {
				copy(d.F64[at:at+width], o.F64[i*width:])
			} else {
				copy(d.F32[at:at+width], o.F32[i*width:])
			}
		}
	}
	if c.Recycle != nil {
		c.Recycle()
	}
	return d, nil
}
