//go:build !linux || !amd64

package main

import "errors"

func run(*options) (int, error) {
	return statusMachine, errors.New("it runs on linux/amd64 only")
}

func runInit() { panic("not linux/amd64") }
