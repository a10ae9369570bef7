// Package fuzz holds no code, only fuzz targets that go through the public interface: each reads an input from bytes and
// holds what comes back to an independent way of getting it. As plain tests they run on their seeds; to search,
//
//	go test ./fuzz -run '^$' -fuzz '^FuzzLogitStatsF32$' -fuzztime 1m
package fuzz
