package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/predictions"
)

// harness is the value of --from for lm-evaluation-harness.
const harness = "lm-eval"

// choiceFlags say how samples of lm-evaluation-harness are read.
type choiceFlags struct {
	from      string // what wrote the files
	norm      string
	filters   []string
	delimiter string
	delimited bool // delimiter was given, perhaps empty
}

func (l *choiceFlags) flags(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&l.from, "from", "", "`LAYOUT` of the files: lm-eval (samples_*.jsonl of multiple-choice tasks of lm-evaluation-harness), hubverse (long tables of forecasts), or nixtla (tables of statsforecast and related packages)")
	fl.StringVar(&l.norm, "choice-norm", "none", "`WHAT` the log-likelihoods of choices are divided by, with --from: none, char or byte (the length that acc_norm and acc_bytes use)")
	fl.StringVar(&l.delimiter, "target-delimiter", "", "`TEXT` before each choice, with --from; by default what results_*.json beside the file says")
	_ = fl.SetAnnotation("target-delimiter", mayBeEmpty, []string{"true"}) // fails only if there is no such flag
	fl.StringSliceVar(&l.filters, "filter", nil, "`NAMES` of the filters whose lines are read, with --from, one for each file that has several")
}

// given reports whether the files are samples.
func (l *choiceFlags) given() bool { return l.from == harness }

// choiceNorms are the values of --choice-norm.
var choiceNorms = []struct {
	name string
	spec eval.Choices
	read predictions.ChoiceNorm
}{
	{"none", eval.ChoiceSums, predictions.NormNone},
	{"char", eval.ChoiceChars, predictions.NormChars},
	{"byte", eval.ChoiceBytes, predictions.NormBytes},
}

// checkChoices returns an error for flags that do not go with --from, and applies what that implies.
func (f *evalFlags) checkChoices(c *cobra.Command, j *job) error {
	l := &f.choices
	given := c.Flags().Changed
	l.delimited = given("target-delimiter")
	if l.from != "" && !l.given() && f.model.from == "" {
		return usage("--from is %q; here it is lm-eval: candor eval and candor compare take hubverse and nixtla too", l.from)
	}
	if !l.given() {
		for _, name := range []string{"choice-norm", "target-delimiter", "filter"} {
			if given(name) {
				return usage("--%s is for samples of lm-evaluation-harness; leave it out, or pass --from lm-eval", name)
			}
		}
		return nil
	}
	for _, name := range []string{"input", "prob", "prob-prefix", "logit-prefix", "label-prefix", "correct", "pivot", "id", "on-unmatched", "classes", "no-header", "event", "weights", "decisions", "confidence-scores", "ood", "renormalize",
		"temperature-scaled", "member-axis", "bfloat16"} {
		if c.Flags().Lookup(name) != nil && given(name) {
			return usage("--%s does not go with --from lm-eval, whose rows are log-likelihoods of choices; leave it out", name)
		}
	}
	if f.task != "" && f.task != "classification" {
		return usage("--task %s does not go with --from lm-eval, whose rows are log-likelihoods of choices; leave it out", f.task)
	}
	if len(f.labels) > 1 {
		return usage("--labels names %d columns, and one field has the right choice; name one", len(f.labels))
	}
	i := slices.IndexFunc(choiceNorms, func(n struct {
		name string
		spec eval.Choices
		read predictions.ChoiceNorm
	}) bool {
		return n.name == l.norm
	})
	if i < 0 {
		return noSuch("--choice-norm", l.norm, "none", "char", "byte")
	}
	f.input = metrics.Logits.String()
	j.spec.Choices = choiceNorms[i].spec
	return nil
}

// openChoices opens samples.
func (j *job) openChoices(f *evalFlags, paths []string) (*predictions.ForecastReader, error) {
	l := &f.choices
	o := &predictions.ChoiceOptions{Filters: l.filters, Groups: f.columns.groups, Cluster: f.columns.cluster, Drop: j.pass.Drop, MaxBytes: (j.memory - fixedMemory) / 4, Names: f.files.names}
	for _, n := range choiceNorms {
		if n.spec == j.spec.Choices {
			o.Norm = n.read
		}
	}
	if l.delimited {
		o.Delimiter = &l.delimiter
	}
	if len(f.labels) > 0 {
		o.Label = f.labels[0]
	}
	r, err := predictions.OpenChoices(paths, o)
	if err != nil {
		return nil, err
	}
	if j.choices == nil {
		j.choices = r
	} else if err := predictions.SameChoices(j.choices, r); err != nil {
		return nil, err
	}
	return r, nil
}
