package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/report"
)

// jsonSchema is docs/candor-1.schema.json.
var jsonSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "candor-1.schema.json"))
	if err != nil {
		return nil, err
	}
	s := new(jsonschema.Schema)
	return s, json.Unmarshal(text, s)
})

// jsonValidators are validators of the schema's definitions, by name.
var jsonValidators sync.Map

// validJSON validates a value by one of the schema's definitions. Its errors say more than those of the whole schema.
func validJSON(t *testing.T, def string, v any) error {
	t.Helper()
	if r, ok := jsonValidators.Load(def); ok {
		return r.(*jsonschema.Resolved).Validate(v)
	}
	s, err := jsonSchema()
	if err != nil {
		t.Fatal(err)
	}
	r, err := (&jsonschema.Schema{Ref: "#/$defs/" + def, Defs: s.Defs}).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	jsonValidators.Store(def, r)
	return r.Validate(v)
}

// checkSchema validates a document of candor eval, merge, compare or recal fit.
func checkSchema(t *testing.T, doc string) {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		t.Fatal(err)
	}
	schema, _ := v["schema"].(string)
	def := map[string]string{report.Schema: "document", report.ComparisonSchema: "comparison", report.DriftSchema: "drift", report.RecalibrationSchema: "recalibration", report.BestSchema: "recalibration-choice", "candor-conformal/1": "conformal"}[schema]
	if _, ok := v["labels"]; ok {
		def = "multilabel"
	}
	if err := validJSON(t, def, v); err != nil {
		t.Errorf("not a %s of docs/candor-1.schema.json: %v", def, err)
	}
}

// jsonDocument is what a command printed with --json, and the schema's name for it.
type jsonDocument struct{ name, def, text string }

// jsonDocuments runs every command that prints JSON, with every task, and with infinite and undefined values.
func jsonDocuments(t *testing.T) (l []jsonDocument) {
	t.Helper()
	d := newDir(t)
	add := func(def string, args ...string) {
		t.Helper()
		args = append(args, "--json")
		code, out, errs := candor(t, args...)
		name := "candor " + strings.ReplaceAll(strings.Join(args, " "), d.path, "")
		if len(name) > 150 {
			name = name[:150] + "..."
		}
		if def == "failure" {
			out, errs = errs, out
		}
		if (code == exitDone) != (def != "failure") || errs != "" {
			t.Fatalf("%s: exit code %d: %s%s", name, code, out, errs)
		}
		l = append(l, jsonDocument{name, def, out})
	}
	files := func(name string, s *set) []string {
		return []string{d.put(name+"-x.npy", s.scores(t)), "--labels", d.put(name+"-y.npy", s.labelFile(t))}
	}
	column := func(name string, v []float64) string { return d.put(name+".npy", npy(t, []int64{int64(len(v))}, v)) }

	// Classes: every metric with every option; then what flags add to the document.
	binary, classes := newSet(1, 120, 1), newSet(2, 120, 3)
	b, k := files("binary", binary), files("classes", classes)
	for n, args := range map[int][]string{1: b, 3: k} {
		add("document", with(append([]string{"eval"}, args...), "--metrics", allOf(eval.Shape{Classes: n})+","+optionsOf("", eval.Spec{Classes: n}, false))...)
		add("document", with(append([]string{"eval"}, args...), "--metrics", optionsOf("", eval.Spec{Classes: n}, true))...)
	}
	w := d.put("w.npy", classes.weightFile(t))
	kinds := make([]string, classes.rows)
	for i := range kinds {
		kinds[i] = []string{"a", "b", "c"}[i%3]
	}
	group := d.put("site.npy", textArray(kinds))
	by := column("by", slices.Repeat([]float64{-3, 0.2, 8}, classes.rows/3))
	add("document", with(append([]string{"eval"}, k...), "--weights", w, "--decisions", d.put("d.npy", classes.decisionFile(t)), "--confidence-scores", by,
		"--metrics", "default,sce,corp_mcb(replicates=20)")...)
	add("document", "eval", d.put("visits.csv", visits(func(int) bool { return true })), "--prob", "p", "--labels", "y", "--cluster", "patient")
	add("document", "eval", d.at("visits.csv"), "--prob", "p", "--labels", "y", "--cluster", "patient", "--group", "site")
	add("document", "eval", d.at("visits.csv"), "--prob", "p", "--labels", "y", "--cluster", "patient", "--slice-by", "site,score", "--min-rows", "5", "--state", d.at("slices.state"))
	add("document", with(append([]string{"eval"}, b...), "--group", group, "--metrics", "default,corp_mcb(replicates=20)")...)
	slicing := append([]string{"eval"}, b...)
	slicing = append(slicing, "--slice-by", group+",score,"+column("age", binary.probs), "--min-rows", "1", "--metrics", "ece,multicalibration_error(every)")
	add("document", slicing...)
	add("document", with(slicing, "--weights", w, "--slice-edges", "score=0,0.5,1", "--slice-edges", "age=-inf,0.5,inf", "--adjust", "bh", "--state", d.at("slices.state"))...)
	add("document", "merge", d.at("slices.state"))
	add("document", with(append([]string{"eval"}, b...), "--temperature-scaled")...)
	manyRows := newSet(33, 1100, 1)
	numbers := make([]int32, manyRows.rows)
	for i := range numbers {
		numbers[i] = int32(i)
	}
	add("document", "eval", d.put("many.npy", manyRows.scores(t)), "--labels", d.put("manyy.npy", manyRows.labelFile(t)), "--group", d.put("each.npy", npy(t, []int64{1100}, numbers)), "--max-memory", "1GiB")
	add("document", "eval", d.put("right.csv", []byte("p,right\n.5,1\n.25,0\n.75,1\n")), "--prob", "p", "--correct", "right")
	add("document", with(append([]string{"eval"}, k...), "--classes", "cat,dog,owl", "--state", d.at("named.state"))...)
	add("document", with(append([]string{"eval"}, k...), "--ignore-label", "1", "--bytes", w, "--sequence", group)...)
	add("document", "eval", samples(t, "one", "full"), samples(t, "one", "ragged"), "--from", "lm-eval", "--group", "task", "--state", d.at("choices.state"))
	add("document", with(append([]string{"eval"}, k...), "--ood", k[0], "--metrics", "default,"+optionsOf("ood_auroc", eval.Spec{Classes: 3, Out: true}, false))...)
	add("document", "eval", k[0], k[1], k[2], "--input", "dirichlet", "--metrics", allOf(eval.Shape{Classes: 3, Kind: metrics.Dirichlet}))
	// Infinite and undefined values, and rows left out.
	bad := newSet(3, 40, 1)
	bad.probs[3], bad.labels[3], bad.probs[5] = 0, 1, math.NaN()
	add("document", with(append([]string{"eval"}, files("bad", bad)...), "--on-invalid", "drop", "--metrics", allOf(eval.Shape{Classes: 1}))...)
	for n, s := range map[int]*set{1: binary, 3: classes} {
		add("document", with(append([]string{"eval"}, files("one", s.part(0, 1))...), "--metrics", allOf(eval.Shape{Classes: n}))...)
	}
	// More distinct scores than a state keeps one by one, with weights.
	many := newSet(11, 40_000, 1)
	grid := []string{column("many", many.probs), "--labels", d.put("many-y.npy", many.labelFile(t)), "--weights", d.put("many-w.npy", many.weightFile(t))}
	add("document", with(append([]string{"eval"}, grid...), "--metrics", "ece,ece(bins=7),auroc")...)
	twice := &tagged{rows: many.rows, labels: 2}
	for i, p := range many.probs {
		twice.probs, twice.truth = append(twice.probs, p, 1-p), append(twice.truth, many.labels[i], many.labels[i])
	}
	add("multilabel", with(append([]string{"eval"}, twice.args(t, d, "twice")...), "--weights", grid[4], "--metrics", "auroc")...)
	team := newTeam(4, 60, 3, 3)
	ensemble := eval.Spec{Classes: 3, Members: 3}
	add("document", with(append([]string{"eval"}, team.files(t, d)[0]...), "--metrics", allOf(ensemble.Shape())+","+optionsOf("mutual_information", ensemble, false))...)
	add("multilabel", with(append([]string{"eval"}, newTagged(5, 60, 3).args(t, d, "tags")...), "--classes", "red,round,big", "--state", d.at("tags.state"), "--metrics", allOf(eval.Shape{Classes: 1}))...)
	few := newTagged(6, 3, 2)
	few.probs[0], few.truth[0] = 0, 1
	add("multilabel", append([]string{"eval"}, few.args(t, d, "few")...)...)

	// What a page adds.
	paged := d.at("page.html")
	add("document", with(append([]string{"eval"}, k...), "--html", paged)...)
	add("document", with(append([]string{"eval"}, grid...), "--html", paged)...)
	add("document", "eval", d.put("halves.csv", []byte("p,y\n.5,1\n.5,0\n")), "--prob", "p", "--label", "y", "--html", paged)

	// Regression forecasts and draws.
	normals, quantiles := normalRows(7, 120), quantileRows(8, 120)
	table := d.put("normals.csv", normals.csv())
	regression := []string{"--task", "regression", "--mean", "mu", "--std", "sigma", "--observed", "y"}
	spec := eval.Spec{Classes: 3, Kind: metrics.Normals}
	hub := hubArgs("--model", "PSI-DICE", "--group", "horizon")
	add("document", with(append([]string{"eval"}, hub...), "--output-type", "quantile", "--transform", "log1p", "--metrics", "wis")...)
	for _, more := range [][]string{nil, {"--baseline", "PSI-DICE"}} {
		add("comparison", with(append([]string{"compare", "--output-type", "quantile", "--metrics", "wis"}, hubArgs()...), more...)...)
	}
	add("document", with(append([]string{"eval"}, hub...), "--output-type", "pmf", "--classes", "low,moderate,high,very high", "--metrics", "brier")...)
	add("document", with(append([]string{"eval", table}, regression...), "--group", "site,kind", "--state", d.at("groups.state"),
		"--metrics", allOf(spec.Shape())+","+optionsOf("", spec, false))...)
	add("document", with(append([]string{"eval", table}, regression...), "--distribution", "laplace")...)
	add("document", with(append([]string{"eval", table}, regression...), "--html", paged)...)
	add("document", with(append([]string{"eval", table}, regression...), "--metrics", "coverage_50,coverage(level=0.8),coverage_90", "--html", paged)...)
	add("document", with(append([]string{"eval", d.put("one.csv", normals.part(0, 1).csv())}, regression...), "--metrics", allOf(spec.Shape()))...)
	spec = eval.Spec{Classes: 5, Kind: metrics.Quantiles, Levels: []float64{0.05, 0.25, 0.5, 0.75, 0.95}}
	add("document", "eval", d.put("quantiles.csv", quantiles.csv()), "--task", "quantiles", "--quantile-prefix", "q", "--observed", "y",
		"--metrics", allOf(spec.Shape())+","+optionsOf("", spec, false))
	x, y := draws(9, 60, 9)
	samples := d.put("samples.npy", npy(t, []int64{60, 9}, x))
	spec = eval.Spec{Classes: 9, Kind: metrics.Samples}
	add("document", "eval", samples, "--task", "samples", "--labels", column("observed", y), "--metrics", allOf(spec.Shape())+","+optionsOf("", spec, false))
	add("document", "eval", d.at("quantiles.csv"), "--task", "quantiles", "--quantile-prefix", "q", "--observed", "y", "--html", paged)
	add("document", "eval", samples, "--task", "samples", "--labels", column("observed", y), "--html", paged)
	for i := range x {
		x[i] = -math.Abs(x[i])
	}
	spec = eval.Spec{Classes: 9, Kind: metrics.LogLiks}
	add("document", "eval", d.put("loglik.npy", npy(t, []int64{60, 9}, x)), "--task", "loglik", "--metrics", allOf(spec.Shape())+","+optionsOf("", spec, false))
	spec = eval.Spec{Classes: 12, Kind: metrics.Multivariate, Dimensions: 3}
	add("document", append([]string{"eval", "--metrics", allOf(spec.Shape()) + "," + optionsOf("", spec, false), "--html", paged}, vectorFiles(t, d, "vectors", 3, 60, 3, 3)...)...)
	add("document", append([]string{"eval", gbsg2, "--metrics", "all,cce(curve=nelson_aalen)"}, gbsg2Flags...)...)
	add("document", "eval", d.put("censored.csv", []byte("time,event,risk_5\n1,0,0.5\n2,0,0.25\n")), "--task", "survival", "--prob-prefix", "risk_", "--html", paged)

	// The other commands.
	for name, part := range map[string]*set{"a": classes.part(0, 60), "b": classes.part(60, 120)} {
		add("document", with(append([]string{"eval"}, files(name, part)...), "--state", d.at(name+".state"))...)
	}
	add("document", "merge", d.at("a.state"), d.at("b.state"))
	add("comparison", "compare", k[0], files("other", newSet(10, 120, 3))[0], "--labels", k[2], "--margin", "nll=0.1", "--state", d.at("pair.state"))
	printed(t, "score", k[0], "--labels", k[2], "-o", d.at("base.npz"))
	add("comparison", "compare", d.at("base.npz"), d.at("other-x.npy"), "--labels", k[2])
	third := files("third", newSet(11, 120, 3))[0]
	add("comparison", "compare", k[0], d.at("other-x.npy"), third, "--labels", k[2], "--adjust", "max-t")
	add("comparison", "compare", d.put("videos.csv", []byte("video,y,p_old,p_new\n"+strings.Join(videos(30, 5), "\n")+"\n")), "--prob", "old=p_old", "--prob", "new=p_new", "--label", "y",
		"--cluster", "video", "--metrics", "default,accuracy,calibration_error_squared")
	add("comparison", "compare", d.at("videos.csv"), "--prob", "old=p_old", "--prob", "new=p_new", "--label", "y", "--cluster", "video", "--group", "y", "--min-rows", "70", "--adjust", "bh")
	add("comparison", "compare", k[0], d.at("other-x.npy"), third, "--labels", k[2], "--group", k[2], "--metrics", "ece")
	add("comparison", "compare", d.put("none.csv", []byte("site,y,p,q\na,0,0.2,0.3\na,1,0,0.4\nb,0,0.1,0.2\n")), "--prob", "p=p", "--prob", "q=q", "--label", "y", "--group", "site", "--min-rows", "2")
	// Two sets: the same shapes, forecasts, one row each, and with weights more scores than are kept one by one.
	add("drift", "drift", d.at("a.state"), d.at("b.state"))
	drifts := func(name string, old, other []string) {
		add("document", with(append([]string{"eval"}, old...), "--state", d.at(name+"-old.state"))...)
		add("document", with(append([]string{"eval"}, other...), "--state", d.at(name+"-new.state"))...)
		add("drift", "drift", d.at(name+"-old.state"), d.at(name+"-new.state"))
	}
	drifts("forecasts", append([]string{d.put("normals-old.csv", normals.part(0, 50).csv())}, regression...), append([]string{d.put("normals-new.csv", normals.part(50, 120).csv())}, regression...))
	drifts("single", files("single-a", binary.part(0, 1)), files("single-b", binary.part(1, 2)))
	drifts("weighted", grid, grid)
	drifts("infinite", with(files("bad-a", bad), "--on-invalid", "drop"), files("good", binary))
	// Losses that alternate make a test with Bartlett's weights; differences that are all equal make none.
	f, g := newFrame("mu", "sigma", "y", "w"), newFrame("mu", "sigma", "y", "w")
	for i := range 60 {
		f.row(float64(i%2), 1, 0, 2)
		g.row(float64((i+1)%2), 1, 0, 2)
	}
	left, right := d.put("left.csv", f.csv()), d.put("right.csv", g.csv())
	add("comparison", with(append([]string{"compare", left, right}, regression...), "--horizon", "4", "--weights", "w", "--metrics", "crps,rmse")...)
	add("comparison", with(append([]string{"compare", left, right}, regression...), "--horizon", "4", "--series", "w", "--metrics", "crps,rmse")...)
	add("comparison", "compare", d.put("ids-a.csv", []byte("id,p,y\nx,0.3,0\ny,0.6,1\nz,0.4,1\n")), d.put("ids-b.csv", []byte("id,p,y\nz,0.3,1\nx,0.2,0\n")),
		"--prob", "p", "--label", "y", "--id", "id", "--on-unmatched", "drop")
	add("comparison", with([]string{"compare", d.put("many.csv", manyModels()), "--from", "hubverse"}, "--oracle", d.put("truth.csv", []byte("location,target,oracle_value\nL0,x,1\nL1,x,2\n")))...)
	add("comparison", with([]string{"compare", d.at("many.csv"), "--from", "hubverse"}, "--oracle", d.at("truth.csv"), "--baseline", "m3")...)
	for _, r := range g.rows {
		r[0] = 2
	}
	for _, r := range f.rows {
		r[0] = 1
	}
	add("comparison", with(append([]string{"compare", d.put("near.csv", f.csv()), d.put("far.csv", g.csv())}, regression...), "--metrics", "crps")...)
	for _, m := range []string{"temperature", "ets", "vector", "matrix", "dirichlet", "platt", "beta", "isotonic", "histogram", "bbq", "venn_abers", "spline"} {
		add("recalibration", with(append([]string{"recal", "fit", m}, k...), "--output", d.at(m+".json"))...)
	}
	add("recalibration", with(append([]string{"recal", "fit", "isotonic"}, files("one", classes.part(0, 1))...), "--output", d.at("one.json"))...)
	add("recalibration", with(append([]string{"recal", "fit", "histogram(empty=identity)"}, b...), "--output", d.at("h.json"))...)
	add("recalibration", with(append([]string{"recal", "fit", "bbq"}, b...), "--output", d.at("b.json"))...)
	for _, m := range []string{"sigma", "quantile"} {
		add("recalibration", with([]string{"recal", "fit", m, table, "--output", d.at(m + ".json")}, regression[2:]...)...)
	}
	sure := classes.only(func(i int) bool {
		return classes.probs[3*i+int(classes.labels[i])] == slices.Max(classes.probs[3*i:3*i+3])
	})
	add("recalibration-choice", with([]string{"recal", "best"}, k...)...)
	add("recalibration-choice", "recal", "best", d.at("visits.csv"), "--prob", "p", "--labels", "y", "--cluster", "patient", "--methods", "isotonic,platt")
	add("recalibration-choice", with([]string{"recal", "best", "--methods", "isotonic,temperature,vector", "--task", "classification"}, files("sure", sure)...)...)
	add("document", append([]string{"eval", "--shard", "1/3", "--state", d.at("shard.state")}, k...)...)
	add("document", append([]string{"eval", "--metrics", "ece", "--state", d.at("lean.state")}, k...)...)
	add("inspection", "inspect", "../../testdata/tables/half.parquet", d.at("shard.state"), d.at("lean.state"), d.at("a.state"), d.at("pair.state"), d.at("named.state"), d.at("choices.state"), d.at("tags.state"), d.at("groups.state"), d.at("slices.state"), samples,
		d.put("t.csv", classes.table("p_", animals)), d.put("rows.jsonl", []byte(`{"p": 0.25, "y": 0}`)), d.put("plain.csv", []byte("a,b\n1,x\n")), d.put("both.npz", npz(t, "a.npy", d.read(samples), "b.npy", d.read(k[0]))))
	add("descriptors", "metrics")

	// Conformal maps, sets and intervals.
	ofSets, ofNumbers := d.at("sets.json"), d.at("intervals.json")
	add("conformal", with([]string{"conformal", "fit", "lac(by_class)"}, with(k, "--coverage", "0.99")...)...)
	add("conformal", with([]string{"conformal", "fit", "aps"}, with(k, "-o", ofSets)...)...)
	add("conformal", with([]string{"conformal", "eval", "--map", ofSets}, k...)...)
	add("conformal", "conformal", "fit", "split", table, "--mean", "mu", "--std", "sigma", "--observed", "y", "-o", ofNumbers)
	add("conformal", "conformal", "eval", table, "--map", ofNumbers, "--mean", "mu", "--std", "sigma", "--observed", "y")
	ends := d.put("ends.csv", []byte("low,high,y,g\n0,1,0,a\n0,1,2,b\n"))
	add("conformal", "conformal", "eval", ends, "--low", "low", "--high", "high", "--observed", "y", "--group", "g")
	add("conformal", "conformal", "eval", ends, "--low", "low", "--high", "high", "--observed", "y", "--group", "g", "--coverage", "0.9")

	// Errors.
	add("failure", "eval", "--nonsense")
	add("failure", "eval", k[0], "--labels", k[2], "--metrics", "eec")
	add("failure", "eval", k[0], "--labels", k[2], "--state", d.at("none/s"))
	add("failure", "eval", k[0], "--labels", d.put("far.npy", classes.label(9, 4).labelFile(t)))
	add("failure", append([]string{"eval", d.put("bad.csv", []byte("mu,sigma,y\n0,x,1\n"))}, regression...)...)
	add("failure", "eval", d.put("large.npy", classes.with(7, 1, 4).scores(t)), "--labels", k[2])
	// A gate fails beside a document. No command line makes a fault.
	code, out, errs := candor(t, "eval", k[0], "--labels", k[2], "--json", "--fail-if", "ece>=0")
	if code != exitGate {
		t.Fatal(errs)
	}
	var fault bytes.Buffer
	writeError(&fault, &failure{code: exitFault, kind: "fault", err: errors.New("a fault")})
	return append(l, jsonDocument{"a gate", "document", out}, jsonDocument{"a gate", "failure", errs}, jsonDocument{"a fault", "failure", fault.String()})
}

// A schemaCheck holds documents to the schema, and the schema to the documents.
type schemaCheck struct {
	*testing.T
	root          *jsonschema.Schema
	def           string                     // of the document
	doc           any                        // that is walked
	objects, keys map[*jsonschema.Schema]int // how often objects and their keys were met
}

// walk follows a value through the schema. Each object that it meets for the first time gets a key that the schema does not know, and each
// key a value of a wrong type: the schema has to refuse both.
func (c *schemaCheck) walk(at string, s *jsonschema.Schema, v any) {
	if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
		c.walk(at, c.root.Defs[name], v)
	}
	for _, one := range s.AnyOf {
		c.walk(at, one, v)
	}
	switch v := v.(type) {
	case []any:
		for i := range v {
			if s.Items != nil {
				c.walk(at+"[]", s.Items, v[i])
			}
		}
	case map[string]any:
		if s.Properties == nil { // any keys
			for _, x := range v {
				if s.AdditionalProperties != nil {
					c.walk(at+".*", s.AdditionalProperties, x)
				}
			}
			return
		}
		if c.objects[s]++; c.objects[s] == 1 {
			c.refuses(at, v, "nonsense", 1)
		}
		for k, p := range s.Properties {
			x, there := v[k]
			if !there {
				continue
			}
			if c.keys[p]++; c.keys[p] == 1 {
				c.refuses(at, v, k, []any{[]any{}})
			}
			c.walk(at+"."+k, p, x)
		}
	}
}

// refuses checks that the schema refuses the document if a key of an object has another value.
func (c *schemaCheck) refuses(at string, o map[string]any, key string, value any) {
	was, there := o[key]
	o[key] = value
	if validJSON(c.T, c.def, c.doc) == nil {
		c.Errorf("with %v at %s.%s a document is still valid", value, at, key)
	}
	if delete(o, key); there {
		o[key] = was
	}
}

// TestJSONSchema validates documents of all commands and tasks against docs/candor-1.schema.json. The schema refuses an unknown key and a
// value of a wrong type. Each of its keys occurs in some document, and is required if it occurs in all of them. docs/json.md describes the
// same keys, in a table below the name of their object.
func TestJSONSchema(t *testing.T) {
	root, err := jsonSchema()
	if err != nil {
		t.Fatal(err)
	}
	c := &schemaCheck{T: t, root: root, objects: map[*jsonschema.Schema]int{}, keys: map[*jsonschema.Schema]int{}}
	whole, err := root.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range jsonDocuments(t) {
		c.def = doc.def
		if err := json.Unmarshal([]byte(doc.text), &c.doc); err != nil {
			t.Fatalf("%s: %v", doc.name, err)
		}
		if err := validJSON(t, doc.def, c.doc); err != nil {
			t.Errorf("%s: %v", doc.name, err)
			continue
		}
		if err := whole.Validate(c.doc); err != nil {
			t.Errorf("%s: %v", doc.name, err)
		}
		c.walk(doc.def, root.Defs[doc.def], c.doc)
	}
	// A missing value or interval needs a reason, and a value that is not exact needs a bound.
	const rest = `,"better":"lower","text":"t"}`
	for metric, want := range map[string]bool{
		`{"value":1,"low":0,"high":"+Inf","level":0.9,"method":"m","exact":true` + rest:               true,
		`{"value":1,"low":0,"high":2,"exact":true` + rest:                                             false,
		`{"value":1,"low":0,"high":null,"level":0.9,"method":"m","exact":true` + rest:                 false,
		`{"value":1,"low":0,"high":2,"level":0.9,"method":"m","exact":false` + rest:                   false,
		`{"value":1,"low":0,"high":2,"level":0.9,"method":"m","exact":false,"grid_bound":null` + rest: true,
		`{"value":null,"low":null,"high":null,"reason":"r","exact":true` + rest:                       true,
		`{"value":null,"low":null,"high":null,"exact":true` + rest:                                    false,
		`{"value":null,"low":0,"high":2,"level":0.9,"method":"m","reason":"r","exact":true` + rest:    false,
		`{"value":"NaN","low":null,"high":null,"reason":"r","exact":true` + rest:                      false,
	} {
		var v any
		if err := json.Unmarshal([]byte(metric), &v); err != nil {
			t.Fatal(err)
		}
		if err := validJSON(t, "metric", v); (err == nil) != want {
			t.Errorf("%s: %v", metric, err)
		}
	}
	tables := keyTables(t)
	for name, def := range root.Defs {
		for k, p := range def.Properties {
			if c.keys[p] == 0 {
				t.Errorf("no document has the key %s of %s", k, name)
			}
			if all := c.keys[p] == c.objects[def]; all != slices.Contains(def.Required, k) {
				t.Errorf("the key %s of %s is in %d of %d; required: %v", k, name, c.keys[p], c.objects[def], !all)
			}
		}
		if keys := slices.Sorted(maps.Keys(def.Properties)); !slices.Equal(keys, tables[name]) {
			t.Errorf("of %s docs/json.md describes\n%v\nand the schema has\n%v", name, tables[name], keys)
		}
		delete(tables, name)
	}
	if len(tables) > 0 {
		t.Errorf("the schema does not have %v", tables)
	}
}

// keyTables returns the keys that the tables of docs/json.md describe, by the headings above them.
func keyTables(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "json.md"))
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string][]string{}
	row := regexp.MustCompile("^\\| `([a-z0-9_]+)` \\|")
	name, table := "", false
	for _, line := range strings.Split(string(page), "\n") {
		if heading, ok := strings.CutPrefix(line, "### "); ok {
			name = strings.ReplaceAll(strings.ToLower(heading), " ", "-")
		}
		table = strings.HasPrefix(line, "| Key |") || table && strings.HasPrefix(line, "|")
		if m := row.FindStringSubmatch(line); table && m != nil {
			tables[name] = append(tables[name], m[1])
		}
	}
	for _, keys := range tables {
		slices.Sort(keys)
	}
	return tables
}
