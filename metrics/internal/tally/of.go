package tally

// Of returns the exact sums of a *cells.Cell or a *cells.Sum. Package cells sets it: what it exports shows numbers, since nobody outside of
// the metrics could name this type, and the metrics add up exact sums.
var Of func(cellOrSum any) Cell
