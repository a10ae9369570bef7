// Package ci writes the results of evaluations in the forms that systems for continuous integration read: JUnit XML, GitHub's step
// summary, MLflow's metrics and OpenMetrics.
//
// A Result has what all forms are written from. OfDocument, OfMultilabel and OfComparison make the sets of one; Write writes it.
// docs/ci.md describes the forms.
package ci
