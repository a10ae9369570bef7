package export

import (
	"fmt"
	"math"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/conformal"
)

// A conformalProgram is a conformal map in the form that all targets write.
type conformalProgram struct {
	*conformal.Map
	method     conformal.Method
	input      metrics.Kind
	thresholds []float64 // one, or one for each class
}

func newConformalProgram(m *conformal.Map, input metrics.Kind) (*conformalProgram, error) {
	classes := m.Classes()
	if err := m.Accepts(input, classes); err != nil {
		return nil, err
	}
	if input == metrics.Dirichlet {
		return nil, refused("code", "does not take parameters of a Dirichlet distribution", "give it probabilities")
	}
	p := &conformalProgram{Map: m, method: m.Method(), input: input}
	for _, t := range m.Parts() {
		p.thresholds = append(p.thresholds, t.Threshold)
	}
	return p, nil
}

// ofClasses reports whether the map makes sets.
func (p *conformalProgram) ofClasses() bool { return p.method.Score.Classes() }

// what describes the map in a sentence.
func (p *conformalProgram) what() string {
	kind := fmt.Sprintf("%d rows of %d classes", p.Rows(), p.Classes())
	made := "Sets"
	if !p.ofClasses() {
		made, kind = "Intervals", fmt.Sprintf("%d rows of forecasts", p.Rows())
	}
	return fmt.Sprintf("%s that hold the truth with probability %v, by %v fitted to %s (%v).", made, p.Coverage(), p.method, kind, p.Kind())
}

// takes names the input of a map of classes.
func (p *conformalProgram) takes() string {
	return fmt.Sprintf("%s of the %d classes", map[metrics.Kind]string{metrics.Probs: "probabilities", metrics.Logits: "logits", metrics.LogProbs: "log-probabilities"}[p.input], p.Classes())
}

// one names the number that a row of a binary task may be.
func (p *conformalProgram) one() string {
	return "the " + map[metrics.Kind]string{metrics.Probs: "probability", metrics.Logits: "logit", metrics.LogProbs: "log-probability"}[p.input] + " of class 1"
}

// ends names the input of a map of numbers.
func (p *conformalProgram) ends() []string {
	switch p.method.Score {
	case conformal.Split:
		return []string{"mean"}
	case conformal.Normalized:
		return []string{"mean", "sd"}
	}
	return []string{"low", "high"}
}

// penalties returns what raps adds at each rank, nil if it adds nothing.
func (p *conformalProgram) penalties() []float64 {
	if p.method.Score != conformal.RAPS {
		return nil
	}
	l := make([]float64, p.Classes())
	for i := range l {
		l[i] = p.method.Penalty(i + 1)
	}
	return l
}

// finite writes a number that may be infinite.
func finite(v float64, infinity string) string {
	if math.IsInf(v, 1) {
		return infinity
	}
	return number(v)
}

// fill replaces each <name> of a text, and leaves out lines that hold one whose value is "-".
func fill(text string, values map[string]string) []byte {
	var b strings.Builder
	for line := range strings.Lines(text) {
		out := false
		for name, v := range values {
			if strings.Contains(line, "<"+name+">") {
				line, out = strings.ReplaceAll(line, "<"+name+">", v), out || v == "-"
			}
		}
		if !out {
			b.WriteString(line)
		}
	}
	return []byte(b.String())
}

// when returns "" if a line is to stay, and "-" if it is not.
func when(stays bool) string {
	if stays {
		return ""
	}
	return "-"
}

// ConformalPython returns a module with one function over arrays of rows: sets, (N, K) of bool, or intervals, (N, 2). It imports numpy and
// nothing else. input is what the function takes: a kind that the map's Accepts takes. A randomized map takes the rows' random numbers too.
func ConformalPython(m *conformal.Map, input metrics.Kind) ([]byte, error) {
	p, err := newConformalProgram(m, input)
	if err != nil {
		return nil, err
	}
	infinite := func(v float64) string { return finite(v, "np.inf") }
	values := map[string]string{"what": p.what(), "k": fmt.Sprint(p.Classes()), "takes": p.takes(), "one": p.one(), "q": infinite(p.thresholds[0])}
	if !p.ofClasses() {
		return fill(map[conformal.Score]string{
			conformal.Split: pythonHead + `
def intervals(mean):
    """Returns the ends of the intervals, (N, 2). mean is (N,): forecasts."""
    mean = np.asarray(mean, dtype=np.float64)
    return np.stack([mean - <q>, mean + <q>], axis=1)
`,
			conformal.Normalized: pythonHead + `
def intervals(mean, sd):
    """Returns the ends of the intervals, (N, 2). mean and sd are (N,): forecasts and their standard deviations."""
    mean, by = np.asarray(mean, dtype=np.float64), <q> * np.asarray(sd, dtype=np.float64)
    return np.stack([mean - by, mean + by], axis=1)
`,
			conformal.CQR: pythonHead + `
def intervals(low, high):
    """Returns the ends of the intervals, (N, 2). low and high are (N,): the lowest and the highest quantile."""
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    middle = low + (high - low) / 2
    low, high = low - <q>, high + <q>
    crossed = low > high
    return np.stack([np.where(crossed, middle, low), np.where(crossed, middle, high)], axis=1)
`}[p.method.Score], values), nil
	}
	var c code
	list := func(name string, v []float64) {
		words := numbers(v, infinite)
		if one := strings.Join(words, ", "); len(one) < 90 {
			c.line("%s = np.array([%s])", name, one)
		} else {
			c.line("%s = np.array([\n%s,\n])", name, wrapped("    ", words))
		}
	}
	list("THRESHOLDS", p.thresholds)
	penalties := p.penalties()
	if penalties != nil {
		list("PENALTIES", penalties)
	}
	values["lists"] = c.String()
	values["binary"], values["more"] = when(p.Classes() == 2), when(p.Classes() > 2)
	values["u"], values["random"] = "", when(p.method.Randomized)
	sorted := p.method.Score != conformal.LAC
	values["sorted"], values["lac"] = when(sorted), when(!sorted)
	less, plus := "", ""
	if p.method.Randomized {
		values["u"], less = ", u", " - u * ranked"
	}
	if penalties != nil {
		plus = " + PENALTIES"
	}
	values["score"] = "np.cumsum(ranked, axis=1)" + less + plus
	values["keep"], values["drop"] = when(sorted && p.method.KeepLast), when(sorted && !p.method.KeepLast)
	values["at"] = "THRESHOLDS"
	if len(p.thresholds) > 1 {
		values["at"] = "THRESHOLDS[order]"
	}
	values["nonempty"] = when(p.method.NonEmpty)
	for _, k := range []metrics.Kind{metrics.Probs, metrics.Logits, metrics.LogProbs} {
		values[k.String()], values["binary "+k.String()] = when(input == k), when(input == k && p.Classes() == 2)
	}
	return fill(`# <what>
# Written by candor; it needs numpy alone.
import numpy as np

<lists>

def sets(x<u>):
    """Returns which classes each set holds, (N, <k>) of bool.
<more>
<more>    x is (N, <k>): <takes>.
<binary>
<binary>    x is (N, 2): <takes>; or (N,): <one>.
<random>    u is (N,): random numbers between 0 and 1, of which sets depend.
    """
    x = np.asarray(x, dtype=np.float64)
<binary>    if x.ndim == 1:
<binary probs>        x = np.stack([1 - x, x], axis=1)
<binary logits>        x = np.stack([np.zeros_like(x), x], axis=1)
<binary logprobs>        with np.errstate(divide="ignore"):
<binary logprobs>            x = np.stack([np.log(-np.expm1(x)), x], axis=1)
<probs>    p = x
<logits>    e = np.exp(x - x.max(axis=1, keepdims=True))
<logits>    p = e / e.sum(axis=1, keepdims=True)
<logprobs>    p = np.exp(x)
<random>    u = np.asarray(u, dtype=np.float64)[:, None]
<lac>    inside = 1 - p <= THRESHOLDS
<sorted>    order = np.argsort(-p, axis=1, kind="stable")
<sorted>    ranked = np.take_along_axis(p, order, axis=1)
<sorted>    score = np.maximum.accumulate(<score>, axis=1)
<keep>    # The class that passes the threshold is the last.
<keep>    score = np.concatenate([np.full((len(p), 1), -np.inf), score[:, :-1]], axis=1)
<sorted>    inside = np.empty(p.shape, dtype=bool)
<keep>    np.put_along_axis(inside, order, score < <at>, axis=1)
<drop>    np.put_along_axis(inside, order, score <= <at>, axis=1)
<nonempty>    empty = ~inside.any(axis=1)
<nonempty>    inside[empty, p[empty].argmax(axis=1)] = True
    return inside
`, values), nil
}

const pythonHead = `# <what>
# Written by candor; it needs numpy alone.
import numpy as np

`

// ConformalJavaScript returns an ES module with one function of a row: set, which returns a boolean for each class, or interval, which returns
// the two ends. input is what the function takes: a kind that the map's Accepts takes. A randomized map takes the row's random number too.
func ConformalJavaScript(m *conformal.Map, input metrics.Kind) ([]byte, error) {
	p, err := newConformalProgram(m, input)
	if err != nil {
		return nil, err
	}
	infinite := func(v float64) string { return finite(v, "Infinity") }
	values := p.braceValues(infinite)
	if !p.ofClasses() {
		return fill(`// <what>
// Written by candor; it needs nothing else.

<split>// interval returns the ends of an interval; mean is the forecast.
<normalized>// interval returns the ends of an interval; mean and sd are the forecast and its standard deviation.
<cqr>// interval returns the ends of an interval; low and high are the lowest and the highest quantile.
export function interval(<ends>) {
<split>  return [mean - <q>, mean + <q>];
<normalized>  const by = <q> * sd;
<normalized>  return [mean - by, mean + by];
<cqr>  const middle = low + (high - low) / 2;
<cqr>  const moved = [low - <q>, high + <q>];
<cqr>  return moved[0] > moved[1] ? [middle, middle] : moved;
}
`, values), nil
	}
	list := func(name string, v []float64) string {
		if v == nil {
			return ""
		}
		return fmt.Sprintf("const %s = [\n%s,\n];\n", name, wrapped("  ", numbers(v, infinite)))
	}
	values["lists"] = list("thresholds", p.thresholds) + list("penalties", p.penalties())
	values["u"] = ""
	if p.method.Randomized {
		values["u"], values["less"] = ", u", " - u * p[c]"
	}
	if p.method.Score == conformal.RAPS {
		values["plus"], values["index"] = " + penalties[i]", ", i"
	}
	return fill(`// <what>
// Written by candor; it needs nothing else.

<lists>
<more>// set returns for each class whether the set holds it. x has the <takes>.
<binary>// set returns for each class whether the set holds it. x has the <takes>, or is <one>.
<random>// u is a random number between 0 and 1, on which the set depends.
export function set(x<u>) {
<binary probs>  const p = typeof x === "number" ? [1 - x, x] : Array.from(x);
<binary logits>  const z = typeof x === "number" ? [0, x] : Array.from(x);
<binary logprobs>  const z = typeof x === "number" ? [Math.log(-Math.expm1(x)), x] : Array.from(x);
<more><probs>  const p = Array.from(x);
<more><logits>  const z = Array.from(x);
<more><logprobs>  const z = Array.from(x);
<logits>  const m = Math.max(...z);
<logits>  const e = z.map((v) => Math.exp(v - m));
<logits>  const total = e.reduce((a, b) => a + b, 0);
<logits>  const p = e.map((v) => v / total);
<logprobs>  const p = z.map((v) => Math.exp(v));
<lac>  const inside = p.map((v, c) => 1 - v <= thresholds[<c>]);
<sorted>  const order = p.map((_, c) => c).sort((a, b) => p[b] - p[a] || a - b);
<sorted>  const inside = p.map(() => false);
<sorted>  let sum = 0;
<sorted>  let score = -Infinity;
<sorted>  order.forEach((c<index>) => {
<keep>    inside[c] = score < thresholds[<c>]; // the class that passes the threshold is the last
<sorted>    sum += p[c];
<sorted>    score = Math.max(score, sum<less><plus>);
<drop>    inside[c] = score <= thresholds[<c>];
<sorted>  });
<nonempty>  if (!inside.includes(true)) {
<nonempty>    inside[p.indexOf(Math.max(...p))] = true;
<nonempty>  }
  return inside;
}
`, values), nil
}

// braceValues has what Go and JavaScript share.
func (p *conformalProgram) braceValues(infinite func(float64) string) map[string]string {
	s := p.method.Score
	values := map[string]string{"what": p.what(), "k": fmt.Sprint(p.Classes()), "takes": p.takes(), "one": p.one(), "q": infinite(p.thresholds[0]), "ends": strings.Join(p.ends(), ", "),
		"split": when(s == conformal.Split), "normalized": when(s == conformal.Normalized), "cqr": when(s == conformal.CQR)}
	sorted := s != conformal.LAC
	values["sorted"], values["lac"] = when(sorted), when(!sorted)
	values["keep"], values["drop"] = when(sorted && p.method.KeepLast), when(sorted && !p.method.KeepLast)
	values["binary"], values["more"] = when(p.Classes() == 2), when(p.Classes() > 2)
	values["nonempty"], values["random"] = when(p.method.NonEmpty), when(p.method.Randomized)
	values["c"] = "0"
	if len(p.thresholds) > 1 {
		values["c"] = "c"
	}
	values["less"], values["plus"], values["index"] = "", "", ""
	for _, k := range []metrics.Kind{metrics.Probs, metrics.Logits, metrics.LogProbs} {
		values[k.String()], values["binary "+k.String()] = when(p.input == k), when(p.input == k && p.Classes() == 2)
	}
	return values
}

// ConformalGo returns a file of the named package with one function of a row: Set, which returns a bool for each class, or Interval, which
// returns the two ends. input is what the function takes: a kind that the map's Accepts takes. A randomized map takes the row's random number
// too.
func ConformalGo(m *conformal.Map, input metrics.Kind, name string) ([]byte, error) {
	p, err := newConformalProgram(m, input)
	if err != nil {
		return nil, err
	}
	infinite := func(v float64) string { return finite(v, "math.Inf(1)") }
	values := p.braceValues(infinite)
	values["package"] = name
	text := ""
	if !p.ofClasses() {
		values["in"] = values["ends"] + " float64"
		text = `
<split>// Interval returns the ends of an interval; mean is the forecast.
<normalized>// Interval returns the ends of an interval; mean and sd are the forecast and its standard deviation.
<cqr>// Interval returns the ends of an interval; low and high are the lowest and the highest quantile.
func Interval(<in>) (float64, float64) {
<split>	return mean - <q>, mean + <q>
<normalized>	by := float64(<q> * sd)
<normalized>	return mean - by, mean + by
<cqr>	middle := low + (high-low)/2
<cqr>	low, high = low-<q>, high+<q>
<cqr>	if low > high {
<cqr>		return middle, middle
<cqr>	}
<cqr>	return low, high
}
`
		if p.method.Score == conformal.CQR {
			values["q"] = "(" + values["q"] + ")"
		}
	} else {
		list := func(name string, v []float64) string {
			if v == nil {
				return ""
			}
			return fmt.Sprintf("var %s = []float64{\n%s,\n}\n", name, wrapped("\t", numbers(v, infinite)))
		}
		values["lists"] = list("thresholds", p.thresholds) + list("penalties", p.penalties())
		values["u"] = ""
		if p.method.Randomized {
			values["u"], values["less"] = ", u float64", "-float64(u*p[c])"
		}
		values["softmax"] = when(p.input != metrics.Probs)
		values["i"] = "_"
		if p.method.Score == conformal.RAPS {
			values["i"], values["plus"] = "i", "+penalties[i]"
		}
		text = `
<lists>
<more>// Set returns for each class whether the set holds it. x has the <takes>.
<binary>// Set returns for each class whether the set holds it. x has the <takes>, or only <one>.
<random>// u is a random number between 0 and 1, on which the set depends.
func Set(x []float64<u>) []bool {
<binary>	if len(x) == 1 {
<binary probs>		x = []float64{1 - x[0], x[0]}
<binary logits>		x = []float64{0, x[0]}
<binary logprobs>		x = []float64{math.Log(-math.Expm1(x[0])), x[0]}
<binary>	}
<probs>	p := x
<softmax>	p := make([]float64, len(x))
<logits>	m := slices.Max(x)
<logits>	total := 0.0
<softmax>	for c, v := range x {
<logits>		p[c] = math.Exp(v - m)
<logits>		total += p[c]
<logprobs>		p[c] = math.Exp(v)
<softmax>	}
<logits>	for c := range p {
<logits>		p[c] /= total
<logits>	}
	inside := make([]bool, len(p))
<lac>	for c, v := range p {
<lac>		inside[c] = 1-v <= thresholds[<c>]
<lac>	}
<sorted>	order := make([]int, len(p))
<sorted>	for c := range order {
<sorted>		order[c] = c
<sorted>	}
<sorted>	sort.SliceStable(order, func(i, j int) bool { return p[order[i]] > p[order[j]] })
<sorted>	sum, score := 0.0, math.Inf(-1)
<sorted>	for <i>, c := range order {
<keep>		inside[c] = score < thresholds[<c>] // the class that passes the threshold is the last
<sorted>		sum += p[c]
<sorted>		score = math.Max(score, sum<less><plus>)
<drop>		inside[c] = score <= thresholds[<c>]
<sorted>	}
<nonempty>	if !slices.Contains(inside, true) {
<nonempty>		inside[slices.Index(p, slices.Max(p))] = true
<nonempty>	}
	return inside
}
`
	}
	body := strings.TrimPrefix(string(fill(text, values)), "\n")
	var c code
	c.line("// Package %s has a conformal map.", name)
	c.line("//")
	c.line("// %s", p.what())
	c.line("// Code generated by candor. DO NOT EDIT.")
	c.line("package %s", name)
	c.imports(body)
	return []byte(c.String() + body), nil
}

// ConformalSQL returns a query that adds to a table in_ and each column of scores, 1 or 0, and set_size; or interval_low and interval_high. It
// runs in DuckDB and in Spark. input is what the columns hold: a kind that the map's Accepts takes. A null score gives a null.
//
// A map of aps or raps, whose sums SQL would take in another order, and one of more than 1,000 classes, is an error that wraps ErrNotThere.
func ConformalSQL(m *conformal.Map, input metrics.Kind, o SQLOptions) ([]byte, error) {
	p, err := newConformalProgram(m, input)
	if err != nil {
		return nil, err
	}
	k := p.Classes()
	switch {
	case p.ofClasses() && p.method.Score != conformal.LAC:
		return nil, refused("SQL", fmt.Sprintf("cannot sort the classes of a row, which %v does", p.method.Score), "take another target, or fit lac")
	case p.ofClasses() && k > mostSQL:
		return nil, refused("SQL", fmt.Sprintf("is for at most %d classes, and the map has %d", mostSQL, k), "take another target")
	}
	// A binary task has the one column of its event, unless both are named.
	q := &query{program: &program{input: input, classes: k}, columns: o.Columns}
	single := k == 2 && len(o.Columns) < 2
	switch {
	case !p.ofClasses():
		if q.columns == nil {
			q.columns = p.ends()
		}
	case single:
		q.classes = 1
		fallthrough
	default:
		if q.columns == nil {
			q.columns = q.sqlColumns()
		}
	}
	want := len(p.ends())
	if p.ofClasses() {
		want = q.classes
	}
	if err := q.check(o.Table, want); err != nil {
		return nil, err
	}
	q.classes = k
	bound := func(v float64) string {
		if math.IsInf(v, 1) {
			return sqlInfinity
		}
		return sqlNumber(v)
	}
	if !p.ofClasses() {
		var l []string
		for j, name := range q.columns {
			l = append(l, fmt.Sprintf("  CAST(t.%s AS DOUBLE) AS x%d", name, j))
		}
		q.stage("s", l...)
		by, high := bound(p.thresholds[0]), "s.x0"
		switch p.method.Score {
		case conformal.Normalized:
			by += " * s.x1"
		case conformal.CQR:
			high = "s.x1"
		}
		q.stage("e", "  s.x0 - "+by+" AS low", "  "+high+" + "+by+" AS high", "  s.x0 + ("+high+" - s.x0) / 2e0 AS middle")
		for _, end := range []string{"low", "high"} {
			q.results = append(q.results, fmt.Sprintf("  CASE WHEN e.low > e.high THEN e.middle ELSE e.%s END AS interval_%s", end, end))
		}
		return q.text(o.Table, p.what()), nil
	}
	names := q.columns
	if single {
		x := "CAST(t." + q.columns[0] + " AS DOUBLE)"
		switch input {
		case metrics.Logits:
			x = sqlSigmoid(x)
		case metrics.LogProbs:
			x = "exp(" + x + ")"
		}
		q.stage("s", "  "+x+" AS x")
		q.stage("p", "  1e0 - s.x AS p0", "  s.x AS p1")
		names = []string{"not_" + q.columns[0], q.columns[0]}
	} else {
		var l []string
		for j, name := range q.columns {
			l = append(l, fmt.Sprintf("  CAST(t.%s AS DOUBLE) AS x%d", name, j))
		}
		q.stage("s", l...)
		switch input {
		case metrics.Probs:
			q.stage("p", q.each("s.x# AS p#")...)
		case metrics.LogProbs:
			q.stage("p", q.each("exp(s.x#) AS p#")...)
		default:
			q.softmax("z", "s.x#")
			q.stage("p", q.each("z.e# / z.total AS p#")...)
		}
	}
	var l []string
	for j := range k {
		t := bound(p.thresholds[min(j, len(p.thresholds)-1)])
		l = append(l, fmt.Sprintf("  CASE WHEN 1e0 - p.p%d <= %s THEN 1 WHEN p.p%d IS NOT NULL THEN 0 END AS c%d", j, t, j, j))
	}
	q.stage("i", l...)
	q.stage("n", "  "+q.joined("i.c#", " + ")+" AS size", "  greatest("+q.joined("p.p#", ", ")+") AS most")
	last := "i"
	if p.method.NonEmpty {
		l, last = nil, "f"
		for j := range k {
			first := ""
			for i := range j {
				first += fmt.Sprintf(" AND p.p%d < n.most", i)
			}
			l = append(l, fmt.Sprintf("  CASE WHEN n.size = 0 AND p.p%d = n.most%s THEN 1 ELSE i.c%d END AS c%d", j, first, j, j))
		}
		q.stage("f", l...)
	}
	for j, name := range names {
		q.results = append(q.results, fmt.Sprintf("  %s.c%d AS in_%s", last, j, name))
	}
	q.results = append(q.results, "  "+q.joined(last+".c#", " + ")+" AS set_size")
	return q.text(o.Table, p.what()), nil
}

// ConformalONNX returns a model of float32: scores (N, K), also of a binary task, and sets (N, K), 1 or 0; or the numbers of forecasts, (N,),
// and intervals (N, 2). A randomized map takes u (N,) too. It computes in float64 inside. input is what the model takes: a kind that the map's
// Accepts takes.
func ConformalONNX(m *conformal.Map, input metrics.Kind) ([]byte, error) {
	p, err := newConformalProgram(m, input)
	if err != nil {
		return nil, err
	}
	g := &graph{}
	if !p.ofClasses() {
		var x []value
		for _, name := range p.ends() {
			x = append(x, g.take(name, 0))
		}
		low, high, by := x[0], x[0], g.scalar(p.thresholds[0])
		switch p.method.Score {
		case conformal.Normalized:
			by = g.mul(by, x[1])
		case conformal.CQR:
			high = x[1]
		}
		middle := g.add(low, g.div(g.sub(high, low), g.scalar(2)))
		low, high = g.sub(low, by), g.add(high, by)
		crossed := g.greater(low, high)
		ends := []value{g.column(g.where(crossed, middle, low)), g.column(g.where(crossed, middle, high))}
		g.give(g.op("Concat", ends, attribute{name: "axis", one: 1}), "intervals", 2)
		return g.model("intervals", p.what()), nil
	}
	k := p.Classes()
	x := g.take("scores", k)
	switch input {
	case metrics.Logits:
		x = g.softmax(x)
	case metrics.LogProbs:
		x = g.unary("Exp", x)
	}
	var inside value // int64
	thresholds := g.constant(p.thresholds)
	if p.method.Score == conformal.LAC {
		inside = g.cast(g.binaryOp("LessOrEqual", g.oneMinus(x), thresholds), onnxInt64)
	} else {
		// Of equal numbers TopK takes the one with the lower index first. Scores rise but for rounding, which a running maximum would undo.
		ranked, order := g.name(), g.name()
		g.nodes = append(g.nodes, node("TopK", []value{x, g.whole(int64(k))}, []value{ranked, order}, attribute{name: "axis", one: 1}))
		score := g.binaryOp("CumSum", ranked, g.integers([]int64{1}))
		if p.method.Randomized {
			score = g.sub(score, g.mul(g.column(g.take("u", 0)), ranked))
		}
		if l := p.penalties(); l != nil {
			score = g.add(score, g.constant(l))
		}
		at := thresholds
		if len(p.thresholds) > 1 {
			at = g.gather(thresholds, order)
		}
		compare := "LessOrEqual"
		if p.method.KeepLast { // the class that passes the threshold is the last
			compare = "Less"
			until := g.op("Slice", []value{score, g.whole(0), g.whole(int64(k - 1)), g.whole(1)})
			first := g.add(g.op("Slice", []value{g.mul(score, g.scalar(0)), g.whole(0), g.whole(1), g.whole(1)}), g.scalar(math.Inf(-1)))
			score = g.op("Concat", []value{first, until}, attribute{name: "axis", one: 1})
		}
		held := g.cast(g.binaryOp(compare, score, at), onnxInt64)
		inside = g.op("ScatterElements", []value{g.sub(held, held), order, held}, attribute{name: "axis", one: 1})
	}
	if p.method.NonEmpty {
		classes := make([]int64, k)
		for j := range classes {
			classes[j] = int64(j)
		}
		top := g.op("ArgMax", []value{x}, attribute{name: "axis", one: 1}, attribute{name: "keepdims", one: 1})
		isTop := g.cast(g.equal(top, g.integers(classes, k)), onnxInt64)
		empty := g.equal(g.total(inside), g.whole(0))
		inside = g.where(empty, isTop, inside)
	}
	g.give(inside, "sets", k)
	return g.model("sets", p.what()), nil
}
