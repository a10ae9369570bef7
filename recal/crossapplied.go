package recal

import (
	"slices"

	"github.com/candor-go/candor/metrics"
)

// CrossApplied is data whose rows are each recalibrated by the map of their fold, one of those that CrossFit returned for the same data
// and folds. Rows keep their order and numbers, and have what Applied gives them.
func CrossApplied(maps []Map, d Data, f Folds) Data {
	if len(maps) != f.Count() {
		panic(errFolds)
	}
	return OpenFunc(func() (Source, error) {
		src, err := d.Open()
		if err != nil {
			return nil, err
		}
		return &crossApplied{src, maps, f}, nil
	})
}

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
	k, width, err := a.maps[0].Out(c.Kind, c.Classes)
	if err != nil {
		return nil, err
	}
	d := outOf(c, k, width)
	rows := make([][]int32, len(a.maps))
	for i := range c.Rows {
		f := a.folds.Of(number(c, i))
		rows[f] = append(rows[f], int32(i))
	}
	for f, m := range a.maps {
		if len(rows[f]) == 0 {
			continue
		}
		g := gathered(c, rows[f])
		o := outOf(g, k, width)
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

// outOf returns a chunk with room for what a map makes of another one, and with all that stays.
func outOf(c *metrics.Chunk, k metrics.Kind, width int) *metrics.Chunk {
	d := &metrics.Chunk{Predictions: metrics.Predictions{Kind: k}, First: c.First, Numbers: slices.Clone(c.Numbers)}
	d.Rows, d.Classes = c.Rows, width
	if c.F64 != nil {
		d.F64 = make([]float64, c.Rows*width)
	} else {
		d.F32 = make([]float32, c.Rows*width)
	}
	d.Labels, d.Observed, d.Weights, d.Groups = slices.Clone(c.Labels), slices.Clone(c.Observed), slices.Clone(c.Weights), slices.Clone(c.Groups)
	return d
}
