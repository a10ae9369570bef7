package main

import (
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// nameColumns returns the names of the columns of a table of the map's results, of this kind. candor eval reads them with --prob-prefix prob_
// (or --prob prob), or as columns of a forecast without flags that name them.
func (f *recalApply) nameColumns(m *mapped, r rowReader, kind metrics.Kind) ([]string, error) {
	switch {
	case m.normals && m.width == 3:
		return []string{"mean", "sd", "observed"}, nil
	case m.normals:
		return []string{"mean", "sd"}, nil
	case kind == metrics.Quantiles:
		var names []string
		for _, l := range m.m.(*recal.QuantileMap).Levels() {
			names = append(names, "q"+strconv.FormatFloat(l, 'g', -1, 64))
		}
		return names, nil
	case f.columns.error != "":
		return []string{"error", "sd"}, nil
	}
	word := map[metrics.Kind]string{metrics.Probs: "prob", metrics.Logits: "logit", metrics.LogProbs: "logprob"}[m.as]
	classes, err := f.named(r, "classes")
	if err != nil {
		return nil, err
	}
	if i := r.Info(); i.Pairs && i.Event == 0 { // names have the event's last, and columns their order
		slices.Reverse(classes)
	}
	each := func(word string, n int) (names []string) {
		for i := range n {
			name := strconv.Itoa(i)
			if len(classes) == n {
				name = classes[i]
			}
			names = append(names, word+"_"+name)
		}
		return names
	}
	if m.bounds {
		if m.width == 3 {
			return []string{"prob", "low", "high"}, nil
		}
		n := m.width / 3
		return slices.Concat(each("prob", n), each("low", n), each("high", n)), nil
	}
	m.pair = each(word, 2)
	if m.width == 1 {
		return []string{word}, nil
	}
	return each(word, m.width), nil
}

// finishTable writes the table.
func (m *mapped) finishTable(c *cobra.Command) error {
	var list []valueColumn
	for i, n := range m.names {
		list = append(list, valueColumn{name: n, at: i})
	}
	width := m.width
	if m.binary {
		if m.certain.rows > 0 && (m.width == 1 || m.as == metrics.Probs) {
			m.tell(c, m.out.path)
		}
		if m.width == 1 { // rows hold the scores of class 0 and of the event
			width = 2
			list[0].at = 1
			if m.certain.rows > 0 {
				list = []valueColumn{{name: m.pair[0], at: 0}, {name: m.pair[1], at: 1, finite: m.as == metrics.Logits}} // 0 beside -Inf
			}
		}
	}
	return m.finish(c, m.out.path, func(w io.Writer) error {
		return m.out.write(w, m.arrayFile, list, m.dtype, width, m.rows)
	})
}
