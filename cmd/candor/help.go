package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/candor-go/candor/report"
)

// topic is a page of candor help that belongs to no command, with the flags that it is about.
type topic struct {
	name, short, long, example string
	flags                      string // their names
}

// allFlags is the name of the page that has every flag of candor eval.
const allFlags = "flags"

// manyFlags is the number of flags from which the help of a command is short: it has the main ones, and says which topics have the others.
const manyFlags = 20

// ownUsage annotates a flag whose usage is shown in place of that of inShort, since its command takes fewer values.
const ownUsage = "own usage"

// inShort says in a few words what the main flags are for. Flags that are in no topic belong here too.
var inShort = []struct {
	part        int // 0 input, 1 metrics, 2 output
	name, usage string
}{
	{0, "labels", "`FILE` of true classes or observed values, or a column"},
	{0, "input", "`KIND` of scores: probs (the default), logits, ..."},
	{0, "task", "`TASK`, if the files do not tell it: regression, ..."},
	{0, "prob", "`COLUMNS` of a table with the probabilities"},
	{0, "prob-prefix", "`PREFIX` of the names of such columns"},
	{0, "event", "`CLASS` that is the event of a binary task"},
	{0, "weights", "`FILE` of row weights, or a column"},
	{0, "on-invalid", "`WHAT` to do with bad rows: error, or drop"},
	{1, "metrics", "`LIST` of metrics: 'default,ece(bins=30)', all"},
	{1, "confidence", "`LEVEL` of intervals (default 0.95)"},
	{1, "group", "`COLUMN` or file: all metrics for each of its values"},
	{1, "slice-by", "`COLUMNS` to cross: for whom are scores off?"},
	{1, "cluster", "`COLUMN` or file: which rows depend on each other"},
	{1, "baseline", "`NAME` of the set that all others are compared with"},
	{1, "margin", "`METRIC=SIZE` of a difference that does not matter"},
	{1, "horizon", "`STEPS` ahead, for the Diebold-Mariano test"},
	{1, "series", "`COLUMN` that names the series, with --horizon"},
	{2, "flips", "`FILE` of the rows whose decisions differ"},
	{1, "folds", "`NUMBER` of folds for cross-fitting (default 5)"},
	{2, "as", "`KIND` of scores to write: probs, logits, logprobs"},
	{2, "keep", "`COLUMNS` of the table to copy"},
	{2, "output", "`FILE` to write"},
	{2, "format", "`FORMAT`: table, markdown, csv or json"},
	{2, "json", "the same as --format json"},
	{2, "plot", "draw a picture to `FILE`.png, .svg or .pdf"},
	{2, "html", "write a self-contained web page to `FILE`"},
	{2, "fail-if", "exit with code 1 if `EXPR` holds: 'ece.low>0.02'"},
	{2, "require", "exit with code 1 unless `EXPR` holds: 'accuracy.low>0.9'"},
	{2, "state", "write the state to `FILE`, for candor merge"},
}

// installHelp makes the help of all commands.
func installHelp(root *cobra.Command) {
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		io.WriteString(c.OutOrStdout(), helpOf(c, screenOf(c.OutOrStdout()).width))
	})
	root.AddCommand(topicCommands()...)
}

// topicOf returns the topic of a name; nil if there is none.
func topicOf(name string) *topic {
	for i := range topics {
		if topics[i].name == name {
			return &topics[i]
		}
	}
	return nil
}

// helpOf returns the help of a command or topic for a screen of so many columns.
func helpOf(c *cobra.Command, width int) string {
	width = min(max(width, 60), report.DefaultWidth)
	var b strings.Builder
	b.WriteString(reflow(c.Long, width) + "\n")
	section := func(name, text string) {
		if text != "" {
			b.WriteString("\n" + name + ":\n" + strings.TrimSuffix(text, "\n") + "\n")
		}
	}
	page := c.HasParent() && !c.Runnable() && !c.HasSubCommands()
	if !page {
		section("Usage", "  "+c.UseLine())
	}
	section("Examples", c.Example)
	var commands, about []*cobra.Command
	for _, sub := range c.Commands() {
		switch {
		case sub.IsAdditionalHelpTopicCommand():
			about = append(about, sub)
		case sub.IsAvailableCommand():
			commands = append(commands, sub)
		}
	}
	section("Commands", listed(commands, width))
	section("Topics", listed(about, width))
	switch {
	case page && c.Name() == allFlags:
		for _, t := range topics {
			if t.flags != "" {
				section(strings.ToUpper(t.short[:1])+t.short[1:], usagesOf(evalCommand(), t.flags, width))
			}
		}
	case page:
		section("Flags of candor eval", usagesOf(evalCommand(), topicOf(c.Name()).flags, width))
	default:
		flags := visibleFlags(c)
		if len(flags) < manyFlags {
			section("Flags", usages(flags, width))
			break
		}
		parts, rest := briefly(c, width)
		for i, name := range []string{"Flags for input", "Flags for metrics", "Flags for output", "Other flags"} {
			section(name, parts[i])
		}
		section("More flags, by topic", rest)
		b.WriteString("\n" + report.Wrap("'candor help TOPIC' describes them, and 'candor help flags' has all.", width) + "\n")
	}
	if len(about) > 0 {
		b.WriteString("\n" + report.Wrap("'candor help COMMAND' and 'candor help TOPIC' tell more.", width) + "\n")
	}
	return b.String()
}

// listed returns a line for each command.
func listed(l []*cobra.Command, width int) string {
	wide := 0
	for _, c := range l {
		wide = max(wide, len(c.Name()))
	}
	var b strings.Builder
	for _, c := range l {
		hang(&b, fmt.Sprintf("  %-*s  ", wide, c.Name()), c.Short, width)
	}
	return b.String()
}

// reflow breaks the lines of paragraphs anew. Those that begin with a space, or have a column of their own, stay as they are.
func reflow(s string, width int) string {
	paragraphs := strings.Split(s, "\n\n")
	for i, p := range paragraphs {
		if lines := strings.Split(p, "\n"); !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, "  ") }) {
			paragraphs[i] = report.Wrap(strings.Join(lines, " "), width)
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// visibleFlags returns the flags of a command that its help has.
func visibleFlags(c *cobra.Command) (l []*pflag.Flag) {
	c.InitDefaultHelpFlag()
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			l = append(l, f)
		}
	})
	return l
}

// usages describes flags, the text beside their names.
func usages(l []*pflag.Flag, width int) string {
	const most = 28 // columns of names beside which text begins
	heads, wide := make([]string, len(l)), 0
	for i, f := range l {
		heads[i] = "      --" + f.Name
		if f.Shorthand != "" {
			heads[i] = "  -" + f.Shorthand + ", --" + f.Name
		}
		if value, _ := pflag.UnquoteUsage(f); value != "" {
			heads[i] += " " + value
		}
		wide = max(wide, min(len(heads[i]), most))
	}
	var b strings.Builder
	for i, f := range l {
		_, text := pflag.UnquoteUsage(f)
		switch value := f.DefValue; {
		case value == "" || value == "[]" || value == "0" || value == "false":
		case f.Value.Type() == "string":
			text += fmt.Sprintf(" (default %q)", value)
		default:
			text += " (default " + value + ")"
		}
		if len(heads[i]) > wide {
			b.WriteString(heads[i] + "\n")
			heads[i] = ""
		}
		hang(&b, fmt.Sprintf("%-*s   ", wide, heads[i]), text, width)
	}
	return b.String()
}

// usagesOf describes those of the named flags that a command has.
func usagesOf(c *cobra.Command, names string, width int) string {
	fillFlags(c)
	var l []*pflag.Flag
	for _, n := range strings.Fields(names) {
		if f := c.Flags().Lookup(n); f != nil && !f.Hidden {
			l = append(l, f)
		}
	}
	return usages(l, width)
}

// briefly describes the main flags of a command in parts, and names the others by topic.
func briefly(c *cobra.Command, width int) (parts [4]string, rest string) {
	var main [4][]*pflag.Flag
	flags, seen := visibleFlags(c), map[string]bool{"help": true}
	for _, s := range inShort {
		for _, f := range flags {
			if f.Name == s.name {
				short := *f
				if short.DefValue = ""; f.Annotations[ownUsage] == nil {
					short.Usage = s.usage
				}
				main[s.part] = append(main[s.part], &short)
				seen[s.name] = true
			}
		}
	}
	var b strings.Builder
	for _, t := range topics {
		var l []string
		for _, n := range strings.Fields(t.flags) {
			if f := c.Flags().Lookup(n); f != nil && !f.Hidden && !seen[n] {
				l = append(l, "--"+n)
				seen[n] = true
			}
		}
		if len(l) > 0 {
			hang(&b, fmt.Sprintf("  %-16s", t.name), strings.Join(l, " "), width)
		}
	}
	for _, f := range flags { // of no topic
		if !seen[f.Name] {
			main[3] = append(main[3], f)
		}
	}
	for i, l := range main {
		parts[i] = usages(l, width)
	}
	return parts, b.String()
}

// noSuch says that a flag has none of the values that it can have.
func noSuch(flag, value string, of ...string) error {
	return usage("%s is %q%s; it is %s", flag, value, meant(value, of), anyOf(of))
}

// meant returns a hint at the most similar of some words, to stand behind one that is none of them; "" if none is similar.
func meant(word string, of []string) string {
	if n := nearest(word, of); n != "" {
		return " (did you mean " + n + "?)"
	}
	return ""
}

// nearest returns a hint at the most similar of some names; "" if none is similar.
func nearest(name string, of []string) string {
	for distance := 1; distance <= min(2, len(name)/2); distance++ { // half of a word is another word
		like := &cobra.Command{SuggestionsMinimumDistance: distance}
		for _, n := range of {
			like.AddCommand(&cobra.Command{Use: n, Run: func(*cobra.Command, []string) {}})
		}
		if l := like.SuggestionsFor(name); len(l) > 0 {
			return l[0]
		}
	}
	return ""
}
