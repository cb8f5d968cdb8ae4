package wire

import "bellows/tally"

// classes says what the frames of each kind are for; those that are not named are control.
var classes = [firstControl]tally.Class{
	kindPull: tally.Pulls, kindUnsubscribe: tally.Pulls, kindRows: tally.Rows, kindPush: tally.Pushes, kindSlab: tally.Model,
	kindAcquire: tally.Leases, kindGranted: tally.Leases, kindRelease: tally.Leases,
	kindHeld: tally.Receipts, kindFull: tally.Receipts, kindRoom: tally.Receipts,
	kindCommitted: tally.Receipts, kindRefused: tally.Receipts,
}

// Class is what the frame is for.
func (h Header) Class() tally.Class { return purpose(h.Kind) }

func purpose(kind uint8) tally.Class {
	if kind < firstControl {
		return classes[kind]
	}
	return tally.Control
}

// Traffic is the frames that were added since the last Reset.
func (b *Batch) Traffic() *tally.Traffic { return &b.traffic }
