package main

import "github.com/spf13/cobra"

// commands are those of a page, which has the program in it and should be small.
func commands() []*cobra.Command {
	return []*cobra.Command{evalCommand(), inspectCommand(), metricsCommand(), versionCommand()}
}
