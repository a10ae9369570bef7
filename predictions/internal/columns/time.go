package columns

import "time"

// Unit is what a Time counts.
type Unit uint8

// The units of dates and timestamps.
const (
	Days Unit = iota
	Seconds
	Millis
	Micros
	Nanos
)

// AppendTime appends the text of a Time, by ISO 8601 and as pandas writes it to CSV: 2026-11-23 for a date, and for midnight without a
// time zone; 2026-11-23 06:30:00 for other times, with 6 or 9 digits of a fraction if it is not 0; and +00:00 behind an instant.
func (t *Type) AppendTime(dst []byte, v int64) []byte {
	var at time.Time
	switch t.Unit {
	case Days:
		const most = 1 << 40 // far beyond what time.Time can tell
		return time.Unix(max(-most, min(v, most))*86400, 0).UTC().AppendFormat(dst, time.DateOnly)
	case Seconds:
		at = time.Unix(v, 0).UTC()
	case Millis:
		at = time.UnixMilli(v).UTC()
	case Micros:
		at = time.UnixMicro(v).UTC()
	default:
		at = time.Unix(0, v).UTC()
	}
	layout := time.DateTime
	switch n := at.Nanosecond(); {
	case !t.UTC && n == 0 && at.Hour() == 0 && at.Minute() == 0 && at.Second() == 0:
		layout = time.DateOnly
	case n%1000 != 0:
		layout += ".000000000"
	case n != 0:
		layout += ".000000"
	}
	dst = at.AppendFormat(dst, layout)
	if t.UTC {
		dst = append(dst, "+00:00"...)
	}
	return dst
}
