package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/visible"
	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/metrics/regress"
	"github.com/candor-go/candor/report"
)

// comparedSet is a set of predictions that is compared: a file, or a model of files of several.
type comparedSet struct {
	paths []string
	model string
	probs []string // --prob of this set, if each has its own
	at    int      // its number
	rows  bool     // there are only losses by row
}

// skillLosses are the losses, none below 0, whose ratios say which forecast is better.
var skillLosses = []string{"wis", "crps", "abs_error"}

// setsOf returns the sets to compare, and their names.
func (f *compareRun) setsOf(paths []string) (list []comparedSet, names []string, err error) {
	if f.model.column != "" {
		return nil, nil, nil // its rows name the models
	}
	if f.model.from == "" && ofSets(f.table.probs) {
		return f.columnSets(paths)
	}
	if f.model.from == "" {
		for _, p := range paths {
			list = append(list, comparedSet{paths: matched([]string{p})})
		}
		return list, f.files.setNames(paths), nil
	}
	paths = matched(paths)
	if names, err = f.choose(paths); err != nil {
		return nil, nil, err
	}
	if len(names) < 2 {
		return nil, nil, badAt(place{File: f.files.calls(paths), Remedy: "name files of several, or evaluate it by candor eval"}, "forecasts of one model: %s", names[0])
	}
	for _, m := range names {
		list = append(list, comparedSet{paths: paths, model: m})
	}
	return list, names, nil
}

// ofSets reports whether --prob gives columns to sets, NAME=COLUMN.
func ofSets(probs []string) bool {
	return slices.ContainsFunc(probs, func(p string) bool { return strings.Contains(p, "=") })
}

// columnSets returns the sets of a table that has the scores of several models in columns of their own.
func (f *compareRun) columnSets(paths []string) (list []comparedSet, names []string, err error) {
	if len(paths) != 1 {
		return nil, nil, usage("--prob NAME=COLUMN names the sets of one table; name one, or files with a set each and --prob COLUMN")
	}
	for _, p := range f.table.probs {
		name, column, ok := strings.Cut(p, "=")
		if !ok || name == "" || column == "" {
			return nil, nil, usage("--prob %q: give NAME=COLUMN for every set, such as --prob old=p_old --prob new=p_new", p)
		}
		i := slices.Index(names, name)
		if i < 0 {
			i = len(names)
			names, list = append(names, name), append(list, comparedSet{paths: matched(paths)})
		}
		list[i].probs = append(list[i].probs, column)
	}
	if len(list) < 2 {
		return nil, nil, usage("--prob names the columns of one set, %s; name those of another one too", names[0])
	}
	return list, names, nil
}

// take makes a set the one that is read next.
func (f *compareRun) take(s *comparedSet) {
	f.at = s.at
	if f.model.model = s.model; s.probs != nil {
		f.table.probs = s.probs
	}
}

// relativeSkill compares the sets by their losses per row, which it reads again. Rows are those with equal keys, or numbers.
func (f *compareRun) relativeSkill(c *cobra.Command, j *job, list []comparedSet, names []string, sets []*eval.Evaluation) ([]report.RelativeSkill, error) {
	if f.baseline == "" && f.model.from == "" {
		return nil, nil
	}
	baseline := slices.Index(names, f.baseline)
	losses := slices.DeleteFunc(lossesOf(sets[0]), func(m metrics.RowMetric) bool { return !slices.Contains(skillLosses, m.Name) })
	if len(losses) == 0 {
		return nil, nil
	}
	if need := f.needByPlace(sets, len(losses)); need > j.memory/2 {
		warn(c, "there is no relative skill: %s", f.tooMany(sets, need))
		return nil, nil
	}
	for _, s := range list {
		if once := f.files.once(s.paths...); once != "" && f.aligned == nil {
			warn(c, "there is no relative skill: rows are read once more for it, and %s is read once", once)
			return nil, nil
		}
	}
	all, err := f.lossesByPlace(c, j, list, sets, losses)
	if err != nil {
		return nil, err
	}
	var skills []report.RelativeSkill
	for k, m := range losses {
		skills = append(skills, report.RelativeSkill{Loss: m.Name, Baseline: f.baseline, Names: names, Skills: regress.RelativeSkill(all.values[k], baseline)})
	}
	return skills, nil
}

// byPlace holds losses of the rows of several sets. Rows with equal keys, or else numbers, have one place.
type byPlace struct {
	values   [][][]float64 // by loss, set and place; NaN where a set has no such row
	clusters []string      // of each place; nil if rows are in none

	columns []string // by which rows are grouped; nil if they are not
	groups  [][]string
	group   []int32 // of each place
}

// needByPlace returns the bytes that so many losses of all sets take.
func (f *compareRun) needByPlace(sets []*eval.Evaluation, losses int) (need int64) {
	for _, e := range sets {
		need += 2 * 8 * allRowsOf(e) * int64(losses+1)
		if f.model.from == "hubverse" {
			need += 200 * allRowsOf(e)
		}
	}
	return need
}

// tooMany says that losses take more memory than there is.
func (f *compareRun) tooMany(sets []*eval.Evaluation, need int64) string {
	rows := int64(0)
	for _, e := range sets {
		rows += allRowsOf(e)
	}
	return fmt.Sprintf("the losses of %s rows take %d MiB; pass --max-memory %dMiB, or name fewer metrics", report.Count(rows), need>>20+1, need>>19+1)
}

// lossesByPlace reads the rows of the sets again.
func (f *compareRun) lossesByPlace(c *cobra.Command, j *job, list []comparedSet, sets []*eval.Evaluation, losses []metrics.RowMetric) (*byPlace, error) {
	f.model.keys = true
	defer func() { f.model.keys = false }()
	places := map[string]int{}
	all := &byPlace{values: make([][][]float64, len(losses))}
	for k := range all.values {
		all.values[k] = make([][]float64, len(sets))
	}
	most := 0
	groups := map[string]int32{}
	for i, e := range sets {
		l, err := f.rowLosses(c, j, e, list[i], losses, "")
		if err != nil {
			return nil, err
		}
		numbers := map[int32]int32{} // of groups, by those of the set
		for row := range l.values[0] {
			place := row
			if key := l.key(int64(row)); key != "" {
				var met bool
				if place, met = places[key]; !met {
					place = len(places)
					places[key] = place
				}
			}
			most = max(most, place+1)
			for k := range losses {
				for len(all.values[k][i]) <= place {
					all.values[k][i] = append(all.values[k][i], math.NaN())
				}
				all.values[k][i][place] = l.values[k][row]
			}
			if l.groups != nil && l.values[0][row] == l.values[0][row] {
				of, met := numbers[l.groups[row]]
				if !met {
					values := l.by.Group(l.groups[row])
					key := strings.Join(values, "\x00")
					if of, met = groups[key]; !met {
						of = int32(len(all.groups))
						groups[key], all.groups = of, append(all.groups, values)
					}
					numbers[l.groups[row]], all.columns = of, l.by.GroupColumns()
				}
				for len(all.group) <= place {
					all.group = append(all.group, -1)
				}
				if was := all.group[place]; was >= 0 && was != of {
					return nil, badAt(where(f.files.calls(list[i].paths), row, "group by columns that say the same of a row for all models"), "row %d: the group is %q, and %q of another model: models are compared on the same rows",
						row, strings.Join(all.groups[of], ", "), strings.Join(all.groups[was], ", "))
				}
				all.group[place] = of
			}
			if l.series != nil {
				for len(all.clusters) <= place {
					all.clusters = append(all.clusters, "")
				}
				all.clusters[place] = l.name(l.series[row])
			}
		}
	}
	for len(all.group) < most && all.columns != nil {
		all.group = append(all.group, -1)
	}
	for k := range losses {
		for i := range sets {
			for len(all.values[k][i]) < most {
				all.values[k][i] = append(all.values[k][i], math.NaN())
			}
		}
	}
	return all, nil
}

// where is the place of a row in a file.
func where(file string, row int, remedy string) place {
	at := int64(row)
	return place{File: file, Row: &at, Remedy: remedy}
}

// skillLines describes relative skill.
func skillLines(skills []report.RelativeSkill) (lines []string) {
	for _, s := range skills {
		var l []string
		for i, k := range s.Skills {
			one := fmt.Sprintf("%s %s", visible.Text(s.Names[i]), value(k.Relative))
			if s.Baseline != "" {
				one += fmt.Sprintf(" (scaled %s, ratio %s)", value(k.Scaled), value(k.Ratio))
			}
			l = append(l, one)
		}
		line := fmt.Sprintf("Relative skill by %s: %s.", s.Loss, strings.Join(l, "; "))
		if s.Baseline != "" {
			line += fmt.Sprintf(" The baseline is %s.", visible.Text(s.Baseline))
		}
		lines = append(lines, line)
	}
	if lines != nil {
		lines[len(lines)-1] += " Below 1 is better: the geometric mean of the ratios of mean losses to all sets, over rows that both have."
	}
	return lines
}
