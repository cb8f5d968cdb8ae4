package wire

import "fmt"

// The kinds of messages, as headers number them. A number is never used again for another message. Those
// below firstControl have raw payloads, the others protobuf.
const (
	kindPull uint8 = 1 + iota
	kindRows
	kindAcquire
	kindGranted
	kindRelease
	kindPush
	kindHeld
	kindFull
	kindRoom
	kindCommitted
	kindRefused
	kindSlab
	kindUnsubscribe

	firstControl uint8 = 64
)

const (
	kindDone uint8 = firstControl + iota
	kindFailed
	kindBeat
	kindRecords
	kindKeep
	kindStaleness
	kindDispatch
	kindEnd
	kindClosed
	kindCollect
	kindCollected
	kindReady
	kindNotice
	kindSevered
)

// Limits of payloads in bytes.
const (
	dataMax    = 64 << 20
	controlMax = 16 << 20
	textMax    = 64 << 10 // messages with a reason
	smallMax   = 1 << 10  // control messages of a few numbers, with room for fields of later versions
)

// kinds is every kind's name and the longest payload that it may have.
var kinds = [...]struct {
	name  string
	limit int
}{
	kindPull:        {"pull", dataMax},
	kindRows:        {"rows", dataMax},
	kindAcquire:     {"acquire", acquireSize},
	kindGranted:     {"granted", dataMax},
	kindRelease:     {"release", refSize},
	kindPush:        {"push", dataMax},
	kindHeld:        {"held", flushSize},
	kindFull:        {"full", flushSize},
	kindRoom:        {"room", flushSize},
	kindCommitted:   {"committed", committedSize},
	kindRefused:     {"refused", textMax},
	kindSlab:        {"slab", dataMax},
	kindUnsubscribe: {"unsubscribe", refSize},
	kindDone:        {"done", controlMax},
	kindFailed:      {"failed", textMax},
	kindBeat:        {"beat", smallMax},
	kindRecords:     {"records", controlMax},
	kindKeep:        {"keep", smallMax},
	kindStaleness:   {"staleness", smallMax},
	kindDispatch:    {"dispatch", controlMax},
	kindEnd:         {"end", 1 << 20},
	kindClosed:      {"closed", smallMax},
	kindCollect:     {"collect", smallMax},
	kindCollected:   {"collected", textMax},
	kindReady:       {"ready", smallMax},
	kindNotice:      {"notice", textMax},
	kindSevered:     {"severed", textMax},
}

// kindLimit is the longest payload of a kind; negative: there is no such kind.
func kindLimit(k uint8) int {
	if int(k) >= len(kinds) || kinds[k].name == "" {
		return -1
	}
	return kinds[k].limit
}

func kindName(k uint8) string {
	if kindLimit(k) < 0 {
		return fmt.Sprintf("message kind %d", k)
	}
	return kinds[k].name
}
