// Package picture draws reliability diagrams and other plots of evaluations as PNG, SVG or PDF.
//
// Start with Reliability, which has the bars of one set of predictions, and pass it to Write. Overlay draws several sets in one diagram,
// Classes each class in a small panel, and Curves risk-coverage and ROC curves. For regression forecasts there are CalibrationCurve,
// Coverage, Histogram (of probability integral transforms or ranks) and Spread. Forest has the
// intervals of differences, and of groups; Gaps how the reliability of two models differs.
//
// A picture is a value with exported fields. Equal values give equal bytes on one kind of CPU, because files contain no time and no
// machine name. Colours are from the Okabe-Ito palette, which is safe for colour blindness. Whatever a colour says, a shape, hatching or
// dash repeats.
//
// docs/pictures.md shows the pictures.
package picture
