package server

import (
	"cmp"

	"bellows/core"
	"bellows/core/migration"
	"bellows/core/partition"
	"bellows/core/recordlog"
	"bellows/link/wire"
)

// Options are what is a lane's own beside its job. None of them changes a result.
type Options struct {
	// HeldBytesMax caps the bytes of flushes that are held and not recorded. Above it only a flush
	// below all held ones, by (clock, node), is taken, and of each client at most one more than
	// twice its splits. 0: no cap.
	HeldBytesMax int
	// KeySeed is a number that no peer knows, so that none can choose keys that fall on one place
	// of an index (keys.Index). It changes no result. 0: it is known.
	KeySeed uint64
	Blank   bool // partitions are loaded before the first step (Load), and so not filled by their initialisers
	Limits  Limits
	// Follow, if it is set, is called with each partition that the lane makes, before its first change:
	// readers of its log are attached there (partition.Log). They include copies that are sent here.
	Follow func(*partition.Partition)
}

// config is what a lane is made of. Its Times have no lease where it is in one process with the
// controller, and hears it.
type config struct {
	core.Job
	Options
	Self wire.Address
}

// Limits are what a lane bounds by itself. Each field is 0, for the default, or less than that,
// which changes no result: tests make them small, to reach them.
type Limits struct {
	// Parked bounds the reads that wait at the lane, the flushes that wait for room there, and the
	// requests for leases on a partition: by default 65,536, far more than the tasks of a job ask
	// at once. A client that asks for more breaks the protocol.
	Parked int
	// RelayWords is about how many words of four bytes go into one message of rows that come
	// unasked: by default 4,194,304, so that none comes near the limit of a frame.
	RelayWords int
	// Commitments is how many flushes one message says to be committed: by default as many as it
	// may have, wire.CommittedMost.
	Commitments int
	// Tail is how many bytes of records are kept for another controller, beyond which the oldest
	// are let go: by default 4 MiB. A record of eight units takes 60. If its controller is saved
	// more seldom, a job cannot be recovered. Negative: none are kept, as where the controller and
	// all lanes are one process, which nothing outlives.
	Tail int
	// Ahead is about how many bytes of pushes may wait for records of the route that they go by: by
	// default 32 MiB. A push above that is refused as stale, and so comes again: a lane that is so
	// far behind takes no more memory.
	Ahead int
	// Unread is about how many words of four bytes may be on their way to another node before it is
	// sent more: by default 8 Mi, 32 MiB. Less makes questions of a node wait that is slow to read;
	// more is memory here for each node that does not read.
	Unread int
	// Digits is how many new keys of a partition are sorted digit by digit: by default as many as
	// package rowstore finds worth it.
	Digits int
	// Direct is the number of rows of a partition up to which sums of deltas look rows up by number:
	// by default delta.DirectMax.
	Direct int
	// Slab is how many values of a partition go into one message of its state: by default as many
	// as checkpoint.Sender has it, and 65,536 where the partition goes to another lane.
	Slab int
	// Window is how many bytes of rows may be on their way to a lane that is to own their
	// partition: by default 1 MiB, little compared with the traffic of training.
	Window int
	// Behind is how many bytes of what changes a partition may be on their way to such a lane: by
	// default 1 GiB. Above that the move is given up.
	Behind int
	// Log is how many bytes of changes a partition keeps for the slowest cursor over its log: by
	// default partition.LogMax. Above that the cursor is lost, and its owner starts over.
	Log int
	// Copies is how many bytes a cut may take here, of what has changed since: by default 1 GiB.
	// Above that the cut is given up.
	Copies int
}

// The defaults of Limits; that of Commitments is wire's.
const (
	parkedMax  = 1 << 16
	relayMost  = 4 << 20
	unreadMost = 8 << 20
	aheadMost  = 32 << 20

	handoffWindow = 1 << 20
	handoffBehind = 1 << 30

	copiesMost = 1 << 30
)

// orDefault returns the limits as they apply.
func (l Limits) orDefault() Limits {
	l.Parked = cmp.Or(l.Parked, parkedMax)
	l.RelayWords = cmp.Or(l.RelayWords, relayMost)
	l.Commitments = cmp.Or(l.Commitments, wire.CommittedMost)
	l.Unread = cmp.Or(l.Unread, unreadMost)
	l.Tail = cmp.Or(l.Tail, recordlog.BytesMost)
	l.Ahead = cmp.Or(l.Ahead, aheadMost)
	l.Copies = cmp.Or(l.Copies, copiesMost)
	l.Window, l.Behind = cmp.Or(l.Window, handoffWindow), cmp.Or(l.Behind, handoffBehind)
	return l
}

// migration returns how partitions are copied to other lanes.
func (l Limits) migration() migration.Limits {
	return migration.Limits{Slab: l.Slab, Window: l.Window, Behind: l.Behind}
}
