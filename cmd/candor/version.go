package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/candor-go/candor/internal/isa"
)

func versionCommand() *cobra.Command {
	cpu := false
	var form sheetForm
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and the CPU features in use",
		Long:    "Print the version of candor, with --cpu also the vector instructions that it uses and those that the CPU has.",
		Example: "  candor version\n  candor version --cpu",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := form.checkForm(c); err != nil {
				return err
			}
			var b bytes.Buffer
			b.WriteString(versionLine())
			if cpu {
				describeCPU(&b)
			}
			facts := [][2]string{{"version", versionText()}, {"go", runtime.Version()}, {"system", runtime.GOOS + "/" + runtime.GOARCH}}
			if cpu {
				i := isa.Info()
				facts = append(facts, [][2]string{{"level", i.Current.String()}, {"detected", i.Detected.String()}, {"cpu", i.Brand}, {"features", strings.Join(i.Features, " ")},
					{"missing", strings.Join(i.Missing, " ")}, {"warning", i.EnvError}}...)
			}
			s := &sheet{head: []string{"name", "value"}}
			object := map[string]string{}
			for _, f := range facts {
				if f[1] != "" {
					s.add(f[0], f[1])
					object[f[0]] = f[1]
				}
			}
			return form.write(c, b.Bytes(), s, func(w io.Writer) error {
				enc := json.NewEncoder(w)
				enc.SetIndent("", "  ")
				return enc.Encode(object)
			})
		},
	}
	form.form(c)
	c.Flags().BoolVar(&cpu, "cpu", false, "the level of vector instructions in use, and what was detected")
	return c
}

// describeCPU writes which features of the CPU are used, and why no more.
func describeCPU(w io.Writer) {
	i := isa.Info()
	fmt.Fprintf(w, "level     %v", i.Current)
	switch {
	case i.NoAsm:
		fmt.Fprint(w, " (built with the tag noasm)")
	case i.Current != i.Detected:
		fmt.Fprintf(w, " (capped by CANDOR_ISA=%s)", i.Env)
	}
	fmt.Fprintf(w, "\ndetected  %v\n", i.Detected)
	if i.Brand != "" {
		fmt.Fprintf(w, "cpu       %s\n", i.Brand)
	}
	if len(i.Features) > 0 {
		fmt.Fprintf(w, "features  %s\n", strings.Join(i.Features, " "))
	}
	if len(i.Missing) > 0 {
		fmt.Fprintf(w, "missing   %s (for the next level)\n", strings.Join(i.Missing, " "))
	}
	if i.EnvError != "" {
		fmt.Fprintf(w, "warning   %s\n", i.EnvError)
	}
}

func versionLine() string {
	return fmt.Sprintf("candor %s %s %s/%s\n", versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// release is the version of sources that Go knows none of, such as those of a source distribution: -ldflags '-X main.release=v1.2.3' sets it.
var release string

// versionText returns the version that Go recorded from the module, or from git for a build in a checkout.
func versionText() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" {
		return b.Main.Version
	}
	return cmp.Or(release, "(devel)")
}
