// Package picture draws reliability diagrams as PNG, SVG or PDF: of one set of predictions, with gap bars, intervals, the consistency
// band and a histogram of scores; of several sets in one diagram; and of each class in a small panel. For regression forecasts it
// draws calibration curves, histograms of probability integral transforms and of ranks, the coverage of intervals, and errors against
// stated standard deviations.
//
// A picture is a value with exported fields that Write draws. On one kind of CPU, equal values give equal bytes: files contain no time
// and no machine name. Colours are from the Okabe-Ito palette, which is safe for colour blindness. A shape, hatching or dash repeats
// whatever a colour says.
package picture
