package lmeval

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/predictions/internal/columns"
	"github.com/candor-go/candor/predictions/internal/jsonlines"
)

// parser reads lines.
type parser struct {
	o       *Options
	filters []string         // met so far
	seen    map[string]int64 // the line of each document
	skipped int              // lines of other filters
	without *columns.Fault   // why the first of these has no choices; nil if it has
}

// line reads a line. ok is false if it is one of another filter.
func (p *parser) line(row jsonlines.Value, number int64) (l line, ok bool, f *columns.Fault) {
	l.at = number
	fields := map[string]jsonlines.Value{}
	for key, v := range row.Members() {
		if _, twice := fields[key]; twice {
			return l, false, columns.Wrong("write each key once", "the key %q comes twice in one row", key)
		}
		fields[key] = v
	}
	for _, key := range []string{"doc_id", "arguments", "filtered_resps", "target"} {
		if _, ok := fields[key]; !ok {
			return l, false, columns.Wrong("name samples_*.jsonl of a run that logs samples", "it has no field %q, so it is not a sample of lm-evaluation-harness", key)
		}
	}
	filter, ok := fields["filter"].Text()
	if !ok {
		filter = "none"
	}
	if !slices.Contains(p.filters, filter) {
		p.filters = append(p.filters, filter)
	}
	wanted := p.filters
	if len(p.o.Filters) > 0 {
		if !slices.Contains(p.o.Filters, filter) {
			if p.skipped++; p.skipped == 1 {
				if p.without = l.likelihoods(fields); p.without != nil {
					p.without.Row, p.without.Line = -1, number
				}
			}
			return l, false, nil
		}
		wanted = slices.DeleteFunc(slices.Clone(p.filters), func(f string) bool { return !slices.Contains(p.o.Filters, f) })
	}
	if len(wanted) > 1 {
		return l, false, columns.Wrong("name one with "+setting.Filters.String(), "it has lines of the filters %s: each document would count several times", strings.Join(wanted, ", "))
	}
	l.id = string(fields["doc_id"].Raw())
	l.hash, _ = fields["doc_hash"].Text()
	key := l.id + "\x00" + l.hash
	if first, twice := p.seen[key]; twice {
		return l, false, columns.Wrong("keep the lines of one run, as tail and head of a shell do",
			"document %s was on line %d already: the harness adds a second run to the file of the first", l.id, first+1)
	}
	p.seen[key] = number
	if f := l.likelihoods(fields); f != nil {
		return l, false, f
	}
	if f := l.texts(p.o, fields); f != nil {
		return l, false, f
	}
	if f := l.truth(p.o, row, fields); f != nil {
		return l, false, f
	}
	for _, path := range p.o.Groups {
		v, ok := at(row, path)
		if !ok {
			return l, false, columns.Wrong("name task, or a field such as doc.subject", "it has no field %q", path)
		}
		text, ok := v.Text()
		if !ok {
			text = string(v.Raw())
		}
		l.groups = append(l.groups, text)
	}
	return l, true, nil
}

// at returns the value at a path of keys with dots between them.
func at(v jsonlines.Value, path string) (jsonlines.Value, bool) {
	ok := true
	for key := range strings.SplitSeq(path, ".") {
		if v, ok = v.Field(key); !ok {
			return v, false
		}
	}
	return v, true
}

// number returns a number, also one that is written as a text, as the harness has done since 0.4.3.
func number(v jsonlines.Value) (float64, bool) {
	if text, ok := v.Text(); ok {
		x, err := strconv.ParseFloat(text, 64)
		return x, err == nil
	}
	switch v.Kind() {
	case 't':
		return 1, true
	case 'f':
		return 0, true
	}
	return v.Number()
}

// likelihoods reads the log-likelihoods.
func (l *line) likelihoods(fields map[string]jsonlines.Value) *columns.Fault {
	for i, pair := range fields["filtered_resps"].Elements() {
		x, found := 0.0, false
		for j, v := range pair.Elements() {
			if j == 0 {
				x, found = number(v)
			}
		}
		if !found {
			if i == 0 {
				return noChoices("the model's answer is a text, or has no log-likelihood: only multiple-choice tasks have probabilities, and generate_until and loglikelihood_rolling have none")
			}
			return columns.Wrong("", "filtered_resps %d is not a pair of log-likelihood and greedy", i)
		}
		l.lls = append(l.lls, x)
	}
	if len(l.lls) < 2 {
		return noChoices("it has one log-likelihood, and not one for each choice: only multiple-choice tasks have probabilities")
	}
	return nil
}

// noChoices returns a fault with ErrNoChoices.
func noChoices(reason string) *columns.Fault {
	f := columns.Wrong("leave files of such tasks out", "%s", reason)
	f.Err = ErrNoChoices
	return f
}

// texts reads the prompts: which entries are the choices, and what these are.
func (l *line) texts(o *Options, fields map[string]jsonlines.Value) *columns.Fault {
	var questions, ends []string
	add := func(v jsonlines.Value) *columns.Fault {
		var parts []string
		for _, e := range v.Members() {
			if text, ok := e.Text(); ok && len(parts) < 2 {
				parts = append(parts, text)
			}
		}
		for _, e := range v.Elements() { // as versions before 0.4.3 write it
			if text, ok := e.Text(); ok && len(parts) < 2 {
				parts = append(parts, text)
			}
		}
		if len(parts) < 2 {
			return columns.Wrong("", "arguments %d is not a pair of a prompt and a continuation", len(questions))
		}
		questions, ends = append(questions, parts[0]), append(ends, parts[1])
		return nil
	}
	i := 0
	for key, v := range fields["arguments"].Members() {
		if key != "gen_args_"+strconv.Itoa(i) {
			return columns.Wrong("", "arguments has %q where gen_args_%d is expected", key, i)
		}
		if f := add(v); f != nil {
			return f
		}
		i++
	}
	for _, v := range fields["arguments"].Elements() {
		if f := add(v); f != nil {
			return f
		}
	}
	if len(questions) != len(l.lls) {
		return columns.Wrong("", "it has %d prompts and %d log-likelihoods", len(questions), len(l.lls))
	}
	k := len(l.lls)
	_, mutual := fields["acc_mutual_info"]
	if mutual {
		if k /= 2; len(l.lls)%2 != 0 || slices.ContainsFunc(questions[k:], func(q string) bool { return q != "" }) {
			return columns.Wrong("", "acc_mutual_info needs each choice a second time without the question, and the second half of the prompts is not that")
		}
		l.lls, l.alone = l.lls[:k:k], l.lls[k:]
	}
	if k < 2 {
		return columns.Wrong("leave files of such tasks out", "it has one choice: a probability needs two")
	}
	same := func(l []string) bool { return !slices.ContainsFunc(l, func(s string) bool { return s != l[0] }) }
	l.many = same(ends[:k]) && !same(questions[:k])
	switch {
	case mutual:
		ends = ends[k:]
	case l.many:
		return nil
	}
	if o.Delimiter == nil {
		l.ends = ends
		return nil
	}
	for i, e := range ends {
		c, ok := strings.CutPrefix(e, *o.Delimiter)
		if !ok {
			return columns.Wrong("pass "+setting.TargetDelimiter.String()+" as the run had it", "choice %d, %q, does not begin with the delimiter %q", i, e, *o.Delimiter)
		}
		l.choices = append(l.choices, c)
	}
	return nil
}

// truth reads what says which choice is right, and the values that the harness computed.
func (l *line) truth(o *Options, row jsonlines.Value, fields map[string]jsonlines.Value) *columns.Fault {
	for _, c := range []struct {
		name string
		to   *float64
	}{{"acc", &l.facts.acc}, {"acc_norm", &l.facts.norm}, {"acc_bytes", &l.facts.bytes}, {"acc_mutual_info", &l.facts.mutual}} {
		*c.to = math.NaN()
		v, ok := fields[c.name]
		if !ok {
			continue
		}
		x, ok := number(v)
		if !ok || x != 0 && x != 1 {
			return columns.Wrong("leave files of such tasks out", "%s is %s, and not 0 or 1: the task computes it in a way of its own, as one with several right choices does", c.name, v.Raw())
		}
		*c.to = x
	}
	target := fields["target"]
	if o.Label != "" {
		v, ok := at(row, o.Label)
		if !ok {
			return columns.Wrong("name a field as doc.answer", "it has no field %q", o.Label)
		}
		target = v
	}
	// These metrics keep the right choice beside the prediction.
	for _, name := range []string{"brier_score", "likelihood", "f1", "mcc"} {
		for i, v := range fields[name].Elements() {
			switch {
			case i == 0 && o.Label == "":
				if g := l.numbers(v); g.ok {
					l.gold, l.settled = g, true
				}
			case i == 1 && name == "brier_score":
				l.facts.probs = printed(v)
			}
		}
	}
	if l.settled {
		return nil
	}
	if l.many && o.Label == "" {
		return l.byAccuracy()
	}
	l.byIndex, l.byText = l.target(target)
	return nil
}

// byAccuracy settles the right choice of a document whose target says nothing of it: it is the most likely one if acc is 1, and of two choices
// the other one if it is 0.
func (l *line) byAccuracy() *columns.Fault {
	best, _ := argmax(l.lls)
	switch {
	case l.facts.acc == 1:
		l.gold = gold{[]int{best}, true}
	case l.facts.acc == 0 && len(l.lls) == 2:
		l.gold = gold{[]int{1 - best}, true}
	default:
		return columns.Wrong(fieldRemedy(),
			"each choice has a question of its own, and the file does not say which one is right")
	}
	l.settled = true
	return nil
}

// number returns the choice with a number, -1 if there is none.
func (l *line) number(i int) int {
	if i < 0 || i >= len(l.lls) {
		return -1
	}
	return i
}

// numbers reads a number of a choice, or a list of them.
func (l *line) numbers(v jsonlines.Value) (g gold) {
	one := func(v jsonlines.Value) bool {
		x, ok := v.Number()
		if ok = ok && x == math.Trunc(x) && math.Abs(x) < 1e9; ok {
			g.of = append(g.of, l.number(int(x)))
		}
		return ok
	}
	if v.Kind() != '[' {
		g.ok = one(v)
		return g
	}
	g.ok = true
	for _, e := range v.Elements() {
		g.ok = g.ok && one(e)
	}
	return g
}

// target reads a target in both ways. The harness writes str() of a number, of a text, or of a list of either.
func (l *line) target(v jsonlines.Value) (byIndex, byText gold) {
	text, ok := v.Text()
	if !ok {
		if byIndex = l.numbers(v); byIndex.ok {
			return byIndex, byText
		}
		byText.ok = v.Kind() == '['
		for _, e := range v.Elements() {
			t, ok := e.Text()
			byText.ok = byText.ok && ok
			byText.of = append(byText.of, l.text(t))
		}
		return byIndex, byText
	}
	if list, ok := literals(text); ok {
		byIndex.ok, byText.ok = true, true
		for _, e := range list {
			byIndex.add(l, e.text, !e.quoted)
			byText.of = append(byText.of, l.text(e.text))
			byText.ok = byText.ok && e.quoted
		}
		return byIndex, byText
	}
	byIndex.ok = true
	byIndex.add(l, text, true)
	return byIndex, gold{[]int{l.text(text)}, true}
}

// add adds the choice whose number a text is.
func (g *gold) add(l *line, text string, plain bool) {
	i, err := strconv.Atoi(text)
	if g.ok = g.ok && plain && err == nil; g.ok {
		g.of = append(g.of, l.number(i))
	}
}

// text returns the first choice that is a text, -1 if there is none. Without a delimiter it is one that ends with the text.
func (l *line) text(t string) int {
	if l.choices != nil || l.ends == nil {
		return slices.Index(l.choices, t)
	}
	found := -1
	for i, e := range l.ends {
		if strings.HasSuffix(e, t) {
			if l.unsure = l.unsure || found >= 0; found < 0 {
				found = i
			}
		}
	}
	return found
}

// literal is an element of a list as Python prints it.
type literal struct {
	text   string
	quoted bool
}

// literals reads a list of integers and texts as Python prints it.
func literals(s string) (list []literal, ok bool) {
	if len(s) < 2 || s[0] != '[' || s[len(s)-1] != ']' {
		return nil, false
	}
	for s = strings.TrimSpace(s[1 : len(s)-1]); s != ""; {
		if q := s[0]; q == '\'' || q == '"' {
			var b strings.Builder
			i := 1
			for ; i < len(s) && s[i] != q; i++ {
				c := s[i]
				if c == '\\' {
					if i++; i == len(s) {
						return nil, false
					}
					switch c = s[i]; c {
					case 'n':
						c = '\n'
					case 't':
						c = '\t'
					case '\\', '\'', '"':
					default:
						return nil, false
					}
				}
				b.WriteByte(c)
			}
			if i == len(s) {
				return nil, false
			}
			list, s = append(list, literal{b.String(), true}), s[i+1:]
		} else {
			i := strings.IndexByte(s+",", ',')
			if _, err := strconv.Atoi(strings.TrimSpace(s[:i])); err != nil {
				return nil, false
			}
			list, s = append(list, literal{strings.TrimSpace(s[:i]), false}), s[i:]
		}
		if s = strings.TrimSpace(s); s != "" {
			if s[0] != ',' {
				return nil, false
			}
			s = strings.TrimSpace(s[1:])
		}
	}
	return list, true
}

// printed reads the probabilities of brier_score: a list, or an array as numpy prints it. It returns nil if that is cut.
func printed(v jsonlines.Value) (list []float64) {
	for _, e := range v.Elements() {
		x, ok := number(e)
		if !ok {
			return nil
		}
		list = append(list, x)
	}
	text, _ := v.Text()
	for field := range strings.FieldsSeq(strings.Trim(text, "[]")) {
		x, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return nil
		}
		list = append(list, x)
	}
	return list
}
