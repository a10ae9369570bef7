// Package picture draws reliability diagrams as PNG, SVG or PDF: of one set of predictions with gap bars, intervals and
// the band of calibration above the histogram of confidences, of several sets in one, and of every class in a panel of its own.
// Of regression forecasts it draws calibration curves, histograms of probability integral transforms and of ranks, the
// coverage of intervals, and errors against what spread says of them.
//
// On one kind of CPU equal data give equal bytes: no time, name of a machine or order of a map is in a file. Colours are of
// the Okabe-Ito palette, which all kinds of colour vision tell apart, and whatever a colour says a shape, hatching or dash
// says too.
package picture
