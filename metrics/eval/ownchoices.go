package eval

import "slices"

// Choices says that the columns of the scores are the choices of each row's own question, as in the multiple-choice tasks of language models, and
// how their log-likelihoods were normalised. The zero value says that they are classes, which are the same in all rows.
type Choices uint8

// The normalisations of choices.
const (
	NoChoices   Choices = iota // the columns are classes
	ChoiceSums                 // log-likelihoods as they are
	ChoiceChars                // divided by the number of characters of the choice
	ChoiceBytes                // divided by its number of bytes
)

// String returns the name in documents: "none", "char" or "byte"; "" for classes.
func (c Choices) String() string { return [...]string{"", "none", "char", "byte"}[c&3] }

// ofClassNumbers are the metrics that compare a class with itself in other rows, besides those that their descriptors tell.
var ofClassNumbers = []string{"base_rate", "mean_p", "bias", "oe_ratio", "ece_positive", "balanced_accuracy", "rps", "brier_skill", "nll_skill",
	"sharpness_class0", "sharpness_class1", "canonical_skce", "canonical_skce_p"}

const notClasses = "choices are not classes: choice 1 of a row has nothing to do with choice 1 of another"

// classless returns the reason why a metric has no value because the columns are choices, or "" if it has one.
func (s *Spec) classless(m Metric) string {
	if s.Choices == NoChoices {
		return ""
	}
	d := s.describe(m)
	if d.classes != nil || d.ofTwo || slices.Contains(ofClassNumbers, m.Name) {
		return notClasses
	}
	if form, _, _ := m.only("form", ""); m.Name == "brier" && (form == "per_class" || form == "binary") {
		return notClasses // the number of choices differs
	}
	return ""
}

// said names the columns in a message.
func (c Choices) said() string {
	if c == NoChoices {
		return "classes"
	}
	return "choices with the norm " + c.String()
}
