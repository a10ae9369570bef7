package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/recal"
)

func TestUsageErrors(t *testing.T) {
	d := newDir(t)
	s, b := newSet(1, 40, 4), newSet(2, 40, 1)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	bx, by := d.put("b.npy", b.scores(t)), d.put("by.npy", b.labelFile(t))
	two := newSet(3, 40, 2)
	tx, ty := d.put("t.npy", two.scores(t)), d.put("ty.npy", two.labelFile(t))
	ok := []string{"eval", x, "--labels", y, "--state", d.at("s.state")}
	with := func(a ...string) []string { return append(slices.Clone(ok), a...) }
	files := d.list()
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"evl"}, []string{`there is no command "evl" (did you mean eval?)`}},
		{[]string{"nonsense"}, []string{`there is no command "nonsense"`}},
		{[]string{"--nonsense"}, []string{"unknown flag: --nonsense"}},
		{with("--nonsense"), []string{"unknown flag: --nonsense"}},
		{with("--bins"), []string{"--bins"}},
		{with("--metrics", "eec"), []string{`--metrics: there is no metric "eec" (did you mean ece?)`, "'candor metrics' lists them"}},
		{with("--metrics", "ece,acuracy"), []string{`no metric "acuracy" (did you mean accuracy?)`}},
		{with("--metrics", "perplex"), []string{"(did you mean perplexity?)"}},
		{with("--metrics", "qqqqqq"), []string{`no metric "qqqqqq"; 'candor metrics'`}},
		{with("--metrics", ","), []string{"no metric is named"}},
		{with("--metrics", "ece("), []string{"a parenthesis is open"}},
		{with("--metrics", "ece)"), []string{"the parentheses do not match"}},
		{with("--metrics", "ece(bins=x)"), []string{`metric ece: bins is "x"; it is a positive whole number`}},
		{with("--metrics", "ece(bins=0)"), []string{`bins is "0"`}},
		{with("--metrics", "ece(bins=99999999)"), []string{"there have to be 1 to 1048576"}},
		{with("--metrics", "ece(size=3)"), []string{`there is no option "size"; there are bins=N, adaptive, norm=l1|l2|max,`}},
		{with("--metrics", "ece(closed=up)"), []string{`closed is "up"; it is one of left, right`}},
		{with("--metrics", "ece(bins=3,bins=4)"), []string{"option bins is given twice"}},
		{with("--metrics", "accuracy(bins=3)"), []string{"metric accuracy: it takes no options"}},
		{with("--metrics", "brier(form=odd)"), []string{`form is "odd"; it is one of default, sum`}},
		{with("--metrics", "topk_accuracy(k=0)"), []string{`k is "0"`}},
		{with("--metrics", "ece(norm=l3)"), []string{`metric ece: norm is "l3"; it is one of l1, l2, max`}},
		{with("--metrics", "ece(adaptive=maybe)"), []string{`adaptive is "maybe"; it is a switch`}},
		{with("--metrics", "ece(adaptive,closed=right)"), []string{"metric ece: adaptive goes with bins and norm only"}},
		{with("--metrics", "mce(norm=l2)"), []string{"metric mce: its name says the norm; ece takes one"}},
		{with("--metrics", "ece_floor(adaptive)"), []string{"metric ece_floor: it is for fixed bins, not for adaptive ones"}},
		{with("--metrics", "ece_equal_mass(closed=right)"), []string{`metric ece_equal_mass: there is no option "closed"; there are bins, norm`}},
		{with("--metrics", "ks(event=positive)"), []string{"metric ks(event=positive): there is no positive class among more than two"}},
		{with("--metrics", "ks(event=up)"), []string{`metric ks: event is "up"; it is one of shape, top, positive`}},
		{with("--metrics", "ks(bins=3)"), []string{`metric ks: there is no option "bins"; there are event=shape|top|positive`}},
		{with("--metrics", "corp_mcb(score=brier)"), []string{`score is "brier"; it is one of squared, log`}},
		{with("--metrics", "corp_mcb(replicates=3)"), []string{`replicates is "3"; it is a whole number from 20 to 100000`}},
		{with("--metrics", "ece_bayes_mean(draws=0)"), []string{`metric ece_bayes_mean: draws is "0"; it is a whole number from 100 to 1000000`}},
		{with("--metrics", "ece_bayes_mean(draws=1000000,bins=1000)"), []string{"numbers; take fewer"}},
		{with("--metrics", "ece_bayes_q50(adaptive)"), []string{"it is for fixed bins"}},
		{with("--metrics", "spce(folds=1)"), []string{`folds is "1"; it is a whole number from 2 to 100`}},
		{with("--metrics", "spce(truncation=0)"), []string{`truncation is "0"; it is a number from 0.000000001 to 1`}},
		{with("--metrics", "spce(as_coded,smoothing=spline,weights=chi)"), []string{"a spline's weights depend on the order of the rows"}},
		{with("--metrics", "spce(orthogonal=7)"), []string{`orthogonal is "7"; it is a switch`}},
		{with("--seed", "-1"), []string{"--seed"}},
		{with("--plot-kind", "corp"), []string{"--plot-kind says what --plot FILE draws; give that too"}},
		{with("--plot", d.at("c.png"), "--plot-kind", "corp", "--plot-y", "gap"), []string{"--plot-kind corp has none"}},
		{with("--metrics", "ece_sweep(bins=3)"), []string{"metric ece_sweep: it takes no options"}},
		{with("--metrics", "detectable_gap(bins=3)"), []string{"metric detectable_gap: it takes no options"}},
		{with("--metrics", "spherical(bins=3)"), []string{"metric spherical: it takes no options"}},
		{with("--metrics", "aurc(bins=3)"), []string{`metric aurc: there is no option "bins"; there are replicates`}},
		{with("--metrics", "ace(closed=right)"), []string{`metric ace: there is no option "closed"; there are bins=N, threshold=P, norm=l1|l2`}},
		{with("--metrics", "sce(size=3)"), []string{`metric sce: there is no option "size"; there are bins=N, threshold=P, norm=l1|l2, closed=left|right`}},
		{with("--metrics", "sce(closed=up)"), []string{`closed is "up"; it is one of left, right`}},
		{with("--metrics", "sce(norm=max)"), []string{`norm is "max"; it is one of l1, l2`}},
		{with("--metrics", "tace(threshold=1)"), []string{`metric tace: threshold is "1"; it is a number from 0 to below 1`}},
		{with("--metrics", "tace(threshold=NaN)"), []string{`threshold is "NaN"`}},
		{with("--metrics", "tace(threshold=-0.1)"), []string{`threshold is "-0.1"`}},
		{with("--metrics", "ace(bins=0)"), []string{`metric ace: bins is "0"; it is a positive whole number`}},
		{with("--metrics", "sce(bins=-1)"), []string{`metric sce: bins is "-1"; it is a positive whole number`}},
		{with("--metrics", "ace(bins=x)"), []string{`bins is "x"; it is a positive whole number`}},
		{with("--metrics", "tace(bins=99999999)"), []string{"metric tace: ", "99999999 bins; there have to be 1 to 1048576"}},
		{with("--like", "tfp", "--fail-if", "ece(closed=right)>0"), []string{"ece(closed=right)", "floor(B*p)"}},
		{with("--metrics", "base_rate"), []string{"metric base_rate: it is for binary tasks and two classes"}},
		{with("--like", "tfp", "--metrics", "ece(closed=right)"), []string{"ece(closed=right)", "floor(B*p)"}},
		{with("--bins", "0"), []string{"--bins is 0; it is a positive number"}},
		{with("--bins", "-1"), []string{"--bins is -1; it is a positive number"}},
		{with("--bins", "0", "--like", "um"), []string{"--bins is 0"}},
		{with("--bins", "1", "--like", "blog"), []string{"--bins: 1 bins"}},
		{with("--bins", "2000000"), []string{"--bins: 2000000 bins; there have to be 1 to 1048576"}},
		{with("--bins", "x"), []string{"--bins"}},
		{with("--confidence", "2"), []string{"--confidence is 2; it is between 0 and 1"}},
		{with("--confidence", "0"), []string{"--confidence is 0"}},
		{with("--confidence", "95"), []string{"--confidence is 95", "as 0.95"}},
		{with("--confidence", "NaN"), []string{"--confidence is NaN"}},
		{with("--input", "nonsense"), []string{`--input is "nonsense"; it is probs, logits, logprobs or dirichlet`}},
		{with("--fail-if", "base_rate>0.99"), []string{"--fail-if: metric base_rate: it is for binary tasks and two classes"}},
		{with("--fail-if", "all>0.99"), []string{`--fail-if: there is no metric "all"`}},
		{with("--fail-if", "eec>0.99"), []string{`there is no metric "eec" (did you mean ece?)`}},
		{with("--metrics", "auc"), []string{`there is no metric "auc"; candor calls it auroc`}},
		{with("--metrics", "f1"), []string{"candor judges probabilities"}},
		{with("--task", "nonsense"), []string{`--task is "nonsense"; it is classification, binary, multilabel, ensemble, regression, quantiles, samples, multivariate, multivariate_normal, loglik or survival`}},
		{with("--task", "binary"), []string{"--task binary takes one score a row", "(40, 4)"}},
		{[]string{"eval", bx, "--labels", by, "--task", "classification"}, []string{"--task classification takes a score for each class", "(40,)"}},
		{with("--like", "nonsense"), []string{`--like is "nonsense"; it is um, tfp, torchmetrics, guo or blog`}},
		{with("--on-invalid", "skip"), []string{`--on-invalid is "skip"; it is error or drop`}},
		{with("--renormalize", "--input", "logits"), []string{"--renormalize is for --input probs"}},
		{with("--format", "xml"), []string{`--format is "xml"; it is table, markdown, csv or json`}},
		{with("--threads", "-1"), []string{"--threads is -1"}},
		{with("--threads", "100000"), []string{"--threads is 100000", "1024"}},
		{with("--max-memory", "1MB"), []string{"--max-memory is less than 56 MiB"}},
		{with("--max-memory", "lots"), []string{`--max-memory is "lots"; it is a size such as 256MiB`}},
		{with("--max-memory", "-1GB"), []string{`--max-memory is "-1GB"`}},
		{with("--max-memory", "1e30GB"), []string{`--max-memory is "1e30GB"`}},
		{with("--fail-if", "nonsense"), []string{`--fail-if "nonsense": it is NAME > NUMBER`, "ece.low>0.02"}},
		{with("--fail-if", "ece>"), []string{`"" is not a number`}},
		{with("--fail-if", "ece==0.1"), []string{"it is NAME > NUMBER"}},
		{with("--fail-if", "ece>==0.1"), []string{"there are >, >=, < and <="}},
		{with("--fail-if", ">0.1"), []string{"no metric is named"}},
		{with("--fail-if", "ece>5%"), []string{`"5%" is not a number`}},
		{with("--fail-if", "ece.mid>0.1"), []string{"there is no .mid", ".value, .low and .high"}},
		{with("--require", "nonsense"), []string{`--require "nonsense": it is NAME > NUMBER`, "accuracy.low>0.9"}},
		{with("--require", "eec<0.1"), []string{`--require: there is no metric "eec" (did you mean ece?)`}},
		{with("--require", "base_rate>0.99"), []string{"--require: metric base_rate: it is for binary tasks and two classes"}},
		{with("--fail-if", "worst_grp.ece.low>0.1"), []string{"there is no worst_grp. before a metric; there are worst_group. and delta."}},
		{with("--fail-if", "worst_group.ece.low>0.1"), []string{`--fail-if "worst_group.ece.low>0.1": there are no groups of rows; evaluate with --group`}},
		{with("--require", "worst_group.ece.high<0.1", "--task", "classification"), []string{`--require "worst_group.ece.high<0.1": there are no groups of rows`}},
		{with("--min-rows", "50"), []string{"--min-rows is for groups or slices of rows, and there are none"}},
		{with("--adjust", "bh"), []string{"--adjust is for groups or slices of rows, and there are none"}},
		{with("--adjust", "bonferroni", "--group", y), []string{`--adjust is "bonferroni"; it is holm or bh`}},
		{with("--min-rows", "0", "--group", y, "--fail-if", "worst_group.ece.low>0"), []string{"--min-rows is 0; it is a positive number of rows"}},
		{[]string{"eval", d.at("none.npy"), "--fail-if", "eec>0"}, []string{`--fail-if: there is no metric "eec"`}}, // at once
		{[]string{"merge", d.at("none.state"), "--fail-if", "eec>0"}, []string{`--fail-if: there is no metric "eec"`}},
		{with("--report", "junit"), []string{`--report is "junit"; it is FORM=FILE, such as junit=report.xml`}},
		{with("--report", "junit="), []string{`--report is "junit="; it is FORM=FILE`}},
		{with("--report", "xunit=a.xml"), []string{`there is no form "xunit"; it is junit, github, mlflow or openmetrics`}},
		{with("--report", "junit=-"), []string{"--report -: standard output has the result; name a file"}},
		{with("--report", "junit="+x), []string{"that file is read; name another one"}},
		{with("--report", "junit="+y), []string{"that file is read; name another one"}},
		{with("--report", "junit="+d.path), []string{"is a directory; name a file in it"}},
		{with("--report", "junit="+d.at("none/r.xml")), []string{"cannot write ", "none/r.xml: no such file or directory"}},
		{with("--report", "junit="+d.at("r")+",github="+d.at("r")), []string{"--report names ", " twice; name another one"}},
		{with("--state", d.at("r"), "--report", "junit="+d.at("r")), []string{"--report and --state both name "}},
		{with("--plot", d.at("r.png"), "--report", "junit="+d.at("r.png")), []string{"--report and --plot both name "}},
		{[]string{"merge", "a.state", "-o", d.at("r"), "--report", "junit=" + d.at("r")}, []string{"--report and -o both name "}},
		{[]string{"compare", x, x, "--labels", y, "--report", "github=" + y}, []string{"that file is read; name another one"}},
		{[]string{"compare", x, x, "--labels", y, "--report", "github"}, []string{"it is FORM=FILE"}},
		{[]string{"eval", "--labels", y}, []string{"no predictions are named"}},
		{[]string{"eval", "--input", "logits"}, []string{"no predictions are named"}},
		{[]string{"eval", "--decisions", y}, []string{"no predictions are named"}},
		{[]string{"eval", x, "--labels", x, "--decisions", y, "--confidence-scores", y, "--state", y}, []string{"that file is read"}},
		{[]string{"eval", x, "--labels", y, "--state", d.at("none/s.state")}, []string{"cannot write ", "none/s.state: no such file or directory", "writable folder"}},
		{[]string{"eval", x, "--labels", y, "--state", d.path}, []string{"is a directory; name a file in it"}},
		{[]string{"eval", x, "--labels", y, "--state", "-"}, []string{"standard output has the result"}},
		{[]string{"eval", x, "--labels", y, "--state", x}, []string{"that file is read"}},
		{[]string{"eval", x, "--labels", y, "--state", y}, []string{"that file is read"}},
		{with("--plot", d.at("p.jpg")), []string{`p.jpg"; the name of a picture ends in .png, .svg or .pdf`}},
		{with("--plot", "-"), []string{`--plot is "-"; the name of a picture ends in`}},
		{with("--plot", d.at("none/p.png")), []string{"cannot write ", "none/p.png: no such file or directory"}},
		{with("--plot-y", "gap"), []string{"--plot-y says what --plot FILE draws"}},
		{with("--plot", d.at("p.png"), "--plot-y", "up"), []string{`--plot-y is "up"; it is accuracy, frequency or gap`}},
		{[]string{"eval", x, "--labels", y, "--state", d.at("p.png"), "--plot", d.at("p.png")}, []string{"--plot and --state both name ", "p.png; name another one"}},
		{[]string{"compare", tx, tx, "--labels", ty, "--task", "classification", "--metrics", "ece", "--plot", d.at("p.png"), "--plot-y", "frequency"}, []string{"ece_positive, which is not among the metrics"}},
		{[]string{"compare"}, []string{"candor compare takes two or more sets of predictions", "candor eval takes one"}},
		{[]string{"compare", x, "--labels", y}, []string{"takes two or more sets"}},
		{[]string{"compare", x, x, "--labels", y + "," + y}, []string{"--labels names 2 files, and all sets have the same; name one"}},
		{[]string{"compare", x, x, "--labels", "-"}, []string{"--labels -: it is read once per set"}},
		{[]string{"compare", "-", "-", "--labels", y}, []string{"standard input is named 2 times"}},
		{[]string{"compare", x, x, "--labels", y, "--plot", "p.gif"}, []string{"ends in .png, .svg or .pdf"}},
		{[]string{"compare", x, x, "--labels", y, "--fail-if", "ece>0"}, []string{"gates of a comparison are on differences, such as delta.nll.low>0"}},
		{[]string{"compare", x, x, "--labels", y, "--metrics", "eec"}, []string{"(did you mean ece?)"}},
		{[]string{"compare", x, x, "--labels", y, "--bins", "0"}, []string{"--bins is 0"}},
		{[]string{"merge", "a.state", "-o", d.at("p.png"), "--plot", d.at("p.png")}, []string{"--plot and -o both name "}},
		{[]string{"merge", "a.state", "--plot", "p.state"}, []string{"ends in .png, .svg or .pdf"}},
		{[]string{"merge"}, []string{"no state is named"}},
		{[]string{"merge", "a.state", "-o", d.at("none/s")}, []string{"cannot write "}},
		{[]string{"inspect"}, []string{"no file is named"}},
		{[]string{"metrics", "eec"}, []string{"(did you mean ece?)"}},
		{[]string{"metrics", "ece", "mce"}, []string{"2 metrics are named", "one at a time"}},
		{[]string{"version", "now"}, []string{"now"}},
	} {
		code, out, errs := candor(t, c.args...)
		if code != exitUsage || out != "" {
			t.Errorf("candor %v: exit code %d, %d bytes of output: %s", c.args, code, len(out), errs)
		}
		for _, w := range append(c.want, "candor: ", "--help' tell more") {
			if !strings.Contains(errs, w) {
				t.Errorf("candor %v:\n%s does not say %q", c.args, errs, w)
			}
		}
		// Programs get what to do by itself.
		_, _, errs = candor(t, append(slices.Clone(c.args), "--json")...)
		if got := jsonError(t, errs); got["remedy"] != nil || strings.Contains(got["message"].(string), "; ") {
			if remedy, _ := got["remedy"].(string); remedy == "" || !strings.HasSuffix(got["message"].(string), "; "+remedy) {
				t.Errorf("candor %v --json: %s", c.args, errs)
			}
		}
		if strings.Contains(errs, "No file given") {
			t.Errorf("candor %v says that it evaluates the sample", c.args)
		}
	}
	if l := d.list(); !slices.Equal(l, files) {
		t.Errorf("the folder has %v, it had %v", l, files)
	}
}

func TestGates(t *testing.T) {
	d := newDir(t)
	s := newSet(1, 400, 4)
	x, y := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t))
	doc := evaluate(t, x, "--labels", y)
	if doc.value(t, "ece") < 0.1 {
		t.Fatalf("ece is %v", doc.value(t, "ece"))
	}
	b := newSet(2, 60, 1)
	b.probs[0], b.labels[0] = 0, 1 // an infinite nll
	bx, by := d.put("b.npy", b.scores(t)), d.put("by.npy", b.labelFile(t))
	w := d.put("w.npy", s.weightFile(t))
	for _, c := range []struct {
		args []string
		fail []string // nil: they hold
	}{
		{[]string{"--fail-if", "ece>0.9"}, nil},
		{[]string{"--fail-if", "ece > 0.05"}, []string{"ece > 0.05: it is 0."}},
		{[]string{"--fail-if", "ece.value>=0.05"}, []string{"ece.value>=0.05: it is 0."}},
		{[]string{"--fail-if", "ece.low>0.02"}, []string{"ece.low>0.02: it is 0."}},
		{[]string{"--fail-if", "ece.high<0.9"}, []string{"ece.high<0.9: it is 0."}},
		{[]string{"--fail-if", "accuracy<0.999"}, []string{"accuracy<0.999"}},
		{[]string{"--fail-if", "accuracy<=0.001"}, nil},
		{[]string{"--fail-if", "ece>0.9", "--fail-if", "nll>0", "--fail-if", "brier>0"}, []string{"nll>0", "brier>0"}},
		{[]string{"--fail-if", "mce>1"}, nil}, // what a gate looks at is evaluated
		{[]string{"--fail-if", "overconfidence<1"}, []string{"overconfidence<1: it is "}},
		{[]string{"--metrics", "accuracy", "--fail-if", "ece(bins=7,adaptive)<0.5", "--fail-if", "ece( adaptive, bins=07 )>1", "--fail-if", "ece(adaptive,bins=7).low>1"},
			[]string{"ece(bins=7,adaptive)<0.5: it is 0.", "ece(adaptive,bins=7).low is not defined: the edges were chosen by the scores"}},
		{[]string{"--fail-if", "ece_floor.low>0.99"}, []string{"ece_floor.low is not defined: a mean under calibration"}},
		{[]string{"--metrics", "ece(closed=right,bins=30)", "--fail-if", "ece(bins=30,closed=right)>0.99"}, nil},
		{[]string{"--metrics", "ece(bins=30,closed=right)", "--fail-if", "ece( closed=right, bins=030 ).low>0.001"}, []string{"it is 0."}},
		{[]string{"--weights", w, "--fail-if", "ece_floor>0.99"}, []string{"ece_floor.value is not defined: with weights the variance under calibration is sum w^2 p(1-p), which is not kept"}},
		{[]string{"binary", "--fail-if", "nll>5"}, []string{"nll>5: it is +Inf"}},
		{[]string{"binary", "--fail-if", "nll<5"}, nil},
		{[]string{"binary", "--fail-if", "nll.high>5"}, []string{"nll.high is not defined: 1 row gave its true class probability 0"}},
	} {
		args := append([]string{"eval", x, "--labels", y}, c.args...)
		if c.args[0] == "binary" {
			args = append([]string{"eval", bx, "--labels", by}, c.args[1:]...)
		}
		code, out, errs := candor(t, args...)
		want := exitDone
		if c.fail != nil {
			want = exitGate
		}
		if code != want {
			t.Errorf("%v: exit code %d: %s", c.args, code, errs)
		}
		if !strings.Contains(out, "brier") && !strings.Contains(out, "accuracy") {
			t.Errorf("%v: the result is not shown", c.args)
		}
		if n := strings.Count(errs, "candor: gate failed: "); n != len(c.fail) {
			t.Errorf("%v: %d gates are named: %s", c.args, n, errs)
		}
		for _, w := range c.fail {
			if !strings.Contains(errs, w) {
				t.Errorf("%v: %q does not say %q", c.args, errs, w)
			}
		}
	}
	// A failed gate is no failed evaluation: the state is written, and a merge has gates as well.
	st := d.at("s.state")
	if code, _, _ := candor(t, "eval", x, "--labels", y, "--state", st, "--fail-if", "ece>0"); code != exitGate {
		t.Errorf("exit code %d", code)
	}
	if code, _, errs := candor(t, "merge", st, "--fail-if", "ece>0.05"); code != exitGate || !strings.Contains(errs, "ece>0.05") {
		t.Errorf("merge: exit code %d: %s", code, errs)
	}
	if code, _, errs := candor(t, "merge", st, "--fail-if", "ece>0.95"); code != exitDone || errs != "" {
		t.Errorf("merge: exit code %d: %s", code, errs)
	}
	// A state has the metrics that it was made with, and a gate adds none to it.
	if code, _, errs := candor(t, "merge", st, "--fail-if", "mce>1"); code != exitUsage || !strings.Contains(errs, `mce>1: the document has no metric "mce": add it to --metrics of candor eval`) {
		t.Errorf("merge: exit code %d: %s", code, errs)
	}
	gated := evaluate(t, x, "--labels", y, "--fail-if", "ece>2", "--fail-if", "mce>1", "--fail-if", "mce.low>1", "--state", st)
	if len(gated.Metrics) != len(doc.Metrics)+1 || gated.value(t, "mce") == 0 {
		t.Errorf("with gates of ece and mce the metrics are %v", gated.Metrics)
	}
	if code, _, errs := candor(t, "merge", st, "--fail-if", "mce>1"); code != exitDone || errs != "" {
		t.Errorf("merge: exit code %d: %s", code, errs)
	}
}

// faulty is a file system that panics.
type faulty struct{}

func (faulty) Open(string) (fs.File, error) { panic("a fault for the test") }

func TestFault(t *testing.T) {
	was := sampleFiles
	sampleFiles = faulty{}
	defer func() { sampleFiles = was }()
	for _, args := range [][]string{{"eval"}, {"eval", "--json"}} {
		code, out, errs := candor(t, args...)
		if code != exitFault || out != "" {
			t.Errorf("exit code %d, output %q", code, out)
		}
		if len(args) > 1 {
			e := jsonError(t, errs)
			if errs = e["message"].(string); e["kind"] != "fault" {
				t.Errorf("it is a %v", e["kind"])
			}
		}
		for _, w := range []string{"a fault for the test", "goroutine", "github.com/candor-go/candor/issues"} {
			if !strings.Contains(errs, w) {
				t.Errorf("%s does not say %q", errs, w)
			}
		}
	}
}

// broken is a standard output that is full.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestOutputFails(t *testing.T) {
	for _, args := range [][]string{{"eval"}, {"eval", "--json"}, compareDigits(), {"metrics"}, {"metrics", "ece"}, {"metrics", "--json"}, {"version", "--cpu"},
		{"inspect", filepath.Join("..", "..", "testdata", "sample", "digits_logits.npy")}} {
		var errs bytes.Buffer
		if code := run(args, bytes.NewReader(nil), broken{}, &errs); code != exitUsage || !strings.Contains(errs.String(), "no space left") {
			t.Errorf("candor %v: exit code %d: %s", args, code, errs.String())
		}
	}
}

func TestHelp(t *testing.T) {
	code, root, _ := candor(t)
	if code != 0 {
		t.Errorf("candor: exit code %d", code)
	}
	for _, name := range []string{"eval", "merge", "compare", "inspect", "metrics", "version", "score", "recal"} {
		if !strings.Contains(root, "\n  "+name+" ") {
			t.Errorf("the help does not list %s", name)
		}
		code, out, errs := candor(t, name, "--help")
		if code != 0 || errs != "" {
			t.Errorf("%s --help: exit code %d: %s", name, code, errs)
		}
		for _, w := range []string{"Usage:\n  candor " + name, "Examples:\n  candor " + name, "\nFlags"} {
			if !strings.Contains(out, w) {
				t.Errorf("%s --help does not have %q", name, w)
			}
		}
		if help, _, _ := candor(t, "help", name); help != 0 {
			t.Errorf("help %s: exit code %d", name, help)
		}
	}
}

// commandsOf returns the commands below one, those of a command in the order in which they are used: candor recal fit makes what
// candor recal apply takes.
func commandsOf(c *cobra.Command) (l []*cobra.Command) {
	for _, sub := range c.Commands() {
		below := commandsOf(sub)
		slices.SortStableFunc(below, func(a, b *cobra.Command) int { return cmp.Compare(b.Name(), a.Name()) })
		l = append(append(l, below...), sub)
	}
	return l
}

// TestExamples runs the examples of every help text, with files of the names that they have.
func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it runs every example of the help; the flags in them have tests of their own")
	}
	d := newDir(t)
	putSamples(d)
	for _, n := range []string{"june.csv", "july.csv", "visits.csv"} {
		d.put(n, d.read(filepath.Join("..", "..", "testdata", "examples", n)))
	}
	t.Chdir(d.path)
	s := newSet(1, 300, 4)
	d.put("probs.npy", s.scores(t))
	logits := s.each(math.Log)
	d.put("logits.npy", logits.scores(t))
	d.put("labels.npy", s.labelFile(t))
	d.put("a.npy", s.scores(t))
	d.put("b.npy", s.fortran(t))
	d.put("c.npy", logits.each(func(x float64) float64 { return math.Exp(x) }).scores(t))
	z := npz(t, "logits.npy", logits.scores(t), "labels.npy", s.labelFile(t))
	d.put("shard-1.npz", z)
	d.put("preds.npz", z)
	d.put("logits.npz", z)
	d.put("before.npz", z)
	d.put("after.npz", z)
	d.put("draws.npy", s.scores(t))
	d.put("obs.npy", s.byFile(t))
	d.put("model-1.npy", s.scores(t))
	d.put("model-2.npy", s.scores(t))
	d.put("members.npy", npy(t, []int64{2, 300, 4}, f32(slices.Concat(s.probs, s.probs))))
	d.put("other.npz", z)
	d.put("loglik.npy", s.scores(t))
	d.put("parameters.npy", s.scores(t))
	d.put("costs.csv", []byte("0,1,1,2\n1,0,1,2\n5,1,0,2\n1,1,1,0\n"))
	d.put("tags.npy", npy(t, []int64{300, 4}, newTagged(1, 300, 4).truth))
	table := normalRows(1, 300).csv()
	for _, n := range []string{"forecast.csv", "a.csv", "b.csv"} {
		d.put(n, table)
	}
	normal, quantiles := normalRows(1, 300), quantileRows(1, 300)
	d.put("forecast.npz", npz(t, "mean.npy", normal.matrix(t, 0), "sd.npy", normal.matrix(t, 1), "observed.npy", normal.matrix(t, 2)))
	d.put("predictions.csv", s.table("prob_", animals))
	lines := s.lines(func(row []float64, field func(name string, v any)) { field("probs", row) })
	for i, name := range animals {
		lines = bytes.ReplaceAll(lines, []byte(strconv.Quote(name)), []byte(strconv.Itoa(i)))
	}
	d.put("predictions.jsonl", lines)
	d.put("truth.csv", csvOf("id,label", func() (l [][]string) {
		for i, y := range s.labels {
			l = append(l, []string{fmt.Sprintf("row %d", i), animals[y]})
		}
		return l
	}(), shuffled(s.rows)))
	d.put("long.csv", []byte("id,class,p,truth\na,cat,0.25,dog\na,dog,0.75,dog\nb,dog,0.5,cat\nb,cat,0.5,cat\n"))
	d.put("answers.csv", []byte("confidence,right\n0.75,true\n0.5,false\n0.875,true\n"))
	d.put("models.csv", []byte("site,p_old,p_new,y\nnorth,0.25,0.5,0\nnorth,0.75,0.5,1\nsouth,0.5,0.25,0\n"))
	d.put("frames.csv", []byte("video,p_old,p_new,y\na,0.25,0.5,0\na,0.75,0.5,1\nb,0.5,0.25,0\nc,0.5,0.75,1\n"))
	d.put("people.csv", []byte("site,age,p,y\neast,17,0.25,0\neast,40,0.75,1\nwest,70,0.5,0\nwest,18,0.5,1\n"))
	d.put("old.csv", []byte("id,p,y\n1,0.25,0\n2,0.75,1\n"))
	d.put("new.csv", []byte("id,p,y\n2,0.5,1\n3,0.5,0\n1,0.125,0\n"))
	d.put("all.csv", []byte("model,id,p,y\nold,1,0.25,0\nold,2,0.75,1\nnew,2,0.5,1\nnew,1,0.125,0\n"))
	d.put("old.npy", s.scores(t))
	d.put("new.npy", s.scores(t))
	d.put("verbal.csv", []byte("confidence,right\n75,true\n50,false\n90,true\n"))
	d.put("bytes.npy", s.byFile(t))
	d.put("sequences.npy", npy(t, []int64{300}, make([]int32, 300)))
	d.put("binary.csv", []byte("verdict,p\nspam,0.75\nham,0.25\nham,0.5\n"))
	d.put("sets.npy", npy(t, []int64{300, 4}, func() []float32 {
		l := make([]float32, 1200)
		for i := range 300 {
			l[4*i+i%4] = 1
		}
		return l
	}()))
	d.put("intervals.csv", []byte("low,high,y\n0,1,0.5\n2,3,4\n"))
	d.put("quantiles.csv", quantiles.csv())
	table, oracle := hubTable(1)
	d.put("2026-11-23-model.csv", table)
	d.put("oracle.csv", oracle)
	d.put("cv.csv", []byte("unique_id,ds,y,SeasonalNaive,SeasonalNaive-lo-90,SeasonalNaive-hi-90,AutoARIMA,AutoARIMA-lo-90,AutoARIMA-hi-90\na,1,2,2,1,3,2,1,4\na,2,2,2,1,3,2,1,3\n"))
	d.put("patients.csv", []byte("days,died,risk_360,risk_720,p5,old,new\n100,1,0.25,0.5,0.5,0.5,0.75\n900,0,0.125,0.25,0.5,0.25,0.125\n500,1,0.25,0.75,0.5,0.25,0.5\n2000,0,0.125,0.5,0.25,0.5,0.25\n"))
	d.put("curves.npz", npz(t, "survival.npy", npy(t, []int64{2, 4}, []float64{0.9, 0.8, 0.7, 0.6, 0.8, 0.75, 0.5, 0.25}), "time.npy", npy(t, []int64{2}, []float64{300, 900}), "event.npy", npy(t, []int64{2}, []int32{1, 0})))
	d.put("quantiles.npy", quantiles.matrix(t, 0, 2, 4))
	d.put("sites.npy", s.labelFile(t))
	d.put("users.npy", s.labelFile(t))
	b := newSet(1, 300, 1)
	d.put("scores.npy", b.scores(t))
	d.put("outcomes.npy", b.labelFile(t))
	for _, n := range []string{"val_logits.npy", "test_logits.npy", "shard-1.npy"} {
		d.put(n, logits.scores(t))
	}
	d.put("val_labels.npy", s.labelFile(t))
	d.put("part-1.npy", s.part(0, 100).scores(t))
	d.put("part-2.npy", s.part(100, 300).scores(t))
	for _, n := range []string{"monday", "tuesday", "january", "february", "shard-1"} {
		evaluate(t, "shard-1.npz", "--input", "logits", "--state", n+".state")
		printed(t, "compare", "a.npy", "b.npy", "--labels", "labels.npy", "--state", n+"-pair.state")
	}
	printed(t, "score", "a.npy", "--labels", "labels.npy", "-o", "base.npz")
	// The shards of a run, for examples that need all of them: other examples write files of the same names.
	shards := func() (names []string) {
		for i := range 8 {
			names = append(names, fmt.Sprintf("shard-%d.state", i))
			printed(t, "eval", "probs.npy", "--labels", "labels.npy", "--shard", fmt.Sprintf("%d/8", i), "--state", names[i])
		}
		printed(t, append([]string{"merge", "-o", "all.state"}, names...)...)
		return names
	}
	n := 0
	for _, c := range append(commandsOf(rootCommand()), rootCommand()) {
		for _, line := range strings.Split(c.Example, "\n") {
			if strings.Contains(line, "--expect") || strings.Contains(line, "subtract all.state") {
				line = strings.ReplaceAll(line, "shard-*.state", strings.Join(shards(), " "))
			}
			line = strings.ReplaceAll(line, "shard-*", "shard-1")
			if i := strings.Index(line, "   "); i > 2 {
				line = line[:i]
			}
			args := strings.Fields(strings.ReplaceAll(line, "'", ""))
			if len(args) < 2 || args[0] != "candor" {
				t.Errorf("%q is no example of %s", line, c.Name())
				continue
			}
			if code, _, errs := candor(t, args[1:]...); code != 0 && code != exitGate {
				t.Errorf("%s: exit code %d: %s", line, code, errs)
			}
			n++
		}
	}
	if n < 15 {
		t.Errorf("only %d examples", n)
	}
}

func TestCompletion(t *testing.T) {
	complete := func(args ...string) []string {
		code, out, _ := candor(t, append([]string{"__complete"}, args...)...)
		if code != 0 {
			t.Fatalf("%v: exit code %d", args, code)
		}
		var l []string
		for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
			name, _, _ := strings.Cut(line, "\t")
			l = append(l, name)
		}
		return l[:len(l)-1] // the last one is a directive
	}
	names, first, second := complete("metrics", ""), complete("eval", "--metrics", ""), complete("eval", "--metrics", "ece(bins=3,closed=right),m")
	for _, d := range eval.Descriptors() {
		if !slices.Contains(names, d.Name) {
			t.Errorf("metrics does not complete to %s", d.Name)
		}
		if !slices.Contains(first, d.Name) {
			t.Errorf("--metrics does not complete to %s", d.Name)
		}
		if !slices.Contains(second, "ece(bins=3,closed=right),"+d.Name) {
			t.Errorf("a second name of --metrics does not complete to %s", d.Name)
		}
	}
	if l := complete("eval", "--metrics", "ece(bins=3,"); len(l) != 0 {
		t.Errorf("options complete to %v", l)
	}
	if l := complete("compare", "--report", ""); !slices.Equal(l, []string{"junit=", "github=", "mlflow=", "openmetrics="}) {
		t.Errorf("--report completes to %v", l)
	}
	if l := complete("eval", "--report", "junit=a.xml,"); !slices.Contains(l, "junit=a.xml,github=") {
		t.Errorf("a second --report completes to %v", l)
	}
	if l := complete("merge", "--report", "junit="); len(l) != 0 {
		t.Errorf("the file of --report completes to %v", l)
	}
	for flag, want := range map[string]string{"--input": "logprobs", "--like": "torchmetrics", "--task": "binary", "--on-invalid": "drop", "--format": "csv", "--plot-y": "gap"} {
		if l := complete("eval", flag, ""); !slices.Contains(l, want) {
			t.Errorf("%s completes to %v", flag, l)
		}
	}
	if l := complete("score", "--metrics", ""); !slices.Contains(l, "nll") || slices.Contains(l, "ece") {
		t.Errorf("score --metrics completes to %v", l)
	}
	methods := complete("recal", "fit", "")
	for _, m := range recal.Descriptors() {
		if !slices.Contains(methods, m.Name) {
			t.Errorf("recal fit does not complete to %s: %v", m.Name, methods)
		}
	}
	if l := complete("recal", "fit", "isotonic", ""); len(l) != 0 {
		t.Errorf("what is behind the method completes to %v", l)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, out, errs := candor(t, "completion", shell); code != 0 || len(out) < 500 {
			t.Errorf("completion %s: exit code %d: %s", shell, code, errs)
		}
	}
}

func TestMetricsCommand(t *testing.T) {
	_, all, _ := candor(t, "metrics")
	_, js, _ := candor(t, "metrics", "--json")
	var rows []struct {
		Name, Meaning, Formula, Range, Better, Source string
		Options                                       []string
		Default                                       bool
	}
	if err := json.Unmarshal([]byte(js), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(eval.Descriptors()) {
		t.Fatalf("%d rows", len(rows))
	}
	flat := strings.Join(strings.Fields(all), " ")
	for i, d := range eval.Descriptors() {
		if r := rows[i]; r.Name != d.Name || r.Meaning != d.Meaning || r.Formula != d.Formula || r.Range != d.Range || r.Source != d.Source || r.Default != d.Default {
			t.Errorf("the JSON has %+v for %s", r, d.Name)
		}
		mark := "  "
		if d.Default {
			mark = "* "
		}
		if !strings.Contains(all, mark+d.Name+" ") || !strings.Contains(flat, d.Name+" "+d.Meaning+" ") {
			t.Errorf("the list does not have %s", d.Name)
		}
		code, one, errs := candor(t, "metrics", d.Name)
		if code != 0 || errs != "" {
			t.Errorf("metrics %s: exit code %d: %s", d.Name, code, errs)
		}
		text := strings.Join(strings.Fields(one), " ")
		for _, w := range []string{d.Meaning, "formula " + d.Formula, "range " + d.Range, "better " + string(d.Better), "source " + d.Source, d.Options, d.Applies()} {
			// An option that is longer than a line is broken between its values.
			if !strings.Contains(strings.ReplaceAll(text, "| ", "|"), strings.ReplaceAll(strings.Join(strings.Fields(w), " "), "| ", "|")) {
				t.Errorf("metrics %s does not say %q:\n%s", d.Name, w, one)
			}
		}
		if code, one, _ := candor(t, "metrics", d.Name, "--json"); code != 0 || !json.Valid([]byte(one)) {
			t.Errorf("metrics %s --json: exit code %d", d.Name, code)
		}
		tidy(t, one)
		for _, width := range []int{72, 80, 100} {
			var b bytes.Buffer
			explain(&b, &d, width)
			list(&b, []eval.Descriptor{d}, width)
			for _, l := range strings.Split(b.String(), "\n") {
				if len(l) > width || strings.TrimRight(l, " ") != l {
					t.Errorf("%s at %d columns: %q", d.Name, width, l)
				}
			}
		}
	}
	tidy(t, all)
	if _, page, _ := candor(t, "metrics", "tace"); page != `tace              thresholded ace: only probabilities above a threshold, by default 0.01
formula           (1/K) sum_k (1/N_k) sum_bins |sum (p_k - [y = k])|, over the N_k entries above the
                  threshold
options           bins=N, threshold=P, norm=l1|l2
where unsaid      15 bins, or those of --bins; the first of several values
range             [0, 1]
better            lower
source            Nixon et al. 2019
default set       no
` {
		t.Errorf("the page of tace is\n%s", page)
	}
	if code, out, _ := candor(t, "metrics", "ece(bins=30)"); code != 0 || !strings.HasPrefix(out, "ece ") {
		t.Errorf("a name with options is not explained: %q", out)
	}
}

// tidy fails for text that is wider than 100 columns or has spaces at the ends of its lines.
func tidy(t *testing.T, s string) {
	t.Helper()
	for _, l := range strings.Split(s, "\n") {
		if n := len([]rune(l)); n > 100 || strings.TrimRight(l, " ") != l {
			t.Errorf("%d columns: %q", n, l)
		}
	}
	if !strings.HasSuffix(s, "\n") || strings.HasSuffix(s, "\n\n") {
		t.Error("the text does not end in one newline")
	}
}

func TestInspect(t *testing.T) {
	d := newDir(t)
	s := newSet(1, 70, 3)
	x := d.put("x.npy", s.scores(t))
	f := d.put("f.npy", s.fortran(t))
	z := d.put("z.npz", npz(t, "probs.npy", s.scores(t), "labels.npy", s.labelFile(t)))
	o := d.put("o.npy", raw("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", []byte("\x80\x04.")))
	st := d.at("s.state")
	doc := evaluate(t, x, "--labels", d.put("y.npy", s.labelFile(t)), "--state", st, "--metrics", "accuracy,ece(bins=30)")
	code, out, errs := candor(t, "inspect", x, f, z, o, st)
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	text := strings.Join(strings.Fields(strings.ReplaceAll(out, d.path+string(os.PathSeparator), "")), " ")
	for _, w := range []string{"x.npy: npy", "x float32 (70, 3) C order, 840 bytes", "f float32 (70, 3) Fortran order, 840 bytes", "z.npz: npz", "probs float32 (70, 3)",
		"deflated", "labels int32 (70,)", "o object (3,)", "s.state: state of an evaluation 70 rows, 3 classes, float32 probs metrics accuracy, ece(bins=30) left out scores, nll, brier, entropy, which these metrics do not need sha256", "sha256 " + doc.State.SHA256} {
		if !strings.Contains(text, w) {
			t.Errorf("%s\ndoes not say %q", out, w)
		}
	}
	_, js, _ := candor(t, "inspect", "--json", z, st)
	var v []inspected
	if err := json.Unmarshal([]byte(js), &v); err != nil {
		t.Fatal(err)
	}
	if len(v) != 2 || v[0].Format != "npz" || len(v[0].Arrays) != 2 || v[0].Arrays[0].Shape[0] != 70 || v[1].State == nil || v[1].State.SHA256 != doc.State.SHA256 || v[1].State.Rows != 70 {
		t.Errorf("%s", js)
	}
	for path, want := range map[string]string{d.at("none"): "none: no such file", d.path: "is a directory", d.put("t.npy", s.scores(t)[:300]): "t.npy: truncated"} {
		refused(t, d, []string{"inspect", path}, want)
	}
	bad := d.read(st)
	bad[len(bad)/2] ^= 64
	refused(t, d, []string{"inspect", x, d.put("bad.state", bad)}, "bad.state: not a state that can be read")
}

// TestStandardInput: "-" is standard input, for predictions, states and inspect.
func TestStandardInput(t *testing.T) {
	d := newDir(t)
	s := newSet(1, 3000, 5)
	x, y, st := d.put("x.npy", s.scores(t)), d.put("y.npy", s.labelFile(t)), d.at("s.state")
	f := d.put("f.npy", s.fortran(t))
	_, want, _ := candor(t, "eval", x, "--labels", y, "--json", "--state", st)
	for _, c := range []struct {
		in   string
		args []string
		want string
	}{
		{x, []string{"eval", "-", "--labels", y, "--json"}, want},
		{f, []string{"eval", "-", "--labels", y, "--json"}, want},
		{y, []string{"eval", x, "--labels", "-", "--json"}, want},
		{st, []string{"merge", "-", "--json"}, want},
		{x, []string{"inspect", "-"}, "-: npy\n  -                float32    (3000, 5)            C order, 60,000 bytes\n"},
	} {
		if out := process(t, []string{"TMPDIR=" + d.path}, c.in, c.args...); string(out) != c.want {
			t.Errorf("%v < %s: %s", c.args, c.in, out)
		}
	}
	if l := d.list(); len(l) != 4 {
		t.Errorf("the folder has %v", l)
	}
	// A damaged pipe says so.
	var out, errs bytes.Buffer
	if code := run([]string{"merge", "-"}, strings.NewReader("cSTA and no more"), &out, &errs); code != exitData || out.Len() > 0 || !strings.Contains(errs.String(), "standard input: not a state that can be read") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

func TestVersion(t *testing.T) {
	code, out, _ := candor(t, "version")
	if code != 0 || !strings.HasPrefix(out, "candor ") || strings.Count(out, "\n") != 1 {
		t.Errorf("exit code %d: %q", code, out)
	}
	code, out, _ = candor(t, "version", "--cpu")
	if code != 0 || !strings.Contains(out, "\nlevel     ") || !strings.Contains(out, "\ndetected  ") {
		t.Errorf("exit code %d: %q", code, out)
	}
	if code, flag, _ := candor(t, "--version"); code != 0 || !strings.HasPrefix(out, flag) {
		t.Errorf("--version: exit code %d: %q", code, flag)
	}
}
