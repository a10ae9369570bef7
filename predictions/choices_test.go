package predictions

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/candor-go/candor/metrics"
)

// choiceLine is a line of samples whose choices have log-likelihoods -1, -2 and so on, in a file without prompts worth the name.
func choiceLine(id, choices, right int) string {
	var arguments, answers []string
	for i := range choices {
		arguments = append(arguments, fmt.Sprintf(`["q", " c%d"]`, i))
		answers = append(answers, fmt.Sprintf(`["%d.5", "False"]`, -1-i))
	}
	return fmt.Sprintf(`{"doc_id": %d, "doc": {"level": "l%d"}, "target": "%d", "arguments": [%s], "filtered_resps": [%s], "doc_hash": "h%d"}`+"\n",
		id, id, right, strings.Join(arguments, ", "), strings.Join(answers, ", "), id)
}

// many are lines of documents.
func choiceLines(n, choices int) *fstest.MapFile {
	var b strings.Builder
	for i := range n {
		b.WriteString(choiceLine(i, choices, i%choices))
	}
	return &fstest.MapFile{Data: []byte(b.String())}
}

func TestOpenChoices(t *testing.T) {
	files := fstest.MapFS{"m/samples_b_2026-11-23T12-00-00.jsonl": choiceLines(2, 2), "m/samples_a_2026-11-23T12-00-00.jsonl": choiceLines(5000, 3), "m/other.jsonl": choiceLines(1, 9),
		"m/results_2026-11-23T12-00-00.json": {Data: []byte(`{"configs": {"a": {"target_delimiter": " "}, "b": {"target_delimiter": " "}}}`)}}
	r, err := OpenChoices([]string{"m"}, &ChoiceOptions{FS: files, Groups: []string{"task"}, Norm: NormChars})
	if err != nil {
		t.Fatal(err)
	}
	if i := r.Info(); i.Rows != 5002 || i.Classes != 3 || i.Files != 2 || i.Shape != "(5002, 3)" || i.Bytes <= 0 || r.BytesRead() != i.Bytes {
		t.Errorf("%+v, %d", i, r.BytesRead())
	}
	rows := int64(0)
	for {
		c, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if c.First != rows || c.Kind != metrics.Logits || c.Classes != 3 || len(c.F64) != 3*c.Rows {
			t.Fatalf("%+v", c)
		}
		for i := range c.Rows {
			want, task, line := []float64{-0.75, -1.25, -1.75}, "a", rows
			if rows >= 5000 {
				want, task, line = []float64{-0.75, -1.25, math.Inf(-1)}, "b", rows-5000
			}
			file, at := r.Locate(rows)
			if !slices.Equal(c.F64[3*i:3*i+3], want) || c.Labels[i] != int32(line%int64(len(want)-int(rows/5000))) || r.Group(c.Groups[i])[0] != task ||
				!strings.Contains(file, "samples_"+task) || at != line || r.Line(rows) != line+1 {
				t.Fatalf("row %d: %v, %d, %v, %s %d %d", rows, c.F64[3*i:3*i+3], c.Labels[i], r.Group(c.Groups[i]), file, at, r.Line(rows))
			}
			rows++
		}
	}
	if file, at := r.Locate(rows); rows != 5002 || file != "" || at != -1 || r.Line(rows) != -1 {
		t.Error(rows, file, at)
	}
	r.Close()
	if _, err := r.Next(); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

func TestOpenChoicesErrors(t *testing.T) {
	files := fstest.MapFS{"many.jsonl": choiceLines(100_001, 2), "few.jsonl": choiceLines(3, 2), "empty.jsonl": {}, "folder/x": {},
		"gen/samples_g_2026-11-23T12-00-00.jsonl": {Data: []byte(`{"doc_id": 0, "arguments": {}, "filtered_resps": ["text"], "target": ""}`)}}
	if _, err := OpenChoices(nil, &ChoiceOptions{}); err == nil {
		t.Error("no files, and no error")
	}
	for _, of := range []struct {
		path string
		o    ChoiceOptions
		want string
	}{
		{"many.jsonl", ChoiceOptions{Groups: []string{"doc.level"}}, "more than 100,000 groups"},
		{"many.jsonl", ChoiceOptions{MaxBytes: 10000}, "take more than"},
		{"few.jsonl", ChoiceOptions{Norm: NormBytes}, "few.jsonl: line 1: the lengths of the choices are not known"},
		{"empty.jsonl", ChoiceOptions{}, "empty.jsonl: empty file"},
		{"none.jsonl", ChoiceOptions{}, "none.jsonl: "},
		{"folder", ChoiceOptions{}, "folder: a folder without samples_*.jsonl"},
		{"gen", ChoiceOptions{}, "only multiple-choice tasks have probabilities"},
	} {
		of.o.FS = files
		r, err := OpenChoices([]string{of.path}, &of.o)
		for err == nil {
			_, err = r.Next()
		}
		if !strings.Contains(err.Error(), of.want) {
			t.Errorf("%s: %v", of.path, err)
		}
	}
}
