// Package report turns an evaluation into what people and machines read: a document that is written as JSON, a verdict
// in plain words, a table in the terminal, Markdown or CSV, and a reliability diagram drawn with characters.
package report
