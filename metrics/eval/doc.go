// Package eval evaluates metrics by name: a list of names and options in, one state that merges, values out. The command, the
// documents and the help texts use its table of descriptors.
//
// Start with ParseMetrics and New. Package grouped has an Evaluation for each group of rows, by the values of columns, and one for all rows;
// package multilabel has one for each of several independent labels. All merge to the byte, in any order.
//
// Some names have another meaning for other predictions: nll of classes is not nll of normal forecasts. Descriptor.Also lists these
// meanings, and Descriptor.In returns the one for a Shape.
package eval
