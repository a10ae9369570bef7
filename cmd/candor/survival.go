package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/metrics"
	"github.com/candor-go/candor/metrics/eval"
	"github.com/candor-go/candor/predictions"
)

// survivalFlags says what rows of --task survival are.
type survivalFlags struct {
	time               string
	horizons, columnAt string // lists of times
}

func (s *survivalFlags) flags(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&s.time, "time", "", "`COLUMN` or file of the times of --task survival, when each row was last seen; --event names what happened then: 1, or 0 for a censored row")
	fl.StringVar(&s.horizons, "horizons", "", "`LIST` of times at which survival is evaluated: 365,730; for an array or --prob, the times of the columns")
	fl.StringVar(&s.columnAt, "curve-times", "", "`LIST` of the times of the columns of an array or of --prob, if --horizons are only some of them")
}

const (
	ofSurvival   = "survival" // --task, and --input for probabilities of no event
	mostHorizons = 12         // that are judged without being named
)

// checkSurvival returns an error for flags that contradict each other.
func (f *evalFlags) checkSurvival(c *cobra.Command) error {
	s := &f.life
	if f.task != ofSurvival {
		for flag, set := range map[string]bool{"--time": s.time != "", "--horizons": s.horizons != "", "--curve-times": s.columnAt != "", "--input survival": f.input == ofSurvival} {
			if set {
				return usage("%s is for --task survival; leave it out, or pass that", flag)
			}
		}
		return nil
	}
	if f.input != "probs" && f.input != ofSurvival {
		return usage("--input is %q; of --task survival it is probs, that the event has happened by a time, or survival, that it has not", f.input)
	}
	for flag, set := range map[string]bool{"--labels": len(f.labels) > 0, "--logit-prefix": f.table.logitPrefix != "", "--correct": f.table.correct != "", "--pivot": f.table.pivot != "", "--like " + f.like: f.like != "" && f.like != "um"} {
		if set {
			return usage("%s does not go with --task survival; leave it out", flag)
		}
	}
	for _, l := range []struct{ flag, list string }{{"--horizons", s.horizons}, {"--curve-times", s.columnAt}} {
		if _, err := timesOf(l.flag, l.list); err != nil {
			return err
		}
	}
	if len(f.table.probs) > 0 && s.columnTimes() == "" {
		return usage("--prob names columns, and not their times; name these by --horizons, in the same order")
	}
	if f.table.prefix != "" && s.columnAt != "" {
		return usage("--prob-prefix finds the times in the columns' names, and --curve-times names them too; give one")
	}
	return nil
}

// columnTimes returns the list of the times of columns.
func (s *survivalFlags) columnTimes() string {
	if s.columnAt != "" {
		return s.columnAt
	}
	return s.horizons
}

// timesOf parses a list of times.
func timesOf(flag, list string) (times []float64, err error) {
	if list == "" {
		return nil, nil
	}
	for _, w := range strings.Split(list, ",") {
		t, err := strconv.ParseFloat(strings.TrimSpace(w), 64)
		if err != nil || !(t > 0 && t-t == 0) || slices.Contains(times, t) {
			return nil, usage("%s: %q; give times above 0, each once, such as 365,730", flag, w)
		}
		times = append(times, t)
	}
	return times, nil
}

// life sets how files of survival are read.
func (f *evalFlags) lives(o *predictions.ForecastOptions) error {
	s := &f.life
	o.Time, o.Event, o.Alive, o.Prefix = s.time, f.event, f.input == ofSurvival, f.table.prefix
	if f.table.prefix != "" {
		return nil
	}
	times, err := timesOf("--horizons", s.columnTimes())
	if err != nil {
		return err
	}
	o.Levels = times
	if len(f.table.probs) > 0 {
		o.Columns = f.table.probs
		if len(o.Columns) != len(times) {
			return usage("--prob names %d columns, and there are %d times; name one for each, in the same order", len(o.Columns), len(times))
		}
	}
	return nil
}

// survivalSpec sets what is judged, once the times of the columns are known.
func (f *evalFlags) survivalSpec(s *eval.Spec, times []float64) (err error) {
	s.Times = times
	if s.Horizons, err = timesOf("--horizons", f.life.horizons); err != nil {
		return err
	}
	slices.Sort(s.Horizons)
	if s.Horizons == nil && len(times) > mostHorizons {
		return usage("the curves have %d times; name the times to evaluate, such as --horizons %v,%v", len(times), times[len(times)/2], times[3*len(times)/4])
	}
	return nil
}

// lifeFiles returns the files of times and events.
func (f *evalFlags) lifeFiles() (l []string) {
	for _, name := range []string{f.life.time, f.event} {
		if f.task == ofSurvival && (strings.HasSuffix(name, ".npy") || strings.Contains(name, ".npz") || strings.Contains(name, "/")) {
			l = append(l, name)
		}
	}
	return l
}

// inArrays returns the message about a bad row of arrays of survival, with the time of a column in place of its number, and the file that has it: times
// and events are arrays of their own.
func (f *evalFlags) inArrays(times []float64, said, file string, b metrics.Fault, at *place) (message, of string) {
	where, what, _ := strings.Cut(said, ": ") // "row N, column C"
	where, _, _ = strings.Cut(where, ",")
	own, name := f.life.time, "time"
	switch c := int(b.Column); {
	case c < 0:
		return said, file
	case c < len(times):
		return fmt.Sprintf("%s, time %v: %s", where, times[c], what), file
	case c > len(times):
		own, name = f.event, "event"
	}
	at.Column = nil
	if slices.Contains(f.lifeFiles(), own) { // one file for all rows
		at.Row = &b.Row
		return fmt.Sprintf("row %d: %s", b.Row, what), f.files.call(own)
	}
	if npz, _, is := strings.Cut(file, ".npz:"); is {
		file = npz + ".npz:" + cmp.Or(own, name)
	}
	return where + ": " + what, file
}
