// Package report presents an evaluation: as a verdict in plain words, as tables for the terminal, Markdown and CSV, as JSON, and as a
// reliability diagram in characters.
//
// Start with New, which makes a Document from an evaluation. A Gate checks it against a limit. Comparison is the result of several sets,
// Multilabel that of several labels, and Recalibration that of a recalibration. Package picture draws diagrams, and package ci
// writes what CI systems read. docs/json.md describes the JSON.
package report
