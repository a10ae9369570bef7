//go:build !js

package main

import "github.com/spf13/cobra"

func commands() []*cobra.Command {
	return []*cobra.Command{evalCommand(), mergeCommand(), compareCommand(), driftCommand(), scoreCommand(), recalCommand(), inspectCommand(), metricsCommand(), versionCommand(), manCommand()}
}
