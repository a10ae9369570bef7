//go:build !js

package main

import "github.com/spf13/cobra"

func commands() []*cobra.Command {
	return []*cobra.Command{evalCommand(), mergeCommand(), subtractCommand(), compareCommand(), driftCommand(), scoreCommand(), recalCommand(), conformalCommand(), inspectCommand(), metricsCommand(), versionCommand(), manCommand()}
}
