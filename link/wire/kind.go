package wire

import (
	"fmt"

	"bellows/core/tally"
	"bellows/link/traffic"
	"bellows/link/wire/internal/fields"
)

// firstControl is the lowest number of a kind whose payload is protobuf. Kinds below it are raw.
const firstControl uint8 = 64

// Limits of payloads in bytes.
const (
	messageMax = 1 << 30     // of the kinds that may travel in parts,
	partMax    = 16<<20 - 64 // the most in one frame: with a stamp, 16 MiB of pooled memory
	slabMax    = 64 << 20
	controlMax = 16 << 20
	textMax    = 64 << 10 // messages with a reason
	smallMax   = 1 << 10  // control messages of a few numbers, with room for fields of later versions
)

// ways is a set of pairs of roles: which role may send a kind to which.
type ways uint16

// way returns the set of one pair.
func way(from, to Role) ways { return 1 << (from*roles + to) }

// The ways that messages take. No kind goes from client to client yet; connections and buses carry it like any other.
var (
	clientToClient     = way(Client, Client)
	clientToLane       = way(Client, Lane)
	clientToController = way(Client, Controller)
	laneToClient       = way(Lane, Client)
	laneToController   = way(Lane, Controller)
	laneToLane         = way(Lane, Lane)
	controllerToClient = way(Controller, Client)
	controllerToLane   = way(Controller, Lane)
)

// control is a message whose payload is protobuf. fields describes it, for encoding and decoding, and returns an error
// if the message as it stands is invalid.
type control interface {
	Message
	fields(c *fields.Codec) error
}

// codec is a message with its own payload format, in which arrays lie as in memory, or one that is encoded for several
// receivers.
type codec interface {
	Message
	// encode adds the payload, or fails the batch. It changes nothing in the message.
	encode(b *Batch)
	// decode reads a payload into an empty message.
	decode(payload []byte) error
}

// kind describes the messages of one type. The type documents its fields, and its codec their encoding; package
// validate decides what a message may contain in a job.
type kind struct {
	name  string
	limit int            // the longest payload
	ways  ways           // 0: it is of a session, below all actors
	class tally.Class    // what its frames are for, as they are counted
	waits traffic.Class  // what it waits behind on its way
	keeps bool           // a decoded message uses its payload: Free gives that back, if the message is pooled
	make  func() Message // an empty message, to be decoded into
}

// kinds describes every kind, by its number in headers; it is also the table of roles and calls. A number is never
// reused for another message; the compiler checks that no two kinds share one. docs/5-wire.md shows the table, and a
// test compares the two.
//
// A new kind is a type (messages.go), its codec with its number, a line here, and its check in package validate.
// Rejected: codecs as functions of the table, which would be an initialisation cycle, and a type switch, which compiles
// when a kind is forgotten.
var kinds = [1 << 8]kind{
	kindPull:        {"pull", messageMax, clientToLane, tally.Pulls, traffic.Pulls, true, fromPool[Pull]},
	kindRows:        {"rows", messageMax, laneToClient, tally.Rows, traffic.Rows, true, newView},
	kindAcquire:     {"acquire", acquireSize, clientToLane, tally.Leases, traffic.Pulls, false, fromPool[Acquire]},
	kindGranted:     {"granted", messageMax, laneToClient, tally.Leases, traffic.Rows, true, fromPool[Granted]},
	kindRelease:     {"release", pairSize, clientToLane, tally.Leases, traffic.Flushes, false, fromPool[Release]},
	kindPush:        {"push", messageMax, clientToLane, tally.Pushes, traffic.Flushes, true, fromPool[Push]},
	kindHeld:        {"held", answerMax, laneToClient, tally.Receipts, traffic.Flushes, false, fromPool[Held]},
	kindFull:        {"full", answerMax, laneToClient, tally.Receipts, traffic.Flushes, false, made[Full]},
	kindRoom:        {"room", answerMax, laneToClient, tally.Receipts, traffic.Flushes, false, made[Room]},
	kindCommitted:   {"committed", committedMax, laneToClient, tally.Receipts, traffic.Flushes, false, fromPool[Committed]},
	kindRefused:     {"refused", textMax, laneToClient, tally.Receipts, traffic.Flushes, false, made[Refused]},
	kindSlab:        {"slab", slabMax, laneToController, tally.Model, traffic.Migration, true, made[Slab]},
	kindUnsubscribe: {"unsubscribe", unsubscribeSize, clientToLane, tally.Pulls, traffic.Pulls, false, made[Unsubscribe]},
	kindInquiry:     {"inquiry", standingMax, clientToLane, tally.Pulls, traffic.Pulls, false, made[Inquiry]},
	kindStanding:    {"standing", standingMax, laneToClient, tally.Receipts, traffic.Rows, false, made[Standing]},
	kindPiece:       {"piece", messageMax, laneToLane, tally.Model, traffic.Migration, true, fromPool[Piece]},
	kindTaken:       {"taken", takenSize, laneToLane, tally.Model, traffic.Migration, false, made[Taken]},

	kindDone:      {"done", controlMax, clientToController | laneToController, tally.Control, traffic.Control, false, fromPool[Done]},
	kindFailed:    {"failed", textMax, clientToController, tally.Control, traffic.Control, false, made[Failed]},
	kindBeat:      {"beat", smallMax, clientToController | controllerToClient | controllerToLane, tally.Control, traffic.Control, false, made[Beat]},
	kindRecords:   {"records", controlMax, controllerToLane | laneToController, tally.Control, traffic.Control, false, fromPool[Records]},
	kindStaleness: {"staleness", smallMax, controllerToClient, tally.Control, traffic.Control, false, made[Staleness]},
	kindDispatch:  {"dispatch", controlMax, controllerToClient, tally.Control, traffic.Control, false, fromPool[Dispatch]},
	kindEnd:       {"end", 1 << 20, controllerToClient | controllerToLane | clientToLane, tally.Control, traffic.Control, false, made[End]},
	kindClosed:    {"closed", controlMax, clientToController | laneToController | clientToLane | laneToLane, tally.Control, traffic.Control, false, made[Closed]},
	kindCollect:   {"collect", smallMax, controllerToLane, tally.Control, traffic.Control, false, made[Collect]},
	kindCollected: {"collected", textMax, laneToController, tally.Control, traffic.Migration, false, made[Collected]},
	kindReady:     {"ready", smallMax, clientToController, tally.Control, traffic.Control, false, made[Ready]},
	kindNotice:    {"notice", textMax, clientToController | laneToController, tally.Control, traffic.Control, false, made[Notice]},
	kindComplaint: {"complaint", textMax, clientToController | laneToController, tally.Control, traffic.Control, false, made[Complaint]},
	kindBye:       {"bye", smallMax, 0, tally.Control, traffic.Control, false, made[Bye]},
	kindAck:       {"ack", smallMax, 0, tally.Control, traffic.Control, false, fromPool[Ack]},
	kindResume:    {"resume", smallMax, 0, tally.Control, traffic.Control, false, made[Resume]},
	kindFence:     {"fence", smallMax, controllerToLane, tally.Control, traffic.Control, false, made[Fence]},
	kindRoute:     {"route", controlMax, controllerToClient | controllerToLane, tally.Control, traffic.Control, false, made[Route]},
	kindStale:     {"stale", controlMax, laneToClient | controllerToClient, tally.Control, traffic.Control, false, made[Stale]},
	kindQuery:     {"query", smallMax, controllerToLane, tally.Control, traffic.Control, false, made[Query]},
	kindHolding:   {"holding", controlMax, laneToController, tally.Control, traffic.Control, false, made[Holding]},
	kindComputing: {"computing", smallMax, clientToController, tally.Control, traffic.Control, false, made[Computing]},
	kindAdopted:   {"adopted", controlMax, laneToController, tally.Control, traffic.Control, false, made[Adopted]},
	kindRecall:    {"recall", smallMax, controllerToClient, tally.Control, traffic.Control, false, made[Recall]},
	kindRecalled:  {"recalled", smallMax, clientToController, tally.Control, traffic.Control, false, made[Recalled]},
	kindHandoff:   {"handoff", smallMax, controllerToLane, tally.Control, traffic.Control, false, made[Handoff]},
	kindPrepared:  {"prepared", textMax, laneToController, tally.Control, traffic.Control, false, made[Prepared]},
	kindCut:       {"cut", smallMax, controllerToLane, tally.Control, traffic.Control, false, made[Cut]},
	kindShard:     {"shard", textMax, laneToController, tally.Control, traffic.Control, false, made[Shard]},
	kindReport:    {"report", reportMax, clientToController | laneToController, tally.Control, traffic.Control, false, made[Report]},
}

// known reports whether there is such a kind.
func known(k uint8) bool { return kinds[k].name != "" }

// kindLimit returns the longest payload of a kind; negative: the kind is unknown.
func kindLimit(k uint8) int {
	if !known(k) {
		return -1
	}
	return kinds[k].limit
}

// inParts reports whether messages of a kind may be cut into parts.
func inParts(k uint8) bool { return kindLimit(k) == messageMax }

// frameLimit returns the longest payload of one frame of a kind that there is.
func frameLimit(k uint8) int {
	if inParts(k) {
		return partMax
	}
	return kindLimit(k)
}

// Allowed reports whether the sender's role may send this kind to the receiver's.
func (h Header) Allowed() bool {
	return known(h.Kind) && kinds[h.Kind].ways&way(h.From.Role, h.To.Role) != 0
}

// Class returns what the frame is for. One of no kind would be control.
func (h Header) Class() tally.Class { return kinds[h.Kind].class }

// Traffic returns the class by which the messages of a kind are ordered. A message without a kind would be control.
func (e *Envelope) Traffic() traffic.Class { return kinds[e.Kind()].waits }

// Kind returns the number of the message's kind, as headers have it; 0: the message does not travel.
func (e Envelope) Kind() uint8 {
	if e.Message == nil {
		return 0
	}
	return e.Message.kind()
}

func kindName(k uint8) string {
	if !known(k) {
		return fmt.Sprintf("message kind %d", k)
	}
	return kinds[k].name
}
