// Package picture turns evaluations into pictures: reliability diagrams and other plots, as scenes.
//
// Each kind of picture is a struct with exported fields. Its method Scene returns it with title, key and notes; Panel
// returns the drawing alone, for a page that has the words, with a description of what it shows:
//
//	d := &picture.Reliability{Bins: partition.Bins(0.95), Classes: 10}
//	svg := d.Panel().Inline("reliability", "") // an element of a page with scene.CSS
//	file := d.Scene().SVG()                    // a file of its own
//
// Package report/picture/file writes PNG and PDF.
//
// Start with Reliability, which has the bins of one set of predictions, and Mass, which has bins of equal mass. Overlay draws several sets in
// one diagram, Classes each class in a small panel, Risk the errors among rows that are kept, and Curves other curves. CORP needs no bins. For
// regression forecasts there are CalibrationCurve, Coverage, Histogram (of probability integral transforms or ranks) and Spread. Forest has
// the intervals of differences, and of groups; Gaps how the reliability of two models differs; Flips whose decisions are right; Members the
// members of an ensemble. Cell and Strip are small pictures for tables and headings of pages.
//
// All follow the same rules. A colour says that something is clear of chance: orange too sure, too narrow or too high; green the reverse. A
// position or a shape says the same. Bands of chance are behind the data. Dots grow with the rows behind them, and are hollow if these are too few.
// Differences of shares are in points. An interval that goes beyond an axis ends in an arrow.
//
// Equal values give equal scenes, on every CPU.
//
// docs/pictures.md shows the pictures.
package picture

import "github.com/candor-go/candor/report/scene"

// Drawing is a picture: *Reliability, *Mass, *Overlay, *Classes, *CORP, *Risk, *Curves, *CalibrationCurve, *Histogram, *Coverage, *Spread,
// *Forest, *Gaps, *Flips or *Members.
type Drawing interface {
	Scene() *scene.Scene // with title, key and notes
	Panel() *scene.Scene // the drawing alone
}
