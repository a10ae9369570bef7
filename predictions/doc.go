// Package predictions reads files of predictions as a stream of chunks of rows, in bounded memory.
//
// It reads NumPy's .npy and .npz, and tables of text (CSV, TSV). Start with Open. Each function opens one kind of predictions:
//
//	Open          one model's scores, in arrays        metrics.Source
//	OpenTable     scores of classes, in tables         metrics.Source
//	OpenMembers   an ensemble                          metrics.MemberSource
//	OpenLabels    several independent labels           metrics.LabelSource
//	OpenForecast  regression forecasts                 metrics.Source
//
// A metrics.Pass takes such a source; Next returns its chunks one by one. Rows and columns are numbered from 0. Errors are *Error: they
// name the file, the row if there is one, and what to do.
//
// Package roles decides which column of a table is which. docs/formats.md describes the files.
package predictions
