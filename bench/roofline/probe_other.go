//go:build !amd64 || noasm

package main

import "github.com/candor-go/candor/internal/isa"

func sumWords(mem []byte) uint64 { return sumGo(mem) }

func multiplyAdds(isa.Level) int { return multiplyAddsGo() }
