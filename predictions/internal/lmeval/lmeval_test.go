package lmeval

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/predictions/internal/columns"
)

const written = "../../../testdata/lm/"

func read(t *testing.T, file string, o Options) []Doc {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := Read(strings.NewReader(string(b)), &o)
	if err != nil {
		t.Fatal(file, err)
	}
	return docs
}

// results returns the figures of a task that the harness printed, from the results beside a file of samples.
func results(t *testing.T, file string) (task string, figures map[string]any) {
	t.Helper()
	m := regexp.MustCompile(`samples_(.*)_(2026.*)\.jsonl`).FindStringSubmatch(filepath.Base(file))
	b, err := os.ReadFile(filepath.Join(filepath.Dir(file), "results_"+m[2]+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Results map[string]map[string]any }
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return m[1], all.Results[m[1]]
}

// agree compares the accuracies of all norms and the Brier score of the documents with the harness's figures.
func agree(t *testing.T, file string, o Options) {
	t.Helper()
	name := "none"
	if o.Filters != nil {
		name = o.Filters[0]
	}
	_, figures := results(t, file)
	compared := 0
	for _, c := range []struct {
		metric string
		norm   Norm
	}{{"acc", Sums}, {"acc_norm", Chars}, {"acc_bytes", Bytes}} {
		want, ok := figures[c.metric+","+name].(float64)
		if !ok {
			continue
		}
		compared++
		o.Norm = c.norm
		docs, hits, brier := read(t, file, o), 0, 0.0
		for _, d := range docs {
			best, sum := 0, 0.0
			for i, x := range d.Scores {
				if x > d.Scores[best] {
					best = i
				}
				sum += math.Exp(x)
			}
			if best == int(d.Label) {
				hits++
			}
			for i, x := range d.Scores {
				y := 0.0
				if i == int(d.Label) {
					y = 1
				}
				brier += (math.Exp(x)/sum - y) * (math.Exp(x)/sum - y)
			}
		}
		if got := float64(hits) / float64(len(docs)); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %s %v, and the harness has %v", file, c.metric, got, want)
		}
		if want, ok := figures["brier_score,"+name].(float64); ok && c.norm == Sums {
			if got := brier / float64(len(docs)); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s: Brier score %v, and the harness has %v", file, got, want)
			}
		}
	}
	if compared == 0 {
		t.Error(file, "nothing was compared")
	}
}

func only(t *testing.T, pattern string) string {
	t.Helper()
	l, err := filepath.Glob(pattern)
	if err != nil || len(l) != 1 {
		t.Fatal(pattern, l, err)
	}
	return l[0]
}

// TestHarness reads what the harness wrote, and compares accuracies and right choices with its results and with the documents.
func TestHarness(t *testing.T) {
	for _, of := range []struct {
		task, delimiter string
		filters         []string
		right           func(doc map[string]any) int
	}{
		{"ragged", " ", nil, func(d map[string]any) int { return int(d["answer"].(float64)) }},
		{"full", "\n", nil, func(d map[string]any) int { return int(d["answer"].(float64)) }},
		{"digits", " ", nil, func(d map[string]any) int { return slices.Index([]string{"1", "2", "3", "0"}, d["answer"].(string)) }},
		{"yes_no", " ", []string{"first"}, func(d map[string]any) int { return slices.Index([]string{"no", "yes"}, d["label"].(string)) }},
		{"yes_no", " ", []string{"again", "none"}, func(d map[string]any) int { return slices.Index([]string{"no", "yes"}, d["label"].(string)) }},
		{"blank", " ", nil, func(d map[string]any) int { return int(d["answer"].(float64)) }},
	} {
		file := only(t, written+"one/samples_"+of.task+"_2026*.jsonl")
		o := Options{Delimiter: &of.delimiter, Filters: of.filters}
		agree(t, file, o)
		b, _ := os.ReadFile(file)
		lines := strings.Split(string(b), "\n")
		for _, d := range read(t, file, o) {
			var row struct{ Doc map[string]any }
			if err := json.Unmarshal([]byte(lines[d.Line]), &row); err != nil {
				t.Fatal(err)
			}
			if want := of.right(row.Doc); int(d.Label) != want {
				t.Errorf("%s, line %d: choice %d is right, and not %d", file, d.Line+1, want, d.Label)
			}
		}
	}
	agree(t, only(t, written+"two/samples_full_2026*.jsonl"), Options{Delimiter: new("\n")})
	agree(t, only(t, written+"two/samples_ragged_2026*.jsonl"), Options{Delimiter: new(" ")})
}

// TestHarnessShared reads the files of the shared folder, which another task of the harness wrote.
func TestHarnessShared(t *testing.T) {
	const shared = "../../../../shared/formats/written/lm/"
	if _, err := os.Stat(shared); err != nil {
		t.Skip("the shared files are not here")
	}
	space := " "
	agree(t, only(t, shared+"samples_my_mc_2026*"), Options{Delimiter: &space})
	agree(t, only(t, shared+"samples_my_mc_simple*"), Options{Delimiter: &space})
	agree(t, only(t, shared+"samples_my_yn*"), Options{Delimiter: &space, Filters: []string{"again"}})
	agree(t, only(t, shared+"samples_my_mi*"), Options{Label: "doc.answer"})
}

// sample is a line with some fields replaced, or left out if they are nil.
func sample(id int, with map[string]any) string {
	row := map[string]any{"doc_id": id, "doc": map[string]any{"answer": 1, "subject": "art"}, "target": "1", "filter": "none", "doc_hash": fmt.Sprint("h", id), "acc": 1.0,
		"arguments":      map[string]any{"gen_args_0": map[string]any{"arg_0": "q", "arg_1": " a"}, "gen_args_1": map[string]any{"arg_0": "q", "arg_1": " bb"}, "gen_args_2": map[string]any{"arg_0": "q", "arg_1": " ü"}},
		"filtered_resps": [][]string{{"-3.0", "False"}, {"-1.5", "True"}, {"-2.5", "False"}}}
	for k, v := range with {
		if row[k] = v; v == nil {
			delete(row, k)
		}
	}
	b, err := json.Marshal(row)
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
}

type fields map[string]any

// prompts are the arguments for continuations.
func prompts(questions []string, ends ...string) fields {
	f := fields{}
	for i, e := range ends {
		f[fmt.Sprint("gen_args_", i)] = fields{"arg_0": questions[min(i, len(questions)-1)], "arg_1": e}
	}
	return f
}

func TestTargets(t *testing.T) {
	space, none := " ", ""
	q := []string{"q"}
	digits := prompts(q, " 1", " 2", " 0")
	for _, of := range []struct {
		name  string
		o     Options
		lines []string
		want  []int32
		fault string // instead
		line  int64
	}{
		{"number", Options{}, []string{sample(0, nil), sample(1, fields{"target": "0", "acc": 0})}, []int32{1, 0}, "", 0},
		{"number of an old file", Options{}, []string{sample(0, fields{"target": 1, "acc": 1})}, []int32{1}, "", 0},
		{"text", Options{Delimiter: &space}, []string{sample(0, fields{"target": "bb"}), sample(1, fields{"target": "ü", "acc": 0})}, []int32{1, 2}, "", 0},
		{"text without delimiter", Options{}, []string{sample(0, fields{"target": "bb"})}, nil, "not known without the delimiter", 0},
		{"empty delimiter", Options{Delimiter: &none}, []string{sample(0, fields{"target": " bb"})}, []int32{1}, "", 0},
		{"other delimiter", Options{Delimiter: new("\n")}, []string{sample(0, nil)}, nil, `does not begin with the delimiter "\n"`, 0},
		{"list of one", Options{}, []string{sample(0, fields{"target": "[1]"})}, []int32{1}, "", 0},
		{"list of texts", Options{Delimiter: &space}, []string{sample(0, fields{"target": `['bb']`}), sample(1, fields{"target": `["ü"]`, "acc": 0})}, []int32{1, 2}, "", 0},
		{"list of texts that is none", Options{Delimiter: &space}, []string{sample(0, fields{"target": `['\xfc']`, "acc": 0})}, nil, "its target is none of the choices", 0},
		{"no such text, and no delimiter", Options{}, []string{sample(0, fields{"target": "other"})}, nil, "neither the number of a choice nor its text", 0},
		{"list of several", Options{}, []string{sample(0, nil), sample(1, fields{"target": "[0, 1]"})}, nil, "the choices 0, 1 are all right", 1},
		{"list of several, dropped", Options{Drop: true}, []string{sample(0, nil), sample(1, fields{"target": "[0, 1]"})}, []int32{1, -1}, "", 0},
		{"no choice", Options{}, []string{sample(0, fields{"target": "3", "acc": 0})}, nil, "its target is none of the choices", 0},
		{"no list", Options{}, []string{sample(0, fields{"target": "[]", "acc": 0})}, nil, "no choice is right", 0},
		{"negative", Options{Drop: true}, []string{sample(0, fields{"target": "-1", "acc": 0})}, []int32{-1}, "", 0},
		{"brier_score decides", Options{}, []string{sample(0, fields{"arguments": digits, "target": "2", "brier_score": []any{1, "[0.14024438 0.62853172 0.2312239 ]"}})}, []int32{1}, "", 0},
		{"f1 decides", Options{}, []string{sample(0, fields{"arguments": digits, "target": "2", "f1": []int{1, 1}})}, []int32{1}, "", 0},
		{"digits, by accuracy", Options{Delimiter: &space}, []string{sample(0, fields{"arguments": digits, "target": "2"})}, []int32{1}, "", 0},
		{"digits, by another line", Options{Delimiter: &space}, []string{sample(0, fields{"arguments": digits, "target": "0", "acc": 0}), sample(1, fields{"arguments": digits, "target": "1", "acc": 1})}, []int32{0, 1}, "", 0},
		{"digits, ambiguous", Options{Delimiter: &space}, []string{sample(0, fields{"arguments": digits, "target": "0", "acc": 0}), sample(1, fields{"arguments": digits, "target": "1", "acc": nil})}, nil, "the number of a choice or its text, choice 0 or choice 2", 0},
		{"digits, without delimiter", Options{}, []string{sample(0, fields{"arguments": digits, "target": "2"})}, nil, "not known without the delimiter", 0},
		{"digits, label", Options{Delimiter: &space, Label: "doc.answer"}, []string{sample(0, fields{"arguments": digits, "target": "0", "acc": 1})}, []int32{1}, "", 0},
		{"label as text", Options{Delimiter: &space, Label: "doc"}, []string{sample(0, fields{"doc": "bb"})}, []int32{1}, "", 0},
		{"no label", Options{Label: "doc.right"}, []string{sample(0, nil)}, nil, `no field "doc.right"`, 0},
		{"wrong accuracy", Options{}, []string{sample(0, nil), sample(1, fields{"acc": 0})}, nil, "acc is 0, but choice 1 is the most likely one and the right one is 1", 1},
		{"wrong accuracy per character", Options{Delimiter: &space}, []string{sample(0, fields{"acc_norm": 0})}, nil, "acc_norm is 0", 0},
		{"wrong accuracy per byte", Options{Delimiter: &space}, []string{sample(0, fields{"acc_bytes": 0})}, nil, "acc_bytes is 0", 0},
		{"wrong probability", Options{}, []string{sample(0, fields{"brier_score": []any{1, []float64{0.2, 0.6, 0.2}}})}, nil, "brier_score has the probability 0.2 of choice 0", 0},
		{"own accuracy", Options{}, []string{sample(0, fields{"acc": 0.37})}, nil, "acc is 0.37, and not 0 or 1", 0},
		{"questions of their own", Options{}, []string{sample(0, fields{"arguments": prompts([]string{"a", "b", "c"}, " e", " e", " e"), "target": "e"})}, []int32{1}, "", 0},
		{"questions of their own, wrong", Options{}, []string{sample(0, fields{"arguments": prompts([]string{"a", "b", "c"}, " e", " e", " e"), "acc": 0})}, nil, "does not say which one is right", 0},
		{"questions of their own, label", Options{Label: "doc.answer"}, []string{sample(0, fields{"arguments": prompts([]string{"a", "b", "c"}, " e", " e", " e"), "acc": 1})}, []int32{1}, "", 0},
		{"questions of their own, wrong label", Options{Label: "doc.answer"}, []string{sample(0, fields{"arguments": prompts([]string{"a", "b", "c"}, " e", " e", " e"), "acc": 0})}, nil, "acc is 0, but", 0},
	} {
		docs, err := Read(strings.NewReader(strings.Join(of.lines, "")), &of.o)
		var f *columns.Fault
		switch {
		case of.fault != "":
			if !errors.As(err, &f) || !strings.Contains(f.Reason, of.fault) || f.Line != of.line || f.Remedy == "" {
				t.Errorf("%s: %v", of.name, err)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", of.name, err)
			continue
		}
		var got []int32
		for _, d := range docs {
			got = append(got, d.Label)
		}
		if !slices.Equal(got, of.want) {
			t.Errorf("%s: %v, want %v", of.name, got, of.want)
		}
	}
}

func TestNorms(t *testing.T) {
	space := " "
	for _, of := range []struct {
		norm Norm
		want []float64
	}{{Sums, []float64{-3, -1.5, -2.5}}, {Chars, []float64{-3, -0.75, -2.5}}, {Bytes, []float64{-3, -0.75, -1.25}}} {
		docs, err := Read(strings.NewReader(sample(0, nil)), &Options{Norm: of.norm, Delimiter: &space, Groups: []string{"doc.subject", "doc_id"}})
		if err != nil || !slices.Equal(docs[0].Scores, of.want) || !slices.Equal(docs[0].Groups, []string{"art", "0"}) {
			t.Error(of.norm, docs, err)
		}
	}
	for _, of := range []struct {
		o    Options
		line string
		want string
	}{
		{Options{Norm: Chars}, sample(0, nil), "lengths of the choices are not known"},
		{Options{Norm: Bytes, Delimiter: &space}, sample(0, fields{"arguments": prompts([]string{"q"}, " ", " b", " c")}), "choice 0 is empty"},
		{Options{Norm: Chars, Delimiter: &space}, sample(0, fields{"arguments": prompts([]string{"a", "b", "c"}, " e", " e", " e")}), "each choice has a question of its own"},
	} {
		if _, err := Read(strings.NewReader(of.line), &of.o); err == nil || !strings.Contains(err.Error(), of.want) {
			t.Errorf("%s: %v", of.want, err)
		}
	}
}

// TestForms reads the forms in which versions of the harness write the same.
func TestForms(t *testing.T) {
	for name, line := range map[string]string{
		"texts":   sample(0, nil),
		"numbers": sample(0, fields{"filtered_resps": [][]any{{-3.0, false}, {-1.5, true}, {-2.5, false}}, "arguments": [][]string{{"q", " a"}, {"q", " bb"}, {"q", " ü"}}, "filter": nil, "doc_hash": nil}),
		"mutual": sample(0, fields{"acc_mutual_info": 0, "filtered_resps": [][]string{{"-3", ""}, {"-1.5", ""}, {"-2.5", ""}, {"-4", ""}, {"-1.5", ""}, {"-2.5", ""}},
			"arguments": prompts([]string{"q", "q", "q", ""}, " a", " bb", " ü", " a", " bb", " ü")}),
	} {
		docs, err := Read(strings.NewReader(line), &Options{})
		if err != nil || !slices.Equal(docs[0].Scores, []float64{-3, -1.5, -2.5}) || docs[0].Label != 1 {
			t.Error(name, docs, err)
		}
	}
}

func TestBad(t *testing.T) {
	for _, of := range []struct {
		name  string
		o     Options
		lines string
		want  string
		line  int64
	}{
		{"other JSON Lines", Options{}, `{"probs": [0.1, 0.9], "label": 1}` + "\n", `no field "doc_id"`, 0},
		{"several filters", Options{}, sample(0, nil) + sample(0, fields{"filter": "other"}), "lines of the filters none, other", 1},
		{"no such filter", Options{Filters: []string{"strict", "x"}}, sample(0, nil), `of the filters none, and of none of strict, x`, -1},
		{"several of the filters", Options{Filters: []string{"other", "none"}}, sample(0, fields{"filter": "x"}) + sample(0, nil) + sample(0, fields{"filter": "other"}), "lines of the filters none, other", 2},
		{"a second run", Options{}, sample(0, nil) + sample(1, nil) + sample(0, nil), "document 0 was on line 1 already", 2},
		{"texts", Options{}, sample(0, fields{"filtered_resps": []string{"an answer"}}), "generate_until", 0},
		{"texts of another filter", Options{Filters: []string{"strict"}}, sample(0, fields{"filtered_resps": []string{"an answer"}}), "generate_until", 0},
		{"a text later", Options{}, sample(0, fields{"filtered_resps": []any{[]string{"-1", "False"}, "x"}}), "filtered_resps 1 is not a pair", 0},
		{"one log-likelihood", Options{}, sample(0, fields{"filtered_resps": [][]string{{"-1", "False"}}}), "one log-likelihood", 0},
		{"prompts", Options{}, sample(0, fields{"arguments": prompts([]string{"q"}, " a", " b")}), "2 prompts and 3 log-likelihoods", 0},
		{"keys of prompts", Options{}, sample(0, fields{"arguments": fields{"gen_args_1": fields{"arg_0": "", "arg_1": ""}}}), "gen_args_0 is expected", 0},
		{"prompts of other things", Options{}, sample(0, fields{"arguments": []any{1}}), "not a pair of a prompt and a continuation", 0},
		{"half of mutual information", Options{}, sample(0, fields{"acc_mutual_info": 1}), "acc_mutual_info needs each choice a second time", 0},
		{"twice", Options{}, `{"doc_id": 1, "doc_id": 2}`, `"doc_id" comes twice`, 0},
		{"truncated", Options{}, sample(0, nil) + sample(1, nil)[:100], "line ends", 1},
		{"a group", Options{Groups: []string{"doc.level"}}, sample(0, nil), `no field "doc.level"`, 0},
		{"memory", Options{MaxBytes: 100}, sample(0, nil), "memory", -1},
	} {
		_, err := Read(strings.NewReader(of.lines), &of.o)
		var f *columns.Fault
		if !errors.As(err, &f) || !strings.Contains(f.Reason, of.want) || f.Line != of.line {
			t.Errorf("%s: %v", of.name, err)
		}
	}
}

// TestTies has equal log-likelihoods, of which numpy's argmax takes the first, and quotients that differ by less than rounding.
func TestTies(t *testing.T) {
	tie := [][]string{{"-1.5", "False"}, {"-1.5", "True"}, {"-2.5", "False"}}
	if _, err := Read(strings.NewReader(sample(0, fields{"filtered_resps": tie, "acc": 0})), &Options{}); err != nil {
		t.Error(err)
	}
	if _, err := Read(strings.NewReader(sample(0, fields{"filtered_resps": tie, "acc": 1})), &Options{}); err == nil {
		t.Error("the second of equals was taken")
	}
	close := [][]string{{"-1.4999999", "False"}, {"-3", "True"}, {"-2.5", "False"}}
	if _, err := Read(strings.NewReader(sample(0, fields{"filtered_resps": close, "acc": 0, "acc_norm": 1})), &Options{Delimiter: new(" ")}); err != nil {
		t.Error(err)
	}
}

func TestLiterals(t *testing.T) {
	for _, of := range []struct {
		text string
		want []literal
		ok   bool
	}{
		{"[]", nil, true},
		{"[1, -2]", []literal{{"1", false}, {"-2", false}}, true},
		{`['a', "b'c", 'd\'\\\n']`, []literal{{"a", true}, {"b'c", true}, {"d'\\\n", true}}, true},
		{"[1 2]", nil, false}, {"['a'", nil, false}, {"[a]", nil, false}, {"['a' 'b']", nil, false}, {`['\x']`, nil, false}, {"[1.5]", nil, false}, {"x", nil, false},
	} {
		got, ok := literals(of.text)
		if ok != of.ok || ok && !slices.Equal(got, of.want) {
			t.Errorf("%s: %v %v", of.text, got, ok)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, pattern := range []string{"one/samples_ragged*", "one/samples_digits*", "one/samples_several*", "one/samples_blank*"} {
		l, _ := filepath.Glob(written + pattern)
		for _, file := range l {
			b, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			lines := strings.SplitAfter(string(b), "\n")
			f.Add(lines[0]+lines[1], " ", true, uint8(1))
			f.Add(lines[len(lines)-2], "", false, uint8(0))
		}
	}
	f.Fuzz(func(t *testing.T, text, delimiter string, delimited bool, norm uint8) {
		o := &Options{Norm: Norm(norm % 3), Drop: norm&4 != 0, Groups: []string{"doc.subject"}[:norm>>3&1]}
		if delimited {
			o.Delimiter = &delimiter
		}
		docs, err := Read(strings.NewReader(text), o)
		if err != nil {
			return
		}
		for _, d := range docs {
			if len(d.Scores) < 2 || int(d.Label) >= len(d.Scores) || d.Label < 0 && !o.Drop {
				t.Fatalf("%d scores, and choice %d is right", len(d.Scores), d.Label)
			}
		}
	})
}
