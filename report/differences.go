package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/candor-go/candor/internal/setting"
	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/eval/compared"
	"github.com/candor-go/candor/metrics/paired"
	"github.com/candor-go/candor/metrics/regress"
)

// Differences are those of compared models, pair by pair and metric by metric.
type Differences struct {
	Names []string // of the models
	Level float64  // of the intervals
	Rows  int64
	// Baseline says that all other models are compared with one; otherwise each is compared with each.
	Baseline bool
	// Clusters are those by which errors are found; nil if rows are taken as independent.
	Clusters *eval.Clusters
	// Forecasts says that rows have no classes: they are often of consecutive times.
	Forecasts bool
	Adjust    compared.Adjust // of p-values and intervals, over the pairs of a metric
	List      []compared.Difference
	Flips     []compared.Flips           // nil unless decisions are compared
	Flipped   *FlippedRows               // nil unless rows whose decisions differ were written
	Groups    *compared.GroupDifferences // nil if rows are not grouped

	tests map[int]DieboldMariano // that took the place of a difference
	most  int                    // of each list that JSON has, the first ones; 0 for all
}

// DieboldMariano is a test of equal mean loss of two models, of rows in the order of time: B minus A.
type DieboldMariano struct {
	A, B             int    // numbers of the models
	Loss             string // the loss of a row
	Metric           string // whose difference it judges, as documents have it
	Horizon          int
	By               string // the column of the series; "" if all rows are one
	regress.DMResult        // of A minus B
}

// warning says that there are fewer than 25 rows per step of the horizon; "" if there are enough, or no test.
func (t *DieboldMariano) warning() string {
	if t.Reason != "" || t.Rows >= 25*t.Horizon {
		return ""
	}
	return fmt.Sprintf("%s are fewer than 25 times the horizon, %d: the Diebold-Mariano test may find differences where there are none",
		countOf(int64(t.Rows), "row"), t.Horizon)
}

// Brief returns the differences with at most so many in each list of their JSON, the first ones: differences, flips, and groups, of these
// only the first pairs and so many cells in all, by the metrics of GroupMetrics. If there are more differences than that, the metrics by which a
// set is better come first, with the pairs of the set that is better than all others. What is said of all stays.
func (d *Differences) Brief(most int) *Differences {
	c := *d
	if c.most = most; len(d.List) > most && d.tests == nil {
		c.List = slices.Concat(d.led()...)
	}
	return &c
}

// led returns the differences by metric: first metrics by which a set is better, then those by which one can be. Of each, pairs with the set that
// is better than all others come first.
func (d *Differences) led() (l [][]compared.Difference) {
	for from := 0; from < len(d.List); {
		to := from
		for to < len(d.List) && d.List[to].Metric.String() == d.List[from].Metric.String() {
			to++
		}
		of := slices.Clone(d.List[from:to])
		if best := d.winner(of); best >= 0 {
			without := func(x *compared.Difference) bool { return x.A != best && x.B != best }
			slices.SortStableFunc(of, func(a, b compared.Difference) int {
				switch x, y := without(&a), without(&b); {
				case x == y:
					return 0
				case x:
					return 1
				}
				return -1
			})
		}
		l = append(l, of)
		from = to
	}
	rank := func(l []compared.Difference) int {
		switch {
		case slices.ContainsFunc(l, func(x compared.Difference) bool { return x.Outcome == compared.Better || x.Outcome == compared.Worse }):
			return 0
		case l[0].Better == eval.Lower || l[0].Better == eval.Higher:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(l, func(a, b []compared.Difference) int { return cmp.Compare(rank(a), rank(b)) })
	return l
}

// winner returns the number of the set that is better than each other one by the differences of a metric, of more than two sets; -1 if there is none.
func (d *Differences) winner(l []compared.Difference) int {
	if len(d.Names) < 3 {
		return -1
	}
	wins := make([]int, len(d.Names))
	for i := range l {
		switch x := &l[i]; x.Outcome {
		case compared.Better:
			wins[x.B]++
		case compared.Worse:
			wins[x.A]++
		}
	}
	return slices.Index(wins, len(d.Names)-1)
}

// mostGroupMetrics is the largest number of metrics of a brief list of groups.
const mostGroupMetrics = 4

// GroupMetrics returns the numbers of the metrics of a brief list of groups: the loss that puts groups in order, and then the first others.
func (d *Differences) GroupMetrics() []int {
	l := []int{d.Groups.Main}
	for k := range d.Groups.Metrics {
		if k != d.Groups.Main && len(l) < mostGroupMetrics {
			l = append(l, k)
		}
	}
	return l
}

// Horizon returns the steps ahead and the column of the series of TakeDieboldMariano's tests; 0 if there are none.
func (d *Differences) Horizon() (steps int, series string) {
	for _, t := range d.tests {
		steps, series = t.Horizon, t.By
	}
	return steps, series
}

// TakeDieboldMariano puts tests in the place of the differences of the same models and metric, whose intervals take rows as
// independent. p-values are adjusted and outcomes judged anew.
func (d *Differences) TakeDieboldMariano(tests []DieboldMariano) {
	d.tests = map[int]DieboldMariano{}
	for i := range d.List {
		x := &d.List[i]
		for _, t := range tests {
			if t.A != x.A || t.B != x.B || t.Metric != x.Metric.String() {
				continue
			}
			d.tests[i] = t
			if t.Reason != "" {
				x.Interval, x.P, x.Method, x.Reason = metrics.NoInterval(), math.NaN(), "", "no Diebold-Mariano test: "+t.Reason
				continue
			}
			x.Interval, x.P, x.Reason = metrics.Interval{Low: -t.Interval.High, High: -t.Interval.Low}, t.P, ""
			within := ""
			if t.By != "" {
				within = " within each of " + Count(int64(t.Series)) + " series"
			}
			x.Method = fmt.Sprintf("Diebold-Mariano test%s, horizon %d, with the correction of Harvey, Leybourne and Newbold", within, t.Horizon)
			if t.Bartlett {
				x.Method += "; autocovariances by Bartlett's weights"
			}
			x.Error = paired.Error{SE: t.SE, DF: float64(t.Rows - 1)}
		}
	}
	compared.Judge(d.List, d.Level, d.Rows, d.Adjust)
}

// of returns the difference of a pair by a metric; nil if there is none.
func (d *Differences) of(a, b int, metric string) *compared.Difference {
	for i := range d.List {
		if x := &d.List[i]; x.A == a && x.B == b && x.Metric.String() == metric {
			return x
		}
	}
	return nil
}

// Best returns the models that are decidedly better by a metric than every other model.
func (d *Differences) best(metric string) []bool {
	best := make([]bool, len(d.Names))
	for m := range best {
		wins := 0
		for i := range d.List {
			x := &d.List[i]
			if x.Metric.String() != metric {
				continue
			}
			if x.B == m && x.Outcome == compared.Better || x.A == m && x.Outcome == compared.Worse {
				wins++
			}
		}
		best[m] = wins == len(d.Names)-1
	}
	return best
}

// firstWords are the metrics that the first sentence speaks of, the first of each list that there is.
var firstWords = [][]string{{"nll", "wis", "crps", "brier", "rmse", "mae", "ae_median", "pinball", "brier_integrated", "brier_ipcw"}, {"accuracy", "auroc", "auroc_ipcw"}, {"nll_temperature_scaled"}}

// spoken are names of metrics in a sentence, where these are not their names.
var spoken = map[string]string{"nll": "NLL", "wis": "WIS", "crps": "CRPS", "brier": "Brier score", "rmse": "RMSE", "mae": "mean absolute error", "ae_median": "median absolute error",
	"pinball": "pinball loss", "auroc": "AUROC", "nll_temperature_scaled": "NLL after temperature scaling", "brier_integrated": "integrated Brier score", "brier_ipcw": "Brier score", "auroc_ipcw": "AUROC"}

func say(metric string) string {
	if name, horizon, ok := strings.Cut(strings.TrimSuffix(metric, ")"), "(horizon="); ok && spoken[name] != "" && !strings.Contains(horizon, ",") {
		return spoken[name] + " by " + horizon
	}
	if s, ok := spoken[metric]; ok {
		return s
	}
	return metric
}

// firstMetrics returns the metrics that sentences speak of.
func (d *Differences) firstMetrics() (metrics []string) {
	for _, l := range firstWords {
		for _, name := range l {
			at := slices.IndexFunc(d.List, func(x compared.Difference) bool { return x.Metric.String() == name })
			for i := range d.List { // of several horizons the last one
				if m := d.List[i].Metric.String(); strings.HasPrefix(m, name+"(horizon=") {
					at = i
				}
			}
			if at < 0 {
				continue
			}
			metrics = append(metrics, d.List[at].Metric.String())
			if !math.IsNaN(d.List[at].Interval.Low) {
				break // of an infinite NLL the next one speaks too
			}
		}
	}
	if len(metrics) == 0 && len(d.List) > 0 {
		metrics = []string{d.List[0].Metric.String()}
	}
	return metrics
}

// Sentence says in words which model is better.
func (d *Differences) Sentence() string {
	metrics := d.firstMetrics()
	names := visible.Texts(d.Names)
	switch {
	case len(metrics) == 0:
		return ""
	case len(names) > 2:
		return d.ofMany(metrics, names)
	}
	var l []*compared.Difference
	better, worse := 0, 0
	for _, m := range metrics {
		x := d.of(d.List[0].A, d.List[0].B, m)
		l = append(l, x)
		switch x.Outcome {
		case compared.Better:
			better++
		case compared.Worse:
			worse++
		}
	}
	a, b := names[l[0].A], names[l[0].B]
	if x := l[0]; x.Value == 0 && x.Interval.Low == 0 && x.Interval.High == 0 {
		return fmt.Sprintf("%s and %s do not differ: %s is the same in every row.", a, b, say(x.Metric.String()))
	}
	var parts []string
	head := fmt.Sprintf("Neither of %s and %s is shown to be better: ", a, b)
	sign := 1.0
	switch {
	case better > 0 && worse > 0:
		head = fmt.Sprintf("%s and %s are better by one metric each: of %s against %s, ", a, b, b, a)
	case better > 0:
		head = fmt.Sprintf("%s is better than %s: ", b, a)
	case worse > 0:
		head, sign = fmt.Sprintf("%s is better than %s: ", a, b), -1
	}
	for _, x := range l {
		parts = append(parts, d.part(x, sign, better+worse == 0, b, a))
	}
	return head + strings.Join(parts, "; ") + "."
}

// part says one difference, times sign: that of the better model and the other one.
func (d *Differences) part(x *compared.Difference, sign float64, spell bool, b, a string) string {
	name := say(x.Metric.String())
	x = d.tidy(x)
	value, i := sign*x.Value, x.Interval
	if sign < 0 {
		i = metrics.Interval{Low: -i.High, High: -i.Low}
	}
	size := d.size(x)
	s := ""
	switch {
	case math.IsNaN(i.Low):
		return fmt.Sprintf("%s not compared, since %s", name, visible.Text(strings.TrimSuffix(x.Reason, ".")))
	case x.Outcome == compared.Undecided && spell:
		s = fmt.Sprintf("%s of %s minus %s is %s, not decided at this N", name, b, a, size(x.Value, x.Interval))
	case x.Outcome == compared.Undecided:
		s = name + " not decided at this N"
	case value < 0:
		s = fmt.Sprintf("%s lower by %s", name, size(-value, metrics.Interval{Low: -i.High, High: -i.Low}))
	default:
		s = fmt.Sprintf("%s higher by %s", name, size(value, i))
	}
	var more []string
	if x.RowsToDecide > 0 {
		more = append(more, fmt.Sprintf("about %s would decide it 4 times out of 5 if the true difference is this one", toDecide(x)))
	}
	if m := x.Margin; m != nil {
		switch m.Outcome {
		case compared.Equivalent:
			more = append(more, "equivalent within "+full(m.Size))
		case compared.NotWorse:
			if x.Outcome == compared.Better { // which says more
				break
			}
			more = append(more, fmt.Sprintf("%s is not worse by %s or more", visible.Text(d.Names[x.B]), full(m.Size)))
		}
	}
	if len(more) > 0 {
		s += " (" + strings.Join(more, "; ") + ")"
	}
	return s
}

// tidy returns a difference as text shows it: what is nothing but the rounding of values is 0. Forecasts have units of their own.
func (d *Differences) tidy(x *compared.Difference) *compared.Difference {
	const rounding = 1e-13
	if d.Forecasts || !(math.Abs(x.Interval.Low) < rounding && math.Abs(x.Interval.High) < rounding) {
		return x
	}
	c := *x
	c.Value, c.Interval, c.RowsToDecide = 0, metrics.Interval{}, 0
	return &c
}

// size returns a function that formats a size of a difference: of accuracy in points.
func (d *Differences) size(x *compared.Difference) func(value float64, i metrics.Interval) string {
	return func(value float64, i metrics.Interval) string {
		unit := ""
		if x.Metric.Name == "accuracy" {
			value, i, unit = 100*value, metrics.Interval{Low: 100 * i.Low, High: 100 * i.High}, " points"
		}
		n := decimals(i)
		return fmt.Sprintf("%s%s [%s, %s]", plain(value, n), unit, plain(i.Low, n), plain(i.High, n))
	}
}

// ofMany is Sentence for more than two models.
func (d *Differences) ofMany(metrics, names []string) string {
	var parts []string
	won, open := make([][]string, len(names)), []string(nil) // metrics by the set that is best, and those without one
	baseline := -1
	if d.Baseline {
		baseline = d.List[0].A
	}
	for _, m := range metrics {
		if baseline >= 0 {
			by := map[compared.Outcome][]string{}
			for i := range d.List {
				if x := &d.List[i]; x.Metric.String() == m {
					by[x.Outcome] = append(by[x.Outcome], names[x.B])
				}
			}
			var said []string
			for _, o := range []struct {
				outcome compared.Outcome
				word    string
			}{{compared.Better, "better"}, {compared.Worse, "worse"}, {compared.Undecided, "not decided"}, {compared.NoOutcome, "not compared"}} {
				if l := by[o.outcome]; len(l) > 0 {
					said = append(said, o.word+": "+few(l))
				}
			}
			parts = append(parts, fmt.Sprintf("by %s, %s", say(m), strings.Join(said, ", ")))
			continue
		}
		if i := slices.Index(d.best(m), true); i >= 0 {
			won[i] = append(won[i], say(m))
		} else {
			open = append(open, say(m))
		}
	}
	for i, l := range won {
		if len(l) > 0 {
			parts = append(parts, fmt.Sprintf("%s is better than each of the others by %s", names[i], strings.Join(l, " and ")))
		}
	}
	if len(open) > 0 {
		parts = append(parts, "no set is shown to be better than all others by "+strings.Join(open, " or "))
	}
	s := strings.Join(parts, "; ") + "."
	if baseline >= 0 {
		return "Against " + names[baseline] + ": " + s
	}
	if rest, ok := strings.CutPrefix(s, "no set"); ok {
		return "No set" + rest
	}
	return s
}

// few joins names, of which it spells the first ones.
func few(l []string) string {
	const most = 5
	if len(l) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(l[:most], ", "), len(l)-most)
	}
	return strings.Join(l, ", ")
}

// toDecide says how many rows would decide a difference, or clusters like these.
func toDecide(x *compared.Difference) string {
	rows := Count(rounded(x.RowsToDecide)) + " rows"
	if x.ClustersToDecide > 0 {
		return rows + " in " + countOf(rounded(x.ClustersToDecide), "cluster")
	}
	return rows
}

// decimals returns how many decimals show the width of an interval with two digits or so, and that an end is not 0 where 0 lies outside.
func decimals(i metrics.Interval) (n int) {
	half := (i.High - i.Low) / 2
	if !(half > 0) {
		return 3
	}
	for unit := 10.0; half < unit && n < 8; unit /= 10 {
		n++
	}
	for end := math.Min(math.Abs(i.Low), math.Abs(i.High)); (i.Low > 0 || i.High < 0) && n < 8 && strings.Trim(plain(end, n), "0.") == ""; {
		n++
	}
	return n
}

func plain(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return s
}

// rounded rounds a number of rows to two digits.
func rounded(n int64) int64 {
	unit := int64(1)
	for n/unit >= 100 {
		unit *= 10
	}
	return (n + unit/2) / unit * unit
}

// pairs returns the pairs of models that are compared.
func (d *Differences) pairs() (pairs [][2]int) {
	for i := range d.List {
		if p := [2]int{d.List[i].A, d.List[i].B}; !slices.Contains(pairs, p) {
			pairs = append(pairs, p)
		}
	}
	return pairs
}

// csvColumns returns the columns of a comparison's CSV that follow those of the sets: their heads, and the cells of a metric, which are
// empty for a pair that has no difference of it.
func (d *Differences) csvColumns(metric string) (head, cells []string) {
	names := visible.Texts(d.Names)
	for _, p := range d.pairs() {
		pair, ofP := names[p[1]]+" - "+names[p[0]], " p"
		if len(names) > 2 || d.Groups != nil {
			ofP = " p adjusted"
		}
		head = append(head, pair, pair+" low", pair+" high", pair+ofP, pair+" outcome")
		if x := d.of(p[0], p[1], metric); x != nil {
			cells = append(cells, full(x.Value), full(x.Interval.Low), full(x.Interval.High), full(x.Adjusted), string(x.Outcome))
		} else {
			cells = append(cells, "", "", "", "", "")
		}
	}
	return head, cells
}

// Table writes a row per metric and pair, as Plain or Markdown; Comparison.Table has them in CSV. Plain leaves out the metrics that have no interval, whose reasons
// Notes has, and of many pairs shows those of the first metrics that fit 60 rows. No line ends in a space.
func (d *Differences) Table(w io.Writer, f Format, width int) error {
	names := visible.Texts(d.Names)
	pairs, p, interval := len(names) > 2, "p", percentOf(d.Level)+" interval"
	if pairs {
		p = "p adjusted"
	}
	if d.together() {
		interval = "simultaneous " + percentOf(d.Level)
	}
	switch f {
	case Markdown:
		t := table.NewWriter()
		t.AppendHeader(table.Row{"Metric", "Difference", "Value", interval, p, "Outcome"})
		for i := range d.List {
			x := d.tidy(&d.List[i])
			t.AppendRow(table.Row{x.Metric.String(), names[x.B] + " - " + names[x.A], short(x.Value), intervalOf(x), pText(x.Adjusted), d.outcome(x, names)})
		}
		_, err := io.WriteString(w, t.RenderMarkdown()+"\n")
		return err
	}
	if width <= 0 {
		width = DefaultWidth
	}
	const most = 60
	const words, least = 24, 14 // columns of an outcome with its numbers of rows, and of one without
	names = briefNames(names)
	t := narrow{head: []string{"Metric", "Difference", "Value", interval, p, "Outcome"}, numbers: 2, texts: 1}
	left, before := 0, ""
	for i := range d.List {
		x := d.tidy(&d.List[i])
		if math.IsNaN(x.Interval.Low) {
			continue
		}
		if len(t.rows) == most {
			left++
			continue
		}
		metric := fold(x.Metric.String(), ",", max(10, width/3))
		if metric == before {
			metric = "" // of another pair
		} else {
			before = metric
		}
		t.rows = append(t.rows, []string{metric, text.Snip(names[x.B], 16, "...") + " - " + text.Snip(names[x.A], 16, "..."), short(x.Value), intervalOf(x), pText(x.Adjusted), d.outcome(x, names)})
	}
	if len(t.rows) == 0 {
		return nil
	}
	if !pairs {
		t.without(1)
	}
	room := func() int {
		used := 1
		for c := range len(t.head) - 1 {
			most := text.StringWidthWithoutEscSequences(t.head[c])
			for _, r := range t.rows {
				most = max(most, text.LongestLineLen(r[c]))
			}
			used += most + padding
		}
		return width - used
	}
	// Where there is little room, first the numbers of rows go, then p-values, values and intervals.
	brief, need := room() < words, 0
	for _, r := range t.rows {
		need = max(need, text.StringWidthWithoutEscSequences(needs.ReplaceAllString(r[len(r)-1], "")))
	}
	var dropped []string
	for _, column := range []string{p, "Value", interval} {
		if lack := min(least, need) - room(); column == interval && lack > 0 { // names of metrics stand in the other table too
			const name = 18 // columns that are left of them
			wide := 0
			for _, r := range t.rows {
				wide = max(wide, text.LongestLineLen(r[0]))
			}
			for _, r := range t.rows {
				r[0] = text.Snip(r[0], max(name, wide-lack), "...")
			}
		}
		if room() < min(least, need) {
			t.without(slices.Index(t.head, column))
			dropped = append(dropped, column)
		}
	}
	for _, r := range t.rows {
		last := r[len(r)-1]
		if brief {
			last = needs.ReplaceAllString(last, "")
		}
		space := max(least, room())
		for _, name := range names {
			if n := space - len(" better"); text.StringWidthWithoutEscSequences(name) > n && n > 3 {
				last = strings.ReplaceAll(last, name, text.Snip(name, n, "..."))
			}
		}
		r[len(r)-1] = Wrap(last, space)
	}
	if _, err := t.render(w, f, math.MaxInt32); err != nil {
		return err
	}
	said := rest(left, "difference", dropped, "csv, markdown or json")
	if said == "" {
		return nil
	}
	_, err := io.WriteString(w, Wrap(said, width)+"\n")
	return err
}

func percentOf(level float64) string {
	return strconv.FormatFloat(math.Round(1e8*level)/1e6, 'f', -1, 64) + "%"
}

func intervalOf(x *compared.Difference) string {
	if math.IsNaN(x.Interval.Low) {
		return ""
	}
	return "[" + short(x.Interval.Low) + ", " + short(x.Interval.High) + "]"
}

// pText formats a p-value.
func pText(p float64) string {
	switch {
	case math.IsNaN(p):
		return ""
	case p < 1e-4:
		return "< 0.0001"
	}
	return strconv.FormatFloat(p, 'g', 2, 64)
}

// needs matches what outcome says of the rows that would decide.
var needs = regexp.MustCompile(` \(needs [^)]*\)`)

// outcome says the outcome of a difference.
func (d *Differences) outcome(x *compared.Difference, names []string) string {
	var s []string
	switch x.Outcome {
	case compared.Better:
		s = append(s, names[x.B]+" better")
	case compared.Worse:
		s = append(s, names[x.A]+" better")
	case compared.Undecided:
		s = append(s, "not decided")
		if x.RowsToDecide > 0 {
			s[0] += fmt.Sprintf(" (needs about %s)", toDecide(x))
		}
	}
	if m := x.Margin; m != nil {
		switch m.Outcome {
		case compared.Equivalent:
			s = append(s, "equivalent within "+full(m.Size))
		case compared.NotWorse:
			if x.Outcome == compared.Better {
				break
			}
			s = append(s, names[x.B]+" not worse by "+full(m.Size))
		case compared.Undecided:
			s = append(s, "equivalence within "+full(m.Size)+" not shown")
		}
	}
	return strings.Join(s, ", ")
}

// Notes says, each once, why metrics have no interval of their difference, and what is doubtful about tests.
func (d *Differences) Notes() (l []string) {
	by := map[string][]string{}
	var order []string
	for i := range d.List {
		x := &d.List[i]
		if x.Reason == "" {
			continue
		}
		if by[x.Reason] == nil {
			order = append(order, x.Reason)
		}
		if m := x.Metric.String(); !slices.Contains(by[x.Reason], m) {
			by[x.Reason] = append(by[x.Reason], m)
		}
	}
	for _, reason := range order {
		l = append(l, fmt.Sprintf("no interval for the difference in %s: %s", strings.Join(by[reason], ", "), visible.Text(reason)))
	}
	for i := range d.List {
		if t, ok := d.tests[i]; ok {
			if w := t.warning(); w != "" && !slices.Contains(l, w) {
				l = append(l, w)
			}
		}
	}
	return l
}

// ByMaps ends the method of differences that are widened by how maps vary.
const ByMaps = "; widened by how maps of other rows differ"

// Independent says what the intervals assume, unless all are those of tests that do not.
func (d *Differences) Independent() string {
	rows, fixed, what := 0, 0, ""
	for i := range d.List {
		x := &d.List[i]
		if at := strings.LastIndex(x.Method, ", fitted"); at >= 0 {
			fixed++
			what = strings.TrimPrefix(x.Method[at:], ", ")
		}
		if strings.Contains(x.Method, "independent") {
			rows++
		}
	}
	if c := d.Clusters; c != nil && rows == 0 {
		text, also := (*clusters)(c).count(), ""
		if fixed > 0 {
			also = "; those after temperature scaling also take " + what
		}
		switch {
		case c.Number < 2:
			return "Rows are of " + text + ", so differences have no intervals."
		case c.Number < eval.FewClusters:
			return fmt.Sprintf("Intervals of differences are by %s, which are taken as independent%s. By fewer than %d they are rough.", text, also, eval.FewClusters)
		}
		return "Intervals of differences are by " + text + ", which are taken as independent" + also + "."
	}
	for _, t := range d.tests {
		if t.By != "" {
			return "Intervals of differences take the series of " + visible.Text(t.By) + " as independent."
		}
	}
	switch {
	case rows == 0:
		return ""
	case d.Forecasts:
		return fmt.Sprintf("Intervals of differences take rows as independent, which forecasts of near times, or of many series at one time, are not: %s names what they share.", setting.Cluster)
	case fixed == 0:
		return "Intervals of differences take rows as independent."
	case fixed == rows:
		return "Intervals of differences take rows as independent, " + what + "."
	}
	return "Intervals of differences take rows as independent; those after temperature scaling also take " + what + "."
}

// together reports whether the intervals of the pairs of a metric hold together.
func (d *Differences) together() bool {
	return slices.ContainsFunc(d.List, func(x compared.Difference) bool { return x.Together != "" })
}

// Simultaneous says over what intervals hold together; "" if each holds by itself.
func (d *Differences) Simultaneous() string {
	var said []string
	for i := range d.List {
		if t := d.List[i].Together; t != "" && !slices.Contains(said, t) {
			said = append(said, t)
		}
	}
	if len(said) == 0 {
		return ""
	}
	return fmt.Sprintf("Intervals and p-values of a metric hold together, at %s: %s. Metrics are not adjusted for each other.", percentOf(d.Level), strings.Join(said, "; "))
}

// FlipsText says how often the decisions of two models differ; "" for more than two models, or if decisions are not compared.
func (d *Differences) FlipsText() string {
	if len(d.Flips) != 1 {
		return ""
	}
	f := d.Flips[0]
	if f.Differ == 0 {
		if !slices.ContainsFunc(d.List, func(x compared.Difference) bool { return x.Metric.Name == "accuracy" }) {
			return "" // of rare events a decision at 1/2 is often the same one in all rows, and says little
		}
		return "All decisions are the same."
	}
	names := visible.Texts(d.Names)
	return fmt.Sprintf("Decisions differ in %s of %s (%s%%): only %s is right in %s, only %s in %s.", Count(f.Differ), countOf(f.Rows, "row"),
		strconv.FormatFloat(100*float64(f.Differ)/float64(f.Rows), 'f', 1, 64), names[f.B], Count(f.OnlyB), names[f.A], Count(f.OnlyA))
}

// upTo is how many of a list are in the JSON.
func (d *Differences) upTo(n int) int {
	if d.most > 0 {
		return min(n, d.most)
	}
	return n
}

// flips returns the flips for a document.
func (d *Differences) flips() []object {
	l := make([]object, d.upTo(len(d.Flips)))
	for i := range l {
		f := &d.Flips[i]
		l[i] = object{{"a", d.Names[f.A]}, {"b", d.Names[f.B]}, {"rows", f.Rows}, {"flip_rate", number(float64(f.Differ) / float64(f.Rows))},
			{"only_a_right", f.OnlyA}, {"only_b_right", f.OnlyB}}
	}
	return l
}

// objects returns the differences for a document.
func (d *Differences) objects() []object {
	l := make([]object, d.upTo(len(d.List)))
	text := func(o compared.Outcome) any {
		if o == compared.NoOutcome {
			return nil
		}
		return string(o)
	}
	for i := range l {
		x := &d.List[i]
		o := object{{"a", d.Names[x.A]}, {"b", d.Names[x.B]}, {"metric", x.Metric.String()}, {"value", number(x.Value)}, {"low", number(x.Interval.Low)},
			{"high", number(x.Interval.High)}, {"level", number(d.Level)}, {"p", number(x.P)}, {"p_adjusted", number(x.Adjusted)}}
		if !math.IsNaN(x.PExact) {
			o = append(o, field{"p_exact", number(x.PExact)})
		}
		if t, ok := d.tests[i]; ok {
			o = append(o, field{"statistic", number(-t.Statistic)}, field{"horizon", t.Horizon})
			if t.By != "" {
				o = append(o, field{"series", t.Series})
			}
		}
		switch {
		case x.Method != "" && x.Together != "":
			o = append(o, field{"method", x.Method + "; " + x.Together})
		case x.Method != "":
			o = append(o, field{"method", x.Method})
		}
		if x.Reason != "" {
			o = append(o, field{"reason", x.Reason})
		}
		better := x.Better
		if better == "" {
			better = eval.Neither
		}
		o = append(o, field{"better", string(better)}, field{"outcome", text(x.Outcome)})
		if m := x.Margin; m != nil {
			o = append(o, field{"margin", object{{"size", number(m.Size)}, {"p", number(m.P)}, {"outcome", text(m.Outcome)}}})
		}
		if x.Rows > 0 {
			o = append(o, field{"rows", x.Rows})
		}
		if x.RowsToDecide > 0 {
			o = append(o, field{"rows_to_decide", x.RowsToDecide})
		} else {
			o = append(o, field{"rows_to_decide", nil})
		}
		if x.ClustersToDecide > 0 {
			o = append(o, field{"clusters_to_decide", x.ClustersToDecide})
		}
		l[i] = o
	}
	return l
}
