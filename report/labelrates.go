package report

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"slices"
)

// LabelRate compares the probabilities of a label with how often it occurs.
type LabelRate struct {
	Name   string
	Rate   float64   // its share of the rows
	Bias   float64   // mean probability minus Rate
	P      float64   // of the test that Bias is 0, not adjusted; NaN if there are too few rows
	Values []float64 // of the metrics, in their order
}

// WorstLabels returns at most most labels, those first for which it is clearest that their bias is not 0.
func (m *Multilabel) WorstLabels(most int) []LabelRate {
	l := slices.Clone(m.each)
	key := func(x *label) float64 {
		if math.IsNaN(x.p) {
			return 2
		}
		return x.p
	}
	slices.SortStableFunc(l, func(a, b label) int {
		return cmp.Or(cmp.Compare(key(&a), key(&b)), cmp.Compare(math.Abs(b.bias), math.Abs(a.bias)))
	})
	var out []LabelRate
	for _, x := range l[:min(most, len(l))] {
		out = append(out, LabelRate{m.name(x.number, CSV), x.rate, x.bias, x.p, x.values})
	}
	return out
}

// WriteBriefJSON writes the document of WriteJSON without those of the labels. In place of them it has, as label_rates, what WorstLabels
// returns.
func (m *Multilabel) WriteBriefJSON(w io.Writer, most int) error {
	var l []object
	for _, x := range m.WorstLabels(most) {
		values := object{}
		for i, v := range x.Values {
			values = append(values, field{m.Metrics[i].Key, number(v)})
		}
		l = append(l, object{{"label", x.Name}, {"base_rate", number(x.Rate)}, {"bias", number(x.Bias)}, {"p", number(x.P)}, {"metrics", values}})
	}
	head, tail := m.ends(most)
	b, err := marshal(slices.Concat(head, object{{"label_rates", l}}, tail))
	if err != nil {
		return err
	}
	_, err = io.Copy(w, bytes.NewReader(b))
	return err
}
