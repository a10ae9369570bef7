//go:build noasm

package isa

const noasm = true
