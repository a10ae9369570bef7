// Package report presents an evaluation. A Document has a verdict in plain words, tables for the terminal, Markdown and CSV, JSON, and
// a reliability diagram in characters. A Gate checks it against a limit. Comparison, Multilabel and Recalibration are the results of
// several sets, of several labels, and of a recalibration. Pictures are in report/picture.
package report
