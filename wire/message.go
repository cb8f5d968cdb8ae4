package wire

import (
	"fmt"

	"bellows"
)

// tooLong is why a message does not travel.
type tooLong struct{ length, limit int }

func (e tooLong) Error() string {
	return fmt.Sprintf("%d bytes are over the limit of %d", e.length, e.limit)
}

// payload adds the payload of a message and says what it is.
func (b *Batch) payload(m Message) (kind uint8, err error) {
	switch m := m.(type) {
	case *Pull:
		kind = kindPull
		b.pull(m)
	case *Rows:
		kind = kindRows
		b.rows(m)
	case *Acquire:
		kind = kindAcquire
		b.acquire(m)
	case *Granted:
		kind = kindGranted
		b.granted(m)
	case *Release:
		kind = kindRelease
		b.release(m)
	case *Push:
		kind = kindPush
		err = b.push(m)
	case *Held:
		kind = kindHeld
		b.flush(m.Flush)
	case *Full:
		kind = kindFull
		b.flush(m.Flush)
	case *Room:
		kind = kindRoom
		b.flush(m.Flush)
	case *Committed:
		kind = kindCommitted
		b.committed(m)
	case *Refused:
		kind = kindRefused
		b.refused(m)
	case *Unsubscribe:
		kind = kindUnsubscribe
		b.ref(m.Ref)
	case *Slab:
		kind = kindSlab
		b.slab(m)
	default:
		return b.control(m)
	}
	return kind, err
}

// control adds the payload of a control message and says what it is.
func (b *Batch) control(m Message) (kind uint8, err error) {
	switch m := m.(type) {
	case *Done:
		kind = kindDone
		err = b.done(m)
	case *Failed:
		kind = kindFailed
		b.failed(m)
	case *Beat:
		kind = kindBeat
	case *Records:
		kind = kindRecords
		err = b.records(m)
	case *Keep:
		kind = kindKeep
		b.keep(m)
	case *Staleness:
		kind = kindStaleness
		b.staleness(m)
	case *Dispatch:
		kind = kindDispatch
		err = b.dispatch(m)
	case *End:
		kind = kindEnd
		err = b.finish(m)
	case *Closed:
		kind = kindClosed
		b.closed(m)
	default:
		return b.state(m)
	}
	return kind, err
}

// state adds the payload of a message about a node or its state, and says what it is.
func (b *Batch) state(m Message) (kind uint8, err error) {
	switch m := m.(type) {
	case *Collect:
		kind = kindCollect
		b.collect(m)
	case *Collected:
		kind = kindCollected
		b.text(1, reason(m.Reason))
	case *Ready:
		kind = kindReady
	case *Notice:
		kind = kindNotice
		b.text(1, reason(m.Sentence))
	case *Severed:
		kind = kindSevered
		b.severed(m)
	case *Report:
		kind = kindReport
		b.report(m)
	default:
		err = bellows.Errorf(bellows.Bug, "encode message", "", "%T does not travel", m)
	}
	return kind, err
}
