package measure

import (
	"slices"

	"bellows/api"
)

// Reading is how much of a copy was there at some time.
type Reading struct{ Millis, Bytes int64 }

// Readings are those of a copy at the ticks of about the last seconds: the first is of their beginning, or of that of
// the copy.
type Readings []Reading

// Enter adds a reading, and drops those that are of no use any more.
func (m Readings) Enter(r Reading) Readings {
	m = append(m, r)
	return slices.Delete(m, 0, m.first(r.Millis))
}

// first returns the last reading before the given period, or the first of all.
func (m Readings) first(millis int64) (at int) {
	for at+1 < len(m) && m[at+1].Millis <= millis-1000*api.RateSeconds {
		at++
	}
	return at
}

// Rate returns the bytes per second over the last seconds, up to a current reading.
func (m Readings) Rate(now Reading) float64 {
	first := m[m.first(now.Millis)]
	if now.Millis <= first.Millis {
		return 0
	}
	return 1000 * float64(max(0, now.Bytes-first.Bytes)) / float64(now.Millis-first.Millis)
}
