package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/candor-go/candor/internal/asmtext"
)

// Code that stands in a file more than once becomes a macro: nothing but the text gets shorter. First come idioms, then functions that
// are alike but for a few words, such as those of the two half-precision types; then what is left of functions, from one label to
// the next.

// An idiom is a few instructions that are one operation. Their parameters are registers, on arm64 numbers of registers where the
// instructions are words, or an operand in memory.
type idiom struct {
	arch, name string
	params     []string
	lines      []string
}

var idioms = []idiom{
	// Two registers sorted, lane by lane.
	{"amd64", "SORT_PS", []string{"a", "b", "low", "high"}, []string{"VMINPS b, a, low", "VMAXPS b, a, high"}},
	{"amd64", "SORT_PD", []string{"a", "b", "low", "high"}, []string{"VMINPD b, a, low", "VMAXPD b, a, high"}},
	{"amd64", "SORT_SD", []string{"a", "b", "low", "high"}, []string{"VPMINSD b, a, low", "VPMAXSD b, a, high"}},
	{"amd64", "SORT_UD", []string{"a", "b", "low", "high"}, []string{"VPMINUD b, a, low", "VPMAXUD b, a, high"}},
	// The larger is what the exclusive or of both and the smaller leaves.
	{"amd64", "SORT_IN_PLACE_SD", []string{"a", "b", "low"}, []string{"VPMINSD b, a, low", "VPTERNLOGD $0x96, b, low, a"}},
	// The smaller or, in the lanes of a mask, the larger.
	{"amd64", "EITHER_UD", []string{"a", "b", "mask", "to"}, []string{"VPMINUD b, a, to", "VPTERNLOGD $0x96, b, a, mask, to"}},
	{"amd64", "EITHER_UQ", []string{"a", "b", "mask", "to"}, []string{"VPMINUQ b, a, to", "VPTERNLOGQ $0x96, b, a, mask, to"}},
	// Half-precision numbers as float32.
	{"amd64", "WIDEN_BF16", []string{"from", "to"}, []string{"VPMOVZXWD from, to", "VPSLLD $0x10, to, to"}},
	{"amd64", "WIDEN_F16", []string{"from", "to"}, []string{"VCVTPH2PS from, to"}},

	{"arm64", "SORT_F32", []string{"a", "b", "low", "high"}, []string{"FMIN_S4(b, a, low)", "FMAX_S4(b, a, high)"}},
	{"arm64", "SORT_F64", []string{"a", "b", "low", "high"}, []string{"FMIN_D2(b, a, low)", "FMAX_D2(b, a, high)"}},
	{"arm64", "SORT_S32", []string{"a", "b", "low", "high"}, []string{"SMIN_S4(b, a, low)", "SMAX_S4(a, b, high)"}},
	{"arm64", "WIDEN_BF16", []string{"from", "to"}, []string{"SHLL_S4_16(from, to)"}},
	{"arm64", "WIDEN_F16", []string{"from", "to"}, []string{"FCVTL_S4(from, to)"}},
	{"arm64", "SORT_U32", []string{"a", "b", "low", "high"}, []string{"VUMIN b.S4, a.S4, low.S4", "VUMAX b.S4, a.S4, high.S4"}},
}

// A part is a function, or a macro that was one.
type part struct {
	name   string
	head   []string // of a function
	params []string // of a macro
	lines  []string // labels, and instructions behind a tab

	repeated bool // a macro of what stands in more than one place
}

// fold returns a file with macros, and adds to those for words.
func fold(text, family, arch string, w words) string {
	before, functions := parse(w.take(text))
	if len(functions) == 0 {
		return text
	}
	f := &folding{family: strings.ToUpper(family), parts: functions}
	for _, p := range functions {
		f.condense(p, arch)
	}
	f.twins()
	f.blocks()
	for _, n := range repeated {
		f.repeats(n)
	}

	var b strings.Builder
	b.WriteString(strings.TrimRight(before, "\n") + "\n")
	for _, m := range f.macros {
		fmt.Fprintf(&b, "\n#define %s(%s) \\\n%s\n", m.name, strings.Join(m.params, ", "), strings.Join(m.lines, " \\\n"))
	}
	for _, p := range functions {
		b.WriteString("\n" + strings.Join(p.head, "\n") + "\n")
		for _, line := range p.lines {
			if isLabel(line) {
				b.WriteString("\n")
			}
			b.WriteString(line + "\n")
		}
	}
	// The macros have to be what was there before.
	again, err := asmtext.Expand(b.String(), w.header())
	if err != nil {
		panic(err)
	}
	if plain(strings.Replace(again, "#include \""+wordsHeader+"\"\n", "", 1)) != plain(text) {
		panic("a macro changes what is assembled:\n" + again)
	}
	return b.String()
}

// folding is a file that is given macros.
type folding struct {
	family string
	parts  []*part // functions, and macros that were functions
	macros []*part
	named  map[string]int
}

// add adds a macro for bodies that are alike, whose name starts so, and returns the calls for each. What is a parameter where the bodies
// stand is one of the macro.
func (f *folding) add(name string, bodies [][]string, of []*part) (calls []string) {
	if f.named == nil {
		f.named = map[string]int{}
	}
	if f.named[name]++; f.named[name] > 1 {
		name = fmt.Sprintf("%s_%d", name, f.named[name])
	}
	m := &part{name: name}
	args := m.unified(bodies)
	for _, p := range of {
		for _, param := range p.params {
			if !slices.Contains(m.params, param) && compiled(`(?s).*\b`+param+`\b.*`).MatchString(strings.Join(m.lines, "\n")) {
				m.params = append(m.params, param)
				for k := range args {
					args[k] = append(args[k], param)
				}
			}
		}
	}
	f.macros = append(f.macros, m)
	for _, a := range args {
		calls = append(calls, "\t"+name+"("+strings.Join(a, ", ")+")")
	}
	return calls
}

// plain is the text without empty lines and columns.
func plain(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 0 {
			b.WriteString(strings.Join(f, " ") + "\n")
		}
	}
	return b.String()
}

func isLabel(line string) bool { return strings.HasSuffix(line, ":") }

// parse returns what stands before the functions, and the functions.
func parse(text string) (before string, functions []*part) {
	const start = "\n// func "
	at := strings.Index(text, start)
	if at < 0 {
		return text, nil
	}
	for _, s := range strings.Split(text[at+len(start):], start) {
		f := &part{}
		for i, line := range strings.Split("// func "+s, "\n") {
			code := strings.Join(strings.Fields(line), " ")
			switch {
			case code == "":
			case strings.HasPrefix(code, "//") || strings.HasPrefix(code, "TEXT "):
				f.head = append(f.head, line)
				if i == 0 {
					f.name, _, _ = strings.Cut(strings.TrimPrefix(code, "// func "), "(")
				}
			case isLabel(code):
				f.lines = append(f.lines, code)
			default:
				f.lines = append(f.lines, "\t"+code)
			}
		}
		functions = append(functions, f)
	}
	return text[:at], functions
}

// condense makes calls of idioms.
func (f *folding) condense(p *part, arch string) {
	for _, d := range idioms {
		if d.arch != arch {
			continue
		}
		var out []string
		for i := 0; i < len(p.lines); i++ {
			args, ok := d.match(p.lines[i:])
			if !ok {
				out = append(out, p.lines[i])
				continue
			}
			out = append(out, "\t"+d.name+"("+strings.Join(args, ", ")+")")
			i += len(d.lines) - 1
			if !slices.ContainsFunc(f.macros, func(m *part) bool { return m.name == d.name }) {
				m := &part{name: d.name, params: d.params}
				for _, line := range d.lines {
					m.lines = append(m.lines, "\t"+line)
				}
				f.macros = append(f.macros, m)
			}
		}
		p.lines = out
	}
}

var reference = regexp.MustCompile(`\b[a-z]\w*\b`)

// match returns the arguments with which the idiom is what the lines start with.
func (d idiom) match(lines []string) (args []string, ok bool) {
	if len(lines) < len(d.lines) {
		return nil, false
	}
	args = make([]string, len(d.params))
	for i, template := range d.lines {
		var at []int // the parameters, in the order of the template
		pattern := reference.ReplaceAllStringFunc(regexp.QuoteMeta(template), func(word string) string {
			k := slices.Index(d.params, word)
			if k < 0 {
				return word
			}
			at = append(at, k)
			return `([XYZKV]?\d+|-?\w*\(\w+\)(?:\(\w+\*\d\))?)`
		})
		m := compiled("\t" + pattern).FindStringSubmatch(lines[i])
		if m == nil {
			return nil, false
		}
		for n, k := range at {
			if args[k] != "" && args[k] != m[n+1] {
				return nil, false
			}
			args[k] = m[n+1]
		}
	}
	return args, true
}

var patterns = map[string]*regexp.Regexp{}

func compiled(pattern string) *regexp.Regexp {
	if patterns[pattern] == nil {
		patterns[pattern] = regexp.MustCompile("^" + pattern + "$")
	}
	return patterns[pattern]
}

const (
	most  = 4  // parameters of a macro
	least = 12 // lines of a function, or of what follows a label
)

// repeated are the numbers of lines that are looked for in more than one place.
var repeated = func() (n []int) {
	for i := 64; i >= 12; i-- {
		n = append(n, i)
	}
	return n
}()

// twins makes one macro of functions that are alike.
func (f *folding) twins() {
	done := map[*part]bool{}
	for i, p := range f.parts {
		if done[p] || len(p.lines) < least {
			continue
		}
		group, bodies := []*part{p}, [][]string{p.lines}
		for _, q := range f.parts[i+1:] {
			if _, _, ok := unify(append(bodies, q.lines), most); ok && !done[q] {
				group, bodies = append(group, q), append(bodies, q.lines)
			}
		}
		if len(group) == 1 {
			continue
		}
		for k, call := range f.add(macroName(group), bodies, nil) {
			done[group[k]] = true
			group[k].lines = []string{call}
		}
		m := f.macros[len(f.macros)-1]
		f.macros = f.macros[:len(f.macros)-1]
		f.parts = append(f.parts, m)
		defer func() { f.macros = append(f.macros, m) }()
	}
}

// blocks makes one macro of what follows the same label in several functions, if it is alike.
func (f *folding) blocks() {
	var labels []string
	for _, p := range f.parts {
		for _, line := range p.lines {
			if isLabel(line) && !slices.Contains(labels, line) {
				labels = append(labels, line)
			}
		}
	}
	for _, label := range labels {
		type block struct {
			of       *part
			from, to int
		}
		var all []block
		for _, p := range f.parts {
			if at := slices.Index(p.lines, label); at >= 0 {
				end := at + 1
				for end < len(p.lines) && !isLabel(p.lines[end]) {
					end++
				}
				if end-at > least {
					all = append(all, block{p, at + 1, end})
				}
			}
		}
		for len(all) > 1 {
			var rest []block
			group, of, bodies := all[:1:1], []*part{all[0].of}, [][]string{all[0].of.lines[all[0].from:all[0].to]}
			for _, b := range all[1:] {
				lines := b.of.lines[b.from:b.to]
				if _, _, ok := unify(append(bodies, lines), most); ok {
					group, of, bodies = append(group, b), append(of, b.of), append(bodies, lines)
				} else {
					rest = append(rest, b)
				}
			}
			all = rest
			if len(group) == 1 {
				continue
			}
			for k, call := range f.add(f.family+"_"+strings.TrimSuffix(label, ":"), bodies, of) {
				b := group[k]
				b.of.lines = slices.Replace(slices.Clone(b.of.lines), b.from, b.to, call)
			}
		}
	}
}

// repeats makes one macro of n lines that come more than once, and are alike: lines without labels and calls of such macros.
func (f *folding) repeats(n int) {
	type window struct {
		of *part
		at int
	}
	windows := map[string][]window{}
	var order []string
	breaks := func(line string) bool { return isLabel(line) || strings.HasPrefix(line, "\t"+f.family+"_") }
	for _, p := range slices.Concat(f.parts, f.macros) {
		if p.repeated {
			continue
		}
		shapes := make([]string, len(p.lines))
		for i, line := range p.lines {
			shapes[i] = shape.ReplaceAllString(line, "#")
		}
		for i := 0; i+n <= len(p.lines); i++ {
			if k := slices.IndexFunc(p.lines[i:i+n], breaks); k >= 0 {
				i += k
				continue
			}
			if !begins(p, i) || i+n < len(p.lines) && !begins(p, i+n) {
				continue
			}
			key := strings.Join(shapes[i:i+n], "\n")
			if windows[key] == nil {
				order = append(order, key)
			}
			windows[key] = append(windows[key], window{p, i})
		}
	}
	used := map[*part][]bool{}
	type change struct {
		window
		call string
	}
	var changes []change
	for _, key := range order {
		all := windows[key]
		for len(all) > 1 {
			var rest, group []window
			var of []*part
			var bodies [][]string
			taken := map[window]bool{}
			for _, w := range all {
				if used[w.of] == nil {
					used[w.of] = make([]bool, len(w.of.lines))
				}
				overlaps := slices.Contains(used[w.of][w.at:w.at+n], true)
				for d := -n + 1; d < n; d++ {
					overlaps = overlaps || taken[window{w.of, w.at + d}]
				}
				if overlaps {
					continue
				}
				lines := w.of.lines[w.at : w.at+n]
				if _, _, ok := unify(append(bodies, lines), most); ok {
					group, of, bodies = append(group, w), append(of, w.of), append(bodies, lines)
					taken[w] = true
				} else {
					rest = append(rest, w)
				}
			}
			all = rest
			if len(group) < 2 || (len(group)-1)*n-len(group)-2 < n/2 {
				continue
			}
			calls := f.add(f.family+"_"+labelAt(group[0].of, group[0].at), bodies, of)
			f.macros[len(f.macros)-1].repeated = true
			for k, call := range calls {
				w := group[k]
				changes = append(changes, change{w, call})
				for i := range n {
					used[w.of][w.at+i] = true
				}
			}
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return b.at - a.at })
	for _, c := range changes {
		c.of.lines = slices.Replace(slices.Clone(c.of.lines), c.at, c.at+n, c.call)
	}
}

var shape = regexp.MustCompile(`\b[A-Z]+\d+\b|[$+-]*\b(?:0x)?[0-9a-f]+\b|\b[A-D]X\b|\b[SD]I\b|\bBP\b|\bc(32|64)_\w+|\b[a-z]+\d*_\d+\b`)

// begins is whether something starts at a line: what follows a label, a jump or a call, or loads a register.
func begins(p *part, at int) bool {
	return at == 0 || loading.MatchString(p.lines[at]) || blockEnd.MatchString(p.lines[at]) || blockEnd.MatchString(p.lines[at-1])
}

var (
	loading  = regexp.MustCompile(`^\t(F?MOV|VMOV|VBROADCAST|VPBROADCAST|PRFM|PREFETCH|WIDEN)\S*[ (]-?\w*\(|^\tV\S+ c\d\d_`)
	blockEnd = regexp.MustCompile(`:$|^\t(J\w+|B[A-Z]{2}|CBN?Z|TBN?Z|[A-Z]+_[a-z]\w*\()`)
)

// labelAt is the label before a line.
func labelAt(p *part, at int) string {
	for at--; at >= 0; at-- {
		if isLabel(p.lines[at]) {
			return strings.TrimSuffix(p.lines[at], ":")
		}
	}
	return "start"
}

var token = regexp.MustCompile(`[A-Za-z_·][\w·.]*|[$+-]*\d\w*|\S|\s+`)

// unify returns the words in which bodies of as many lines differ, one of each body, and the first body with {k} in place of these. It is
// false if there are more than so many, or where labels or words of code differ.
func unify(bodies [][]string, most int) (words [][]string, template []string, ok bool) {
	for i, line := range bodies[0] {
		var rows [][]string
		for _, b := range bodies {
			if len(b) != len(bodies[0]) {
				return nil, nil, false
			}
			rows = append(rows, token.FindAllString(b[i], -1))
		}
		same := true
		for k, b := range bodies {
			same = same && b[i] == line
			if len(rows[k]) != len(rows[0]) {
				return nil, nil, false
			}
		}
		if same {
			template = append(template, line)
			continue
		}
		if isLabel(line) || strings.Contains(line, "WORD") {
			return nil, nil, false
		}
		var b strings.Builder
		for t, first := range rows[0] {
			column := make([]string, len(rows))
			differ := false
			for k := range rows {
				column[k] = rows[k][t]
				differ = differ || column[k] != first
			}
			if !differ {
				b.WriteString(first)
				continue
			}
			at := slices.IndexFunc(words, func(w []string) bool { return slices.Equal(w, column) })
			if at < 0 {
				at = len(words)
				words = append(words, column)
			}
			if len(words) > most {
				return nil, nil, false
			}
			fmt.Fprintf(&b, "\x00%d\x00", at)
		}
		template = append(template, b.String())
	}
	return words, template, true
}

// unified gives a macro the lines and parameters of bodies that are alike, and returns the arguments of each.
func (m *part) unified(bodies [][]string) (args [][]string) {
	words, template, _ := unify(bodies, most)
	all := strings.Join(template, "\n")
	for k, column := range words {
		name := parameterName(column)
		for n := 2; slices.Contains(m.params, name) || compiled(`(?s).*\b`+name+`\b.*`).MatchString(all); n++ {
			name = fmt.Sprintf("%s%d", strings.TrimRight(name, "0123456789"), n)
		}
		m.params = append(m.params, name)
		all = strings.ReplaceAll(all, fmt.Sprintf("\x00%d\x00", k), name)
	}
	m.lines = strings.Split(all, "\n")
	for k := range bodies {
		row := make([]string, len(words))
		for i := range words {
			row[i] = words[i][k]
		}
		args = append(args, row)
	}
	return args
}

// parameterName is what words have in common at their start, if that says anything, or what they are.
func parameterName(words []string) string {
	prefix := words[0]
	for _, w := range words {
		for !strings.HasPrefix(w, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	switch first := words[0]; {
	case strings.ContainsAny(first[:1], "$+-0123456789"):
		return "N"
	case registerName.MatchString(first):
		return "REG"
	case strings.HasPrefix(first, "c32_") || strings.HasPrefix(first, "c64_"):
		return "CONST"
	case first == strings.ToLower(first):
		return "LABEL"
	}
	if prefix = strings.TrimRight(prefix, "_0123456789."); len(prefix) >= 3 && !strings.Contains(prefix, ".") {
		return prefix
	}
	return "OP"
}

var registerName = regexp.MustCompile(`^([A-Z]+\d+|[A-D]X|[SD]I|BP)$`)

// macroName is what the names of parts have in common, in capitals.
func macroName(parts []*part) string {
	prefix := parts[0].name
	for _, p := range parts {
		for !strings.HasPrefix(p.name, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	prefix = regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(prefix, "${1}_${2}")
	return regexp.MustCompile(`_[A-Z]$`).ReplaceAllString(strings.ToUpper(prefix), "") + "_BODY"
}
