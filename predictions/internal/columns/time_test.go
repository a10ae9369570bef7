package columns

import (
	"math"
	"testing"
)

// TestAppendTime: the text of dates and timestamps, as pandas 2 writes them to CSV.
func TestAppendTime(t *testing.T) {
	for _, c := range []struct {
		v    int64
		of   Type
		want string
	}{
		{20780, Type{Unit: Days}, "2026-11-23"},
		{-1, Type{Unit: Days}, "1969-12-31"},
		{20780 * 86400, Type{Unit: Seconds}, "2026-11-23"},
		{20780*86400000 + 6*3600000 + 30*60000, Type{Unit: Millis}, "2026-11-23 06:30:00"},
		{20780*86400000 + 7, Type{Unit: Millis}, "2026-11-23 00:00:00.007000"},
		{20780 * 86400000000, Type{Unit: Micros, UTC: true}, "2026-11-23 00:00:00+00:00"},
		{20780*86400000000 - 1, Type{Unit: Micros}, "2026-11-22 23:59:59.999999"},
		{20780*86400000000000 + 1, Type{Unit: Nanos}, "2026-11-23 00:00:00.000000001"},
	} {
		if got := string(c.of.AppendTime(nil, c.v)); got != c.want {
			t.Errorf("%d of unit %d: %s, want %s", c.v, c.of.Unit, got, c.want)
		}
	}
	for u := Days; u <= Nanos; u++ {
		for _, v := range []int64{math.MinInt64, math.MaxInt64} {
			if of := (Type{Unit: u}); len(of.AppendTime(nil, v)) < 8 {
				t.Errorf("unit %d: %s", u, of.AppendTime(nil, v))
			}
		}
	}
}
