package rule

import (
	"math"

	"bellows"
	"bellows/table"
)

// positive reports whether v is a number above 0, and finite.
func positive(v float32) bool { return v > 0 && v <= math.MaxFloat32 }

func bad(s *table.Schema, format string, args ...any) error {
	return bellows.Errorf(bellows.Config, "declare table", s.Name, format, args...)
}
