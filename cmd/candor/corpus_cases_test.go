package main

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
)

// corpusGroups are the cases, by what they are about.
var corpusGroups = []struct {
	name string
	run  func(c *corpus)
}{
	{"binary", corpusBinary}, {"classes", corpusClasses}, {"wide", corpusWide}, {"flags", corpusFlags}, {"options", corpusOptions}, {"groups", corpusGroupsOfRows}, {"slices", corpusSlices},
	{"ood", corpusOOD}, {"ensemble", corpusEnsemble}, {"multilabel", corpusMultilabel}, {"forecasts", corpusForecasts}, {"samples", corpusSamples},
	{"loglik", corpusLogLiks}, {"grid", corpusGrid}, {"merge", corpusMerge}, {"compare", corpusCompare}, {"drift", corpusDrift}, {"score", corpusScore}, {"recal", corpusRecal},
	{"survival", corpusSurvival}, {"multivariate", corpusVectors}, {"multivariate_normal", corpusStated}, {"tables", corpusTables}, {"choices", corpusChoices}, {"models", corpusModels}, {"tokens", corpusTokens},
}

var (
	dtypes     = []string{"float64", "float32", "float16", "bfloat16"}
	logKinds   = []string{"probs", "logits", "logprobs"}
	classKinds = append(slices.Clone(logKinds), "dirichlet")
)

// exact returns rows of a kind of scores.
func exact(kind string, seed uint64, rows, classes int) *set {
	switch kind {
	case "probs":
		return exactProbs(seed, rows, classes)
	case "logits":
		return exactLogits(seed, rows, classes, 0)
	case "logprobs":
		return exactLogProbs(seed, rows, classes)
	}
	return exactDirichlet(seed, rows, classes)
}

// put writes scores and labels, and returns the flags that name them.
func (c *corpus) put(name string, s *set, kind, dtype string) []string {
	args := []string{c.d.put(name+"-x.npy", stored(c.t, dtype, s.shape(), s.probs)), "--labels", c.d.put(name+"-y.npy", s.labelFile(c.t)), "--input", kind}
	if dtype == "bfloat16" {
		args = append(args, "--bfloat16")
	}
	return args
}

// with returns flags and more.
func with(args []string, more ...string) []string { return append(slices.Clone(args), more...) }

// allOf are all metrics of such predictions, those that draw random numbers with few draws.
func allOf(of eval.Shape) string {
	l, err := eval.ParseMetrics("all", of)
	if err != nil {
		panic(err)
	}
	var names []string
	for _, m := range l {
		names = append(names, drawn(m.Name, eval.Describe(m.Name).Options))
	}
	return strings.Join(names, ",")
}

// drawn returns a metric with an option, if it is not empty, and with few draws if it has any.
func drawn(name, options string, option ...string) string {
	for _, few := range []string{"replicates=20", "draws=100"} {
		if strings.Contains(options, strings.TrimRight(few, "=0123456789")+"=") && !slices.Contains(option, few) {
			option = append(option, few)
		}
	}
	if len(option) == 0 {
		return name
	}
	return name + "(" + strings.Join(option, ",") + ")"
}

// corpusBinary: one score a row.
func corpusBinary(c *corpus) {
	for _, kind := range logKinds {
		for _, dtype := range dtypes {
			args := c.put(kind+dtype, exact(kind, 1, 301, 1), kind, dtype)
			c.eval(kind+"/"+dtype, with(args, "--task", "binary", "--metrics", allOf(eval.Shape{Classes: 1}))...)
		}
	}
}

// corpusClasses: rows that are short, by every metric.
func corpusClasses(c *corpus) {
	for _, k := range []int{2, 3, 10} {
		for _, kind := range classKinds {
			for _, dtype := range dtypes {
				if k != 10 && dtype != "float32" {
					continue // as K = 10
				}
				shape := eval.Shape{Classes: k}
				if kind == "dirichlet" {
					shape.Kind = metrics.Dirichlet
				}
				name := fmt.Sprintf("%d/%s/%s", k, kind, dtype)
				args := c.put(strings.ReplaceAll(name, "/", "-"), exact(kind, uint64(k), 250, k), kind, dtype)
				c.eval(name, with(args, "--task", "classification", "--metrics", allOf(shape)+",topk_accuracy(k=2)")...)
			}
		}
	}
}

// corpusWide: rows of more classes than a kernel takes side by side, and of more than are in a block, of every type and kind; and
// many short ones, in several blocks.
func corpusWide(c *corpus) {
	for at, of := range []struct{ classes, rows int }{{1, 6000}, {3, 5000}, {10, 2500}, {100, 50}, {1000, 21}, {1500, 11}} {
		for i, kind := range classKinds {
			for j, dtype := range dtypes {
				// Each size has every kind and type; 1,000 classes have each pair.
				if every := map[bool]int{true: 4, false: 2}[of.classes < 100]; of.classes != 1000 && (at+i+j)%every > 0 || of.classes == 1 && kind == "dirichlet" {
					continue
				}
				name := fmt.Sprintf("%d/%s/%s", of.classes, kind, dtype)
				args := c.put(strings.ReplaceAll(name, "/", "-"), exact(kind, 7, of.rows, of.classes), kind, dtype)
				list := "accuracy,confidence,nll,brier,entropy,ece,sce,aurc,balanced_accuracy,spherical,rps,auroc(average=macro)"
				if of.rows < 100 {
					list += ",ace,top5_accuracy,calibration_auc"
				}
				c.eval(name, with(args, "--metrics", list)...)
			}
		}
	}
}

// corpusFlags: what flags change, of one score a row and of classes.
func corpusFlags(c *corpus) {
	for i, k := range []int{1, 3} {
		of := fmt.Sprint(k) + "/"
		all := allOf(eval.Shape{Classes: k})
		s := exactProbs(11, 203, k)
		args := c.put(fmt.Sprint(k), s, "probs", dtypes[i])
		w := []string{"--weights", c.d.put("w.npy", s.weightFile(c.t))}
		decided := []string{"--decisions", c.d.put("d.npy", s.decisionFile(c.t))}
		by := []string{"--confidence-scores", c.d.put("by.npy", s.byFile(c.t))}
		for _, f := range []struct {
			name string
			args []string
		}{
			{"weights", w}, {"decisions", decided}, {"confidence-scores", by}, {"both", slices.Concat(decided, by, w)},
			{"numbers", []string{"--threads", "3", "--confidence", "0.8", "--bins", "31", "--seed", "5"}},
		} {
			c.eval(of+f.name, slices.Concat(args, f.args, []string{"--metrics", all})...)
		}
		for _, like := range []string{"um", "tfp", "torchmetrics", "guo", "blog"} {
			c.eval(of+like, with(args, "--like", like, "--metrics", "default,mce,rmsce,brier,ece_sweep")...)
		}
		for _, dtype := range dtypes {
			c.eval(of+"huge/"+dtype, with(c.put("huge", exactLogits(12, 203, k, map[bool]float64{false: 1e30, true: 6e4}[dtype == "float16"]), "logits", dtype), "--metrics", all)...)
			bad := exactProbs(14, 203, k).with(5, 0, math.NaN()).with(17, k-1, 2).with(31, 0, -0.25).with(64, 0, math.Inf(1)).label(-1, 90).label(100, 91, 202)
			bad.weights[100], bad.weights[101] = math.NaN(), -1
			for i := range bad.rows { // and rows whose true class was given nothing
				if row := bad.probs[i*k : (i+1)*k]; i%40 == 2 && k > 1 {
					clear(row)
					row[(int(bad.labels[i])+1)%k] = 1
				}
			}
			c.eval(of+"drop/"+dtype, with(c.put("drop", bad, "probs", dtype), "--on-invalid", "drop", "--weights", c.d.put("w.npy", bad.weightFile(c.t)),
				"--metrics", "default,nll_infinite_rows,entropy,spherical,rps,auprc")...)
		}
		for _, kind := range logKinds {
			c.eval(of+"scaled/"+kind, with(c.put("scaled", exact(kind, 13, 203, k), kind, dtypes[i]), "--temperature-scaled", "--seed", "3", "--metrics", "nll")...)
		}
	}
	two := exactProbs(15, 203, 2)
	for i, event := range []string{"0", "1"} {
		args := with(c.put("two", two, "probs", dtypes[i]), "--event", event)
		c.eval("event/"+event, with(args, "--metrics", allOf(eval.Shape{Classes: 1}))...)
	}
	quarters := exactProbs(11, 203, 3).each(func(p float64) float64 { return p / 4 })
	for _, dtype := range dtypes {
		c.eval("renormalize/"+dtype, with(c.put("quarters", quarters, "probs", dtype), "--renormalize", "--metrics", "default,nll,entropy,spherical,rps,sce,ace")...)
	}
	// A temperature for rows in many blocks.
	c.eval("scaled", with(c.put("many", exactLogits(15, 3000, 10, 0), "logits", "float32"), "--temperature-scaled", "--metrics", "nll")...)
}

// optionValues are numbers for the options that take one.
var optionValues = map[string]string{"bins": "7", "k": "2", "threshold": "0.03", "replicates": "20", "draws": "100", "folds": "3", "truncation": "0.1", "thresholds": "9",
	"fraction": "0.2", "most": "5", "within": "0.4", "found": "0.8", "p": "2", "level": "0.8", "clip": "0.01", "r_eff": "0.4", "groups": "4", "bandwidth": "0.1", "frequencies": "7", "degree": "3", "span": "0.7", "delta": "0.01", "max_fpr": "0.3",
	"horizon": "720", "repeats": "2", "max_rows": "400", "fp": "2", "fn": "4", "tp": "0.5", "tn": "0.25", "risk": "0.4", "confidence": "0.8", "steps": "7", "from": "-0.5", "to": "1", "order": "1.5", "knots": "4"}

// optionsOf are the metrics of such predictions, but those that are before the first, with each of their options.
// What is exact keeps every row, and so there is no state beside it: exact says which are wanted.
func optionsOf(first string, of eval.Spec, exact bool) string {
	var names []string
	began := first == ""
	for _, d := range eval.Descriptors() {
		if began = began || d.Name == first; !began {
			continue
		}
		for _, o := range strings.Split(d.Options, ", ") {
			name, words, number := strings.Cut(o, "=")
			values := strings.Split(words, "|")
			if len(values) == 1 && number {
				values[0] = optionValues[name]
			}
			for _, v := range values {
				option := strings.TrimSuffix(name+"="+v, "=")
				// Some options are of other predictions, and some go with another one.
				for _, more := range []string{"", "thresholds=9", "by=class", "clip=0.01", "smoother=loess"} {
					m := drawn(d.Name, d.Options, append([]string{option}, strings.Fields(more)...)...)
					l, err := eval.ParseMetrics(m, of.Shape())
					if err == nil {
						of.Metrics = l
						_, err = eval.New(of)
					}
					if name != "" && err == nil && (option == "exact") == exact {
						names = append(names, m)
						break
					}
				}
			}
		}
	}
	return strings.Join(names, ",")
}

// corpusOptions: every option of every metric; other groups have those of what is no row of classes of one model.
func corpusOptions(c *corpus) {
	for _, k := range []int{1, 3} {
		s := exactProbs(16, 151, k)
		c.eval(fmt.Sprint(k), with(c.put(fmt.Sprint(k), s, "probs", "float32"), "--metrics", optionsOf("accuracy", eval.Spec{Classes: k}, false))...)
		c.eval(fmt.Sprintf("%d/exact", k), with(c.put(fmt.Sprint(k), s, "probs", "float32"), "--metrics", optionsOf("", eval.Spec{Classes: k}, true))...)
	}
	c.stated("acting/1", with(c.put("acting1", exactProbs(18, 151, 1), "probs", "float32"),
		"--metrics", "net_benefit,expected_cost,avoidable_cost,least_cost_threshold,coverage_at_risk(risk=0.5),threshold_at_risk(risk=0.5)")...)
	for _, k := range []int{1, 3} {
		costs := "0,1.5,0.3\n4,0,0.3\n"
		if k > 1 {
			costs += "2,1,0.3\n"
		}
		c.stated(fmt.Sprintf("costs/%d", k), with(c.put(fmt.Sprintf("costs%d", k), exactProbs(18, 151, k), "probs", "float32"), "--metrics", "accuracy", "--costs", c.d.put(fmt.Sprintf("costs%d.csv", k), []byte(costs)))...)
	}
	c.stated("acting/3", with(c.put("acting3", exactProbs(18, 151, 3), "probs", "float32"), "--metrics", "coverage_at_risk,threshold_at_risk")...)
	// Options with which there is a threshold.
	for _, option := range []string{"risk=0.3", "confidence=0.8", "steps=7", "exact"} {
		for _, k := range []int{1, 3} {
			list := "threshold_at_risk(risk=0.3," + option + ")"
			if option == "risk=0.3" {
				list = "threshold_at_risk(risk=0.3)"
			}
			c.eval(fmt.Sprintf("acting/%d/%s", k, option), with(c.put("acting", exactProbs(18, 1500, k), "probs", "float32"), "--metrics", list)...)
		}
	}
	// Where rows are that are quite sure, these have no value.
	var l []string
	for _, name := range []string{"mean", "q10", "q50", "q90"} {
		l = append(l, "ece_bayes_"+name+"(one=overflow,draws=100)")
	}
	c.eval("unsure", with(c.put("unsure", exactDirichlet(17, 151, 3), "dirichlet", "float32"), "--metrics", strings.Join(l, ","))...)
}

// corpusGroupsOfRows: --group, of numbers and of text.
func corpusGroupsOfRows(c *corpus) {
	for _, k := range []int{1, 3} {
		s := exactProbs(17, 300, k)
		site, number := make([]string, s.rows), make([]int32, s.rows)
		for i := range s.rows {
			site[i], number[i] = []string{"north", "süd", "", "ost 1"}[i*7%11%4], int32(i%3-1)
		}
		groups := c.d.put("site.npy", textArray(site)) + "," + c.d.put("no.npy", npy(c.t, []int64{int64(s.rows)}, number))
		args := c.put(fmt.Sprint(k), s, "probs", "float32")
		c.stated(fmt.Sprint(k), with(args, "--group", groups, "--metrics", "default,ece(bins=5)", "--weights", c.d.put("w.npy", s.weightFile(c.t)))...)
		c.stated(fmt.Sprint(k, "/tests"), with(args, "--group", groups, "--metrics", "default", "--min-rows", "20", "--adjust", "bh")...)
	}
	s := exactProbs(18, 2000, 1)
	many := make([]int32, s.rows)
	for i := range many {
		many[i] = int32(i * 37 % 1001)
	}
	c.stated("many", with(c.put("many", s, "probs", "float32"), "--group", c.d.put("many.npy", npy(c.t, []int64{2000}, many)), "--min-rows", "2", "--max-memory", "1GiB")...)
}

// corpusSlices: --slice-by, of text, of numbers and of the score.
func corpusSlices(c *corpus) {
	for _, k := range []int{1, 3} {
		s := exactProbs(23, 400, k)
		site, age := make([]string, s.rows), make([]float64, s.rows)
		for i := range s.rows {
			site[i], age[i] = []string{"north", "süd", "", "ost 1"}[i*7%11%4], float64(i*i%97)/4
		}
		by := c.d.put("site.npy", textArray(site)) + "," + c.d.put("age.npy", npy(c.t, []int64{int64(s.rows)}, age)) + ",score"
		args := with(c.put(fmt.Sprint(k), s, "probs", "float32"), "--slice-by", by, "--metrics", "ece,multicalibration_error(every),multicalibration_error_relative(every),multicalibration_error_sigma(every),multicalibration_error_p(every),grouping_loss(bins=5),grouping_loss_explained(bins=5),grouping_loss_induced(bins=4)")
		c.eval(fmt.Sprint(k)+"/first", with(args, "--adjust", "bh")...)
		c.stated(fmt.Sprint(k), with(args, "--slice-edges", "age=0,5,20", "--min-rows", "10")...)
	}
}

// corpusOOD: rows that are foreign to the model.
func corpusOOD(c *corpus) {
	for _, kind := range logKinds {
		for _, dtype := range dtypes {
			s, o := exact(kind, 18, 150, 4), exact(kind, 19, 90, 4)
			args := with(c.put(kind+dtype, s, kind, dtype), "--ood", c.d.put(kind+dtype+"-o.npy", stored(c.t, dtype, o.shape(), o.probs)))
			list := "ood_auroc,ood_fpr95,ood_auprc_in,ood_auprc_out,ood_auroc(score=entropy)"
			if dtype == "float32" {
				list = optionsOf("ood_auroc", eval.Spec{Classes: 4, Out: true}, false) + ",ood_auroc"
			}
			c.stated(kind+"/"+dtype, with(args, "--metrics", list)...)
		}
	}
}

// members returns the arguments of an ensemble: a file a member, or one array with the members on an axis.
func (c *corpus) members(s []*set, kind, dtype string, axis int) []string {
	m, n, k := len(s), s[0].rows, s[0].classes
	args := []string{"--task", "ensemble", "--input", kind, "--labels", c.d.put(kind+dtype+"-y.npy", s[0].labelFile(c.t))}
	if dtype == "bfloat16" {
		args = append(args, "--bfloat16")
	}
	var first, second []float64
	for _, o := range s {
		first = append(first, o.probs...)
	}
	for i := range n {
		for _, o := range s {
			second = append(second, o.probs[i*k:(i+1)*k]...)
		}
	}
	x := kind + dtype + fmt.Sprint(axis, k)
	switch axis {
	case 0:
		return append(args, c.d.put(x, stored(c.t, dtype, []int64{int64(m), int64(n), int64(k)}, first)))
	case 1:
		return append(args, "--member-axis", "1", c.d.put(x, stored(c.t, dtype, []int64{int64(n), int64(m), int64(k)}, second)))
	}
	for i, o := range s {
		args = append(args, c.d.put(fmt.Sprint(x, "-", i, ".npy"), stored(c.t, dtype, o.shape(), o.probs)))
	}
	return args
}

// corpusEnsemble: several models of the same rows.
func corpusEnsemble(c *corpus) {
	for at, of := range []struct{ classes, members, rows int }{{1, 3, 90}, {2, 2, 60}, {5, 4, 90}, {10, 9, 40}, {40, 5, 30}, {1100, 3, 9}} {
		for i, kind := range logKinds {
			for j, dtype := range dtypes {
				var s []*set
				for m := range of.members {
					s = append(s, exact(kind, uint64(20+m), of.rows, of.classes))
				}
				if of.classes != 5 && (at+i+j)%4 > 0 {
					continue // of 5 classes there is every kind and type
				}
				axis := (at + i + j) % 3
				if of.classes == 1 {
					axis = 2
				}
				args := c.members(s, kind, dtype, axis)
				if of.classes < 10 {
					args = append(args, "--weights", c.d.put("w.npy", s[0].weightFile(c.t)))
				}
				spec := eval.Spec{Classes: of.classes, Members: of.members}
				_, list, _ := strings.Cut(allOf(spec.Shape()), ",mutual_information")
				list = "default" + list
				if of.classes == 5 && dtype == "float32" {
					list += "," + optionsOf("mutual_information", spec, false)
				}
				c.eval(fmt.Sprintf("%d/%s/%s", of.classes, kind, dtype), with(args, "--metrics", list)...)
			}
		}
	}
}

// corpusMultilabel: several labels a row.
func corpusMultilabel(c *corpus) {
	s := exactTagged(30, 180, 4)
	y := c.d.put("y.npy", npy(c.t, s.shape(), s.truth))
	w := c.d.put("w.npy", npy(c.t, []int64{int64(s.rows)}, s.weights))
	for _, dtype := range dtypes {
		args := []string{c.d.put(dtype+".npy", stored(c.t, dtype, s.shape(), s.probs)), "--task", "multilabel", "--labels", y}
		if dtype == "bfloat16" {
			args = append(args, "--bfloat16")
		}
		list := "default"
		if dtype == "float32" {
			list = allOf(eval.Shape{Classes: 1})
		}
		c.eval(dtype, with(args, "--metrics", list)...)
		c.stated(dtype+"/weights", with(args, "--weights", w)...)
	}
	logits := exactLogits(31, 180*4, 1, 0)
	c.eval("logits", c.d.put("z.npy", stored(c.t, "float32", s.shape(), logits.probs)), "--task", "multilabel", "--labels", y, "--input", "logits")
}

// corpusForecasts: means and standard deviations, and quantiles, from tables and arrays.
func corpusForecasts(c *corpus) {
	f := exactNormals(40, 260)
	f.names = append(f.names, "w")
	for i := range f.rows {
		f.rows[i] = append(f.rows[i], float64(1+i%64)/32)
	}
	table := c.d.put("normals.csv", f.csv())
	spec := eval.Spec{Classes: 3, Kind: metrics.Normals}
	list := allOf(spec.Shape()) + "," + optionsOf("", spec, false)
	named := []string{"--task", "regression", "--mean", "mu", "--std", "sigma", "--observed", "y", "--metrics", list}
	c.eval("regression/table", with(named, table)...)
	c.eval("regression/weights", with(named, table, "--weights", "w", "--group", "site,kind")...)
	for i, law := range []string{"laplace", "logistic", "t(df=2.5)", "t(df=30)"} {
		args := slices.Clone(named)
		args[slices.Index(args, "--std")] = []string{"--std", "--scale"}[i%2]
		c.eval("regression/"+law, with(args, table, "--distribution", law)...)
	}
	errors := exactNormals(41, 260)
	for _, r := range errors.rows {
		r[0] = r[2] - r[0]
	}
	c.eval("regression/errors", c.d.put("errors.csv", errors.csv()), "--task", "regression", "--error", "mu", "--std", "sigma")
	for _, dtype := range dtypes[:3] {
		for _, n := range []int{7, 700} {
			g := exactNormals(uint64(42+n), n)
			if dtype == "float16" {
				g = g.part(0, n) // whose numbers it rounds
			}
			c.eval(fmt.Sprintf("regression/%s/%d", dtype, n), c.d.put(dtype+".npy", stored(c.t, dtype, []int64{int64(n), 3}, slices.Concat(g.rows...))), "--task", "regression", "--metrics", allOf(spec.Shape()))
		}
	}

	q := exactQuantiles(43, 260)
	k := len(q.names) - 1
	spec = eval.Spec{Classes: k, Kind: metrics.Quantiles, Levels: []float64{0.05, 0.25, 0.4, 0.5, 0.6, 0.75, 0.95}}
	list = allOf(spec.Shape()) + "," + optionsOf("", spec, false)
	c.eval("quantiles/table", c.d.put("q.csv", q.csv()), "--task", "quantiles", "--quantile-prefix", "q", "--observed", "y", "--group", "site", "--metrics", list)
	var x, y []float64
	for _, r := range q.rows {
		x, y = append(x, r[:k]...), append(y, r[k])
	}
	levels := strings.ReplaceAll(strings.Join(q.names[:k], ","), "q", "")
	for _, dtype := range dtypes[:3] {
		c.eval("quantiles/"+dtype, c.d.put(dtype+".npy", stored(c.t, dtype, []int64{int64(len(y)), int64(k)}, x)), "--task", "quantiles", "--levels", levels,
			"--labels", c.d.put("y.npy", npy(c.t, []int64{int64(len(y))}, y)), "--metrics", allOf(spec.Shape()))
	}
}

// corpusSamples: draws of a forecast.
func corpusSamples(c *corpus) {
	for _, of := range []struct{ draws, rows int }{{1, 40}, {2, 40}, {9, 150}, {33, 60}, {100, 30}, {1100, 9}} {
		x, y := exactSamples(uint64(of.draws), of.rows, of.draws)
		labels := c.d.put("y.npy", npy(c.t, []int64{int64(of.rows)}, y))
		spec := eval.Spec{Classes: of.draws, Kind: metrics.Samples}
		for _, dtype := range dtypes[:3] {
			list := allOf(spec.Shape())
			if dtype == "float64" {
				list += "," + optionsOf("", spec, false)
			}
			c.eval(fmt.Sprintf("%d/%s", of.draws, dtype), c.d.put(dtype+".npy", stored(c.t, dtype, []int64{int64(of.rows), int64(of.draws)}, x)), "--task", "samples", "--labels", labels,
				"--seed", "2", "--metrics", list)
		}
	}
}

// corpusSurvival: curves of a Cox regression at twelve times.
func corpusSurvival(c *corpus) {
	spec := eval.Spec{Classes: 14, Kind: metrics.Survival}
	for i := range 12 {
		spec.Times = append(spec.Times, float64(180*(i+1)))
	}
	rows := c.d.put("gbsg2.csv", c.d.read(gbsg2))
	c.eval("curves", rows, "--task", "survival", "--prob-prefix", "risk_", "--horizons", "720,1440", "--metrics", allOf(spec.Shape())+","+optionsOf("", spec, false))
	c.eval("weights", rows, "--task", "survival", "--prob-prefix", "risk_", "--horizons", "1440", "--weights", "risk_180", "--metrics", "all")
	names, columns := lives(c.t)
	n := int64(len(columns[0]))
	var risks []float64
	for i := range columns[0] {
		for _, v := range columns[2:] {
			risks = append(risks, v[i])
		}
	}
	var times []string
	for _, name := range names[2:] {
		times = append(times, strings.TrimPrefix(name, "risk_"))
	}
	c.eval("arrays", c.d.put("risks.npy", stored(c.t, "float32", []int64{n, int64(len(times))}, risks)), "--task", "survival", "--time", c.d.put("time.npy", npy(c.t, []int64{n}, f32(columns[0]))),
		"--event", c.d.put("event.npy", npy(c.t, []int64{n}, f32(columns[1]))), "--curve-times", strings.Join(times, ","), "--horizons", "720")
	for i := range risks {
		risks[i] *= 0.75
	}
	c.compared("compared/arrays", c.d.at("risks.npy"), c.d.put("low.npy", stored(c.t, "float32", []int64{n, int64(len(times))}, risks)), "--task", "survival", "--time", c.d.at("time.npy"),
		"--event", c.d.at("event.npy"), "--curve-times", strings.Join(times, ","), "--horizons", "720")
	a, b := lifeSites(c.t, c.d)
	flags := []string{"--task", "survival", "--prob-prefix", "risk_", "--horizons", "720,1440", "--metrics", "all"}
	c.eval("clusters", append([]string{a, "--cluster", "site"}, flags...)...)
	c.compared("compared", append([]string{a, b}, flags...)...)
	c.compared("compared/clusters", append([]string{a, b, "--cluster", "site"}, flags...)...)
	few := append(slices.Clone(flags[:len(flags)-1]), "bias_km,brier_ipcw,auroc_ipcw,brier_integrated")
	c.compared("compared/groups", append([]string{a, b, "--group", "event"}, few...)...)
	c.compared("compared/groups/clusters", append([]string{a, b, "--group", "event", "--cluster", "site"}, few...)...)
	c.eval("um", rows, "--task", "survival", "--prob", "risk_720", "--horizons", "720", "--like", "um", "--metrics", "cce,cce(orthogonal)")
}

// corpusVectors: members of several numbers.
func corpusVectors(c *corpus) {
	for _, of := range []struct{ members, dimensions, rows int }{{1, 2, 9}, {7, 1, 60}, {30, 3, 160}, {20, 24, 7}} {
		spec := eval.Spec{Classes: (of.members + 1) * of.dimensions, Kind: metrics.Multivariate, Dimensions: of.dimensions}
		list := allOf(spec.Shape())
		if of.members == 30 {
			list += "," + optionsOf("", spec, false)
		}
		for _, dtype := range dtypes[:3] {
			r := rand.New(rand.NewPCG(uint64(of.members), 3))
			numbers := func(n int) []float64 { // which every type has
				v := make([]float64, n)
				for i := range v {
					v[i] = float64(r.IntN(257)-128) / 32
				}
				return v
			}
			x, y := numbers(of.rows*of.members*of.dimensions), numbers(of.rows*of.dimensions)
			c.eval(fmt.Sprintf("%dx%d/%s", of.members, of.dimensions, dtype), c.d.put(dtype+".npy", stored(c.t, dtype, []int64{int64(of.rows), int64(of.members), int64(of.dimensions)}, x)), "--task", "multivariate",
				"--labels", c.d.put("y.npy", stored(c.t, dtype, []int64{int64(of.rows), int64(of.dimensions)}, y)), "--seed", "2", "--metrics", list)
		}
	}
}

// corpusStated: means and covariances of several numbers.
func corpusStated(c *corpus) {
	for _, of := range []struct{ dimensions, rows int }{{1, 30}, {3, 160}} {
		d := of.dimensions
		spec := eval.Spec{Classes: d * (d + 2), Kind: metrics.MultivariateNormals, Dimensions: d}
		for _, dtype := range dtypes[:3] {
			r := rand.New(rand.NewPCG(uint64(d), 4))
			var mean, cov, y []float64 // which every type has
			for range of.rows {
				size := float64(int(1) << r.IntN(3))
				for i := range d {
					mean, y = append(mean, float64(r.IntN(257)-128)/32), append(y, float64(r.IntN(257)-128)/32)
					for j := range d {
						if i == j {
							cov = append(cov, size)
						} else {
							cov = append(cov, size/4)
						}
					}
				}
			}
			n, k := int64(of.rows), int64(d)
			c.eval(fmt.Sprintf("%d/%s", d, dtype), c.d.put(dtype+".npz", npz(c.t, "mean.npy", stored(c.t, dtype, []int64{n, k}, mean), "cov.npy", stored(c.t, dtype, []int64{n, k, k}, cov),
				"obs.npy", stored(c.t, dtype, []int64{n, k}, y))), "--task", "multivariate_normal", "--metrics", allOf(spec.Shape()))
		}
	}
}

// corpusLogLiks: log-likelihoods under draws of a model's parameters.
func corpusLogLiks(c *corpus) {
	for _, of := range []struct{ draws, rows int }{{1, 12}, {25, 40}, {400, 20}, {2100, 5}} {
		spec := eval.Spec{Classes: of.draws, Kind: metrics.LogLiks}
		for _, dtype := range dtypes[:3] {
			x := stored(c.t, dtype, []int64{int64(of.rows), int64(of.draws)}, exactLogLiks(uint64(of.draws), of.rows, of.draws))
			c.eval(fmt.Sprintf("%d/%s", of.draws, dtype), c.d.put(dtype+".npy", x), "--task", "loglik", "--metrics", allOf(spec.Shape())+","+optionsOf("", spec, false))
		}
	}
}

// corpusGrid: more distinct scores than a state keeps one by one, 262,144, and with weights 32,768.
func corpusGrid(c *corpus) {
	const list = "default,ece(bins=7),mce,smooth_ece,ks,spiegelhalter_z,auroc,auprc,ece_sweep"
	for _, of := range []struct {
		rows     int
		weighted bool
	}{{300_000, false}, {40_000, true}} {
		d, s := newDice(50), &set{classes: 1, rows: of.rows}
		var w []float64
		for i := range of.rows {
			// One score of each row, and every tenth as often near the ends.
			u := i
			if i%10 == 3 {
				u = i / 64
			}
			s.probs = append(s.probs, float64(u*8+d.n(8))/float64(8*of.rows))
			s.labels = append(s.labels, int32(min(1, d.n(of.rows)/(of.rows-u))))
			w = append(w, float64(1+d.n(64))/32)
		}
		args := with(c.put(fmt.Sprint(of.rows), s, "probs", "float64"), "--metrics", list)
		if of.weighted {
			args = append(args, "--weights", c.d.put("w.npy", npy(c.t, []int64{int64(of.rows)}, w)))
		}
		if doc, _ := c.stated(fmt.Sprint(of.rows), args...); doc != "" && !strings.Contains(doc, `"exact": false`) {
			c.t.Errorf("%d rows have no grid", of.rows)
		}
	}
}

// corpusMerge: states of shards make the state and the document of the whole.
func corpusMerge(c *corpus) {
	merge := func(name string, cuts []int, args func(name string, from, to int) []string, flags ...string) {
		doc, state := c.stated(name+"/whole", with(args(name, 0, cuts[len(cuts)-1]), flags...)...)
		c.run(name+"/merged", func() []corpusLine {
			states, from := []string{}, 0
			for i, to := range cuts {
				at := c.d.at(fmt.Sprint(name, i, ".state"))
				part := with(args(fmt.Sprint(name, i), from, to), "--first-row", fmt.Sprint(from), "--state", at)
				c.candor(append([]string{"eval", "--json"}, with(part, flags...)...)...)
				states, from = append([]string{at}, states...), to
			}
			sum := c.d.at(name + "-sum.state")
			if got := c.candor(append([]string{"merge", "--json", "--output", sum}, states...)...); got != doc {
				c.t.Errorf("merged, the document is\n%s\nand of all rows\n%s", got, doc)
			}
			b := c.d.read(sum)
			if !bytes.Equal(b, c.d.read(state)) {
				c.t.Error("the merged state is not that of all rows")
			}
			return []corpusLine{{"state", []string{digest(b)}}}
		})
	}
	cuts := []int{40, 41, 300}
	for i, k := range []int{1, 3, 40} {
		kind := logKinds[i]
		s := exact(kind, 60, 300, k)
		merge(fmt.Sprint(k, "-", kind), cuts, func(name string, from, to int) []string { return c.put(name, s.part(from, to), kind, "float32") },
			"--metrics", "default,sce,ace,rps,spherical,brier_resolution")
	}
	// Of shards by --shard the same is asked, and their own bytes are kept.
	divided := c.put("divided", exact("probs", 60, 300, 3), "probs", "float32")
	list := c.d.put("divided.txt", []byte(divided[0]+"\n"))
	doc, state := c.stated("divided/whole", divided...)
	c.run("divided/shards", func() (lines []corpusLine) {
		states := []string{}
		for i := range 3 {
			at := c.d.at(fmt.Sprint("divided", i, ".state"))
			c.candor(with(append([]string{"eval", "--files-from", list}, divided[1:]...), "--shard", fmt.Sprint(i, "/3"), "--state", at)...)
			states, lines = append(states, at), append(lines, corpusLine{"state", []string{digest(c.d.read(at))}})
		}
		sum := c.d.at("divided-sum.state")
		if got := c.candor(append([]string{"merge", "--json", "--expect", "3", "--output", sum}, states...)...); got != doc || !bytes.Equal(c.d.read(sum), c.d.read(state)) {
			c.t.Error("the merged shards are not the whole")
		}
		quiet := c.d.at("quiet.state")
		if got := c.candor(with(append([]string{"eval", "--quiet"}, divided...), "--state", quiet)...) + c.candor("merge", "--quiet", quiet, "--output", c.d.at("again.state")); got != "" || !bytes.Equal(c.d.read(quiet), c.d.read(c.d.at("again.state"))) {
			c.t.Errorf("--quiet prints %q, or changes the state", got)
		}
		if got := c.candor(with(append([]string{"eval", "--json"}, divided...), "--checkpoint", c.d.at("checkpoint"), "--checkpoint-every", "1h", "--resume")...); got != doc {
			c.t.Error("with checkpoints the document is another")
		}
		return lines
	})
	// Metrics that differ: what all states have.
	c.run("common", func() (lines []corpusLine) {
		states := []string{}
		for i, names := range []string{"nll,ece,accuracy", "ece,brier", "ece(bins=7),ece"} {
			at := c.d.at(fmt.Sprint("common", i, ".state"))
			c.candor(with(append([]string{"eval"}, divided...), "--metrics", names, "--state", at)...)
			states, lines = append(states, at), append(lines, corpusLine{"state", []string{digest(c.d.read(at))}})
		}
		sum := c.d.at("common-sum.state")
		c.candor(append([]string{"merge", "--common", "--output", sum}, states...)...)
		return append(lines, corpusLine{"common", []string{digest(c.d.read(sum))}})
	})
	tags := exactTagged(61, 300, 3)
	merge("multilabel", cuts, func(name string, from, to int) []string {
		p := tags.part(from, to)
		return []string{c.d.put(name+"-x.npy", npy(c.t, p.shape(), f32(p.probs))), "--task", "multilabel", "--labels", c.d.put(name+"-y.npy", npy(c.t, p.shape(), p.truth))}
	})
	f := exactNormals(62, 300)
	merge("regression", cuts, func(name string, from, to int) []string {
		return []string{c.d.put(name+".csv", f.part(from, to).csv()), "--task", "regression", "--mean", "mu", "--std", "sigma", "--observed", "y", "--group", "kind"}
	})
	x, y := exactSamples(63, 300, 9)
	merge("samples", cuts, func(name string, from, to int) []string {
		return []string{c.d.put(name+"-x.npy", npy(c.t, []int64{int64(to - from), 9}, f32(x[from*9:to*9]))), "--task", "samples", "--labels", c.d.put(name+"-y.npy", npy(c.t, []int64{int64(to - from)}, y[from:to])),
			"--metrics", "all"}
	})
}

// compare is a case of candor compare.
func (c *corpus) compared(name string, args ...string) {
	c.run(name, func() []corpusLine { return c.document(c.candor(append([]string{"compare", "--json"}, args...)...)) })
}

// corpusCompare: sets of the same rows, and the test of forecasts.
// corpusDrift: two sets, of one score a row, of classes, with weights, of few rows, and of forecasts.
func corpusDrift(c *corpus) {
	drift := func(name string, old, other []string, flags ...string) {
		a, b := c.d.at("old.state"), c.d.at("new.state")
		c.run(name, func() []corpusLine {
			c.candor(append([]string{"eval", "--json", "--state", a}, old...)...)
			c.candor(append([]string{"eval", "--json", "--state", b}, other...)...)
			return c.document(c.candor(append([]string{"drift", "--json", a, b, "--name", a + "=old", "--name", b + "=new"}, flags...)...))
		})
	}
	for _, k := range []int{1, 3} {
		all := []string{"--metrics", allOf(eval.Shape{Classes: k})}
		s, o := exactProbs(80, 700, k), exactProbs(81, 900, k)
		a, b := c.put(fmt.Sprint("a", k), s, "probs", "float64"), c.put(fmt.Sprint("b", k), o, "probs", "float32")
		drift(fmt.Sprint(k), with(a, all...), with(b, all...))
		drift(fmt.Sprint(k, "/bh"), a, b, "--adjust", "bh", "--confidence", "0.8")
		drift(fmt.Sprint(k, "/weights"), with(a, "--weights", c.d.put("w.npy", s.weightFile(c.t))), b)
		drift(fmt.Sprint(k, "/few"), c.put("few", exactProbs(82, 9, k), "probs", "float64"), b)
	}
	named := []string{"--task", "regression", "--mean", "mu", "--std", "sigma", "--observed", "y"}
	f, g := c.d.put("f.csv", exactNormals(83, 300).csv()), c.d.put("g.csv", exactNormals(84, 200).csv())
	drift("forecasts", with(named, f), with(named, g))
}

func corpusCompare(c *corpus) {
	for _, k := range []int{1, 3} {
		s, o := exactProbs(70, 200, k), exactProbs(71, 200, k)
		a := c.put(fmt.Sprint("a", k), s, "probs", "float32")
		b := c.put(fmt.Sprint("b", k), o, "probs", "float32")[0]
		w := c.d.put("w.npy", s.weightFile(c.t))
		c.compared(fmt.Sprint(k), with(a, b, "--task", map[int]string{1: "binary", 3: "classification"}[k], "--metrics", "default,ece_bayes_mean(draws=100)", "--temperature-scaled", "--seed", "1",
			"--confidence", "0.9", "--bins", "10")...)
		c.compared(fmt.Sprint(k, "/weights"), with(a, b, "--weights", w, "--on-invalid", "drop", "--like", "um")...)
	}
	for _, k := range []int{1, 3} {
		c.run(fmt.Sprint("state/", k), func() []corpusLine {
			sets := c.put(fmt.Sprint("a", k), exactProbs(70, 200, k), "probs", "float32")
			margin := []string{"--margin", "nll=0.05,brier=0.5"}
			args := with(sets, c.d.at(fmt.Sprint("b", k, "-x.npy")), "--metrics", "default,perplexity,nll_skill,eaurc,calibration_error_squared", "--state", c.d.at("pair.state"), "--json")
			one := c.candor(append(append([]string{"compare"}, args...), margin...)...)
			if two := c.candor(append([]string{"merge", c.d.at("pair.state"), "--json"}, margin...)...); two != one {
				c.t.Errorf("the document of a merge is %s, not %s", two, one)
			}
			return c.document(one)
		})
	}
	for _, k := range []int{1, 3} {
		a := c.put(fmt.Sprint("a", k), exactProbs(70, 200, k), "probs", "float32")
		c.candor(with(append([]string{"score"}, a...), "-o", c.d.at("base.npz"), "--metrics", "default,nll(clip=0.01),spherical")...)
		c.compared(fmt.Sprint("rows/", k), append([]string{c.d.at("base.npz"), c.d.at(fmt.Sprint("b", k, "-x.npy"))}, with(a[1:], "--metrics", "default,perplexity,nll_skill,nll(clip=0.01),spherical")...)...)
	}
	for _, k := range []int{1, 3} {
		c.run(fmt.Sprint("groups/", k), func() []corpusLine {
			s := exactProbs(70, 200, k)
			site := make([]int32, 200)
			for i := range site {
				site[i] = int32(i * 7 % 11 % 4)
			}
			args := with(c.put(fmt.Sprint("a", k), s, "probs", "float32"), c.d.at(fmt.Sprint("b", k, "-x.npy")), "--metrics", "default,nll(clip=0.01)", "--group", c.d.put("site.npy", npy(c.t, []int64{200}, site)),
				"--weights", c.d.put("w.npy", s.weightFile(c.t)), "--state", c.d.at("groups.state"), "--min-rows", "40", "--adjust", "bh", "--json")
			one := c.candor(append([]string{"compare"}, args...)...)
			if two := c.candor("merge", c.d.at("groups.state"), "--min-rows", "40", "--adjust", "bh", "--json"); two != one {
				c.t.Errorf("the document of a merge is %s, not %s", two, one)
			}
			return c.document(one)
		})
	}
	for i, more := range [][]string{nil, {"--baseline", "a1-x"}} {
		five := with(c.put("a1", exactProbs(70, 200, 1), "probs", "float32"), more...)
		for m := range 4 {
			five = append(five, c.put(fmt.Sprint("one", m), exactProbs(uint64(90+m), 200, 1), "probs", "float32")[0])
		}
		c.run(fmt.Sprint("together/", i), func() []corpusLine {
			one := c.candor(append(append([]string{"compare"}, five...), "--adjust", "max-t", "--state", c.d.at("five.state"), "--json")...)
			if two := c.candor("merge", c.d.at("five.state"), "--adjust", "max-t", "--json"); two != one {
				c.t.Errorf("the document of a merge is %s, not %s", two, one)
			}
			return c.document(one)
		})
	}
	two := c.put("two", exactProbs(70, 200, 2), "probs", "float32")
	c.compared("event", with(two, c.put("twos", exactProbs(71, 200, 2), "probs", "float32")[0], "--event", "0")...)
	var team []*set
	for m := range 4 {
		team = append(team, exactProbs(uint64(72+m), 60, 3))
	}
	a := c.members(team[:2], "probs", "bfloat16", 1)
	b := c.members(team[1:], "probs", "bfloat16", 1)
	c.compared("ensemble", with(a, b[len(b)-1], "--renormalize")...)
	f, g := exactNormals(75, 200), exactNormals(76, 200)
	for i := range g.rows {
		g.rows[i][2], g.groups[i] = f.rows[i][2], f.groups[i]
	}
	for _, h := range []string{"1", "4"} {
		c.compared("regression/"+h, c.d.put("f.csv", f.csv()), c.d.put("g.csv", g.csv()), "--task", "regression", "--mean", "mu", "--std", "sigma", "--observed", "y", "--horizon", h, "--metrics", "nll,crps,rmse")
	}
	c.compared("regression/series", c.d.at("f.csv"), c.d.at("g.csv"), "--task", "regression", "--mean", "mu", "--std", "sigma", "--observed", "y", "--horizon", "3", "--series", "site", "--metrics", "crps,rmse")
	c.compared("regression/clusters", c.d.at("f.csv"), c.d.at("g.csv"), "--task", "regression", "--mean", "mu", "--std", "sigma", "--observed", "y", "--cluster", "site", "--metrics", "nll,crps,rmse")
	of := make([]int64, 200)
	for i := range of {
		of[i] = int64(i * 7 % 25)
	}
	for _, k := range []int{1, 3} {
		c.compared(fmt.Sprint("clusters/", k), with(c.put(fmt.Sprint("a", k), exactProbs(70, 200, k), "probs", "float32"), c.d.at(fmt.Sprint("b", k, "-x.npy")), "--cluster", c.d.put("c.npy", npy(c.t, []int64{200}, of)),
			"--metrics", "default,perplexity,nll_skill,eaurc,calibration_error_squared")...)
		c.eval(fmt.Sprint("clusters/one/", k), with(c.put(fmt.Sprint("a", k), exactProbs(70, 200, k), "probs", "float32"), "--cluster", c.d.at("c.npy"))...)
	}
	c.run("clusters/recal", func() []corpusLine {
		return c.document(c.candor(with([]string{"recal", "fit", "temperature", "--json", "--output", c.d.at("clusters.json"), "--cluster", c.d.at("c.npy")},
			c.put("a3", exactProbs(70, 200, 3), "probs", "float32")...)...))
	})
	c.compared("regression/laplace", c.d.at("f.csv"), c.d.at("g.csv"), "--task", "regression", "--mean", "mu", "--scale", "sigma", "--observed", "y", "--distribution", "laplace", "--metrics", "nll,crps,rmse")
	c.compared("regression/errors", c.d.at("f.csv"), c.d.at("g.csv"), "--task", "regression", "--error", "mu", "--std", "sigma")
	q := exactQuantiles(77, 200)
	c.compared("quantiles", c.d.put("q.csv", q.csv()), c.d.put("r.csv", q.csv()), "--task", "quantiles", "--quantile-prefix", "q", "--observed", "y")
	x, y := exactSamples(78, 50, 3)
	for i := range y {
		slices.Sort(x[3*i : 3*i+3])
	}
	three := npy(c.t, []int64{50, 3}, x)
	c.compared("quantiles/arrays", c.d.put("x.npy", three), c.d.put("z.npy", three), "--task", "quantiles", "--levels", "0.1,0.5,0.9", "--labels", c.d.put("y.npy", npy(c.t, []int64{50}, y)))
}

// scored is a case of candor score.
func (c *corpus) scored(name string, args ...string) {
	c.run(name, func() []corpusLine {
		to := c.d.at("score.npy")
		c.candor(append([]string{"score", "--output", to, "--metrics", "all"}, args...)...)
		return array(c.d.read(to))
	})
}

// corpusScore: the values of rows.
func corpusScore(c *corpus) {
	for _, k := range []int{1, 3, 100} {
		for i, kind := range classKinds {
			for j, dtype := range dtypes {
				if k == 1 && kind == "dirichlet" || k != 3 && (i+j)%2 > 0 {
					continue
				}
				name := fmt.Sprintf("%d/%s/%s", k, kind, dtype)
				c.scored(name, c.put(strings.ReplaceAll(name, "/", "-"), exact(kind, 80, 90, k), kind, dtype)...)
			}
		}
	}
	s := exactProbs(81, 90, 3).with(7, 0, math.NaN())
	c.scored("drop", with(c.put("drop", s, "probs", "float32"), "--task", "classification", "--on-invalid", "drop", "--weights", c.d.put("w.npy", s.weightFile(c.t)),
		"--decisions", c.d.put("d.npy", s.decisionFile(c.t)))...)
	c.scored("renormalize", with(c.put("r", exactProbs(82, 90, 3).each(func(p float64) float64 { return p / 4 }), "probs", "float32"), "--renormalize")...)
	f, q := exactNormals(83, 90), exactQuantiles(84, 90)
	c.scored("regression", c.d.put("f.csv", f.csv()), "--task", "regression", "--mean", "mu", "--std", "sigma", "--observed", "y")
	c.scored("logistic", c.d.put("f.csv", f.csv()), "--task", "regression", "--mean", "mu", "--scale", "sigma", "--observed", "y", "--distribution", "logistic")
	c.scored("errors", c.d.put("f.csv", f.csv()), "--task", "regression", "--error", "mu", "--std", "sigma")
	c.scored("quantiles", c.d.put("q.csv", q.csv()), "--task", "quantiles", "--quantile-prefix", "q", "--observed", "y")
	x, y := exactSamples(85, 90, 9)
	for _, dtype := range dtypes[:3] {
		labels := c.d.put("y.npy", npy(c.t, []int64{90}, y))
		c.scored("regression/"+dtype, c.d.put("f.npy", stored(c.t, dtype, []int64{90, 3}, slices.Concat(f.rows...))), "--task", "regression")
		c.scored("samples/"+dtype, c.d.put("x.npy", stored(c.t, dtype, []int64{90, 9}, x)), "--task", "samples", "--labels", labels)
		var v []float64
		for _, r := range q.rows {
			v = append(v, r[:3]...)
		}
		c.scored("quantiles/"+dtype, c.d.put("q.npy", stored(c.t, dtype, []int64{90, 3}, v)), "--task", "quantiles", "--labels", labels, "--levels", "0.1,0.5,0.9")
	}
}

// recalibrated is a case of candor recal fit, and one of candor recal apply of the map.
func (c *corpus) recalibrated(name, method string, labels []string, flags ...string) {
	to := c.d.at("map.json")
	c.run(name+"/fit", func() []corpusLine {
		return c.document(c.candor(slices.Concat([]string{"recal", "fit", method, "--json", "--output", to}, flags, labels)...))
	})
	c.run(name+"/apply", func() []corpusLine {
		out := c.d.at("applied.npy")
		c.candor(slices.Concat([]string{"recal", "apply", to, "--output", out}, flags)...)
		c.seen["recal apply "+strings.Split(method, "(")[0]] = true
		return array(c.d.read(out))
	})
}

// corpusRecal: every method, what it fits and what it makes of the rows.
func corpusRecal(c *corpus) {
	ofScores := []string{"temperature", "ets", "platt", "beta", "isotonic", "histogram", "bbq", "platt(smoothed)", "isotonic(interpolate)", "histogram(bins=7,equal_mass)",
		"histogram(empty=identity,right_closed)", "histogram(empty=zero)", "histogram(as_coded)", "bbq(prune)", "bbq(as_coded)", "venn_abers", "venn_abers(brier,folds=3)", "spline", "spline(knots=9)"}
	ofClasses := []string{"temperature", "ets", "vector", "matrix", "matrix(off_diagonal=1,bias=1)", "platt", "platt(top_label)", "beta", "beta(top_label)", "isotonic", "isotonic(top_label)",
		"histogram", "histogram(top_label)", "bbq", "bbq(top_label)", "venn_abers", "venn_abers(top_label)", "dirichlet", "dirichlet(off_diagonal=1,bias=1,ref_row)", "spline", "spline(top_label)"}
	for _, of := range []struct {
		kind, dtype   string
		rows, classes int
		methods       []string
	}{
		{"probs", "float64", 300, 1, ofScores}, {"logits", "float32", 300, 1, ofScores[:8]}, {"logits", "float32", 300, 3, ofClasses}, {"logits", "float64", 300, 3, ofClasses[3:5]},
		{"logprobs", "float16", 300, 3, ofClasses[:3]}, {"logits", "bfloat16", 300, 3, ofClasses[:3]}, {"probs", "float32", 300, 10, ofClasses[:3]}, {"logits", "float32", 100, 40, ofClasses[:2]},
	} {
		s := exact(of.kind, 90, of.rows, of.classes)
		name := fmt.Sprintf("%d-%s-%s", of.classes, of.kind, of.dtype)
		args := c.put(name, s, of.kind, of.dtype)
		for _, m := range of.methods {
			c.recalibrated(name+"/"+m, m, args[1:3], append(args[:1:1], args[3:]...)...)
		}
	}
	c.run("bounds", func() []corpusLine {
		args := c.put("bounds", exactLogits(96, 300, 3, 0), "logits", "float32")
		c.candor(with([]string{"recal", "fit", "venn_abers(folds=2)", "--output", c.d.at("bounds.json")}, args...)...)
		c.candor(slices.Concat([]string{"recal", "apply", c.d.at("bounds.json"), "--bounds", "--output", c.d.at("bounds-o.npy")}, args[:1], args[3:])...)
		return array(c.d.read(c.d.at("bounds-o.npy")))
	})
	two := c.put("two", exactLogits(94, 300, 2, 0), "logits", "float32")
	c.recalibrated("two/platt", "platt", two[1:3], with(append(two[:1:1], two[3:]...), "--event", "0")...)
	for _, as := range []string{"probs", "logits", "logprobs"} {
		c.run("two/"+as, func() []corpusLine {
			out := c.d.at("applied.npy")
			c.candor("recal", "apply", c.d.at("map.json"), two[0], "--input", "logits", "--event", "0", "--as", as, "--output", out)
			return array(c.d.read(out))
		})
	}
	s := exactLogits(91, 400, 3, 0)
	args := c.put("weights", s, "logits", "float32")
	for _, m := range []string{"temperature", "vector", "isotonic"} {
		c.recalibrated("weights/"+m, m, with(args[1:3], "--weights", c.d.put("w.npy", s.weightFile(c.t)), "--task", "classification", "--folds", "3", "--seed", "9", "--metrics", "nll,ece", "--bins", "10",
			"--confidence", "0.9"), append(args[:1:1], args[3:]...)...)
	}
	for _, k := range []struct {
		name, methods string
		classes       int
	}{{"best/1", "temperature,ets,platt,beta,isotonic,bbq", 1}, {"best/3", "temperature,vector,isotonic,platt(top_label)", 3}} {
		args := c.put("best", exactLogits(95, 400, k.classes, 0), "logits", "float32")
		c.run(k.name, func() []corpusLine {
			return c.document(c.candor(with([]string{"recal", "best", "--json", "--methods", k.methods}, args...)...))
		})
	}
	f, q := exactNormals(92, 300), exactQuantiles(93, 300)
	for _, m := range []string{"sigma", "sigma(as_coded)", "quantile", "quantile(levels=0.1 0.5 0.9)"} {
		c.recalibrated("regression/"+strings.ReplaceAll(m, " ", "_"), m, nil, c.d.put("f.csv", f.csv()), "--mean", "mu", "--std", "sigma", "--observed", "y")
	}
	c.recalibrated("errors", "sigma", nil, c.d.at("f.csv"), "--error", "mu", "--std", "sigma")
	c.recalibrated("quantiles", "quantile", nil, c.d.put("q.csv", q.csv()), "--quantile-prefix", "q", "--observed", "y")
	var x, y []float64
	for _, r := range q.rows {
		x, y = append(x, r[:3]...), append(y, r[7])
	}
	for _, dtype := range dtypes[:3] {
		c.recalibrated("quantiles/"+dtype, "quantile", nil, c.d.put("q.npy", stored(c.t, dtype, []int64{300, 3}, x)), "--levels", "0.1,0.5,0.9", "--labels", c.d.put("o.npy", npy(c.t, []int64{300}, y)))
	}
}

// textLines returns some lines of a file of text.
func textLines(b []byte) []corpusLine {
	rows := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(b), " ", "_")), "\n")
	l := []corpusLine{{"file", []string{fmt.Sprint("of=", len(rows)), digest(b)}}}
	for i := 0; i < len(rows); i += 50 {
		l = append(l, corpusLine{fmt.Sprintf("lines[%d]", i), []string{rows[i]}})
	}
	return l
}

// backwards returns a table with its rows in the opposite order.
func backwards(table []byte) []byte {
	lines := bytes.SplitAfter(table, []byte("\n"))
	slices.Reverse(lines[1 : len(lines)-1])
	return bytes.Join(lines, nil)
}

// longOf returns a table of the rows of others, a model each, row by row.
func longOf(tables ...[]byte) []byte {
	var b bytes.Buffer
	var all [][][]byte
	for _, t := range tables {
		all = append(all, bytes.SplitAfter(t, []byte("\n")))
	}
	fmt.Fprintf(&b, "model,%s", all[0][0])
	for i := range all[0][1 : len(all[0])-1] {
		for m := range all {
			fmt.Fprintf(&b, "m%d,%s", m, all[m][1+i])
		}
	}
	return b.Bytes()
}

// corpusTables are tables of the scores of classes.
func corpusTables(c *corpus) {
	three, other := exactProbs(120, 200, 3), exactProbs(121, 200, 3)
	other.labels = three.labels
	a, b := c.d.put("a.csv", three.table("p_", animals)), c.d.put("b.csv", other.table("p_", animals))
	byPrefix := []string{"--prob-prefix", "p_", "--labels", "label"}
	byName := []string{"--prob", "p_owl,p_cat,p_dog", "--labels", "label", "--classes", "owl,cat,dog"}
	c.stated("prefix", with(byPrefix, a, "--weights", "weight", "--decisions", "decision", "--confidence-scores", "by", "--group", "site", "--metrics", "default,ece(bins=5)")...)
	c.eval("names", with(byName, a)...)
	c.compared("compare/prefix", with(byPrefix, a, b, "--metrics", "default")...)
	c.compared("compare/names", with(byName, a, b, "--metrics", "default")...)
	c.run("compare/flips", func() []corpusLine {
		c.candor(with(slices.Concat([]string{"compare"}, byPrefix), a, b, "--flips", c.d.at("flips.csv"), "--json")...)
		return textLines(c.d.read(c.d.at("flips.csv")))
	})
	c.compared("compare/id", with(byPrefix, a, c.d.put("back.csv", backwards(other.table("p_", animals))), "--id", "id", "--metrics", "default")...)
	c.compared("compare/model", with(byPrefix, c.d.put("models.csv", longOf(three.table("p_", animals), backwards(other.table("p_", animals)))), "--model", "model", "--id", "id", "--metrics", "default")...)
	c.scored("score/prefix", with(byPrefix, a)...)
	c.scored("score/names", with(byName, a)...)
	c.recalibrated("recal/prefix", "temperature", byPrefix[2:], with(byPrefix[:2], a)...)
	c.run("score/kept", func() []corpusLine {
		c.candor(with(slices.Concat([]string{"score"}, byPrefix), a, "--id", "id", "--keep", "site,label,by", "--output", c.d.at("kept.csv"))...)
		return textLines(c.d.read(c.d.at("kept.csv")))
	})
	c.run("recal/kept", func() []corpusLine {
		c.candor(with(slices.Concat([]string{"recal", "apply", c.d.at("map.json")}, byPrefix[:2]), a, "--id", "id", "--keep", "site,label,by", "--output", c.d.at("kept.csv"))...)
		return textLines(c.d.read(c.d.at("kept.csv")))
	})
	logits := c.d.put("logits.csv", exactLogits(122, 200, 3, 0).table("z_", animals))
	ofLogits := []string{"--logit-prefix", "z_", "--labels", "label"}
	c.eval("logits", with(ofLogits, logits)...)
	c.compared("compare/logits", with(ofLogits, logits, logits, "--metrics", "default")...)
	c.scored("score/logits", with(ofLogits, logits)...)
	c.recalibrated("recal/logits", "temperature", ofLogits[2:], with(ofLogits[:2], logits)...)
	two := c.d.put("two.csv", exactProbs(123, 200, 2).table("p_", animals))
	c.eval("event", with(byPrefix, two, "--event", "cat")...)
	c.scored("score/event", with(byPrefix, two, "--event", "cat")...)
	_, rows, _ := bytes.Cut(three.table("", animals), []byte("\n"))
	bare := c.d.put("bare.csv", rows)
	byNumber := []string{"--no-header", "--prob", "1,2,3", "--labels", "4", "--classes", "cat,dog,owl"}
	c.eval("numbers", with(byNumber, bare)...)
	c.compared("compare/numbers", with(byNumber, bare, bare, "--metrics", "default")...)
	c.scored("score/numbers", with(byNumber, bare)...)
	var truth, long bytes.Buffer
	truth.WriteString("y,id\n")
	long.WriteString("id,class,p,label,right\n")
	for i, y := range three.labels {
		fmt.Fprintf(&truth, "%s,row %d\n", animals[y], i)
		for j, p := range three.probs[3*i : 3*i+3] {
			fmt.Fprintf(&long, "%d,%s,%v,%s,%v\n", i, animals[j], p, animals[y], int(y) == j)
		}
	}
	fmt.Fprintln(&truth, "cat,none")
	labels, rowsOf := c.d.put("truth.csv", truth.Bytes())+":y", c.d.put("long.csv", long.Bytes())
	joined := []string{"--prob-prefix", "p_", "--labels", labels, "--id", "id", "--on-unmatched", "drop"}
	c.stated("joined", with(joined, a)...)
	c.compared("compare/joined", with(joined, a, b, "--metrics", "default")...)
	pivoted := []string{"--pivot", "class", "--id", "id", "--prob", "p", "--label", "label", "--classes", "owl,cat,dog"}
	c.stated("pivot", with(pivoted, rowsOf)...)
	c.compared("compare/pivot", with(pivoted, rowsOf, rowsOf, "--metrics", "default")...)
	c.scored("score/joined", with(joined, a)...)
	c.scored("score/pivot", with(pivoted, rowsOf)...)
	c.recalibrated("recal/joined", "temperature", joined[2:], with(joined[:2], a)...)
	c.recalibrated("recal/pivot", "temperature", pivoted[6:8], with(slices.Concat(pivoted[:6], pivoted[8:]), rowsOf)...)
	right := []string{"--prob", "p", "--correct", "right"}
	c.stated("correct", with(right, rowsOf)...)
	c.compared("compare/correct", with(right, rowsOf, rowsOf, "--metrics", "default")...)
	tags := newTagged(124, 60, 2)
	var several bytes.Buffer
	several.WriteString("p_a,p_b,y_a,y_b\n")
	for i := range tags.rows {
		fmt.Fprintf(&several, "%v,%v,%d,%d\n", tags.probs[2*i], tags.probs[2*i+1], tags.truth[2*i], tags.truth[2*i+1])
	}
	c.eval("tags", c.d.put("tags.csv", several.Bytes()), "--task", "multilabel", "--prob-prefix", "p_", "--label-prefix", "y_")
	c.recalibrated("recal/numbers", "temperature", byNumber[3:5], with(slices.Concat(byNumber[:3], byNumber[5:]), bare)...)
}

// corpusChoices: samples of lm-evaluation-harness, as it wrote them.
func corpusChoices(c *corpus) {
	file := func(model, task string) string { return samples(c.t, model, task) }
	from := []string{"--from", "lm-eval"}
	all := []string{"--metrics", allOf(eval.Shape{Classes: 4}) + ",topk_accuracy(k=2)"}
	for _, norm := range []string{"none", "char", "byte"} {
		c.stated(norm, slices.Concat(from, all, []string{file("one", "full"), file("one", "ragged"), "--choice-norm", norm, "--group", "task"})...)
	}
	c.eval("two", with(from, file("one", "yes_no"), "--filter", "first", "--target-delimiter", " ", "--metrics", allOf(eval.Shape{Classes: 2}))...)
	c.eval("several", with(from, file("one", "several"), "--on-invalid", "drop")...)
	c.compared("compare", with(from, file("one", "full"), file("two", "full"), "--choice-norm", "char", "--target-delimiter", "\n", "--filter", "none")...)
}

// hubTable has quantiles, samples and a pmf of a model for 40 tasks, and hubOracle what was observed of these.
func hubTable(seed uint64) (table, oracle []byte) {
	var b, o bytes.Buffer
	b.WriteString("location,horizon,target,output_type,output_type_id,value\n")
	o.WriteString("location,target,output_type,output_type_id,oracle_value\n")
	d, truth := newDice(seed), newDice(1)
	for place := range 10 {
		for horizon := range 4 {
			task, at := fmt.Sprintf("%02d,%d,", place, horizon), float64(d.n(256))/64
			for q := range 5 {
				at += float64(d.n(256)) / 64
				fmt.Fprintf(&b, "%scount,quantile,%v,%v\n%scount,sample,%d,%v\n", task, float64(2*q+1)/10, at, task, q, at)
			}
			p := float64(1+d.n(62)) / 64
			fmt.Fprintf(&b, "%slevel,pmf,high,%v\n%slevel,pmf,low,%v\n", task, p, task, 1-p)
		}
		if seen := truth.n(512); place > 0 {
			for _, output := range []string{"quantile", "sample"} {
				fmt.Fprintf(&o, "%02d,count,%s,NA,%v\n", place, output, float64(seen)/64)
			}
			fmt.Fprintf(&o, "%02d,level,pmf,high,%d\n%02d,level,pmf,low,%d\n", place, seen%2, place, 1-seen%2)
		}
	}
	return b.Bytes(), o.Bytes()
}

// corpusModels are files of several models.
func corpusModels(c *corpus) {
	table, oracle := hubTable(130)
	hub := []string{c.d.put("2026-11-23-a.csv", table), "--from", "hubverse", "--oracle", c.d.put("oracle.csv", oracle), "--on-unmatched", "drop"}
	tasks := c.d.put("tasks.json", []byte(`{"rounds": [{"model_tasks": [{"task_ids": {"target": {"optional": ["level"]}},
		"output_type": {"pmf": {"output_type_id": {"required": ["low", "high"]}}}}]}]}`))
	c.stated("quantile", with(hub, "--model", "a", "--target", "count", "--output-type", "quantile", "--group", "horizon", "--metrics", "wis,coverage(level=0.8),ae_median")...)
	c.stated("log1p", with(hub, "--output-type", "sample", "--transform", "log1p", "--metrics", "crps,rmse")...)
	other, _ := hubTable(131)
	both := with(hub, c.d.put("2026-11-23-b.csv", other))
	c.compared("compare/quantile", with(both, "--model", "a,b", "--target", "count", "--output-type", "quantile", "--baseline", "a", "--transform", "log1p", "--metrics", "wis,ae_median")...)
	c.compared("compare/pmf", with(both, "--target", "level", "--tasks-json", tasks, "--metrics", "brier,nll")...)
	c.eval("pmf", with(hub, "--target", "level", "--tasks-json", tasks, "--metrics", "brier,nll")...)
}

// corpusTokens: language models' tokens, some of which do not count, and percentages.
func corpusTokens(c *corpus) {
	tokens := func(name string, s *set) (args, more []string) {
		var sizes []int32
		var sequences []int64
		for i := range s.rows {
			sizes, sequences = append(sizes, int32(i%7)), append(sequences, int64(i/13))
		}
		n := []int64{int64(s.rows)}
		return with(c.put(name, s, "logits", "bfloat16"), "--ignore-label", "-100,39"),
			[]string{"--bytes", c.d.put(name+"-bytes.npy", npy(c.t, n, sizes)), "--sequence", c.d.put(name+"-sequences.npy", npy(c.t, n, sequences))}
	}
	s := exactLogits(140, 240, 40, 0).label(-100, 0, 1, 2, 77, 100, 101, 239)
	args, more := tokens("a", s)
	other, _ := tokens("b", exactLogits(141, 240, 40, 0))
	c.stated("all", slices.Concat(args, more)...)
	c.stated("bytes", with(args, more[:2]...)...)
	c.stated("weights", slices.Concat(args, more, []string{"--weights", c.d.put("w.npy", s.weightFile(c.t))})...)
	c.compared("compare", slices.Concat(other[:1], args, more, []string{"--metrics", "nll,perplexity"})...)
	c.scored("score", args...)
	c.recalibrated("recal", "temperature", slices.Concat(args[1:3], args[6:]), slices.Concat(args[:1], args[3:6])...)
	p := exactProbs(142, 90, 3).each(func(p float64) float64 { return 100 * p })
	percent := with(c.put("p", p, "probs", "float64"), "--percent", "--confidence-scores", c.d.put("by.npy", p.byFile(c.t)))
	c.eval("percent", percent...)
	c.compared("percent/compare", with(percent[:6], percent[0])...)
	c.scored("percent/score", percent[:6]...)
	c.recalibrated("percent/recal", "temperature", percent[1:3], slices.Concat(percent[:1], percent[3:6])...)
}
