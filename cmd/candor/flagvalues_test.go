package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestEmptyFlags: an empty value is an error, of whatever flag of whatever command but --target-delimiter, which may be nothing or a space.
func TestEmptyFlags(t *testing.T) {
	flags := 0
	var each func(c *cobra.Command, path []string)
	each = func(c *cobra.Command, path []string) {
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "target-delimiter" {
				return
			}
			for _, empty := range []string{"", " "} {
				flags++
				code, out, errs := candor(t, append(slices.Clone(path), "--"+f.Name+"="+empty)...)
				if want := "candor: --" + f.Name + " is empty; give it "; code != exitUsage || out != "" || !strings.HasPrefix(errs, want) {
					t.Errorf("candor %v --%s=%q: exit code %d, %q, not %q", path, f.Name, empty, code, errs, want)
				}
			}
		})
		for _, sub := range c.Commands() {
			each(sub, append(slices.Clone(path), sub.Name()))
		}
	}
	each(rootCommand(), nil)
	if flags < 100 {
		t.Errorf("%d flags", flags)
	}
}

// TestFlagValues: a list with an item that is empty or not read, and a number that is none, are told in the words of the help.
func TestFlagValues(t *testing.T) {
	for _, c := range []struct{ flag, value, want string }{
		{"--labels", "a.npy,,b.npy", `--labels is "a.npy,,b.npy": an item is empty; remove the extra comma`},
		{"--labels", "a.npy,", "an item is empty"},
		{"--labels", "a.npy\nb.npy", `--labels is "a.npy\nb.npy": there is a line end in it; put commas between items, or give the flag once for each`},
		{"--weights", "a.npy\r\nb.npy", "there is a line end in it"},
		{"--group", "site\nyear", "there is a line end in it"},
		{"--bins", "1.5", `--bins is "1.5"; it is a whole number`},
		{"--first-row", "x", `--first-row is "x"; it is a whole number`},
		{"--seed", "-1", `--seed is "-1"; it is a whole number that is not below 0`},
		{"--confidence", "high", `--confidence is "high"; it is a number`},
		{"--renormalize", "perhaps", `--renormalize is "perhaps"; it is true or false`},
	} {
		arg := c.flag + "=" + c.value
		code, out, errs := candor(t, "eval", "p.npy", arg)
		if code != exitUsage || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("candor eval p.npy %q: exit code %d, %q, not %q", arg, code, errs, c.want)
		}
	}
	code, _, errs := candor(t, "eval", "a.npy", "")
	if want := "an argument is empty; name a file there"; code != exitUsage || !strings.Contains(errs, want) {
		t.Errorf("exit code %d, %q, not %q", code, errs, want)
	}
}
