package metrics

// Extent is what the memory of an accumulator depends on, known before a row is read.
type Extent struct {
	Rows     int64 // at most; below 0 if nobody knows
	Classes  int   // 1 for a binary task
	Kind     Kind
	DType    DType // of the probabilities that a Pass hands out: Float32 or Float64
	Weighted bool
}

// Distinct returns how many of so many things the rows may have at most.
func (x Extent) Distinct(most int64) int64 {
	if x.Rows >= 0 && x.Rows < most {
		return x.Rows
	}
	return most
}

// Sizer is an Accumulator whose memory grows with rows or classes, or is large. Size returns about how many bytes it takes at most
// after rows of that extent; one that does not say takes some kilobytes.
type Sizer interface {
	Accumulator
	Size(Extent) int64
}
