// Package exact holds the integers that accumulators are made of.
//
// A sum kept here is exact: it has no rounding after the one that its terms undergo on entry, so it does not depend on
// the order of the terms, on how they were divided among threads or shards, or on the tree in which the parts were
// merged. Equal multisets of terms give equal bytes.
//
//   - [Int] counts quanta of 2^-88 in 192 bits: the sum of everything whose size is known beforehand.
//   - [Super] holds any finite float64 without loss: the sum of everything that carries the user's units.
//   - [Sum] is what an accumulator keeps: an Int, and a Super once something needed it.
//   - [Rat], [Ratio], [Mean], [Variance] and [WeightedVariance] turn sums into answers, rounded once, at the end.
//   - [Seal] and [Open], [Enc] and [Dec] are the frame and the fields of every binary state.
//
// Nothing here multiplies or adds float64s: terms are taken apart into their bits and answers are put together from
// bits, so that a result has the same bits on every CPU. The zero value of every type is ready for use.
package exact
