//go:build !linux

package check

func storm() func() { panic("CANDOR_STORM is for Linux") }
