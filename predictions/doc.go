// Package predictions reads files of predictions as a stream of chunks of rows, in bounded memory.
//
// It reads NumPy's .npy and .npz, and tables (CSV, TSV) of regression forecasts. Each of four functions opens a reader:
//
//	Open          one model's scores          metrics.Source
//	OpenMembers   an ensemble                 metrics.MemberSource
//	OpenLabels    several independent labels  metrics.LabelSource
//	OpenForecast  regression forecasts        metrics.Source
//
// A metrics.Pass takes such a source; Next returns its chunks one by one. Errors are *Error: they name the file, the
// row if there is one, and what to do. docs/formats.md describes the files.
package predictions
