module github.com/candor-go/candor/kernel/asm/_gen

go 1.26.0

require (
	github.com/mmcloughlin/avo v0.6.0
	golang.org/x/arch v0.32.0
)

require (
	github.com/candor-go/candor v0.0.0
	golang.org/x/mod v0.27.0 // indirect
	golang.org/x/sync v0.23.0 // indirect
	golang.org/x/tools v0.36.0 // indirect
)

replace github.com/candor-go/candor => ../../..
