// Package roles decides what each column of a table is for: scores, label, weight, decision, confidence or group. It reads no files. All
// table formats use it, so the same names mean the same in each of them.
//
// Start with Bind, which finds the columns that a Want asks for and returns a Binding. Columns are numbered from 0, and -1 is none.
// NewLabels turns the cells of the label's column into classes.
//
// Bind never guesses. A column that is not there is a *Missing, and columns that could be meant in two ways are a *Doubt. Binding.String
// says what was decided. Propose suggests a Want for a user to confirm.
package roles

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind says what the cells of a column hold.
type Kind uint8

// The kinds of columns.
const (
	Number Kind = iota
	Text
	List   // of numbers, Column.Width of them in each row, 0 if rows may differ
	Fields // numbers with names, Column.Names: a struct
	Other  // anything else, which has no role
)

func (k Kind) String() string {
	return [...]string{"numbers", "text", "lists of numbers", "named numbers", "other"}[min(k, Other)]
}

// Column is a column of a table.
type Column struct {
	Name  string
	Kind  Kind
	Width int      // of List
	Names []string // of Fields
	Type  string   // what the file calls the type, for messages; "" if it has no name for it
}

// Want says which columns have which role, by their names.
type Want struct {
	// Scores are the columns of scores: one for each class, in the order of the classes; or one alone, which has the scores of all
	// classes in each cell or, if its cells are numbers, the score of the event of a binary task.
	Scores []string
	// Prefix, if set, is what the names of the columns of scores begin with, in place of Scores. The rest is the name of the class.
	Prefix *string
	// Classes are the names of the classes in the order of the scores. Nil takes them from the columns.
	Classes []string
	// Unnamed says that the names of columns are their numbers, which name no class.
	Unnamed bool

	// Members are the columns of scores of the members of an ensemble in one table, in place of Scores and Prefix: for each member its
	// prefix, or its one column.
	Members []string
	// Tags says that a row has several labels, each 0 or 1: in the columns whose names begin with TagPrefix and end as those of the
	// scores do, or all in the column Label, as lists.
	Tags      bool
	TagPrefix string

	// Columns by name, each "" if there is none. Correct takes the place of Label: it says whether the top label of a row was right.
	Label, Correct, Weight, Decision, Confidence string
	// Bytes has the number of bytes that a row stands for, and Sequence says which sequence it belongs to.
	Bytes, Sequence string
	// Groups are the columns that say which group a row is in.
	Groups []string
	// Cluster is the column that says which cluster a row is in.
	Cluster string
	// Keys are the columns by which rows of two tables are matched.
	Keys []string
	// Only is the column that says which rows are read.
	Only string
	// Kept are columns that are copied to what is written. They may have other roles too.
	Kept []string
}

// Binding says which columns have which role. Columns are numbered as in the list that Bind was given; -1 is none.
type Binding struct {
	Scores                              []int
	Classes                             []string // nil where nothing names them
	Label, Weight, Decision, Confidence int      // Label is also that of Want.Correct
	Bytes, Sequence                     int
	Groups, Keys, Kept                  []int
	Cluster                             int
	Only                                int
	Tags                                []int    // the labels' columns, in the order of Scores; nil if they are lists in Label
	Members                             int      // how many members' columns follow one another in Scores; 0 for one model
	LeftOut                             []string // columns of text under the prefix

	columns []Column
	prefix  string
	correct bool
}

// keeping is the role of columns that are copied.
const keeping = "kept column"

// Missing is the error of a role whose column is not there.
type Missing struct {
	Role, Name string
	Similar    string // a column that is named much like it; "" if none is
	Columns    []string
}

func (e *Missing) Error() string {
	s := fmt.Sprintf("no column %q for the %s", e.Name, e.Role)
	if e.Role == keeping {
		s = fmt.Sprintf("no column %q to keep", e.Name)
	}
	if e.Similar != "" {
		s += fmt.Sprintf(" (did you mean %q?)", e.Similar)
	}
	return s + ": " + listed(e.Columns)
}

// Doubt is the error of columns that could be meant in more than one way, or in none.
type Doubt struct {
	Role, Reason string
	Remedy       string   // what to do; "" if another column has to be named
	Propose      []string // columns that are likely meant; nil if nothing is
}

func (e *Doubt) Error() string { return e.Reason }

// Bind finds the columns of the roles. Its error is a *Missing or a *Doubt.
func Bind(columns []Column, w *Want) (*Binding, error) {
	b := &Binding{columns: columns, Label: -1, Weight: -1, Decision: -1, Confidence: -1, Only: -1, Bytes: -1, Sequence: -1, Cluster: -1, correct: w.Correct != ""}
	taken := map[int]string{}
	all := newIndex(columns)
	one := func(role, name string, kinds ...Kind) (int, error) {
		i, err := all.find(role, name)
		if err != nil {
			return -1, err
		}
		if k := columns[i].Kind; !slices.Contains(kinds, k) {
			holds := "holds " + k.String()
			if k == Other {
				holds = "holds neither numbers nor text"
				if columns[i].Type != "" {
					holds = "holds values of type " + columns[i].Type
				}
			}
			return -1, &Doubt{Role: role, Reason: fmt.Sprintf("column %q %s, which cannot be the %s: %s", name, holds, role, single(role, kinds))}
		}
		if other, ok := taken[i]; ok && other != role {
			return -1, &Doubt{Role: role, Reason: fmt.Sprintf("column %q cannot be both the %s and the %s", name, other, role)}
		}
		taken[i] = role
		return i, nil
	}
	labels := []Kind{Number, Text}
	if w.Tags {
		labels = []Kind{List}
	}
	for _, r := range []struct {
		role, name string
		to         *int
		kinds      []Kind
	}{
		{"label", w.Label, &b.Label, labels},
		{"correctness", w.Correct, &b.Label, []Kind{Number, Text}},
		{"weight", w.Weight, &b.Weight, []Kind{Number}},
		{"decision", w.Decision, &b.Decision, []Kind{Number, Text}},
		{"confidence score", w.Confidence, &b.Confidence, []Kind{Number}},
		{"number of bytes", w.Bytes, &b.Bytes, []Kind{Number}},
		{"sequence", w.Sequence, &b.Sequence, []Kind{Number, Text}},
	} {
		if r.name == "" {
			continue
		}
		var err error
		if *r.to, err = one(r.role, r.name, r.kinds...); err != nil {
			return nil, err
		}
	}
	for _, name := range w.Groups {
		i, err := all.find("group", name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(b.Groups, i) {
			return nil, &Doubt{Role: "group", Reason: fmt.Sprintf("column %q is named twice to group by", name), Remedy: "name it once"}
		}
		b.Groups = append(b.Groups, i)
	}
	if w.Cluster != "" {
		var err error
		if b.Cluster, err = all.find("cluster", w.Cluster); err != nil {
			return nil, err
		}
		if slices.Contains(b.Groups, b.Cluster) {
			return nil, &Doubt{Role: "cluster", Reason: fmt.Sprintf("column %q both groups the rows and is their cluster", w.Cluster), Remedy: "name another column for one of them"}
		}
	}
	for _, name := range w.Keys {
		i, err := all.find("key", name)
		if err != nil {
			return nil, err
		}
		b.Keys = append(b.Keys, i)
	}
	for _, name := range w.Kept {
		i, err := all.find(keeping, name)
		if err != nil {
			return nil, err
		}
		if slices.Contains(b.Kept, i) {
			return nil, &Doubt{Role: keeping, Reason: fmt.Sprintf("column %q is to be kept twice", name), Remedy: "name it once"}
		}
		b.Kept = append(b.Kept, i)
	}
	var err error
	if w.Only != "" {
		if b.Only, err = all.find("filter", w.Only); err != nil {
			return nil, err
		}
		taken[b.Only] = "filter"
	}
	for _, i := range b.Keys {
		taken[i] = "key"
	}
	if w.Tags && w.Prefix != nil && len(w.TagPrefix) > len(*w.Prefix) { // p_ and p_true_
		for i, c := range columns {
			if strings.HasPrefix(c.Name, w.TagPrefix) {
				taken[i] = "label"
			}
		}
	}
	switch {
	case w.Members != nil:
		err = b.byMember(w.Members, taken, one)
	case w.Prefix != nil:
		err = b.byPrefix(*w.Prefix, taken)
	default:
		err = b.byName(w.Scores, one)
	}
	if err != nil {
		return nil, err
	}
	if err := b.name(w.Classes); err != nil {
		return nil, err
	}
	if w.Tags && w.Label == "" {
		if err := b.tag(w.TagPrefix); err != nil {
			return nil, err
		}
	}
	if w.Unnamed && w.Classes == nil {
		b.Classes = nil
	}
	return b, nil
}

// byMember takes the columns of scores of each member: those of its prefix, which are of the same classes in the same order, or its one column.
func (b *Binding) byMember(members []string, taken map[int]string, one func(role, name string, kinds ...Kind) (int, error)) error {
	var all []int
	var first []string
	var prefix string // of the first member
	for i, m := range members {
		if slices.Contains(members[:i], m) {
			return &Doubt{Role: "scores", Reason: fmt.Sprintf("member %q is named twice", m), Remedy: "name each member once"}
		}
		b.Scores, b.prefix = nil, ""
		if slices.ContainsFunc(b.columns, func(c Column) bool { return c.Name == m }) {
			at, err := one("scores", m, Number, List, Fields)
			if err != nil {
				return err
			}
			b.Scores = []int{at}
		} else if err := b.byPrefix(m, taken); err != nil {
			return err
		}
		names := b.rests(len(b.prefix))
		if b.prefix == "" {
			names = nil
		}
		if i == 0 {
			first, prefix = names, b.prefix
		}
		if !slices.Equal(names, first) || b.columns[b.Scores[0]].Kind != b.columns[slices.Concat(all, b.Scores)[0]].Kind {
			return &Doubt{Role: "scores", Remedy: "give all members the same classes, in the same order",
				Reason: fmt.Sprintf("members %q and %q have scores of different classes: %s and %s", members[0], m, classesOf(first), classesOf(names))}
		}
		all = append(all, b.Scores...)
	}
	b.Members, b.prefix, b.Scores = len(members), prefix, all
	return nil
}

// classesOf says which classes a member has.
func classesOf(names []string) string {
	if names == nil {
		return "one column"
	}
	return quoted(names)
}

// member returns the columns of the first member, or of the one model.
func (b *Binding) member() []int { return b.Scores[:len(b.Scores)/max(1, b.Members)] }

// tag finds the column of each label.
func (b *Binding) tag(prefix string) error {
	var rest []string
	for _, c := range b.columns {
		if strings.HasPrefix(c.Name, prefix) && len(c.Name) > len(prefix) {
			rest = append(rest, c.Name[len(prefix):])
		}
	}
	all, scores := newIndex(b.columns), map[int]bool{}
	for _, i := range b.Scores {
		scores[i] = true
	}
	for j, name := range b.Classes {
		i, ok := all.at[prefix+name]
		if !ok {
			return &Doubt{Role: "labels", Reason: fmt.Sprintf("no column %q for the label that column %q is the score of: %s",
				prefix+name, b.columns[b.Scores[j]].Name, behind(prefix, rest))}
		}
		if scores[i] {
			return &Doubt{Role: "labels", Reason: fmt.Sprintf("column %q cannot be both scores and labels", b.columns[i].Name)}
		}
		b.Tags = append(b.Tags, i)
	}
	return nil
}

// behind says what follows a prefix in the names of columns.
func behind(prefix string, rests []string) string {
	switch {
	case prefix == "":
		return "no prefix of the labels' columns is named"
	case len(rests) == 0:
		return fmt.Sprintf("no column has a name that begins with %q", prefix)
	}
	return fmt.Sprintf("after %q come %s", prefix, quoted(rests))
}

// single says what a role takes of a column with cells of these kinds.
func single(role string, kinds []Kind) string {
	switch {
	case slices.Equal(kinds, []Kind{List}):
		return "it is a list of 0 and 1 in each row"
	case slices.Contains(kinds, Fields):
		return "they are a number, or a list of numbers, in each row"
	case role == "scores":
		return "they are a number in each row"
	case slices.Contains(kinds, Text):
		return "it is a number or text in each row"
	}
	return "it is a number in each row"
}

// index finds columns by name. There may be a million.
type index struct {
	columns []Column
	at      map[string]int // the first of a name
	twice   map[string]bool
}

func newIndex(columns []Column) *index {
	x := &index{columns, make(map[string]int, len(columns)), map[string]bool{}}
	for i, c := range columns {
		if _, ok := x.at[c.Name]; ok {
			x.twice[c.Name] = true
			continue
		}
		x.at[c.Name] = i
	}
	return x
}

func (x *index) find(role, name string) (int, error) {
	i, ok := x.at[name]
	if !ok {
		return -1, &Missing{Role: role, Name: name, Similar: similar(x.columns, name), Columns: names(x.columns)}
	}
	if x.twice[name] {
		return -1, twoColumns(role, name)
	}
	return i, nil
}

func twoColumns(role, name string) *Doubt {
	return &Doubt{Role: role, Reason: fmt.Sprintf("two columns are named %q", name), Remedy: "rename one of them"}
}

// repeated returns the first name that a list has a second time.
func repeated(l []string) (name string, ok bool) {
	seen := make(map[string]bool, len(l))
	for _, name := range l {
		if seen[name] {
			return name, true
		}
		seen[name] = true
	}
	return "", false
}

func names(columns []Column) []string {
	l := make([]string, len(columns))
	for i, c := range columns {
		l[i] = c.Name
	}
	return l
}

// byName takes the columns of scores by their names.
func (b *Binding) byName(l []string, one func(role, name string, kinds ...Kind) (int, error)) error {
	if len(l) == 0 {
		return &Doubt{Role: "scores", Reason: "no column of scores is named: " + listed(names(b.columns))}
	}
	kinds := []Kind{Number}
	if len(l) == 1 {
		kinds = []Kind{Number, List, Fields}
	}
	if name, ok := repeated(l); ok {
		return &Doubt{Role: "scores", Reason: fmt.Sprintf("column %q is named twice", name), Remedy: "name each column once"}
	}
	for _, name := range l {
		at, err := one("scores", name, kinds...)
		if err != nil {
			return err
		}
		b.Scores = append(b.Scores, at)
	}
	return nil
}

// byPrefix takes the columns of scores by what their names begin with. Columns that have another role are not among them, and those of
// text are left out.
func (b *Binding) byPrefix(prefix string, taken map[int]string) error {
	b.prefix = prefix
	var found []string
	for i, c := range b.columns {
		rest, ok := strings.CutPrefix(c.Name, prefix)
		if !ok || rest == "" || taken[i] != "" || slices.Contains(b.Groups, i) || i == b.Cluster {
			continue
		}
		switch c.Kind {
		case Text:
			b.LeftOut = append(b.LeftOut, c.Name)
		case Number:
			b.Scores, found = append(b.Scores, i), append(found, c.Name)
		}
	}
	if len(b.Scores) == 0 {
		return &Doubt{Role: "scores", Remedy: "give another prefix", Reason: fmt.Sprintf("no column of numbers has a name that begins with %q: %s", prefix, listed(names(b.columns)))}
	}
	if name, ok := repeated(found); ok {
		return twoColumns("scores", name)
	}
	// One column among others whose rest is of another form, as H2O's "predict" is beside p0 and p1 under p, is likely no class.
	var likely, odd []string
	forms := map[form]int{}
	for _, name := range found {
		forms[formOf(strings.TrimPrefix(name, prefix))]++
	}
	if len(forms) > 1 {
		most := form(0)
		for f := range forms {
			if forms[f] > forms[most] || forms[f] == forms[most] && f > most {
				most = f
			}
		}
		for _, name := range found {
			if formOf(strings.TrimPrefix(name, prefix)) == most {
				likely = append(likely, name)
			} else {
				odd = append(odd, name)
			}
		}
		those := "columns %s also begin with %q, but may not be scores of classes: their names differ in form from the others"
		if len(odd) == 1 {
			those = "column %s also begins with %q, but may not be the scores of a class: its name differs in form from the others"
		}
		return &Doubt{Role: "scores", Propose: likely, Reason: fmt.Sprintf(those, quoted(odd), prefix)}
	}
	return nil
}

// form is what the rest of a name behind a prefix looks like.
type form uint8

const (
	words form = iota
	separated
	integers
)

func formOf(rest string) form {
	switch {
	case isInteger(rest):
		return integers
	case strings.ContainsRune(separators, rune(rest[0])):
		return separated
	}
	return words
}

const separators = "_.- :"

func isInteger(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil && s[0] != '+'
}

// name sets the names of the classes.
func (b *Binding) name(classes []string) error {
	first := b.columns[b.Scores[0]]
	width := len(b.member()) // as far as it is known
	switch {
	case width > 1 && b.prefix != "":
		b.Classes = b.rests(len(b.prefix))
	case width > 1:
		b.Classes = b.rests(commonPrefix(b.scoreNames()))
	case first.Kind == Fields:
		b.Classes, width = slices.Clone(first.Names), len(first.Names)
	case first.Kind == List:
		width = first.Width
	}
	if classes == nil {
		return nil
	}
	if c, ok := repeated(classes); ok {
		return &Doubt{Role: "classes", Reason: fmt.Sprintf("class %q is named twice", c), Remedy: "name each class once, in the order of the scores"}
	}
	if width > 1 && len(classes) != width {
		return &Doubt{Role: "classes", Remedy: "name each class once, in the order of the scores", Reason: fmt.Sprintf("%s named, but there are scores of %d", counted(len(classes)), width)}
	}
	if first.Kind == Fields && !slices.Equal(classes, b.Classes) {
		return b.reorder(classes)
	}
	b.Classes = slices.Clone(classes)
	return nil
}

// reorder refuses other names than those of the fields of a struct: its order is the file's.
func (b *Binding) reorder(classes []string) error {
	return &Doubt{Role: "classes", Remedy: "leave the names out: the file has them, in its order", Reason: fmt.Sprintf("the classes named are %s, and the file has %s", quoted(classes), quoted(b.Classes))}
}

// counted says how many classes are.
func counted(n int) string {
	if n == 1 {
		return "1 class is"
	}
	return strconv.Itoa(n) + " classes are"
}

func (b *Binding) scoreNames() []string {
	l := make([]string, len(b.member()))
	for i, c := range b.member() {
		l[i] = b.columns[c].Name
	}
	return l
}

// rests returns the names of the columns of scores without their first n bytes, and without a separator that all begin with.
func (b *Binding) rests(n int) []string {
	l := b.scoreNames()
	same := true
	for i := range l {
		l[i] = l[i][n:]
		same = same && len(l[i]) > 1 && l[i][0] == l[0][0] && strings.ContainsRune(separators, rune(l[i][0]))
	}
	if same {
		for i := range l {
			l[i] = l[i][1:]
		}
	}
	return l
}

// commonPrefix returns how many bytes of the names are a prefix that all share and that is no part of a class's name: up to a separator,
// or what stands before integers.
func commonPrefix(l []string) int {
	n := len(l[0])
	for _, s := range l[1:] {
		n = min(n, len(s))
		for i := range n {
			if s[i] != l[0][i] {
				n = i
				break
			}
		}
	}
	for n > 0 && l[0][n-1] >= '0' && l[0][n-1] <= '9' {
		n--
	}
	for _, s := range l {
		if len(s) == n {
			return 0 // a name that is all prefix
		}
	}
	if !slices.ContainsFunc(l, func(s string) bool { return !isInteger(s[n:]) }) {
		return n
	}
	return strings.LastIndexAny(l[0][:n], separators) + 1
}

// String says which columns have which role, as "scores dog, cat; label y".
func (b *Binding) String() string {
	var parts []string
	scores := b.scoreNames()
	said := strings.Join(scores, ", ")
	if len(scores) > 6 {
		said = fmt.Sprintf("%s, %s, ... %s (%d columns)", scores[0], scores[1], scores[len(scores)-1], len(scores))
	}
	if b.Members > 1 {
		said += ", and likewise those of " + strconv.Itoa(b.Members-1) + " more member"
		if b.Members > 2 {
			said += "s"
		}
	}
	parts = append(parts, "scores "+said)
	label := "label"
	if b.correct {
		label = "correctness"
	}
	if len(b.Tags) > 0 {
		parts = append(parts, fmt.Sprintf("labels %s ... %s", b.columns[b.Tags[0]].Name, b.columns[b.Tags[len(b.Tags)-1]].Name))
	}
	for _, k := range b.Keys {
		parts = append(parts, "key "+b.columns[k].Name)
	}
	for _, r := range []struct {
		role string
		at   int
	}{{label, b.Label}, {"weight", b.Weight}, {"decision", b.Decision}, {"confidence score", b.Confidence},
		{"number of bytes", b.Bytes}, {"sequence", b.Sequence}, {"filter", b.Only}} {
		if r.at >= 0 {
			parts = append(parts, r.role+" "+b.columns[r.at].Name)
		}
	}
	for _, g := range b.Groups {
		parts = append(parts, "group "+b.columns[g].Name)
	}
	if b.Cluster >= 0 {
		parts = append(parts, "cluster "+b.columns[b.Cluster].Name)
	}
	for _, k := range b.Kept {
		parts = append(parts, "kept "+b.columns[k].Name)
	}
	if len(b.LeftOut) > 0 {
		parts = append(parts, "not used, as they are text: "+strings.Join(b.LeftOut, ", "))
	}
	return strings.Join(parts, "; ")
}

// listed names columns in a message.
func listed(l []string) string {
	switch len(l) {
	case 0:
		return "there are no columns"
	case 1:
		return "the only column is " + strconv.Quote(l[0])
	}
	return "the columns are " + quoted(l)
}

func quoted(l []string) string {
	const most = 20
	s := make([]string, 0, most+1)
	for i, n := range l {
		if i == most {
			s = append(s, fmt.Sprintf("%d more", len(l)-most))
			break
		}
		s = append(s, strconv.Quote(short(n)))
	}
	return strings.Join(s, ", ")
}

// short cuts a long name.
func short(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "..."
	}
	return s
}

// similar returns the column whose name is likest to one that is not there, "" if none is like it.
func similar(columns []Column, name string) string {
	best, least := "", min(len(name), max(1, (len(name)+1)/3)+1)
	for _, c := range columns {
		if len(c.Name) > 4*len(name)+16 {
			continue
		}
		if d := distance(strings.ToLower(name), strings.ToLower(c.Name)); d < least {
			best, least = c.Name, d
		}
	}
	return best
}

// distance returns how many bytes have to be put in, taken out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		left := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := left
			if a[i] != b[j] {
				d = 1 + min(left, row[j+1], row[j])
			}
			left, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
