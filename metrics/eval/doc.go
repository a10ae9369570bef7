// Package eval puts accumulators together to an evaluation: a list of metrics by name and option in, one state that
// merges, and their values out. Its table of descriptors is what the command, the documents and the help texts are
// made of.
//
// An Evaluation is of one set of rows, Groups are those of rows by the values of columns and of all of them, and a Multilabel is one
// of each of several independent labels. All merge to the byte, whatever the order.
//
// Some names mean something else of other predictions, such as nll of classes and of normal forecasts: Descriptor.Also has those,
// Descriptor.In the one of a Shape.
package eval
