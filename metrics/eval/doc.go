// Package eval puts accumulators together to an evaluation: a list of metrics by name and option in, one state that
// merges, and their values out. Its table of descriptors is what the command, the documents and the help texts are
// made of.
package eval
