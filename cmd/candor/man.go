package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write man pages and shell completions",
		Long: `Write a man page for every command and topic, and completions for bash, zsh, fish and PowerShell, to a folder:
man/man1, man/man7 and completions. Existing files are replaced.`,
		Example: `  candor man share`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("candor man takes a folder; name one")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return writeManual(c.Root(), args[0]) },
	}
}

// writeManual writes man pages and completions below a folder.
func writeManual(root *cobra.Command, folder string) error {
	write := func(name string, text []byte) error {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return cannotWrite(path, err)
		}
		return writeFile(path, text)
	}
	var pages func(c *cobra.Command) error
	pages = func(c *cobra.Command) error {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" { // of cobra
			return nil
		}
		name, section := manName(c)
		if err := write(fmt.Sprintf("man/man%d/%s.%[1]d", section, name), manPage(c)); err != nil {
			return err
		}
		for _, sub := range c.Commands() {
			if err := pages(sub); err != nil {
				return err
			}
		}
		return nil
	}
	if err := pages(root); err != nil {
		return err
	}
	for _, shell := range []struct {
		file  string
		write func(b *bytes.Buffer) error
	}{
		{"candor.bash", func(b *bytes.Buffer) error { return root.GenBashCompletionV2(b, true) }},
		{"_candor", func(b *bytes.Buffer) error { return root.GenZshCompletion(b) }},
		{"candor.fish", func(b *bytes.Buffer) error { return root.GenFishCompletion(b, true) }},
		{"candor.ps1", func(b *bytes.Buffer) error { return root.GenPowerShellCompletionWithDesc(b) }},
	} {
		var b bytes.Buffer
		if err := shell.write(&b); err != nil {
			return err
		}
		if err := write("completions/"+shell.file, b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// manName returns the name of a command's man page, and its section: 1 for commands, 7 for topics.
func manName(c *cobra.Command) (name string, section int) {
	if section = 1; c.IsAdditionalHelpTopicCommand() {
		section = 7
	}
	return strings.ReplaceAll(c.CommandPath(), " ", "-"), section
}

// manPage returns the man page of a command or topic.
func manPage(c *cobra.Command) []byte {
	var b bytes.Buffer
	name, section := manName(c)
	fmt.Fprintf(&b, ".TH %s %d \"\" \"%s\" \"candor\"\n", strings.ToUpper(roff(name)), section, "candor "+roff(versionText()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(strings.ToLower(c.Short[:1])+c.Short[1:]))
	if section == 1 {
		fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	}
	b.WriteString(".SH DESCRIPTION\n")
	for i, p := range strings.Split(c.Long, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		verbatim := strings.Contains(p, "  ")
		if verbatim {
			b.WriteString(".nf\n")
		}
		for _, l := range strings.Split(p, "\n") {
			b.WriteString(roff(l) + "\n")
		}
		if verbatim {
			b.WriteString(".fi\n")
		}
	}
	flags := visibleFlags(c)
	if t := topicOf(c.Name()); t != nil && section == 7 {
		flags = nil
		all := evalCommand()
		fillFlags(all)
		for _, n := range strings.Fields(t.flags) {
			if f := all.Flags().Lookup(n); f != nil {
				flags = append(flags, f)
			}
		}
	}
	if section == 7 && c.Name() == allFlags {
		flags = visibleFlags(evalCommand())
	}
	if len(flags) > 0 {
		b.WriteString(".SH OPTIONS\n")
		for _, f := range flags {
			manFlag(&b, f)
		}
	}
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n")
		for _, l := range strings.Split(c.Example, "\n") {
			b.WriteString(roff(strings.TrimPrefix(l, "  ")) + "\n")
		}
		b.WriteString(".fi\n")
	}
	if section == 1 {
		b.WriteString(".SH EXIT STATUS\n.nf\n")
		codes, _, _ := strings.Cut(topicOf("exit-codes").long, "\n\n")
		for _, l := range strings.Split(codes, "\n") {
			b.WriteString(roff(l) + "\n")
		}
		b.WriteString(".fi\n")
	}
	var also []string
	add := func(o *cobra.Command) {
		if n, s := manName(o); o != c && !o.Hidden && o.Name() != "help" && o.Name() != "completion" {
			also = append(also, fmt.Sprintf("%s(%d)", roff(n), s))
		}
	}
	if c.HasParent() {
		add(c.Parent())
	}
	for _, o := range c.Root().Commands() {
		add(o)
	}
	for _, o := range c.Commands() {
		if c.HasParent() {
			add(o)
		}
	}
	fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(also, ",\n"))
	return b.Bytes()
}

// manFlag describes a flag.
func manFlag(b *bytes.Buffer, f *pflag.Flag) {
	value, text := pflag.UnquoteUsage(f)
	head := `\fB` + roff("--"+f.Name) + `\fR`
	if f.Shorthand != "" {
		head = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + head
	}
	if value != "" {
		head += ` \fI` + roff(value) + `\fR`
	}
	fmt.Fprintf(b, ".TP\n%s\n%s\n", head, roff(text))
}

// roff escapes a line of text.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}
