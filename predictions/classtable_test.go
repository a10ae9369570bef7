package predictions_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/predictions"
	"github.com/candor-go/candor/predictions/roles"
)

// classRows are all rows of tables of classes.
type classRows struct {
	scores                    []float64
	labels, decisions, groups []int32
	weights, confidence       []float64
	classes                   int
}

func readClasses(t *testing.T, text string, o *predictions.TableOptions) (*classRows, *predictions.ForecastReader, error) {
	t.Helper()
	o.FS = fstest.MapFS{"t.csv": {Data: []byte(text)}}
	r, err := predictions.OpenTable([]string{"t.csv"}, o)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	all := &classRows{classes: r.Info().Classes}
	for {
		c, err := r.Next()
		if err == io.EOF {
			return all, r, nil
		}
		if err != nil {
			return all, r, err
		}
		all.scores = append(all.scores, c.F64...)
		all.labels, all.decisions, all.groups = append(all.labels, c.Labels...), append(all.decisions, c.Decisions...), append(all.groups, c.Groups...)
		all.weights, all.confidence = append(all.weights, c.Weights...), append(all.confidence, c.ConfidenceScores...)
		if c.Recycle != nil {
			c.Recycle()
		}
	}
}

func TestClassTables(t *testing.T) {
	prefix := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		text    string
		o       predictions.TableOptions
		scores  []float64
		labels  []int32
		classes int
		note    string // of the binding
	}{
		"names of classes": {"y,p_cat,p_dog,p_owl\ndog,.1,.7,.2\nowl,0,0,1\n", predictions.TableOptions{Columns: roles.Want{Prefix: prefix("p_"), Label: "y"}},
			[]float64{.1, .7, .2, 0, 0, 1}, []int32{1, 2}, 3, "scores p_cat, p_dog, p_owl; label y"},
		"positions": {"y,p_cat,p_dog,p_owl\n1,.1,.7,.2\n2,0,0,1\n", predictions.TableOptions{Columns: roles.Want{Prefix: prefix("p_"), Label: "y"}},
			[]float64{.1, .7, .2, 0, 0, 1}, []int32{1, 2}, 3, ""},
		"integers are names": {"y,p3,p1,p2\n1,.1,.7,.2\n3,0,0,1\n", predictions.TableOptions{Columns: roles.Want{Prefix: prefix("p"), Label: "y"}},
			[]float64{.1, .7, .2, 0, 0, 1}, []int32{1, 0}, 3, ""},
		"one probability": {"id,p,y\na,.25,1\nb,.5,0\n", predictions.TableOptions{Columns: roles.Want{Scores: []string{"p"}, Label: "y"}},
			[]float64{.25, .5}, []int32{1, 0}, 1, ""},
		"truth values": {"p,y\n.25,True\n.5,False\n", predictions.TableOptions{Columns: roles.Want{Scores: []string{"p"}, Label: "y"}},
			[]float64{.25, .5}, []int32{1, 0}, 1, ""},
		"an event": {"p,y\n.25,spam\n.5,ham\n", predictions.TableOptions{Columns: roles.Want{Scores: []string{"p"}, Label: "y"}, Event: "spam"},
			[]float64{.25, .5}, []int32{1, 0}, 1, ""},
		"two columns": {"p0,p1,y\n.75,.25,1\n.5,.5,0\n", predictions.TableOptions{Columns: roles.Want{Scores: []string{"p0", "p1"}, Label: "y"}},
			[]float64{.25, .5}, []int32{1, 0}, 1, ""},
		"two columns, the first": {"p_ham,p_spam,y\n.75,.25,spam\n.5,.5,ham\n", predictions.TableOptions{Columns: roles.Want{Scores: []string{"p_ham", "p_spam"}, Label: "y"}, Event: "ham"},
			[]float64{.75, .5}, []int32{0, 1}, 1, ""},
		"two classes": {"p0,p1,y\n.75,.25,1\n.5,.5,0\n", predictions.TableOptions{Columns: roles.Want{Scores: []string{"p0", "p1"}, Label: "y"}, Classification: true},
			[]float64{.75, .25, .5, .5}, []int32{1, 0}, 2, ""},
		"quoted": {"\"p\",\"y\"\n\".25\",\"a \"\"b\"\"\"\n.5,c\n", predictions.TableOptions{Columns: roles.Want{Scores: []string{"p"}, Label: "y"}, Event: `a "b"`},
			[]float64{.25, .5}, []int32{1, 0}, 1, ""},
		"a decision of text": {".pred_class,.pred_a,.pred_b,.pred_c,y\na,1,0,0,b\n", predictions.TableOptions{Columns: roles.Want{Prefix: prefix(".pred_"), Label: "y"}},
			[]float64{1, 0, 0}, []int32{1}, 3, "scores .pred_a, .pred_b, .pred_c; label y; not used, as they are text: .pred_class"},
		"no labels": {"p\n.25\n", predictions.TableOptions{Columns: roles.Want{Scores: []string{"p"}}, Unlabelled: true}, []float64{.25}, []int32{0}, 1, ""},
	} {
		got, r, err := readClasses(t, c.text, &c.o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(got.scores, c.scores) || !slices.Equal(got.labels, c.labels) || got.classes != c.classes {
			t.Errorf("%s: %d classes, scores %v, labels %v", name, got.classes, got.scores, got.labels)
		}
		if b := r.Binding(); c.note != "" && b != c.note {
			t.Errorf("%s: %s", name, b)
		}
	}
	got, _, err := readClasses(t, "g,w,a,b,c,y,d,s\nx,2,.5,.5,0,a,b,.1\nz,1,1,0,0,b,c,.2\n", &predictions.TableOptions{
		Columns: roles.Want{Scores: []string{"a", "b", "c"}, Label: "y", Weight: "w", Decision: "d", Confidence: "s", Groups: []string{"g"}}})
	if err != nil || !slices.Equal(got.weights, []float64{2, 1}) || !slices.Equal(got.decisions, []int32{1, 2}) || !slices.Equal(got.confidence, []float64{.1, .2}) ||
		!slices.Equal(got.groups, []int32{0, 1}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestClassTableErrors(t *testing.T) {
	prefix := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		text, want string
		o          predictions.TableOptions
	}{
		"no label": {"y,p\n1,.5\n", `t.csv: no column of labels is named: its columns are "y", "p"; name it by Columns.Label`,
			predictions.TableOptions{Columns: roles.Want{Scores: []string{"p"}}}},
		"H2O": {"predict,p0,p1,y\n0,.5,.5,1\n", `t.csv: column "predict" also begins with "p", but may not be the scores of a class: its name differs in form from the others; name the columns of scores by Columns.Scores: p0,p1`,
			predictions.TableOptions{Columns: roles.Want{Prefix: prefix("p"), Label: "y"}}},
		"two labels of text": {"p,y\n.5,spam\n", `t.csv: line 2: column "y": label "spam" is neither 0 nor 1, and no event is named; name the label that is the event by Event`,
			predictions.TableOptions{Columns: roles.Want{Scores: []string{"p"}, Label: "y"}}},
		"R": {"a,b,c,y\n1,0,0,1\n1,0,0,3\n", `t.csv: line 3: column "y": label 3 is not one of the class numbers 0 to 2: the labels may count from 1, as R's factors do; write the names of the classes, or numbers from 0`,
			predictions.TableOptions{Columns: roles.Want{Scores: []string{"a", "b", "c"}, Label: "y"}}},
		"an unknown event": {"a,b,y\n1,0,a\n", `t.csv: event "c" is neither of the classes "a" and "b"; name one of them by Event`,
			predictions.TableOptions{Columns: roles.Want{Scores: []string{"a", "b"}, Label: "y"}, Event: "c"}},
		"a text among scores under a prefix": {"p_a,p_b,y\n.5,.5,1\nx,.5,0\n", `t.csv: line 3: column "p_a": "x" is not a number`,
			predictions.TableOptions{Columns: roles.Want{Prefix: prefix("p_"), Label: "y"}}},
		"no header": {"a,0.5,0\nb,0.5,1\n", `t.csv: no column "2" for the label: the columns are "a", "0.5", "0"; is the first line a row? pass NoHeader, and name columns by their numbers, from 0`,
			predictions.TableOptions{Columns: roles.Want{Scores: []string{"1"}, Label: "2"}}},
		"a text among scores": {"p,y\n.5,1\nx,0\n", `t.csv: line 3: column "p": "x" is not a number`,
			predictions.TableOptions{Columns: roles.Want{Scores: []string{"p"}, Label: "y"}}},
	} {
		_, _, err := readClasses(t, c.text, &c.o)
		var e *predictions.Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", name, err, c.want)
		}
	}
}

// TestClassTableOfMany: rows of many blocks keep their order.
func TestClassTableOfMany(t *testing.T) {
	var b strings.Builder
	b.WriteString("y,p\n")
	const n = 20000
	for i := range n {
		b.WriteString([]string{"0", "1"}[i%3%2])
		b.WriteString([]string{",.25\n", ",.5\n", ",.75\n", ",1\n"}[i%4])
	}
	got, _, err := readClasses(t, b.String(), &predictions.TableOptions{Kind: metrics.Probs, BufferBytes: 999, Columns: roles.Want{Scores: []string{"p"}, Label: "y"}})
	if err != nil || len(got.labels) != n {
		t.Fatalf("%d rows, %v", len(got.labels), err)
	}
	for i := range n {
		if got.labels[i] != int32(i%3%2) || got.scores[i] != float64(i%4+1)/4 {
			t.Fatalf("row %d: %v, %d", i, got.scores[i], got.labels[i])
		}
	}
}
