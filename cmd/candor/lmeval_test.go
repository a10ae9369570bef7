package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/candor-go/candor/metrics/eval"
)

// samples returns the file that lm-evaluation-harness wrote of a model and a task; see testdata/lm.
func samples(t testing.TB, model, task string) string {
	t.Helper()
	l, err := filepath.Glob(filepath.Join("..", "..", "testdata", "lm", model, "samples_"+task+"_2026*.jsonl"))
	if err != nil || len(l) != 1 {
		t.Fatal(model, task, l, err)
	}
	return l[0]
}

// copied copies a file, perhaps changed, into a folder.
func (d *dir) copied(name, from string, change func(lines []string) []string) string {
	d.t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		d.t.Fatal(err)
	}
	if change != nil {
		lines := strings.SplitAfter(strings.TrimSuffix(string(b), "\n"), "\n")
		lines[len(lines)-1] += "\n"
		b = []byte(strings.Join(change(lines), ""))
	}
	if err := os.MkdirAll(filepath.Dir(d.at(name)), 0o755); err != nil {
		d.t.Fatal(err)
	}
	return d.put(name, b)
}

// putSamples puts what the examples of the help read: a file of samples, and folders of two models.
func putSamples(d *dir) {
	d.copied("samples_mc.jsonl", samples(d.t, "one", "ragged"), nil)
	for model, folder := range map[string]string{"one": "model-a", "two": "model-b"} {
		for _, task := range []string{"full", "ragged"} {
			file := samples(d.t, model, task)
			d.copied(filepath.Join(folder, filepath.Base(file)), file, nil)
			beside := regexp.MustCompile(`samples_.*_2026(.*)l$`).ReplaceAllString(file, "results_2026$1")
			d.copied(filepath.Join(folder, filepath.Base(beside)), beside, nil)
		}
	}
}

// harnessFigures returns what the harness printed of a task.
func harnessFigures(t *testing.T, file, task string) map[string]any {
	t.Helper()
	l, err := filepath.Glob(filepath.Join(filepath.Dir(file), "results_*.json"))
	if err != nil || len(l) != 1 {
		t.Fatal(l, err)
	}
	b, err := os.ReadFile(l[0])
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Results map[string]map[string]any }
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return all.Results[task]
}

// agrees compares a document with the harness's accuracy and Brier score.
func agrees(t *testing.T, file, task, filter string, flags ...string) {
	t.Helper()
	figures := harnessFigures(t, file, task)
	for norm, name := range map[string]string{"none": "acc", "char": "acc_norm", "byte": "acc_bytes"} {
		want, ok := figures[name+","+filter].(float64)
		if !ok {
			continue
		}
		d := evaluate(t, with(flags, file, "--from", "lm-eval", "--choice-norm", norm, "--metrics", "accuracy,brier")...)
		if got := d.value(t, "accuracy"); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: accuracy %v, and the harness's %s is %v", file, got, name, want)
		}
		if want, ok := figures["brier_score,"+filter].(float64); ok && norm == "none" {
			if got := d.value(t, "brier"); math.Abs(got-want) > 1e-12 {
				t.Errorf("%s: Brier score %v, and the harness's is %v", file, got, want)
			}
		}
	}
}

// TestChoices compares accuracies and Brier scores with those that the harness computed.
func TestChoices(t *testing.T) {
	for _, task := range []string{"ragged", "full", "digits", "blank"} {
		agrees(t, samples(t, "one", task), task, "none")
	}
	agrees(t, samples(t, "two", "full"), "full", "none")
	// With a chat template there is no delimiter, but after the prefix of the answers of ragged there is.
	agrees(t, samples(t, "chat", "full"), "full", "none")
	agrees(t, samples(t, "chat", "ragged"), "ragged", "none")
	agrees(t, samples(t, "one", "yes_no"), "yes_no", "first", "--filter", "none,first")
}

// TestChoicesShared does so for the files of the shared folder.
func TestChoicesShared(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "shared", "formats", "written", "lm")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("the shared files are not here")
	}
	file := func(task string) string {
		l, err := filepath.Glob(filepath.Join(folder, "samples_"+task+"_2026*.jsonl"))
		if err != nil || len(l) != 1 {
			t.Fatal(task, l, err)
		}
		return l[0]
	}
	agrees(t, file("my_mc"), "my_mc", "none")
	agrees(t, file("my_mc_simple"), "my_mc_simple", "none")
	agrees(t, file("my_yn"), "my_yn", "again", "--filter", "again")
	agrees(t, file("my_mi"), "my_mi", "none", "--label", "doc.answer")
	for task, want := range map[string]string{"my_mi": "each choice has a question of its own, and the file does not say which one is right; name the field", "my_gen": "only multiple-choice tasks have probabilities"} {
		if code, _, errs := candor(t, "eval", file(task), "--from", "lm-eval"); code != exitData || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d: %s", task, code, errs)
		}
	}
}

// TestChoicesMerge holds that states of samples merge to the document of all, whose metrics of classes have no value, with the reason.
func TestChoicesMerge(t *testing.T) {
	d := newDir(t)
	file := samples(t, "one", "full")
	metrics := []string{"--from", "lm-eval", "--group", "doc.answer", "--metrics", allOf(eval.Shape{Classes: 4})}
	part := func(name string, of func(lines []string) []string) string {
		d.copied(filepath.Join(name, filepath.Base(file)), file, of)
		state := d.at(name + ".state")
		evaluate(t, with(metrics, d.at(filepath.Join(name, filepath.Base(file))), "--state", state)...)
		return state
	}
	a := part("a", func(l []string) []string { return l[:5] })
	b := part("b", func(l []string) []string { return l[5:] })
	_, merged, _ := candor(t, "merge", a, b, "--json")
	_, whole, errs := candor(t, append([]string{"eval", "--json", file}, metrics...)...)
	if whole == "" || merged != whole {
		t.Errorf("another document: %s", errs)
	}
	checkSchema(t, whole)
	var doc document
	if err := json.Unmarshal([]byte(whole), &doc); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sce", "ace", "tace", "brier_skill", "nll_skill", "auroc", "balanced_accuracy", "rps"} {
		if m := doc.Metrics[name]; m.Value != nil || !strings.Contains(m.Reason, "choices are not classes") {
			t.Errorf("%s: %v, %q", name, m.Value, m.Reason)
		}
	}
	if !strings.Contains(whole, `"choices": "none"`) {
		t.Error("the document does not say that these are choices")
	}
	other := d.at("char.state")
	evaluate(t, with(metrics, file, "--choice-norm", "char", "--state", other)...)
	if code, _, errs := candor(t, "merge", a, other); code == 0 || !strings.Contains(errs, "choices with the norm none and choices with the norm char") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	code, out, errs := candor(t, "inspect", a, file)
	if code != 0 || !strings.Contains(out, "up to 4 choices") || !strings.Contains(out, "Likely: candor eval "+file+" --from lm-eval") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// TestChoicesGolden holds a document and a text.
func TestChoicesGolden(t *testing.T) {
	files := []string{"eval", samples(t, "one", "full"), samples(t, "one", "ragged"), "--from", "lm-eval", "--choice-norm", "char", "--group", "task"}
	_, out, _ := candor(t, with(files, "--json", "--metrics", "default,sce")...)
	golden(t, "choices.json", out)
	_, out, _ = candor(t, files...)
	golden(t, "choices.txt", out)
}

// TestChoicesGroups holds that groups are tasks, each with the document of its file alone.
func TestChoicesGroups(t *testing.T) {
	_, out, errs := candor(t, "eval", "--json", samples(t, "one", "full"), samples(t, "one", "ragged"), "--from", "lm-eval", "--group", "task")
	var doc struct {
		Groups []struct {
			Group map[string]string
			Input struct{ Rows int }
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(errs, err)
	}
	if len(doc.Groups) != 2 || doc.Groups[0].Group["task"] != "full" || doc.Groups[1].Group["task"] != "ragged" || doc.Groups[1].Input.Rows != 12 {
		t.Errorf("%+v", doc.Groups)
	}
	_, out, errs = candor(t, "eval", "--json", samples(t, "one", "ragged"), "--from", "lm-eval", "--group", "doc.subject,task")
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(errs, err)
	}
	if len(doc.Groups) != 2 || doc.Groups[0].Group["doc.subject"] == doc.Groups[1].Group["doc.subject"] {
		t.Errorf("%+v", doc.Groups)
	}
}

// TestChoicesCompare pairs documents by task and doc_hash, in any order.
func TestChoicesCompare(t *testing.T) {
	d := newDir(t)
	one, two := samples(t, "one", "full"), samples(t, "two", "full")
	from := []string{"compare", "--json", "--from", "lm-eval"}
	shuffled := d.copied("s/"+filepath.Base(two), two, func(l []string) []string {
		r := rand.New(rand.NewPCG(1, 2))
		r.Shuffle(len(l), func(i, j int) { l[i], l[j] = l[j], l[i] })
		return l
	})
	named := func(s string) string { return regexp.MustCompile(`"(name|a|b|says)": ".*"`).ReplaceAllString(s, "") }
	_, want, errs := candor(t, with(from, one, two)...)
	_, got, _ := candor(t, with(from, one, shuffled)...)
	if want == "" || named(got) != named(want) {
		t.Errorf("another document: %s", errs)
	}
	changed := func(name string, change func(l []string) []string) string {
		return d.copied(name+"/"+filepath.Base(two), two, change)
	}
	for _, of := range []struct{ file, want string }{
		{changed("fewer", func(l []string) []string { return slices.Delete(l, 2, 3) }), "line 3: document 2 of task full, doc_hash"},
		{changed("more", func(l []string) []string {
			return append(l, strings.NewReplacer(`"doc_id": 0`, `"doc_id": 99`).Replace(l[0]))
		}), "line 13: document 99 of task full"},
		{changed("other", func(l []string) []string {
			l[4] = regexp.MustCompile(`"doc_hash": "....`).ReplaceAllString(l[4], `"doc_hash": "0000`)
			return l
		}), "line 5: document 4 of task full, doc_hash 0000"},
		{samples(t, "two", "ragged"), "line 1: document 0 of task ragged"},
	} {
		if code, _, errs := candor(t, "compare", "--from", "lm-eval", one, of.file); code != exitData || !strings.Contains(errs, of.want) || !strings.Contains(errs, "compared on the same documents") {
			t.Errorf("%s: exit code %d: %s", of.want, code, errs)
		}
	}
}

// TestChoicesFolder reads the folder of a model. Files of tasks without choices are left out, and the command says so.
func TestChoicesFolder(t *testing.T) {
	folder := filepath.Dir(samples(t, "one", "full"))
	code, out, errs := candor(t, "eval", folder, "--from", "lm-eval", "--filter", "none,first", "--on-invalid", "drop", "--group", "task", "--json")
	if code != 0 || !strings.Contains(errs+out, "is left out: the model's answer is a text") || !strings.Contains(out, `"rows": 71`) || !strings.Contains(out, `"dropped": 1`) {
		t.Errorf("exit code %d: %s%.300s", code, errs, out)
	}
}

func TestChoicesErrors(t *testing.T) {
	d := newDir(t)
	full, several := samples(t, "one", "full"), samples(t, "one", "several")
	alone := d.copied("samples_ragged.jsonl", samples(t, "one", "ragged"), nil)
	again := d.copied("samples_full_2026-11-24T00-00-00.jsonl", full, nil)
	d.copied("chat/"+filepath.Base(full), full, nil)
	chat := d.copied("chat/results_2026-11-23T12-00-00.000000.json", filepath.Join(filepath.Dir(full), "results_2026-11-23T12-00-00.000000.json"), func(l []string) []string {
		for i := range l {
			l[i] = strings.Replace(l[i], `"chat_template": null`, `"chat_template": "{{messages}}"`, 1)
		}
		return l
	})
	d.copied("torn/"+filepath.Base(full), full, nil)
	torn := d.put("torn/"+filepath.Base(chat), []byte(`{"configs": `))
	from := []string{"eval", "--from", "lm-eval"}
	for _, of := range []struct {
		args []string
		code int
		want string
	}{
		{with(from, samples(t, "doubled", "ragged")), exitData, "line 13: document 0 was on line 1 already: the harness adds a second run to the file of the first; keep the lines of one run"},
		{with(from, samples(t, "one", "answers")), exitData, "only multiple-choice tasks have probabilities"},
		{with(from, samples(t, "one", "yes_no")), exitData, "lines of the filters first, again: each document would count several times; name one with --filter"},
		{with(from, samples(t, "one", "yes_no"), "--filter", "strict"), exitData, "it has lines of the filters first, again, and of none of strict"},
		{with(from, several), exitData, "line 5: the choices 0, 2 are all right, and a row has one label; leave it out by --on-invalid drop"},
		{with(from, full, again), exitData, "each document would count twice"},
		{with(from, alone, "--choice-norm", "byte"), exitData, "pass --target-delimiter, as the task has it, or put results_*.json of the same run beside the file"},
		{with(from, full, "--target-delimiter", " "), exitData, `line 1: choice 0, "\nKraków", does not begin with the delimiter " "`},
		{with(from, d.at("torn/"+filepath.Base(full))), exitData, torn + ": "},
		{with(from, full, "--group", "subject"), exitData, `line 1: it has no field "subject"; name task, or a field such as doc.subject`},
		{with(from, full, "--label", "doc.right"), exitData, `it has no field "doc.right"`},
		{with(from, newDir(t).path), exitData, "a folder without samples_*.jsonl; name the folder of one model, or the files"},
		{with(from, filepath.Dir(samples(t, "doubled", "ragged"))), exitData, "line 13: document 0 was on line 1 already"},
		{with(from, d.at("nothing.jsonl")), exitData, "nothing.jsonl"},
		{with(from, full, "--choice-norm", "token"), exitUsage, `--choice-norm is "token"; it is none, char or byte`},
		{with(from, full, "--input", "probs"), exitUsage, "--input does not go with --from lm-eval"},
		{with(from, full, "--prob", "x"), exitUsage, "--prob does not go with --from lm-eval"},
		{with(from, full, "--classes", "a,b"), exitUsage, "--classes"},
		{with(from, full, "--task", "binary"), exitUsage, "--task binary does not go with --from lm-eval"},
		{with(from, full, "--temperature-scaled"), exitUsage, "--temperature-scaled"},
		{with(from, full, "--plot", d.at("c.png"), "--plot-kind", "classes"), exitUsage, "--plot-kind classes draws classes, and choices are not classes"},
		{with(from, full, "--metrics", "ks(event=positive)"), exitUsage, "there is no positive class: choices are not classes"},
		{with(from, samples(t, "one", "yes_no"), "--filter", "first", "--plot", d.at("roc.svg"), "--plot-kind", "roc"), 0, ""},
		{with(from, samples(t, "one", "yes_no"), "--filter", "first", "--plot", d.at("frequency.svg"), "--plot-y", "frequency"), 0, ""},
		{[]string{"eval", full, "--from", "helm"}, exitUsage, `--from is "helm"; it is lm-eval`},
		{[]string{"eval", full, "--filter", "none"}, exitUsage, "--filter is for samples of lm-evaluation-harness; leave it out, or pass --from lm-eval"},
		{[]string{"eval", full, "--label", "target"}, exitData, "it is a file of samples of lm-evaluation-harness; pass --from lm-eval"},
	} {
		if code, _, errs := candor(t, of.args...); code != of.code || !strings.Contains(errs, of.want) {
			t.Errorf("%s: exit code %d: %s", strings.Join(of.args, " "), code, errs)
		}
	}
	// With a chat template the harness writes no delimiter, so the line feed is part of each choice.
	_, got, _ := candor(t, with(from, d.at("chat/"+filepath.Base(full)), "--choice-norm", "char", "--json")...)
	_, want, errs := candor(t, with(from, full, "--choice-norm", "char", "--json", "--target-delimiter", "")...)
	if got == "" || got != want {
		t.Error("another delimiter", errs)
	}
	_, other, _ := candor(t, with(from, full, "--choice-norm", "char", "--json")...)
	if other == want {
		t.Error("the delimiter makes no difference")
	}
	d.copied(filepath.Base(chat), chat, func(l []string) []string {
		return strings.SplitAfter(strings.Replace(strings.Join(l, ""), `"{{messages}}"`, `""`, 1), "\n")
	})
	if _, got, errs := candor(t, with(from, d.copied(filepath.Base(full), full, nil), "--choice-norm", "char", "--json")...); got != other {
		t.Error("an empty chat template is one", errs)
	}
}

// TestOtherLogs names logs of other harnesses, which have no probabilities.
func TestOtherLogs(t *testing.T) {
	d := newDir(t)
	for _, of := range []struct{ name, text, want string }{
		{"scenario_state.json", "{\n  \"adapter_spec\": {\"method\": \"multiple_choice_joint\"},\n  \"request_states\": []\n}", "a log of HELM (scenario_state.json): it holds answers and whether they are right, and no probabilities"},
		{"display_predictions.json", `[{"instance_id": "id4", "train_trial_index": 0, "predicted_text": " A", "stats": {"exact_match": 1.0}}]`, "a log of HELM (display_predictions.json)"},
		{"per_instance_stats.json", `[{"instance_id": "id4", "train_trial_index": 0, "stats": [{"name": {"name": "exact_match"}, "mean": 1.0}]}]`, "a log of HELM (per_instance_stats.json)"},
		{"log.json", "{\n  \"version\": 2,\n  \"status\": \"success\",\n  \"eval\": {\"task\": \"arc\"},\n  \"plan\": {},\n  \"samples\": []\n}", "a log of Inspect: it holds answers and whether they are right, and no probabilities"},
		{"log.eval", string(npz(t, "_journal/start.json", []byte("{}"))), "a log of Inspect (.eval)"},
		{"instances.jsonl", `{"schema_version": "0.2.1", "evaluation_id": "e", "sample_id": "1", "evaluation": {"score": 1.0, "is_correct": true}}`, "a log of every_eval_ever: it holds answers and whether they are right, and no probabilities; if evaluation.score is a confidence, pass --prob evaluation.score --correct evaluation.is_correct"},
		{"results_2026.json", "{\n  \"results\": {},\n  \"configs\": {},\n  \"versions\": {}\n}", "a file of results of lm-evaluation-harness: the samples are beside it"},
		{"aggregate.json", "{\n  \"schema_version\": \"0.2.1\",\n  \"evaluation_id\": \"e\",\n  \"evaluation_results\": []\n}", "a log of every_eval_ever: it holds results of whole data sets"},
	} {
		file := d.put(of.name, []byte(of.text))
		for _, args := range [][]string{{"eval", file}, {"eval", file, "--from", "lm-eval"}, {"eval", file, "--label", "y"}, {"inspect", file}} {
			if of.name == "log.eval" && slices.Contains(args, "lm-eval") {
				continue
			}
			if _, out, errs := candor(t, args...); !strings.Contains(out+errs, of.want) {
				t.Errorf("%v: %s%s", args, out, errs)
			}
		}
	}
	var lines strings.Builder
	for i, score := range []float64{0.9, 0.6, 0.75} {
		fmt.Fprintf(&lines, `{"schema_version": "0.2.1", "evaluation_id": "e", "sample_id": "%d", "evaluation": {"score": %v, "is_correct": %v}}`+"\n", i, score, i != 1)
	}
	if v := evaluate(t, d.put("scored.jsonl", []byte(lines.String())), "--prob", "evaluation.score", "--correct", "evaluation.is_correct").value(t, "confidence"); math.Abs(v-0.75) > 1e-12 {
		t.Errorf("the mean confidence is %v", v)
	}
}
