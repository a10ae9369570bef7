//go:build !linux

package main

// adviseHuge does nothing where pages cannot be asked for.
func adviseHuge([]byte) {}
