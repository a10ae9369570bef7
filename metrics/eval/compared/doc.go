// Package compared evaluates several models on the same rows in one read, and finds how they differ and how sure that is.
//
// Start with New and AddSources; Differences has the answers. States merge as those of eval do.
package compared
