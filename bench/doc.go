// Package bench holds no code, only benchmarks under names that benchstat can split: key=value parts, isa= last. README.md
// has the commands and what they gave.
package bench
