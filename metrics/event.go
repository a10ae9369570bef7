package metrics

// Event is the event whose probability a binned score states.
type Event uint8

// The events.
const (
	ByShape    Event = iota // Positive for a binary task, TopLabel for rows of classes
	TopLabel                // the arg max, or the caller's decision, is the true class; score: its probability
	Positive                // the true class is 1, in a binary task or one of two classes; score: its probability
	AllClasses              // class k is the true class, for every entry of every row; score: the entry
)

// Resolve returns e, with ByShape replaced by the event it stands for with this number of classes.
func (e Event) Resolve(classes int) Event {
	switch {
	case e != ByShape:
		return e
	case classes == 1:
		return Positive
	}
	return TopLabel
}
