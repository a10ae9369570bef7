package report

import (
	"math"

	"github.com/candor-go/candor/metrics/eval"
)

// RowValues says of what a document is where only losses by row are known of a model.
type RowValues struct {
	Name    string   // of the model, as the file of values has it
	Input   string   // the kind of scores that it had
	Metrics []string // that have losses by row
}

func (v *RowValues) object() object {
	return object{{"name", v.Name}, {"metrics", v.Metrics}}
}

// OfRows returns the document of a model of which only losses by row are known: it is of the same rows and metrics as another model's evaluation,
// with the values that a function returns. It has neither bins nor a state.
func OfRows(like *eval.Evaluation, v *RowValues, value func(eval.Metric) eval.Value) *Document {
	d := &Document{Input: InputOf(like), RowValues: v, level: like.Spec.Level, shape: like.Spec.Shape(), weighted: like.Audit.Weighted}
	d.Input.DType, d.Input.Kind = "float64", v.Input
	for _, m := range like.Answered() {
		desc := eval.Describe(m.Name).In(like.Spec.Shape())
		r := Metric{Key: m.String(), Name: m.Name, Whole: desc.Whole, Value: value(m), Level: like.Spec.Level, Better: desc.Better, Text: like.Text(m), Spec: like.Fields(m), Event: like.Event(m)}
		r.Short, r.Mean = like.Meaning(m)
		d.Metrics = append(d.Metrics, r)
	}
	return d
}

// rowsVerdict is the verdict where only losses by row are known.
func (d *Document) rowsVerdict(shape string) string {
	if m := d.Find("accuracy"); m != nil && !math.IsNaN(m.Value.Value) {
		return shape + ": " + percent(m.Value.Value) + " correct. Only losses by row are known."
	}
	return shape + ": only losses by row are known."
}
