package metrics

// Extent holds the sizes that determine an accumulator's memory and are known before the first row is read.
type Extent struct {
	Rows     int64 // upper bound; negative if unknown
	Classes  int   // 1 for a binary task
	Kind     Kind
	DType    DType // of the probabilities in blocks: Float32 or Float64
	Weighted bool
}

// Distinct returns an upper bound on the number of distinct values among the rows, where at most this many exist.
func (x Extent) Distinct(most int64) int64 {
	if x.Rows >= 0 && x.Rows < most {
		return x.Rows
	}
	return most
}

// Sizer is an Accumulator whose memory is large or grows with rows or classes. Size estimates the most bytes that it takes
// after rows of this extent. An Accumulator that is no Sizer takes a few kilobytes.
type Sizer interface {
	Accumulator
	Size(Extent) int64
}

// Holder is a Sizer that knows what its rows take, which is often far less than Size: of many rows with few distinct values, or once values
// share cells. Held estimates the most bytes that it takes after this many more rows, 0 for what it takes now. The extent's Rows do not
// matter.
type Holder interface {
	Sizer
	Held(more int64, x Extent) int64
}
