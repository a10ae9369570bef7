package roles

import (
	"errors"
	"strings"
	"testing"
)

func columns(names ...string) []Column {
	l := make([]Column, len(names))
	for i, n := range names {
		if l[i].Name = strings.TrimSuffix(n, "*"); n != l[i].Name {
			l[i].Kind = Text
		}
	}
	return l
}

func TestBind(t *testing.T) {
	prefix := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		columns []Column
		want    Want
		said    string // or the beginning of the error
		classes string
		failed  bool
	}{
		"one probability": {columns: columns("id*", "y", "p"), want: Want{Scores: []string{"p"}, Label: "y"}, said: "scores p; label y"},
		"tidymodels, with its decision left out": {columns: columns("y*", ".pred_cat", ".pred_dog", ".pred_class*"),
			want: Want{Prefix: prefix(".pred_"), Label: "y"}, said: "scores .pred_cat, .pred_dog; label y; not used, as they are text: .pred_class", classes: "cat dog"},
		"numbered": {columns: columns("prob_0", "prob_1", "prob_2", "label"), want: Want{Prefix: prefix("prob_"), Label: "label"},
			said: "scores prob_0, prob_1, prob_2; label label", classes: "0 1 2"},
		"a prefix without its separator": {columns: columns("proba_cat", "proba_dog", "y*"), want: Want{Prefix: prefix("proba"), Label: "y"},
			said: "scores proba_cat, proba_dog; label y", classes: "cat dog"},
		"H2O's decision under p": {columns: columns("predict", "p0", "p1"), want: Want{Prefix: prefix("p")}, failed: true,
			said: `prefix "p": "predict" may be no scores of a class`},
		"H2O's list":          {columns: columns("predict", "p0", "p1"), want: Want{Scores: []string{"p0", "p1"}}, said: "scores p0, p1", classes: "0 1"},
		"tens":                {columns: columns("p10", "p11"), want: Want{Scores: []string{"p10", "p11"}}, said: "scores p10, p11", classes: "10 11"},
		"names alone":         {columns: columns("cat", "car", "y*"), want: Want{Scores: []string{"cat", "car"}, Label: "y"}, said: "scores cat, car; label y", classes: "cat car"},
		"a shared beginning":  {columns: columns("prob_cat", "prob_car"), want: Want{Scores: []string{"prob_cat", "prob_car"}}, said: "scores prob_cat, prob_car", classes: "cat car"},
		"a name all prefix":   {columns: columns("no", "no_idea"), want: Want{Scores: []string{"no", "no_idea"}}, said: "scores no, no_idea", classes: "no no_idea"},
		"a dash":              {columns: columns("s-1", "s-2"), want: Want{Scores: []string{"s-1", "s-2"}}, said: "scores s-1, s-2", classes: "1 2"},
		"everything":          {columns: columns("a", "b", "y", "w", "d", "c", "g*"), want: Want{Scores: []string{"b", "a"}, Label: "y", Weight: "w", Decision: "d", Confidence: "c", Groups: []string{"g", "w"}}, said: "scores b, a; label y; weight w; decision d; confidence score c; group g; group w", classes: "b a"},
		"given names":         {columns: columns("a", "b"), want: Want{Scores: []string{"a", "b"}, Classes: []string{"x", "y"}}, said: "scores a, b", classes: "x y"},
		"too few names":       {columns: columns("a", "b"), want: Want{Scores: []string{"a", "b"}, Classes: []string{"x"}}, failed: true, said: "1 classes are named, and the scores are of 2"},
		"a name twice":        {columns: columns("a", "b"), want: Want{Scores: []string{"a", "b"}, Classes: []string{"x", "x"}}, failed: true, said: `class "x" is named twice`},
		"no such column":      {columns: columns("label", "p"), want: Want{Scores: []string{"p"}, Label: "labels"}, failed: true, said: `no column "labels" for the label (did you mean "label"?): the columns are "label", "p"`},
		"two of a name":       {columns: columns("p", "p"), want: Want{Scores: []string{"p"}}, failed: true, said: `two columns are named "p"`},
		"no scores":           {columns: columns("p"), failed: true, said: `no column of scores is named: the only column is "p"`},
		"a text as scores":    {columns: columns("p*"), want: Want{Scores: []string{"p"}}, failed: true, said: `column "p" has text, and the scores of a row are a number, or a list of numbers`},
		"two roles":           {columns: columns("p", "y"), want: Want{Scores: []string{"p"}, Label: "p"}, failed: true, said: `column "p" is the label and the scores`},
		"an empty prefix":     {columns: columns("cat", "dog", "y*"), want: Want{Prefix: prefix(""), Label: "y"}, said: "scores cat, dog; label y", classes: "cat dog"},
		"a prefix of nothing": {columns: columns("cat", "y*"), want: Want{Prefix: prefix("q")}, failed: true, said: `no column of numbers has a name that begins with "q"`},
		"a list": {columns: []Column{{Name: "probs", Kind: List, Width: 3}, {Name: "y"}}, want: Want{Scores: []string{"probs"}, Label: "y", Classes: []string{"a", "b", "c"}},
			said: "scores probs; label y", classes: "a b c"},
		"a struct": {columns: []Column{{Name: "probs", Kind: Fields, Names: []string{"cat", "dog"}}}, want: Want{Scores: []string{"probs"}}, said: "scores probs", classes: "cat dog"},
		"a struct, other names": {columns: []Column{{Name: "probs", Kind: Fields, Names: []string{"cat", "dog"}}}, want: Want{Scores: []string{"probs"}, Classes: []string{"dog", "cat"}},
			failed: true, said: `the classes are named "dog", "cat", and the scores in the file "cat", "dog"`},
		"lists among columns": {columns: []Column{{Name: "probs", Kind: List}, {Name: "p"}}, want: Want{Scores: []string{"probs", "p"}}, failed: true, said: `column "probs" has lists of numbers`},
		"a group twice":       {columns: columns("p", "g"), want: Want{Scores: []string{"p"}, Groups: []string{"g", "g"}}, failed: true, said: `column "g" is named twice to group by`},
		"many": {columns: columns("c0", "c1", "c2", "c3", "c4", "c5", "c6"), want: Want{Prefix: prefix("c")}, said: "scores c0, c1, ... c6 (7 columns)",
			classes: "0 1 2 3 4 5 6"},
	} {
		b, err := Bind(c.columns, &c.want)
		if c.failed {
			var missing *Missing
			var doubt *Doubt
			if err == nil || !strings.HasPrefix(err.Error(), c.said) || !errors.As(err, &missing) && !errors.As(err, &doubt) {
				t.Errorf("%s: %v, want %s", name, err, c.said)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := b.String(); got != c.said {
			t.Errorf("%s: %s, want %s", name, got, c.said)
		}
		if got := strings.Join(b.Classes, " "); got != c.classes {
			t.Errorf("%s: classes %q, want %q", name, got, c.classes)
		}
	}
}

// TestPropose: where a column under the prefix is likely no class the error has those to name.
func TestPropose(t *testing.T) {
	p := "p"
	_, err := Bind(columns("predict", "p0", "p1", "p10"), &Want{Prefix: &p})
	var d *Doubt
	if !errors.As(err, &d) || strings.Join(d.Propose, ",") != "p0,p1,p10" {
		t.Errorf("%v", err)
	}
}

func TestLabels(t *testing.T) {
	animals, digits, years := []string{"cat", "dog", "owl"}, []string{"0", "1", "2"}, []string{"1", "2", "3"}
	for _, c := range []struct {
		labels *Labels
		cell   string
		class  int32
		failed string
	}{
		{NewLabels(3, animals, ""), "dog", 1, ""},
		{NewLabels(3, animals, ""), " owl\t", 2, ""},
		{NewLabels(3, animals, ""), "2", 2, ""},
		{NewLabels(3, animals, ""), "2.0", 2, ""},
		{NewLabels(3, animals, ""), "3", 0, "label 3 of 3 classes, which are numbered from 0: if the labels count from 1"},
		{NewLabels(3, animals, ""), "4", 0, "label 4 is no class"},
		{NewLabels(3, animals, ""), "-1", 0, "label -1 is no class"},
		{NewLabels(3, animals, ""), "Dog", 0, `label "Dog" is no class: the classes are "cat", "dog", "owl"`},
		{NewLabels(3, animals, ""), "", Missed, ""},
		{NewLabels(3, animals, ""), "NA", Missed, ""},
		{NewLabels(3, digits, ""), "2", 2, ""},
		{NewLabels(3, years, ""), "3", 2, ""},
		{NewLabels(3, years, ""), "3.0", 2, ""},
		{NewLabels(3, years, ""), "0", 0, `label "0" is no class`},
		{NewLabels(3, nil, ""), "2", 2, ""},
		{NewLabels(3, nil, ""), "dog", 0, `label "dog": the classes have no names`},
		{NewLabels(3, nil, ""), "1.5", 0, `label "1.5"`},
		{NewLabels(1, nil, ""), "1", 1, ""},
		{NewLabels(1, nil, ""), "0.0", 0, ""},
		{NewLabels(1, nil, ""), "True", 1, ""},
		{NewLabels(1, nil, ""), "FALSE", 0, ""},
		{NewLabels(1, nil, ""), "2", 0, "label 2 of 2 classes"},
		{NewLabels(1, nil, ""), "spam", 0, `label "spam": which label is the event is not known`},
		{NewLabels(1, nil, "spam"), "spam", 1, ""},
		{NewLabels(1, nil, "spam"), "ham", 0, ""},
		{NewLabels(1, nil, "spam"), "na", Missed, ""},
		{NewLabels(1, []string{"ham", "spam"}, ""), "spam", 1, ""},
		{NewLabels(1, []string{"ham", "spam"}, ""), "1", 1, ""},
		{NewLabels(1, []string{"ham", "spam"}, ""), "true", 0, `label "true" is no class`},
	} {
		class, err := c.labels.Class([]byte(c.cell))
		if c.failed != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.failed) {
				t.Errorf("%q of %v: %v, want %s", c.cell, c.labels.names, err, c.failed)
			}
		} else if err != nil || class != c.class {
			t.Errorf("%q of %v: %d, %v, want %d", c.cell, c.labels.names, class, err, c.class)
		}
	}
}

func TestProposal(t *testing.T) {
	for _, c := range []struct {
		columns []Column
		want    string
	}{
		{columns("id*", "prob_cat", "prob_dog", "label*", "weight"), "prefix prob_ label label weight weight"},
		{columns("", ".pred_cat", ".pred_dog", ".pred_class*", "truth*"), "prefix .pred_ label truth"},
		{columns("predict", "p0", "p1"), "scores p0,p1"}, // a prefix that Bind refuses
		{columns("Y", "p"), "scores p label Y"},
		{columns("y_true", "y_prob"), "scores y_prob label y_true"},
		{columns("a", "b"), ""},
		{[]Column{{Name: "probs", Kind: List, Width: 3}, {Name: "target"}}, "scores probs label target"},
		{[]Column{{Name: "label"}, {Name: "rawPrediction", Kind: List}, {Name: "probability", Kind: List}}, "scores probability label label"}, // Spark's
	} {
		w := Propose(c.columns)
		var got []string
		if w.Prefix != nil {
			got = append(got, "prefix "+*w.Prefix)
		}
		if len(w.Scores) > 0 {
			got = append(got, "scores "+strings.Join(w.Scores, ","))
		}
		if w.Label != "" {
			got = append(got, "label "+w.Label)
		}
		if w.Weight != "" {
			got = append(got, "weight "+w.Weight)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: %q, want %q", names(c.columns), got, c.want)
		}
	}
}
