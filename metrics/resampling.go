package metrics

// Resampling controls a bootstrap. A nil *Resampling means the defaults.
type Resampling struct {
	Seed       uint64 // the same seed gives the same results on every CPU
	Replicates int    // number of bootstrap samples; 0 means DefaultReplicates
	Threads    int    // 0 means GOMAXPROCS; results do not depend on it
}

// DefaultReplicates is the number of bootstrap samples if none is given.
const DefaultReplicates = 200

// OrDefault returns the settings with defaults filled in. o may be nil.
func (o *Resampling) OrDefault() (r Resampling) {
	if o != nil {
		r = *o
	}
	if r.Replicates <= 0 {
		r.Replicates = DefaultReplicates
	}
	return r
}
