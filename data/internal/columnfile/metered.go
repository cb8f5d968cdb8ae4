package columnfile

import (
	"cmp"
	"io"
	"slices"

	"bellows/progress"
)

// Metered counts the bytes that pass through it, and stops with the error of its meter.
type Metered struct {
	To    io.Writer
	Meter *progress.Meter
	Step  int // bytes between two checks of the meter
}

// Write implements io.Writer.
func (w Metered) Write(p []byte) (n int, err error) {
	for piece := range slices.Chunk(p, w.Step) {
		m, err := w.To.Write(piece)
		if err = cmp.Or(err, w.Meter.Add(int64(m))); err != nil {
			return n + m, err
		}
		n += m
	}
	return n, nil
}
