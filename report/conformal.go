package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/conformal"
	"github.com/candor-go/candor/report/picture"
)

// Conformal is the document of a conformal map, or of sets or intervals and how often they hold the truth.
type Conformal struct {
	Method   string  // "" for given sets and intervals
	Coverage float64 // that is promised; 0 if it is not known
	Rows     int64   // calibration rows; 0 if there are none
	Parts    []conformal.Part
	Promise  *conformal.Promise
	Level    float64
	Names    []string // of the classes; nil for numbers

	Sets      *conformal.SetTally      // nil if there are none
	Intervals *conformal.IntervalTally // likewise

	GroupColumns []string // nil if rows are not grouped
	Groups       []ConformalGroup

	Notes []string
}

// ConformalGroup is the coverage of the rows of a group.
type ConformalGroup struct {
	Values []string // in the GroupColumns
	conformal.Share
}

type conformalShare struct {
	Rows  int64 `json:"rows"`
	Value any   `json:"covered"`
	Low   any   `json:"low"`
	High  any   `json:"high"`
}

func (r *Conformal) share(s conformal.Share) conformalShare {
	i := conformal.Exact(s.Covered, s.Rows, r.Level)
	return conformalShare{s.Rows, plainNumber(s.Value()), plainNumber(i.Low), plainNumber(i.High)}
}

// plainNumber returns a number as JSON has it: null for NaN, "+Inf" for infinity.
func plainNumber(v float64) any {
	switch {
	case v != v:
		return nil
	case math.IsInf(v, 1):
		return "+Inf"
	}
	return v
}

type conformalPart struct {
	Class     string `json:"class,omitempty"`
	Rows      int64  `json:"rows"`
	Threshold any    `json:"threshold"`
}

type conformalPromise struct {
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Of the rows that were evaluated.
	ShareLow  any `json:"share_low,omitempty"`
	ShareHigh any `json:"share_high,omitempty"`
	P         any `json:"p,omitempty"`
}

type conformalGroup struct {
	Group map[string]string `json:"group"`
	conformalShare
	Below any `json:"below"`
}

type conformalSize struct {
	Size int `json:"size"`
	conformalShare
}

type conformalClass struct {
	Class string `json:"class"`
	conformalShare
}

type conformalSets struct {
	MeanSize   any              `json:"mean_size"`
	Singletons any              `json:"singletons"`
	Empty      any              `json:"empty"`
	BySize     []conformalSize  `json:"by_size"`
	ByClass    []conformalClass `json:"by_class"`
	WorstSize  any              `json:"worst_size"`
	WorstClass any              `json:"worst_class"`
}

type conformalStratum struct {
	Narrowest any `json:"narrowest"`
	Widest    any `json:"widest"`
	conformalShare
}

type conformalIntervals struct {
	MeanWidth   any                `json:"mean_width"`
	MedianWidth any                `json:"median_width"`
	Winkler     any                `json:"winkler"`
	Below       int64              `json:"below"`
	Above       int64              `json:"above"`
	Unbounded   int64              `json:"unbounded"`
	ByWidth     []conformalStratum `json:"by_width"`
	WorstWidth  any                `json:"worst_width"`
}

// widthStrata is the number of strata of widths.
const widthStrata = 3

// JSON returns the document "candor-conformal/1".
func (r *Conformal) JSON() ([]byte, error) {
	d := struct {
		Schema    string              `json:"schema"`
		Method    string              `json:"method,omitempty"`
		Coverage  any                 `json:"coverage"`
		Rows      int64               `json:"calibration_rows,omitempty"`
		Parts     []conformalPart     `json:"thresholds,omitempty"`
		Promise   *conformalPromise   `json:"promise,omitempty"`
		Level     float64             `json:"level"`
		Verdict   string              `json:"verdict"`
		All       *conformalShare     `json:"all,omitempty"`
		Sets      *conformalSets      `json:"sets,omitempty"`
		Intervals *conformalIntervals `json:"intervals,omitempty"`
		Groups    []conformalGroup    `json:"groups,omitempty"`
		Notes     []string            `json:"notes"`
	}{Schema: "candor-conformal/1", Method: r.Method, Rows: r.Rows, Level: r.Level, Verdict: r.Verdict(), Notes: append([]string{}, r.Notes...)}
	if r.Coverage > 0 {
		d.Coverage = r.Coverage
	}
	for _, p := range r.Parts {
		d.Parts = append(d.Parts, conformalPart{r.class(p.Name), p.Rows, plainNumber(p.Threshold)})
	}
	all, any := r.all()
	if any {
		s := r.share(all)
		d.All = &s
	}
	if r.Promise != nil {
		i := r.Promise.Coverage(r.Level)
		d.Promise = &conformalPromise{Mean: r.Promise.Mean(), Low: i.Low, High: i.High}
		if any && all.Rows > 0 {
			s := r.Promise.Share(all.Rows, r.Level)
			d.Promise.ShareLow, d.Promise.ShareHigh, d.Promise.P = s.Low, s.High, r.Promise.P(all.Covered, all.Rows)
		}
	}
	if t := r.Sets; t != nil {
		d.Sets = &conformalSets{MeanSize: plainNumber(t.MeanSize()), Singletons: ratioOf(t.BySize[1].Rows, all.Rows), Empty: ratioOf(t.BySize[0].Rows, all.Rows), BySize: []conformalSize{}, ByClass: []conformalClass{}}
		for size, s := range t.BySize {
			if s.Rows > 0 {
				d.Sets.BySize = append(d.Sets.BySize, conformalSize{size, r.share(s)})
			}
		}
		for i, s := range t.ByClass {
			d.Sets.ByClass = append(d.Sets.ByClass, conformalClass{r.class(strconv.Itoa(i)), r.share(s)})
		}
		if w := conformal.Worst(t.BySize); w >= 0 {
			d.Sets.WorstSize, d.Sets.WorstClass = w, r.class(strconv.Itoa(conformal.Worst(t.ByClass)))
		}
	}
	if t := r.Intervals; t != nil {
		d.Intervals = &conformalIntervals{MeanWidth: plainNumber(t.MeanWidth()), MedianWidth: plainNumber(t.MedianWidth()), Below: t.Below, Above: t.Above, Unbounded: t.Unbounded, ByWidth: []conformalStratum{}}
		if r.Coverage > 0 {
			d.Intervals.Winkler = plainNumber(t.Winkler(r.Coverage))
		}
		strata := t.ByWidth(widthStrata)
		for _, s := range strata {
			d.Intervals.ByWidth = append(d.Intervals.ByWidth, conformalStratum{plainNumber(s.Narrowest), plainNumber(s.Widest), r.share(s.Share)})
		}
		if w := conformal.Worst(conformal.Shares(strata)); w >= 0 {
			d.Intervals.WorstWidth = w
		}
	}
	for _, g := range r.groups() {
		values := map[string]string{}
		for i, name := range r.GroupColumns {
			values[name] = g.Values[i]
		}
		c := conformalGroup{values, r.share(g.Share), nil}
		if r.Coverage > 0 {
			c.Below = r.below(g.Share)
		}
		d.Groups = append(d.Groups, c)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(d)
	return b.Bytes(), err
}

// groups returns the groups by rising coverage, and of equal coverage those with more rows first.
func (r *Conformal) groups() []ConformalGroup {
	l := slices.Clone(r.Groups)
	slices.SortFunc(l, func(a, b ConformalGroup) int {
		return cmp.Or(cmp.Compare(a.Value(), b.Value()), cmp.Compare(b.Rows, a.Rows), slices.Compare(a.Values, b.Values))
	})
	return l
}

// below reports whether a group covers less than the coverage by more than chance, also for the lowest of so many groups: whether its exact
// interval is below at a level of which all groups share what is left (Bonferroni).
func (r *Conformal) below(s conformal.Share) bool {
	return conformal.Exact(s.Covered, s.Rows, 1-(1-r.Level)/float64(len(r.Groups))).High < r.Coverage
}

func ratioOf(n, rows int64) any {
	if rows == 0 {
		return nil
	}
	return float64(n) / float64(rows)
}

// class returns the name of a class by its number.
func (r *Conformal) class(number string) string {
	if i, err := strconv.Atoi(number); err == nil && i < len(r.Names) {
		return r.Names[i]
	}
	return number
}

// all returns the rows whose sets or intervals were counted.
func (r *Conformal) all() (conformal.Share, bool) {
	switch {
	case r.Sets != nil:
		return r.Sets.All(), true
	case r.Intervals != nil:
		return r.Intervals.All, true
	}
	return conformal.Share{}, false
}

func shareText(v float64) string {
	if v != v {
		return "-"
	}
	return strconv.FormatFloat(100*v, 'f', 1, 64) + "%"
}

func intervalText(i metrics.Interval) string {
	if i.Low != i.Low {
		return ""
	}
	return fmt.Sprintf(" [%s, %s]", shareText(i.Low), shareText(i.High))
}

// Verdict returns what the document says, in sentences.
func (r *Conformal) Verdict() string {
	var l []string
	what := "sets"
	if m, err := conformal.Parse(r.Method); err == nil && !m.Score.Classes() || r.Intervals != nil {
		what = "intervals"
	}
	if r.Promise != nil && !math.IsInf(r.Parts[0].Threshold, 1) {
		i := r.Promise.Coverage(r.Level)
		l = append(l, fmt.Sprintf("%s rows promise that %s of later %s hold the truth, on average over calibration sets; for this one the share is between %s and %s with %v%% probability.",
			Count(r.Rows), shareText(r.Coverage), what, shareText(i.Low), shareText(i.High), 100*r.Level))
	} else if r.Promise == nil && len(r.Parts) > 0 {
		l = append(l, fmt.Sprintf("%s rows promise a coverage of %s for each class.", Count(r.Rows), shareText(r.Coverage)))
	}
	all, any := r.all()
	if !any {
		return strings.Join(l, " ")
	}
	s := fmt.Sprintf("%s%s of %s %s hold the truth", shareText(all.Value()), intervalText(conformal.Exact(all.Covered, all.Rows, r.Level)), Count(all.Rows), what)
	switch {
	case r.Promise != nil && !math.IsInf(r.Parts[0].Threshold, 1):
		p := r.Promise.P(all.Covered, all.Rows)
		in := r.Promise.Share(all.Rows, r.Level)
		switch {
		case p >= 1-r.Level:
			s += fmt.Sprintf(", as promised: between %s and %s was to be expected.", shareText(in.Low), shareText(in.High))
		case all.Value() < in.Low:
			s += fmt.Sprintf(", fewer than promised: between %s and %s was to be expected (p = %.2g). The rows are probably not exchangeable with the calibration rows.", shareText(in.Low), shareText(in.High), p)
		default:
			s += fmt.Sprintf(", more than promised: between %s and %s was to be expected (p = %.2g). Scores have ties, or the rows are probably not exchangeable with the calibration rows.", shareText(in.Low), shareText(in.High), p)
		}
	case r.Coverage > 0:
		i := conformal.Exact(all.Covered, all.Rows, r.Level)
		switch {
		case i.High < r.Coverage:
			s += fmt.Sprintf(", fewer than %s.", shareText(r.Coverage))
		case i.Low > r.Coverage:
			s += fmt.Sprintf(", more than %s.", shareText(r.Coverage))
		default:
			s += fmt.Sprintf(", which agrees with %s.", shareText(r.Coverage))
		}
	default:
		s += "."
	}
	if r.Coverage > 0 && len(r.Groups) > 1 {
		s += " " + r.ofGroups()
	}
	return strings.Join(append(l, s), "\n\n")
}

// ofGroups returns a sentence about the groups.
func (r *Conformal) ofGroups() string {
	var names []string
	for _, g := range r.groups() {
		if r.below(g.Share) {
			names = append(names, groupName(r.GroupColumns, g.Values))
		}
	}
	n := len(names)
	switch {
	case n == 0:
		return fmt.Sprintf("None of the %s groups covers less than %s by more than chance.", Count(int64(len(r.Groups))), shareText(r.Coverage))
	case n > 5:
		names = append(names[:5], fmt.Sprintf("%d others", n-5))
	}
	list := names[0]
	if len(names) > 1 {
		list = strings.Join(names[:len(names)-1], "; ") + " and " + names[len(names)-1]
	}
	verb := "cover"
	if n == 1 {
		verb = "covers"
	}
	return fmt.Sprintf("%s of the %s groups %s less than %s by more than chance: %s.", Count(int64(n)), Count(int64(len(r.Groups))), verb, shareText(r.Coverage), list)
}

// Text writes the tables, as plain text.
func (r *Conformal) Text(b *bytes.Buffer) {
	row := func(name, format string, a ...any) { fmt.Fprintf(b, "  %-18s %s\n", name, fmt.Sprintf(format, a...)) }
	share := func(s conformal.Share) string {
		return fmt.Sprintf("%s%s of %s", shareText(s.Value()), intervalText(conformal.Exact(s.Covered, s.Rows, r.Level)), Count(s.Rows))
	}
	all, any := r.all()
	if !any {
		for _, p := range r.Parts {
			name := "threshold"
			if p.Name != "" {
				name = "class " + r.class(p.Name)
			}
			row(name, "%.6g of %s rows", p.Threshold, Count(p.Rows))
		}
		return
	}
	defer func() {
		if len(r.Groups) == 0 {
			return
		}
		fmt.Fprintf(b, "\nCoverage by group, the lowest first:\n\n")
		for i, g := range r.groups() {
			if i == 20 {
				fmt.Fprintf(b, "  (and %s others)\n", Count(int64(len(r.Groups)-i)))
				break
			}
			row(groupName(r.GroupColumns, g.Values), "%s", share(g.Share))
		}
	}()
	if t := r.Sets; t != nil {
		row("mean size", "%.4g of %d classes", t.MeanSize(), len(t.ByClass))
		row("one class", "%s", shareText(float64(t.BySize[1].Rows)/float64(all.Rows)))
		row("empty", "%s", shareText(float64(t.BySize[0].Rows)/float64(all.Rows)))
		fmt.Fprintf(b, "\nCoverage by the size of the set:\n\n")
		for size, s := range t.BySize {
			if s.Rows > 0 {
				row(strconv.Itoa(size), "%s", share(s))
			}
		}
		fmt.Fprintf(b, "\nCoverage by class:\n\n")
		for i, s := range t.ByClass {
			if len(t.ByClass) <= 20 || i == conformal.Worst(t.ByClass) {
				row(r.class(strconv.Itoa(i)), "%s", share(s))
			}
		}
		if len(t.ByClass) > 20 {
			fmt.Fprintf(b, "  (the lowest of %d)\n", len(t.ByClass))
		}
		return
	}
	t := r.Intervals
	row("mean width", "%.5g", t.MeanWidth())
	row("median width", "%.5g", t.MedianWidth())
	if r.Coverage > 0 {
		row("interval score", "%.5g", t.Winkler(r.Coverage))
	}
	row("below, above", "%s, %s", shareText(float64(t.Below)/float64(all.Rows)), shareText(float64(t.Above)/float64(all.Rows)))
	fmt.Fprintf(b, "\nCoverage by width:\n\n")
	for _, s := range t.ByWidth(widthStrata) {
		row(fmt.Sprintf("%.4g to %.4g", s.Narrowest, s.Widest), "%s", share(s.Share))
	}
}

// mostShares is the largest number of classes and of groups in a picture.
const mostShares = 15

// Forest returns the picture of the coverage above or below the promise, of all rows, by the size of the set or the width of the interval, by class
// and by group; of many classes or groups those that are covered least. The coverage has to be known.
func (r *Conformal) Forest() *picture.Forest {
	all, _ := r.all()
	f := &picture.Forest{Title: "Coverage minus " + shareText(r.Coverage), Sides: true, First: "too few hold the truth", Other: "more than promised", Undecided: "as promised"}
	f.Subtitle = strings.ReplaceAll(r.Verdict(), "\n\n", "\n") + "\nPoints; " + percentOf(r.Level) + " intervals of Clopper and Pearson, each by itself."
	panel := func(title string, names []string, shares []conformal.Share) {
		p := picture.ForestPanel{Name: title, Points: true}
		at := make([]int, len(shares))
		for i := range at {
			at[i] = i
		}
		if len(at) > mostShares {
			slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(shares[a].Value(), shares[b].Value()) })
			at = at[:mostShares]
			p.Name += fmt.Sprintf(", the lowest %d of %s", mostShares, Count(int64(len(shares))))
		}
		for _, i := range at {
			s := shares[i]
			if s.Rows == 0 {
				continue
			}
			in := conformal.Exact(s.Covered, s.Rows, r.Level)
			row := picture.ForestRow{Name: withRows(names[i], s.Rows), Value: s.Value() - r.Coverage, Interval: metrics.Interval{Low: in.Low - r.Coverage, High: in.High - r.Coverage}, Rows: s.Rows}
			switch {
			case in.High < r.Coverage:
				row.Verdict = picture.First
			case in.Low > r.Coverage:
				row.Verdict = picture.Other
			}
			p.Rows = append(p.Rows, row)
		}
		f.Panels = append(f.Panels, p)
	}
	panel("", []string{"all rows"}, []conformal.Share{all})
	var names []string
	var shares []conformal.Share
	if t := r.Sets; t != nil {
		for size, s := range t.BySize {
			if s.Rows > 0 {
				names, shares = append(names, strconv.Itoa(size)), append(shares, s)
			}
		}
		panel("By the size of the set", names, shares)
		names = nil
		for i := range t.ByClass {
			names = append(names, visible.Text(r.class(strconv.Itoa(i))))
		}
		panel("By class", names, t.ByClass)
	}
	if t := r.Intervals; t != nil {
		strata := t.ByWidth(widthStrata)
		for _, s := range strata {
			names = append(names, fmt.Sprintf("%.4g to %.4g", s.Narrowest, s.Widest))
		}
		panel("By width", names, conformal.Shares(strata))
	}
	if len(r.Groups) > 0 {
		names, shares = nil, nil
		for _, g := range r.groups() {
			names, shares = append(names, groupName(r.GroupColumns, g.Values)), append(shares, g.Share)
		}
		panel("By group", names, shares)
	}
	return f
}
