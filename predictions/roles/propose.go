package roles

import (
	"errors"
	"slices"
	"strings"
)

// Names that columns of labels, weights, lists of probabilities and probabilities of an event often have, the likelier first.
var (
	likelyLabels  = []string{"label", "labels", "y_true", "y", "target", "truth", "true_label", "true_class", "class", "outcome", "actual", "gold"}
	likelyWeights = []string{"weight", "weights", "sample_weight", "w"}
	likelyLists   = []string{"probs", "probabilities", "probability", "scores"}
	likelyEvents  = []string{"p", "prob", "probability", "proba", "y_prob", "y_proba", "y_score", "score", "p1", "prediction", "y_pred_proba"}
)

// Propose returns what the columns of a table likely are, for a user to look at and to say: nothing reads by it. The label is "" if no
// column is named like one, and there are neither Scores nor a Prefix if none are like scores.
func Propose(columns []Column) (w Want) {
	w.Label = named(columns, likelyLabels, Number, Text)
	w.Weight = named(columns, likelyWeights, Number)
	taken := func(c Column) bool { return c.Name == w.Label || c.Name == w.Weight }
	// The prefix, up to a separator or an integer, that most columns of numbers share.
	counts := map[string]int{}
	var order []string
	for _, c := range columns {
		if c.Kind != Number || taken(c) {
			continue
		}
		p := prefixOf(c.Name)
		if p == "" {
			continue
		}
		if counts[p] == 0 {
			order = append(order, p)
		}
		counts[p]++
	}
	best := ""
	for _, p := range order {
		if counts[p] > counts[best] {
			best = p
		}
	}
	if counts[best] > 1 {
		_, err := Bind(columns, &Want{Prefix: &best, Label: w.Label, Weight: w.Weight})
		var doubt *Doubt
		switch {
		case err == nil:
			w.Prefix = &best
			return w
		case errors.As(err, &doubt) && doubt.Propose != nil:
			w.Scores = doubt.Propose
			return w
		}
	}
	if p := named(columns, likelyLists, List, Fields); p != "" {
		w.Scores = []string{p}
		return w
	}
	for _, c := range columns {
		if c.Kind == List || c.Kind == Fields {
			w.Scores = []string{c.Name}
			return w
		}
	}
	if p := named(columns, likelyEvents, Number); p != "" {
		w.Scores = []string{p}
	}
	return w
}

// named returns the column that has the first of the names that one has, in any case; "" if none has one.
func named(columns []Column, likely []string, kinds ...Kind) string {
	for _, name := range likely {
		for _, c := range columns {
			if strings.EqualFold(c.Name, name) && slices.Contains(kinds, c.Kind) {
				return c.Name
			}
		}
	}
	return ""
}

// prefixOf returns a name up to its last separator, or up to the integer that it ends in.
func prefixOf(name string) string {
	if rest := strings.TrimRight(name, "0123456789"); rest != name {
		return rest
	}
	return name[:strings.LastIndexAny(name, separators)+1]
}
