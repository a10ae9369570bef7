package compared

import (
	"math"

	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/paired"
)

// GroupedLosses are losses of rows of several models, which may have other rows each, by groups of rows.
type GroupedLosses struct {
	Columns  []string                                 // by which rows are grouped
	Values   [][]string                               // of each group
	Group    []int32                                  // of each row; -1 of rows that no model has
	Clusters []string                                 // of each row; nil if rows are independent
	Of       func(m eval.Metric, model int) []float64 // RowLoss of each row, NaN where the model has none; nil of a metric without one
}

// OfGroups returns the differences of each group by the metrics that have them, as Comparison.GroupDifferences does, over the rows that both
// models of a pair have. Group.Rows is the largest number of them, and tests need GroupAnswers.MinRows of the pair's own. Rows have no
// weights. Of classes nll and brier have no p-values: no test of losses alone allows for events that have not come yet. It returns an error
// if no metric has differences by group, or there are more than MostGroups groups.
func OfGroups(s *eval.Spec, pairs [][2]int, o GroupAnswers, l *GroupedLosses) (*GroupDifferences, error) {
	if o.MinRows == 0 {
		o.MinRows = DefaultMinRows
	}
	spec := *s
	spec.Metrics = nil
	for _, m := range s.Metrics {
		if by, _ := comparedBy(s, m); by == ofMean || by == ofHits {
			spec.Metrics = append(spec.Metrics, m)
		}
	}
	if spec.Metrics == nil {
		return nil, errNoGroupMetric
	}
	var d *GroupDifferences
	for i, p := range pairs {
		c, err := New(spec, []string{"a", "b"}, "")
		if err == nil {
			err = c.GroupBy(l.Columns)
		}
		if err == nil {
			err = c.addLosses(p, l)
		}
		if err != nil {
			return nil, err
		}
		if d == nil {
			d = c.GroupDifferences(GroupAnswers{MinRows: 1, Adjust: o.Adjust})
			*d = GroupDifferences{GroupAnswers: o, Columns: d.Columns, Level: d.Level, Pairs: pairs, Metrics: d.Metrics, Main: d.Main}
			for _, v := range c.by.values {
				d.Groups = append(d.Groups, Group{Values: v, Differences: make([]GroupDifference, len(d.Metrics)*len(pairs))})
			}
		}
		for k := range d.Groups {
			x, sums := &d.Groups[k], c.by.each[k]
			n := sums.count.Rows()
			x.Rows = max(x.Rows, n)
			if sums.clusters != nil {
				x.Clusters = max(x.Clusters, sums.clusters.Len())
			}
			for m := range d.Metrics {
				y := d.At(x, m, i)
				if n == 0 {
					nan := math.NaN()
					*y = GroupDifference{Value: nan, P: nan, Adjusted: nan, Reason: "the models have no row in common"}
					y.Interval.Low, y.Interval.High = nan, nan
					continue
				}
				switch *y = c.groupDifference(sums, m, 0); {
				case n < o.MinRows:
					y.P, y.Reason = math.NaN(), ""
				case c.by.metrics[m].score != unscored && y.P == y.P:
					y.P, y.Reason = math.NaN(), "rows are of losses alone, and no test of these allows for events that have not come yet"
				}
			}
		}
	}
	for i := range d.Groups {
		if d.Groups[i].Rows < o.MinRows {
			d.Few++
		}
	}
	d.judge()
	d.sort()
	return d, nil
}

// addLosses adds the losses of two models to the groups of a comparison of two.
func (c *Comparison) addLosses(pair [2]int, l *GroupedLosses) error {
	g := c.by
	rows := make([][]int32, len(l.Values))
	for i, k := range l.Group {
		if k >= 0 {
			rows[k] = append(rows[k], int32(i))
		}
	}
	var memory groupRoom
	for k, v := range l.Values {
		s, err := g.of(c, v)
		if err != nil {
			return err
		}
		s.addLosses(c, pair, rows[k], l, &memory)
	}
	return nil
}

// groupRoom is memory for the losses of a group.
type groupRoom struct {
	a, b, d []float64
	at      []int32
	sums    paired.Room
}

func (s *groupSums) addLosses(c *Comparison, pair [2]int, rows []int32, l *GroupedLosses, m *groupRoom) {
	p := &s.pairs[0]
	for k := range c.by.metrics {
		x, y := l.Of(c.by.metrics[k].Metric, pair[0]), l.Of(c.by.metrics[k].Metric, pair[1])
		m.a, m.b, m.d, m.at = m.a[:0], m.b[:0], m.d[:0], m.at[:0]
		for _, i := range rows {
			if u, v := x[i], y[i]; u == u && v == v {
				m.a, m.b, m.d = append(m.a, u), append(m.b, v), append(m.d, v-u)
				if s.clusters != nil {
					m.at = append(m.at, s.clusters.Number(l.Clusters[i]))
				}
			}
		}
		if k == 0 {
			s.count.Add(len(m.a), max(1, c.Spec.Classes), nil)
			if s.clusters != nil {
				s.clusters.AddRows(m.at, nil)
			}
		}
		if p.means[k].Add(&m.sums, m.a, m.b, nil); c.by.metrics[k].loss < 0 {
			p.hits.Add(bytesOf(m.a), bytesOf(m.b))
		}
		if s.clusters != nil {
			s.clusters.Add(k, m.at, m.d, nil)
		}
	}
}

// bytesOf returns numbers that are 0 or 1.
func bytesOf(v []float64) []uint8 {
	l := make([]uint8, len(v))
	for i, x := range v {
		l[i] = uint8(x)
	}
	return l
}
