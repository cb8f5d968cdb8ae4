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
	kindReport
)

// Limits of payloads in bytes.
const (
	messageMax = 1 << 30     // of the kinds that may travel in parts,
	partMax    = 16<<20 - 64 // of each of which no frame has more: with a stamp, 16 MiB of pooled memory
	slabMax    = 64 << 20
	controlMax = 16 << 20
	textMax    = 64 << 10 // messages with a reason
	smallMax   = 1 << 10  // control messages of a few numbers, with room for fields of later versions
)

// ways is a set of pairs of roles: who may send a kind to whom.
type ways uint16

// way is the set of one pair.
func way(from, to Role) ways { return 1 << (from*roles + to) }

// The ways that messages take.
var (
	clientToLane       = way(Client, Lane)
	clientToController = way(Client, Controller)
	laneToClient       = way(Lane, Client)
	laneToController   = way(Lane, Controller)
	controllerToClient = way(Controller, Client)
	controllerToLane   = way(Controller, Lane)
)

// kinds is every kind's name, the longest payload that it may have, and who may send it to whom: the table of
// role and call. docs/5-wire.md shows it, and a test compares the two.
var kinds = [...]struct {
	name  string
	limit int
	ways  ways
}{
	kindPull:        {"pull", messageMax, clientToLane},
	kindRows:        {"rows", messageMax, laneToClient},
	kindAcquire:     {"acquire", acquireSize, clientToLane},
	kindGranted:     {"granted", messageMax, laneToClient},
	kindRelease:     {"release", refSize, clientToLane},
	kindPush:        {"push", messageMax, clientToLane},
	kindHeld:        {"held", flushSize, laneToClient},
	kindFull:        {"full", flushSize, laneToClient},
	kindRoom:        {"room", flushSize, laneToClient},
	kindCommitted:   {"committed", 8 + CommittedMost*commitmentSize, laneToClient},
	kindRefused:     {"refused", textMax, laneToClient},
	kindSlab:        {"slab", slabMax, laneToController},
	kindUnsubscribe: {"unsubscribe", refSize, clientToLane},
	kindDone:        {"done", controlMax, clientToController | laneToController},
	kindFailed:      {"failed", textMax, clientToController},
	kindBeat:        {"beat", smallMax, clientToController | controllerToClient | controllerToLane},
	kindRecords:     {"records", controlMax, controllerToLane},
	kindKeep:        {"keep", smallMax, controllerToLane},
	kindStaleness:   {"staleness", smallMax, controllerToClient | controllerToLane},
	kindDispatch:    {"dispatch", controlMax, controllerToClient},
	kindEnd:         {"end", 1 << 20, controllerToClient | controllerToLane | clientToLane},
	kindClosed:      {"closed", smallMax, clientToController | laneToController},
	kindCollect:     {"collect", smallMax, controllerToLane},
	kindCollected:   {"collected", textMax, laneToController},
	kindReady:       {"ready", smallMax, clientToController},
	kindNotice:      {"notice", textMax, clientToController},
	kindSevered:     {"severed", textMax, clientToController | laneToController},
	kindReport:      {"report", smallMax, clientToController | laneToController},
}

// kindLimit is the longest payload of a kind; negative: there is no such kind.
func kindLimit(k uint8) int {
	if int(k) >= len(kinds) || kinds[k].name == "" {
		return -1
	}
	return kinds[k].limit
}

// inParts reports whether messages of a kind may be cut into parts.
func inParts(k uint8) bool { return kindLimit(k) == messageMax }

// frameLimit is the longest payload of one frame of a kind that there is.
func frameLimit(k uint8) int {
	if inParts(k) {
		return partMax
	}
	return kindLimit(k)
}

// Allowed reports whether the sender's role may send this kind to the receiver's.
func (h Header) Allowed() bool {
	return kindLimit(h.Kind) >= 0 && kinds[h.Kind].ways&way(h.From.Role, h.To.Role) != 0
}

func kindName(k uint8) string {
	if kindLimit(k) < 0 {
		return fmt.Sprintf("message kind %d", k)
	}
	return kinds[k].name
}
