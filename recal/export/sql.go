package export

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/recal"
)

// SQLOptions name what a query reads.
type SQLOptions struct {
	Table   string   // "" means predictions
	Columns []string // of the scores, one for each class or the event's; of a forecast the mean and the standard deviation, or the quantiles
}

// mostSQL is the largest number of parameters of a map that becomes a query.
const mostSQL = 1000

// SQL returns a query that adds recalibrated columns to a table. It runs in DuckDB and in Spark. input is what the columns hold: a
// kind that the map's Out accepts.
//
// A null score gives a null. A map of more than 1,000 parameters or steps, and one of samples, is an error that wraps ErrNotThere.
func SQL(m recal.Map, input metrics.Kind, o SQLOptions) ([]byte, error) {
	p, err := newProgram(m, input)
	if err != nil {
		return nil, err
	}
	switch {
	case p.size() > mostSQL:
		return nil, refused("SQL", fmt.Sprintf("is for at most %d parameters, and %s has %d", mostSQL, p.method, p.size()),
			"take another target, or fit a method with fewer parameters")
	case p.levels != nil && input == metrics.Samples:
		return nil, refused("SQL", "has no samples to sort in a row", "take another target")
	}
	q := &query{program: p, columns: o.Columns}
	if q.columns == nil {
		q.columns = p.sqlColumns()
	}
	if err := q.check(o.Table, len(p.sqlColumns())); err != nil {
		return nil, err
	}
	q.write()
	return q.text(o.Table, p.what()), nil
}

// check returns an error for names that the query cannot have.
func (q *query) check(table string, want int) error {
	if len(q.columns) != want {
		are := "are"
		if len(q.columns) == 1 {
			are = "is"
		}
		return fmt.Errorf("the map takes %d columns, and %d %s named", want, len(q.columns), are)
	}
	for i, name := range append([]string{tableName(table)}, q.columns...) {
		if !plainName(name, i == 0) {
			return fmt.Errorf("%q is no name that all dialects of SQL write in the same way; use letters, digits and _, or name a view", name)
		}
	}
	return nil
}

func tableName(s string) string {
	if s == "" {
		return "predictions"
	}
	return s
}

// text returns the query; what describes the map.
func (q *query) text(table, what string) []byte {
	var c code
	c.line("-- %s", what)
	c.line("-- Written by candor, for DuckDB and Spark.")
	c.line("SELECT t.*,\n%s", strings.Join(q.results, ",\n"))
	c.WriteString("FROM " + tableName(table) + " AS t")
	for _, s := range q.stages {
		c.WriteString(",\n" + s)
	}
	c.line(";")
	return []byte(c.String())
}

// plainName reports whether a name needs no quotes; a table's may have points.
func plainName(s string, points bool) bool {
	for _, part := range strings.Split(s, ".") {
		for i, r := range part {
			if !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9') {
				return false
			}
		}
		if part == "" {
			return false
		}
	}
	return points || !strings.Contains(s, ".")
}

// sqlColumns returns the names of columns where none are given.
func (p *program) sqlColumns() []string {
	switch {
	case p.sigma > 0:
		return []string{"sd"}
	case p.levels != nil && p.input == metrics.Normals:
		return []string{"mean", "sd"}
	case p.levels != nil:
		return p.levelNames()
	}
	name := map[metrics.Kind]string{metrics.Probs: "prob", metrics.Logits: "logit", metrics.LogProbs: "logprob"}[p.input]
	if p.binary() {
		return []string{name}
	}
	var l []string
	for j := range p.classes {
		l = append(l, name+"_"+strconv.Itoa(j))
	}
	return l
}

func (p *program) levelNames() []string {
	var l []string
	for _, u := range p.levels.levels {
		l = append(l, "q_"+strings.NewReplacer(".", "_", "-", "_").Replace(number(u)))
	}
	return l
}

type query struct {
	*program
	columns []string
	stages  []string // LATERAL subqueries, each of which sees those before it
	results []string
}

// sqlNumber writes a DOUBLE: without an exponent it would be a DECIMAL.
func sqlNumber(v float64) string { return strconv.FormatFloat(v, 'e', -1, 64) }

const sqlInfinity = "CAST('Infinity' AS DOUBLE)"

// stage computes columns from those of earlier stages.
func (q *query) stage(alias string, columns ...string) {
	q.stages = append(q.stages, "LATERAL (SELECT\n"+strings.Join(columns, ",\n")+"\n) AS "+alias)
}

func (q *query) each(format string) []string {
	l := make([]string, q.classes)
	for j := range l {
		l[j] = "  " + strings.ReplaceAll(format, "#", strconv.Itoa(j))
	}
	return l
}

func (q *query) joined(format, by string) string {
	l := make([]string, q.classes)
	for j := range l {
		l[j] = strings.ReplaceAll(format, "#", strconv.Itoa(j))
	}
	return strings.Join(l, by)
}

func (q *query) result(i int, expression string) {
	q.results = append(q.results, "  "+expression+" AS "+q.columns[i]+"_recalibrated")
}

// sqlLog is ln of a number that may be 0.
func sqlLog(x string) string {
	return "CASE WHEN " + x + " > 0 THEN ln(" + x + ") WHEN " + x + " = 0 THEN -" + sqlInfinity + " END"
}

func sqlSigmoid(z string) string { return "1e0 / (1e0 + exp(-(" + z + ")))" }

// logit returns the logit of s.x, the score of a binary task.
func (q *query) logit() string {
	rest := "1e0 - s.x"
	switch q.input {
	case metrics.Logits:
		return "s.x"
	case metrics.Probs:
		return "CASE WHEN s.x <= 0 THEN -" + sqlInfinity + " WHEN s.x >= 1 THEN " + sqlInfinity + " ELSE ln(s.x / (" + rest + ")) END"
	}
	// 1 - exp(l) has no digits left near l = 0; there the first terms of its series have all.
	return "CASE WHEN s.x >= 0 THEN " + sqlInfinity +
		" WHEN s.x > -1e-2 THEN s.x - ln(-s.x * (1e0 + s.x / 2e0 * (1e0 + s.x / 3e0 * (1e0 + s.x / 4e0 * (1e0 + s.x / 5e0 * (1e0 + s.x / 6e0))))))" +
		" ELSE s.x - ln(1e0 - exp(s.x)) END"
}

func (q *query) write() {
	switch {
	case q.sigma > 0:
		q.result(0, "CAST(t."+q.columns[0]+" AS DOUBLE) * "+sqlNumber(q.sigma))
		return
	case q.levels != nil:
		q.writeLevels()
		return
	case q.binary():
		q.stage("s", "  CAST(t."+q.columns[0]+" AS DOUBLE) AS x")
	default:
		var l []string
		for j, name := range q.columns {
			l = append(l, fmt.Sprintf("  CAST(t.%s AS DOUBLE) AS x%d", name, j))
		}
		q.stage("s", l...)
	}
	if q.soft != nil {
		q.writeSoft()
		return
	}
	q.writeCurves()
}

// softmax adds stages whose last, alias, has e0, e1, ... and their sum.
func (q *query) softmax(alias, z string) {
	q.stage(alias+"_max", "  greatest("+q.joined(z, ", ")+") AS m")
	q.stage(alias+"_exp", q.each("exp("+z+" - "+alias+"_max.m) AS e#")...)
	q.stage(alias, append(q.each(alias+"_exp.e# AS e#"), "  "+q.joined(alias+"_exp.e#", " + ")+" AS total")...)
}

func (q *query) writeSoft() {
	s := q.soft
	if q.binary() {
		q.stage("l", "  "+q.logit()+" AS z")
		p := sqlSigmoid("l.z / " + sqlNumber(s.temperature))
		if s.mixture != nil {
			p = fmt.Sprintf("%s * (%s) + %s * (%s) + %s", sqlNumber(s.mixture[0]), p, sqlNumber(s.mixture[1]), sqlSigmoid("l.z"), sqlNumber(s.mixture[2]/2))
		}
		q.result(0, p)
		return
	}
	if q.input == metrics.Probs {
		q.stage("l", q.each(sqlLog("s.x#")+" AS z#")...)
	} else {
		q.stage("l", q.each("s.x# AS z#")...)
	}
	z := "l"
	if s.normal {
		q.softmax("n", "l.z#")
		z = "w"
		q.stage(z, q.each("CASE WHEN l.z# = -"+sqlInfinity+" THEN l.z# ELSE l.z# - n_max.m - ln(n.total) END AS z#")...)
	}
	switch {
	case s.matrix != nil:
		floor := sqlNumber(s.floor)
		if q.input == metrics.Logits && !s.normal {
			floor = "greatest(" + q.joined("l.z#", ", ") + ") + " + floor
		}
		q.stage("f", "  "+floor+" AS floor")
		q.stage("g", q.each("CASE WHEN "+z+".z# = -"+sqlInfinity+" THEN f.floor ELSE "+z+".z# END AS z#")...)
		var l []string
		for j, row := range s.matrix {
			sum := sqlNumber(s.biases[j])
			for i, v := range row {
				sum += fmt.Sprintf(" + %s * g.z%d", sqlNumber(v), i)
			}
			l = append(l, fmt.Sprintf("  CASE WHEN %s.z%d = -%s THEN %s.z%d ELSE %s END AS z%d", z, j, sqlInfinity, z, j, sum, j))
		}
		q.stage("y", l...)
		q.softmax("p", "y.z#")
	case s.factors != nil:
		var l []string
		for j := range s.factors {
			l = append(l, fmt.Sprintf("  CASE WHEN l.z%d = -%s THEN l.z%d ELSE %s * l.z%d + %s END AS z%d", j, sqlInfinity, j, sqlNumber(s.factors[j]), j,
				sqlNumber(s.biases[j]), j))
		}
		q.stage("y", l...)
		q.softmax("p", "y.z#")
	default:
		q.stage("y", q.each("l.z# / "+sqlNumber(s.temperature)+" AS z#")...)
		q.softmax("p", "y.z#")
	}
	if s.mixture != nil {
		q.softmax("g", "l.z#")
	}
	for j := range q.classes {
		p := fmt.Sprintf("p.e%d / p.total", j)
		if s.mixture != nil {
			p = fmt.Sprintf("%s * (%s) + %s * (g.e%d / g.total) + %s", sqlNumber(s.mixture[0]), p, sqlNumber(s.mixture[1]), j,
				sqlNumber(s.mixture[2]/float64(q.classes)))
		}
		q.result(j, p)
	}
}

// curve returns curve k of a logit or a probability x, the name of a column.
func (q *query) curve(k int, x string) string {
	f := &q.curves[k]
	switch {
	case f.beta:
		soft := "ln(1e0 + exp(-abs(" + x + ")))"
		return fmt.Sprintf("CASE WHEN abs(%s) = %s THEN %s ELSE %s END", x, sqlInfinity, sqlSigmoid(x),
			sqlSigmoid(fmt.Sprintf("%s * (least(%s, 0e0) - %s) + %s * (greatest(%s, 0e0) + %s) + %s", sqlNumber(f.a), x, soft, sqlNumber(f.b), x, soft, sqlNumber(f.c))))
	case f.logistic && f.a == 0:
		return "CASE WHEN " + x + " IS NOT NULL THEN " + sqlSigmoid(sqlNumber(f.c)) + " END"
	case f.logistic:
		return sqlSigmoid(fmt.Sprintf("%s * %s + %s", sqlNumber(f.a), x, sqlNumber(f.c)))
	}
	return "CASE WHEN " + x + " IS NOT NULL THEN " + q.steps(f, x, 0, len(f.cuts)) + " END"
}

// steps returns a tree of comparisons with cuts[from:to].
func (q *query) steps(f *curve, x string, from, to int) string {
	if from == to {
		switch {
		case f.line && from == 0:
			return sqlNumber(f.values[0])
		case f.line && from == len(f.cuts):
			return sqlNumber(f.values[from-1])
		case f.line:
			a, b, low, high := f.values[from-1], f.values[from], f.cuts[from-1], f.cuts[from]
			return fmt.Sprintf("%s + %s * ((%s - %s) / %s)", sqlNumber(a), sqlNumber(b-a), x, sqlNumber(low), sqlNumber(high-low))
		case f.values[from] != f.values[from]:
			return x
		}
		return sqlNumber(f.values[from])
	}
	mid := (from + to) / 2
	cut := sqlNumber(f.cuts[mid])
	below := "<"
	if f.closed {
		below = "<="
	}
	on := ""
	if f.on != nil {
		on = " WHEN " + x + " = " + cut + " THEN " + sqlNumber(f.on[mid])
	}
	return "CASE WHEN " + x + " " + below + " " + cut + " THEN " + q.steps(f, x, from, mid) + on + " ELSE " + q.steps(f, x, mid+1, to) + " END"
}

func (q *query) writeCurves() {
	if q.binary() {
		x := q.logit()
		if !q.onLogits() {
			x = map[metrics.Kind]string{metrics.Probs: "s.x", metrics.Logits: sqlSigmoid("s.x"), metrics.LogProbs: "exp(s.x)"}[q.input]
		}
		q.stage("l", "  "+x+" AS z")
		if !q.top {
			q.result(0, q.curve(0, "l.z"))
			return
		}
		top, above := "greatest(l.z, 1e0 - l.z)", "l.z > 5e-1"
		if q.onLogits() {
			top, above = "abs(l.z)", "l.z > 0"
		}
		q.stage("m", "  "+top+" AS z")
		q.stage("f", "  "+q.curve(0, "m.z")+" AS y")
		q.result(0, "CASE WHEN "+above+" THEN f.y ELSE 1e0 - f.y END")
		return
	}
	p := "s.x"
	if q.input != metrics.Probs {
		q.softmax("q", "s.x#")
		q.stage("p", q.each("q.e# / q.total AS x#")...)
		p = "p.x"
	}
	q.stage("m", "  greatest("+q.joined("s.x#", ", ")+") AS x")
	q.stage("i", "  CASE"+q.joined(" WHEN s.x# = m.x THEN #", "")+" END AS top")
	others := func(format string) string { return q.joined("CASE WHEN i.top = # THEN 0e0 ELSE "+format+" END", " + ") }
	q.stage("r", "  "+others(p+"#")+" AS rest")
	topLogit := "ln(m.x) - " + sqlLog("r.rest")
	if q.onLogits() && q.input != metrics.Probs {
		q.stage("d", "  greatest("+q.joined("CASE WHEN i.top = # THEN -"+sqlInfinity+" ELSE s.x# END", ", ")+") AS second")
		q.stage("w", "  "+others("exp(s.x# - d.second)")+" AS rest")
		topLogit = "CASE WHEN d.second = -" + sqlInfinity + " THEN " + sqlInfinity + " ELSE m.x - d.second - ln(w.rest) END"
	} else if q.onLogits() {
		topLogit = "CASE WHEN r.rest = 0 THEN " + sqlInfinity + " ELSE ln(m.x) - ln(r.rest) END"
	}
	if q.top {
		if q.onLogits() {
			q.stage("z", "  "+topLogit+" AS z")
		} else {
			q.stage("z", "  CASE"+q.joined(" WHEN i.top = # THEN "+p+"#", "")+" END AS z")
		}
		q.stage("f", "  "+q.curve(0, "z.z")+" AS y")
		for j := range q.classes {
			q.result(j, fmt.Sprintf("CASE WHEN i.top = %d THEN f.y WHEN r.rest > 0 THEN %s%d / r.rest * (1e0 - f.y) WHEN r.rest = 0 THEN (1e0 - f.y) / %s END",
				j, p, j, sqlNumber(float64(q.classes-1))))
		}
		return
	}
	if q.onLogits() {
		if q.input == metrics.Probs {
			q.stage("z", q.each("CASE WHEN i.top = # THEN "+topLogit+" WHEN s.x# = 0 THEN -"+sqlInfinity+" ELSE ln(s.x#) - ln(1e0 - s.x#) END AS z#")...)
		} else {
			q.stage("z", q.each("CASE WHEN i.top = # THEN "+topLogit+" ELSE s.x# - m.x - ln(q.total - q.e#) END AS z#")...)
		}
	} else {
		q.stage("z", q.each(p+"# AS z#")...)
	}
	var l []string
	for j := range q.classes {
		l = append(l, fmt.Sprintf("  %s AS y%d", q.curve(j, fmt.Sprintf("z.z%d", j)), j))
	}
	q.stage("f", l...)
	q.stage("n", "  "+q.joined("f.y#", " + ")+" AS total")
	for j := range q.classes {
		q.result(j, fmt.Sprintf("CASE WHEN n.total > 0 THEN f.y%d / n.total WHEN n.total = 0 THEN %s END", j, sqlNumber(1/float64(q.classes))))
	}
}

func (q *query) writeLevels() {
	l := q.levels
	if q.input == metrics.Normals {
		for j, name := range q.levelNames() {
			q.results = append(q.results, fmt.Sprintf("  CAST(t.%s AS DOUBLE) + CAST(t.%s AS DOUBLE) * %s AS %s", q.columns[0], q.columns[1], sqlNumber(l.at[j]), name))
		}
		return
	}
	low, high, part := l.spots()
	for j := range l.at {
		q.result(j, fmt.Sprintf("CAST(t.%s AS DOUBLE) * %s + CAST(t.%s AS DOUBLE) * %s", q.columns[low[j]], sqlNumber(1-part[j]), q.columns[high[j]], sqlNumber(part[j])))
	}
}
