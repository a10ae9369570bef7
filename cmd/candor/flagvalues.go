package main

import (
	"encoding/csv"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// filled is the value of a flag that may not be empty. Otherwise a script with an unset variable would evaluate something
// else.
type filled struct{ pflag.Value }

var (
	errEmpty   = errors.New("empty")
	errItem    = errors.New("an item of the list is empty")
	errLineEnd = errors.New("a line end in the list; what follows it would not be read")
)

func (v filled) Set(s string) error {
	if strings.TrimSpace(s) == "" {
		return errEmpty
	}
	list, isList := v.Value.(pflag.SliceValue)
	if isList && v.Type() == "stringSlice" {
		if lines, err := csv.NewReader(strings.NewReader(s)).ReadAll(); err == nil && len(lines) > 1 {
			return errLineEnd
		}
	}
	if err := v.Value.Set(s); err != nil {
		return err
	}
	if isList && slices.ContainsFunc(list.GetSlice(), func(item string) bool { return strings.TrimSpace(item) == "" }) {
		return errItem
	}
	return nil
}

// mayBeEmpty annotates flags whose value may be empty.
const mayBeEmpty = "may be empty"

// fillFlags makes empty values of flags an error, for a command and all below it.
func fillFlags(c *cobra.Command) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, ok := f.Value.(pflag.SliceValue); ok {
			f.DefValue = "" // the help treats it as unset for every type
		}
		if f.Annotations[mayBeEmpty] == nil {
			f.Value = filled{f.Value}
		}
	})
	for _, sub := range c.Commands() {
		fillFlags(sub)
	}
}

// flagFault describes an invalid flag value in the words of the help.
func flagFault(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if why := onlyOfEval(c, unknown.GetSpecifiedName()); why != "" {
			return usage("%v: %s", err, why)
		}
		var names []string
		for _, f := range visibleFlags(c) {
			names = append(names, f.Name)
		}
		if n := nearest(unknown.GetSpecifiedName(), names); n != "" && len(unknown.GetSpecifiedName()) > 1 {
			return usage("%v (did you mean --%s?)", err, n)
		}
		return usage("%v", err)
	}
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return usage("%v", err)
	}
	f := bad.GetFlag()
	flag, value := "--"+f.Name, bad.GetValue()
	if len(value) > 200 {
		value = strings.ToValidUTF8(value[:200], "") + "..."
	}
	what, _ := pflag.UnquoteUsage(f)
	switch {
	case errors.Is(err, errEmpty) && what == "":
		return usage("%s is empty; give it true or false, or nothing at all", flag)
	case errors.Is(err, errEmpty):
		return usage("%s is empty; give it a value (%s), or leave the flag out", flag, what)
	case errors.Is(err, errItem):
		return usage("%s is %q: an item is empty; remove the extra comma", flag, value)
	case errors.Is(err, errLineEnd):
		return usage("%s is %q: there is a line end in it; put commas between items, or give the flag once for each", flag, value)
	}
	kind := map[string]string{"bool": "true or false", "int": "a whole number", "int64": "a whole number",
		"uint64": "a whole number that is not below 0", "float64": "a number"}[f.Value.Type()]
	if kind == "" {
		return usage("%s is %q: %v; give %s", flag, value, errors.Unwrap(bad), what)
	}
	return usage("%s is %q; it is %s", flag, value, kind)
}

// onlyOfEval says why a command does not take a flag of candor eval for large data, and what to do.
func onlyOfEval(c *cobra.Command, flag string) string {
	const divide = "only candor eval divides rows"
	switch flag {
	case "shard", "files-from":
		if c.Name() == "compare" {
			return divide + "; compare parts of the files, each with --state, and merge the states"
		}
		return divide + "; give each run some of the files"
	case "checkpoint", "checkpoint-every", "resume":
		if c.Name() == "compare" {
			return "only candor eval goes on where it was killed; compare parts of the files, each with --state, and merge the states"
		}
		return "only candor eval goes on where it was killed; run it again, or give each run some of the files"
	}
	return ""
}
