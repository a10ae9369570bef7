package main

import (
	"bytes"
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
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version, and what of the CPU is used",
		Example: "  candor version\n  candor version --cpu",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var b bytes.Buffer
			b.WriteString(versionLine())
			if cpu {
				describeCPU(&b)
			}
			_, err := c.OutOrStdout().Write(b.Bytes())
			return err
		},
	}
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

// versionText returns the version that Go recorded from the module, or from git for a build in a checkout.
func versionText() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "(devel)"
}
