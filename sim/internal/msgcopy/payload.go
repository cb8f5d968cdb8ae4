package msgcopy

import (
	"slices"

	"bellows/link/wire"
)

// Payload returns the bytes that a message's frame has behind its header; false: the message cannot be written.
func Payload(m wire.Message) (kind uint8, payload []byte, ok bool) {
	b := batches.Get().(*wire.Batch)
	defer batches.Put(b)
	kind, pieces, err := b.Payload(m)
	return kind, slices.Concat(pieces...), err == nil
}
