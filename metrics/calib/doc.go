// Package calib measures calibration by bins of the score: the expected, maximum and root-mean-square calibration
// errors and the bins of the reliability diagram, of the top label or of the positive class. Window draws the diagram
// without bins.
//
// One name means many things in this field: Options spells out every choice, its zero value is candor's default, and
// Like gives the choices of other systems.
//
// No answer depends on the order of the rows, but that of Window with WindowOptions.Parity, where scores are equal.
package calib
