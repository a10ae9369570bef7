package predictions

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/candor-go/candor/internal/setting"
)

// evalLog is a log of what a language model answered, known by its keys.
type evalLog struct {
	what, why string // why it is not read; "" of samples that OpenChoices reads
	keys      []string
	score     string // field of a score of the answer, if it has one
	correct   string // field that says whether the answer is right
}

const noProbabilities = "it holds answers and whether they are right, and no probabilities"

// evalLogs are the logs that are known.
var evalLogs = []evalLog{
	{what: "a file of samples of lm-evaluation-harness", keys: []string{"doc_id", "arguments", "filtered_resps"}},
	{what: "a file of results of lm-evaluation-harness", why: "the samples are beside it, in samples_*.jsonl", keys: []string{"results", "configs", "versions"}},
	{what: "a log of Inspect", why: noProbabilities, keys: []string{"status", "eval", "plan"}},
	{what: "a log of HELM (scenario_state.json)", why: noProbabilities, keys: []string{"adapter_spec", "request_states"}},
	{what: "a log of HELM (display_predictions.json)", why: noProbabilities, keys: []string{"instance_id", "predicted_text", "stats"}},
	{what: "a log of HELM (per_instance_stats.json)", why: noProbabilities, keys: []string{"instance_id", "train_trial_index", "stats"}},
	{what: "a log of every_eval_ever", why: noProbabilities, keys: []string{"schema_version", "evaluation_id", "evaluation", "sample_id"},
		score: "evaluation.score", correct: "evaluation.is_correct"},
	{what: "a log of every_eval_ever", why: "it holds results of whole data sets, and no rows", keys: []string{"schema_version", "evaluation_id", "evaluation_results"}},
}

// isResponse reports whether a field of samples of lm-evaluation-harness has the log-likelihoods of choices.
func isResponse(name string) bool { return name == "resps" || name == "filtered_resps" }

// logOf returns the log that has these keys.
func logOf(has func(key string) bool) (evalLog, bool) {
	for _, l := range evalLogs {
		if !slices.ContainsFunc(l.keys, func(k string) bool { return !has(k) }) {
			return l, true
		}
	}
	return evalLog{}, false
}

// logAt returns the log that a file is, judging by its first bytes. It is for files that could not be read otherwise.
func logAt(from fs.FS, path string) (l evalLog, ok bool) {
	if _, regular, e := statText(from, path); e != nil || !regular {
		return l, false
	}
	t, e := openText(from, path, nil, nil)
	if e != nil {
		return l, false
	}
	defer t.close()
	b := make([]byte, 256<<10)
	n, _ := io.ReadFull(t.r, b)
	if b = bytes.TrimSpace(b[:n]); len(b) == 0 || b[0] != '{' && b[0] != '[' {
		return l, false
	}
	return logOf(func(key string) bool { return bytes.Contains(b, []byte(`"`+key+`"`)) })
}

// fault returns the Error of a log that is read as something else.
func (l *evalLog) fault() *Error {
	if l.why == "" {
		return fault("pass "+setting.Samples.String(), "it is %s", l.what)
	}
	return fault(l.remedy(), "it is %s: %s", l.what, l.why)
}

// remedy says what may be read of a log; "" if nothing.
func (l *evalLog) remedy() string {
	if l.score == "" {
		return ""
	}
	return fmt.Sprintf("if %s is a confidence, pass %v %s %v %s", l.score, setting.ScoreColumns, l.score, setting.Correct, l.correct)
}
