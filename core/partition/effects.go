package partition

import (
	"fmt"

	"bellows"
	"bellows/core/delta"
	"bellows/link/wire"
)

// Effects are what a call asks the lane to do. The lane carries them out in their order and empties
// the lists. Their memory is used again.
type Effects struct {
	Sends   []Send
	Applied []Flush // once for each chunk or end of a lease that is part of the state now
	Rows    int64   // of these: row deltas, or rows of a copy
}

// Send is a message and its receiver.
type Send struct {
	To      wire.Address
	Message wire.Message
}

// Flush is a recorded flush as the lane knows it. A partition compares its name and hands it back.
type Flush interface{ ID() bellows.FlushID }

// Reset empties the lists.
func (fx *Effects) Reset() {
	clear(fx.Sends)
	clear(fx.Applied)
	fx.Sends, fx.Applied, fx.Rows = fx.Sends[:0], fx.Applied[:0], 0
}

// SendAll sends the messages in their order, and leaves the flushes.
func (fx *Effects) SendAll(from wire.Address, out *wire.Outbox) {
	for _, s := range fx.Sends {
		out.Send(from, s.To, s.Message)
	}
	clear(fx.Sends)
	fx.Sends = fx.Sends[:0]
}

func (fx *Effects) send(to wire.Address, m wire.Message) {
	fx.Sends = append(fx.Sends, Send{to, m})
}

// apply notes that a chunk of a flush, with so many rows, is part of the state. One that came with a copy of its
// partition is the partition's own.
func (fx *Effects) apply(f Flush, rows int) {
	fx.Rows += int64(rows)
	if c, ok := f.(*copied); ok {
		if c.piece != nil { // else it came with an image
			wire.Free(c.piece)
		}
		return
	}
	fx.Applied = append(fx.Applied, f)
}

// OverlapError is a violation of the protocol: two chunks of one clock are of the same split, so that
// no sum of them is right.
type OverlapError struct {
	Ref   bellows.PartitionRef
	Clock bellows.Clock
	*delta.Overlap
}

func (e *OverlapError) Error() string {
	return fmt.Sprintf("for clock %d of %v %v", e.Clock, e.Ref, e.Overlap)
}
