// Package calib measures calibration by bins of the score: the expected, maximum and root-mean-square calibration
// errors and the bins of the reliability diagram, of the top label or of the positive class.
//
// One name means many things in this field: Options spells out every choice, its zero value is candor's default, and
// Like gives the choices of other systems.
package calib
