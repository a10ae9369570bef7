// Package multilabel evaluates several independent labels of the same rows: for each label a binary task, and means over the labels.
//
// Start with New and Evaluation.AddSource, then Label for one label and Macro for the mean of a metric. Evaluations of the same spec merge
// to the byte, in any order.
package multilabel
