// Package server is the serving half of a table: lanes that hold partitions, keep the parts of
// flushes unseen until the controller records them, and answer reads that the gate admits.
//
// A Lane is a state machine. Its shell calls Step with whatever has arrived and carries out what the
// outbox then holds; links from one sender are in order and lose nothing while both ends live. When the job
// has ended and the shell has said TasksEnded, it sends the state to who asks for it (package core/collect). A lane starts no goroutine, reads no clock, and
// never decides what counts: only a record does. What comes from other nodes has passed package guard; what
// cannot be in the state that the lane is in ends the job by a wire.Severed that names the sender.
package server

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"bellows"
	"bellows/core"
	"bellows/core/audit"
	"bellows/core/collect"
	"bellows/core/delta"
	"bellows/core/gate"
	"bellows/core/planted"
	"bellows/core/store"
	"bellows/link/wire"
	"bellows/table"
)

// Options are what is a lane's own beside its job.
type Options struct {
	// HeldBytesMax caps the bytes of flushes that are held and not recorded. Above it only a flush
	// below all held ones, by (clock, node), is taken, and of each client at most one more than twice its splits. 0: no cap.
	HeldBytesMax int
	// KeySeed is a number that no peer knows, so that none can choose keys that fall on one place of an index (keys.Index). It changes
	// nothing that is seen. 0: everybody knows it.
	KeySeed uint64
	Limits  Limits
}

// config is what a lane is made of. Its Times have no lease where it is in one process with the controller, and hears it.
type config struct {
	core.Job
	Options
	Self wire.Address
}

// Limits are what a lane bounds by itself. Each field is 0, for the default, or less than that, which changes no result: tests make
// them small, to reach them.
type Limits struct {
	// Parked bounds the reads that wait at the lane, the flushes that wait for room there, and the requests for leases on a partition: by
	// default 65,536, far more than the tasks of a job ask at once. Whoever asks for more breaks the protocol.
	Parked int
	// RelayWords is about how many words of four bytes go into one message of rows that come unasked: by default 4,194,304, so that
	// none comes near the limit of a frame.
	RelayWords int
	// Commitments is how many flushes one message says to be committed: by default as many as it may have, wire.CommittedMost.
	Commitments int
	// Tail is how many bytes of records are kept for another controller, beyond which the oldest are let go: by default 4 MiB. A record of eight
	// units takes 60. A job whose controller is saved more seldom cannot be recovered. Negative: none are kept, as where the controller
	// and all lanes are one process, which nothing outlives.
	Tail int
	// Ahead is about how many bytes of pushes may wait for records of the route that they go by: by default 32 MiB. What comes above is refused as
	// stale, and so comes again: a lane that is so far behind takes no more memory.
	Ahead int
	// Unread is about how many words of four bytes may be on their way to another node before it is sent more: by default 8 Mi, 32 MiB.
	// Less makes questions of a node wait that is slow to read; more is memory here for each node that does not read.
	Unread int
	// Digits is how many new keys of a partition are sorted digit by digit: by default as many as package store finds worth it.
	Digits int
	// Slab is how many values of a partition go into one message of its state: by default as many as collect.Sender has it.
	Slab int
}

// The defaults of Limits; that of Commitments is wire's.
const (
	parkedMax  = 1 << 16
	relayMost  = 4 << 20
	unreadMost = 8 << 20
	tailMost   = 4 << 20
	aheadMost  = 32 << 20
)

// orDefault is the limits as they apply.
func (l Limits) orDefault() Limits {
	l.Parked = cmp.Or(l.Parked, parkedMax)
	l.RelayWords = cmp.Or(l.RelayWords, relayMost)
	l.Commitments = cmp.Or(l.Commitments, wire.CommittedMost)
	l.Unread = cmp.Or(l.Unread, unreadMost)
	l.Tail = cmp.Or(l.Tail, tailMost)
	l.Ahead = cmp.Or(l.Ahead, aheadMost)
	return l
}

// Lane holds the partitions that the route gives to its address: it serves reads and leases of them, and is a participant of the commit protocol: it holds what is pushed
// (its vote), unseen, until a record of the controller (the decision) gives it a number.
//
// A lane has begun once it takes part by the route, is closing from the controller's End on, and closed when nothing more can come. It is cut while it has not
// heard the controller for a lease, and broken when somebody has sent what cannot be; then only the end counts.
//
// Invariants, and what holds them:
//   - Records are taken in the order of their numbers, each once; what is applied is the effect of exactly those up to applied: P1 of the simulation, byte for byte.
//   - A flush without a number is seen by nobody: TestBarrierShowsAClockAtOnce, TestAsyncShowsEachCommit.
//   - A read is answered when all that it needs is visible, and not under an exclusive lease of another: TestLeases, P4 of the simulation.
//   - What is held, parked and kept is bounded (Limits): TestTheCapTakesTheLowestFlush, TestReadsThatWaitAreBounded, TestFlushesThatWaitAreBounded, TestTheTailIsBounded.
//     The cap never stops the flush that the others wait for: the least by clock is always taken (hasRoom).
//   - Sent = applied + dropped, by rows and by bits: TestEndAccountsForEverything, the audit of every schedule.
//   - A term below the highest heard, an owner of the past and a process that was declared gone change nothing: TestALowerTermIsNotHeard, TestOtherGenerationsAreRefused,
//     TestFence, P5 and P11 of the simulation.
//
// It has no lock: one goroutine at a time steps it (node.bus). Turned down: a lock for each partition, so that reads pass writes: a lane is the lock, and there are as many lanes as processors are
// worth; lanes that count votes among themselves: frames by clients times lanes (docs/decisions/0022).
type Lane struct {
	cfg      config
	progress *gate.Progress
	applied  bellows.CommitNumber // records up to this have been taken
	barrier  bellows.CommitNumber // applied when the last clock became complete
	owned    []*part
	byNumber []*part // by route.Number; nil: not here

	held      []*flush
	heldBytes int
	lives     []uint32 // per client: its newest incarnation
	counted   gate.Counted
	waiting   []waiter // flushes told Full, by rank
	pulls     []parkedPull
	owing     bool      // somebody's subscription is owed rows
	unasked   []unasked // per subscriber, while relay runs
	news      []news    // what the message being taken has committed
	numbered  []*flush  // by the record being taken
	spare     []*flush
	marks     []*wire.Mark // have come back
	pairs     []wire.Pair  // scratch
	stamps    uint64       // that have been given to partitions
	counts    wire.Counts
	final     wire.Counts   // as it has closed
	closing   bool          // the controller has ended the job
	closed    bool          // and nothing more can come
	told      *wire.End     // by the controller, last
	complaint *wire.Severed // somebody sent what cannot be
	broken    bool          // and only the end counts any more
	ended     []bool        // per client: it has said or will not say that the job is over
	open      int           // clients that may still say so

	begun   bool                         // it takes part by the route; before that it knows no records
	first   struct{ lanes, clients int } // with which the job began
	ahead   []ahead
	awaited int            // partitions that were given to it and are not here yet
	left    []wire.Address // clients that said that the job is over, and are not known

	term    bellows.Term // of the controller; what one of a lower term says is dropped
	dropped int          // how many such messages
	tail    tail
	fenced  []fenced  // processes that were declared gone
	forgone []forgone // what they sent that never counts
	silence silence

	credits    []credit // by node
	tasksEnded bool     // at this node
	collector  wire.Address
	state      collect.Sender
}

// flush is what the lane has of one flush, as it came in one push: parts for other partitions may have come in another.
type flush struct {
	push  *wire.Push
	from  wire.Address
	bytes int
	above bool // it was taken above the cap, the first that came of it
	named bool // what is said of it names its pairs
	// several: more of it may have come before, or come later: this push has not all of what the lane will hold
	several bool
	number  bellows.CommitNumber // 0: not recorded
	open    int                  // chunks and lease ends not applied yet
	rows    []uint32             // memory for the numbers of the rows that its keys name
}

// news is flushes of one client that count now.
type news struct {
	to        wire.Address
	committed *wire.Committed
}

// waiter is a push that must come again.
type waiter struct {
	flush bellows.FlushID
	clock bellows.Clock
	first int         // the least partition of it, by route.Number
	pairs []wire.Pair // of it
	named bool        // what is said of it names them
	from  wire.Address
	rows  int64
	bits  []audit.Ledger // of the job's tables: what of them would be dropped
	asked bool           // to come again
}

type parkedPull struct {
	from wire.Address
	pull *wire.Pull
}

// NewLane makes the lane whose address in the job is self, with its partitions filled by their initialisers.
func NewLane(job core.Job, self wire.Address, opt Options) (*Lane, error) {
	cfg := config{job, opt, self}
	if self.Node == cfg.Controller.Node {
		cfg.Times.Lease = 0
	}
	if cfg.Times.Lease > 0 {
		cfg.Times = cfg.Times.Or()
	}
	cfg.Tables = slices.Clone(cfg.Tables) // staleness may change
	cfg.Limits = cfg.Limits.orDefault()
	l := &Lane{cfg: cfg, progress: gate.NewProgress(cfg.Route.Splits(), cfg.Items),
		byNumber: make([]*part, cfg.Route.Partitions()), ended: make([]bool, len(cfg.Clients)), open: len(cfg.Clients)}
	l.state.Most = cfg.Limits.Slab
	l.first.lanes, l.first.clients = len(cfg.Route.Lanes()), len(cfg.Route.Clients())
	for _, a := range cfg.Clients {
		l.lives = append(l.lives, cfg.Incarnation(a))
	}
	if l.begun = slices.Contains(cfg.Route.Lanes(), self); !l.begun {
		return l, nil
	}
	for ref := range cfg.Route.All() {
		if cfg.Route.Owner(ref).Lane == cfg.Self {
			if err := l.own(ref); err != nil {
				return nil, err
			}
		}
	}
	return l, nil
}

// own makes a partition that the route gives to the lane, filled by its initialiser.
func (l *Lane) own(ref bellows.PartitionRef) error {
	s, cut := &l.cfg.Tables[ref.Table], l.cfg.Route.Cut(ref.Table)
	st, err := store.New(s, cut, ref.Partition)
	if err != nil {
		return err
	}
	st.SeedKeys(l.cfg.KeySeed)
	if n := l.cfg.Limits.Digits; n > 0 {
		st.SortDigits(n)
	}
	p := &part{ref: ref, sample: audit.SampleOf(ref, len(st.Values())), keySeed: l.cfg.KeySeed, generation: l.cfg.Route.Owner(ref).Generation, schema: s, store: st, additive: st.Additive(),
		interestMost: cut.SubscribedMost(s.Width), barrier: s.Consistency == table.BSP, reached: l.progress.Complete()}
	at := l.cfg.Route.Number(ref)
	after := slices.IndexFunc(l.owned, func(o *part) bool { return l.cfg.Route.Number(o.ref) > at })
	if after < 0 {
		after = len(l.owned)
	}
	l.owned = slices.Insert(l.owned, after, p)
	l.byNumber[at] = p
	return nil
}

// Step takes messages in the order in which they arrived and appends the answers to out.
func (l *Lane) Step(batch []wire.Envelope, out *wire.Outbox) {
	out.Era = l.cfg.Era
	for _, e := range batch {
		if own := e.Kind() == 0; own || e.In(l.cfg.Era) { // what never travels is of this node and of now
			l.take(e, out)
			l.tell(out)
		}
	}
	l.takeAhead(out)
	if !l.broken {
		l.relay(out)
		l.serve(out)
	}
	l.surrender(out)
}

func (l *Lane) take(e wire.Envelope, out *wire.Outbox) {
	if e.From == l.cfg.Controller {
		if term := e.Term(); term < l.term && term > 0 && !planted.On("old-term-heard") {
			l.dropped++
			return
		} else if term > l.term {
			l.term = term
		}
		l.silence.hears()
	} else if len(l.fenced) > 0 && l.keepsOut(&e) {
		return
	}
	switch m := e.Message.(type) { // what comes in any state
	case *wire.Collect:
		l.takeCollect(e.From, m, out)
		return
	case *wire.Query:
		l.takeQuery(e.From, m, out)
		return
	case *wire.Mark:
		l.takeMark(e.From, m)
		return
	case *TasksEnded:
		l.tasksEnded = true
		return
	case *Tick:
		l.Tick(m.NowMillis, m.Heard, out)
		return
	}
	if l.closed { // what else comes now has come before
		l.closeAgain(e, out)
		return
	}
	if _, end := e.Message.(*wire.End); l.broken && !end {
		return
	}
	if l.isAhead(&e) {
		l.keepAhead(e, out)
		return
	}
	switch m := e.Message.(type) {
	case *wire.Push:
		l.takePush(e.From, m, out)
	case *wire.Records:
		for i := range m.List {
			if !l.broken {
				l.takeRecord(e.From, &m.List[i], out)
			}
		}
		if !l.broken { // by what it has
			l.tail.add(m, l.cfg.Limits.Tail)
			l.tail.forget(m.Keep)
		}
		wire.Free(m)
	case *wire.Pull:
		l.takePull(e.From, m, out)
	case *wire.Inquiry:
		l.takeInquiry(e.From, m, out)
	case *wire.Unsubscribe:
		l.takeUnsubscribe(subscriber{e.From, m.Incarnation}, m.Pair)
	case *wire.Acquire:
		l.takeAcquire(e.From, m, out)
	case *wire.Release:
		if p, err := l.part(m.Pair); err == nil { // else the lease was given by an owner of the past
			p.release(e.From, l, out)
		}
		wire.Free(m)
	case *wire.Route:
		l.begin(e.From, m, out)
	case *wire.Fence:
		l.takeFence(m, out)
	case *wire.End:
		l.takeEnd(e.From, m, out)
	}
}

// breach ends the lane's work: what it was sent cannot be.
func (l *Lane) breach(from wire.Address, out *wire.Outbox, format string, args ...any) {
	if l.broken {
		return
	}
	l.broken = true
	l.complaint = &wire.Severed{Node: from.Node, Breach: true, Reason: fmt.Sprintf("%v cannot go on with what %v sent: %s", l.cfg.Self, from, fmt.Sprintf(format, args...))}
	l.complain(out)
}

// complain tells the controller, and each that follows it, why the lane does not go on.
func (l *Lane) complain(out *wire.Outbox) {
	said := *l.complaint
	out.Send(l.cfg.Self, l.cfg.Controller, &said)
}

// setStaleness changes a table's consistency. No task is out, so that nothing waits for a clock; what is
// visible never goes back.
func (l *Lane) setStaleness(t bellows.TableID, c table.Consistency, out *wire.Outbox) {
	l.cfg.Tables[t].Consistency = c
	l.barrier = l.applied
	for _, p := range l.owned {
		if p.ref.Table == t {
			p.applied = l.applied
			p.barrier = c == table.BSP
			p.applyClocks(math.MaxInt32, l, out)
		}
	}
	l.owe(nil, func(p *part) bool { return p.ref.Table == t })
}

// part returns the partition of a pair if this lane owns it at that generation. errStale: it has had another owner since, or this one anew.
func (l *Lane) part(p wire.Pair) (*part, error) {
	t, g := l.byNumber[l.cfg.Route.Number(p.Ref)], l.cfg.Route.Owner(p.Ref).Generation
	switch {
	case (t == nil || t.gone) && p.Generation >= g:
		return nil, fmt.Errorf("partition %v is not at %v", p.Ref, l.cfg.Self)
	case p.Generation < g && !(planted.On("generation-unchecked") && t != nil):
		return nil, errStale
	case p.Generation > g && !planted.On("newer-generation-taken") && !planted.On("generation-unchecked"):
		return nil, fmt.Errorf("partition %v is at generation %d, not %d", p.Ref, g, p.Generation)
	}
	return t, nil
}

// takePush holds the parts of a flush, or says that it cannot yet, or never.
func (l *Lane) takePush(from wire.Address, m *wire.Push, out *wire.Outbox) {
	if l.outlived(subscriber{from, m.Flush.Incarnation}) && !planted.On("incarnation-ignored") {
		wire.Free(m)
		return
	}
	switch err := l.checkPush(m); {
	case err == errStale:
		out.Send(l.cfg.Self, from, &wire.Stale{Route: l.cfg.Route.Version(), Flush: m.Flush, Pairs: pushed(m)})
		return
	case err != nil:
		out.Send(l.cfg.Self, from, refusal(m.Flush, err))
		return
	}
	known, fresh := l.sift(m)
	if !fresh {
		l.answerHeld(from, m, out)
		return
	}
	if err := l.fits(from, m); err != nil {
		l.breach(from, out, "%v %v", m.Flush, err)
		return
	}
	bytes := pushBytes(m)
	room, above := len(m.Chunks)+len(m.Leases) == 0, false // a flush that changes nothing takes none
	if !room {
		room, above = l.hasRoom(m.Flush, m.Clock, bytes)
	}
	if !room {
		l.full(from, m, known, out)
		return
	}
	l.arrived(m)
	f := l.newFlush()
	*f = flush{push: m, from: from, bytes: bytes, above: above && !known, named: m.Again || known, several: m.Again || known, open: len(m.Chunks) + len(m.Leases), rows: f.rows}
	if err := l.reserve(f); err != nil {
		l.drop(pushRows(m, l), l.bits(m))
		out.Send(l.cfg.Self, from, refusal(m.Flush, err))
		return
	}
	l.hold(f, out)
	if l.passDone(m, known, out) {
		return
	}
	if m.Again {
		l.answerHeld(from, m, out)
		return
	}
	h := wire.New[wire.Held]()
	h.Flush = m.Flush
	if f.named {
		h.Pairs = append(h.Pairs, l.pairsOf(m)...)
	}
	out.Send(l.cfg.Self, from, h)
}

// hold keeps what came of a flush until its record.
func (l *Lane) hold(f *flush, out *wire.Outbox) {
	m := f.push
	l.held = append(l.held, f)
	l.heldBytes += f.bytes
	for i := range m.Leases {
		l.byNumber[l.cfg.Route.Number(m.Leases[i].Ref)].ending = true
	}
	if planted.On("applied-when-held") {
		for i := range m.Chunks {
			c := &m.Chunks[i]
			l.byNumber[l.cfg.Route.Number(c.Ref)].store.Apply(c.Rows, c.Values)
		}
	}
}

// full tells a client that there is no room for a push, and notes that it must come again.
func (l *Lane) full(from wire.Address, m *wire.Push, known bool, out *wire.Outbox) {
	w := waiter{flush: m.Flush, clock: m.Clock, first: l.least(m), pairs: slices.Clone(l.pairsOf(m)), named: m.Again || known, from: from,
		rows: pushRows(m, l), bits: l.bits(m)}
	if !l.wait(w) {
		l.breach(from, out, "%d flushes wait for room already", l.cfg.Limits.Parked)
		return
	}
	l.answerHeld(from, m, out)
	out.Send(l.cfg.Self, from, &wire.Full{Flush: m.Flush, Pairs: w.said()})
	if m.Done != nil && planted.On("done-passed-unheld") {
		out.Send(l.cfg.Self, l.cfg.Controller, m.Done.Copy())
	}
}

// passDone tells the controller that a flush is held, when all of it is here, and reports whether it did: the word that it is done came with one of the
// pushes of it, which may not be the last. The push keeps it until the flush has a number, for another controller that asks.
func (l *Lane) passDone(m *wire.Push, several bool, out *wire.Outbox) bool {
	with, here := m, len(l.pairsOf(m))
	if several {
		for _, f := range l.held {
			if f.push != m && same(f.push.Flush, m.Flush) {
				here += len(l.pairsOf(f.push))
				if f.push.Done != nil {
					with = f.push
				}
			}
		}
	}
	if with.Done == nil || here < len(m.Pairs) && !planted.On("done-passed-early") {
		return false
	}
	out.Send(l.cfg.Self, l.cfg.Controller, with.Done.Copy())
	return true
}

func (l *Lane) checkPush(m *wire.Push) error {
	for i := range m.Chunks {
		if _, err := l.part(m.Chunks[i].Pair); err != nil {
			return err
		}
	}
	for i := range m.Leases {
		if _, err := l.part(m.Leases[i].Pair); err != nil {
			return err
		}
	}
	return nil
}

// fits refuses sums of splits that the sender does not run, where sums of others are to be added to them, and the
// ends of leases that it does not have.
func (l *Lane) fits(from wire.Address, m *wire.Push) error {
	for i := range m.Chunks {
		c := &m.Chunks[i]
		if l.byNumber[l.cfg.Route.Number(c.Ref)].barrier && !l.cfg.Route.Runs(from.Node, c.Subtree) {
			return fmt.Errorf("has a sum over subtree %d of level %d, which has splits of others", c.Subtree.Index, c.Subtree.Level)
		}
	}
	for i := range m.Leases {
		p := l.byNumber[l.cfg.Route.Number(m.Leases[i].Ref)]
		if !p.exclusive || p.holder != from || p.ending {
			return fmt.Errorf("ends an exclusive lease on %v that it does not have", p.ref)
		}
	}
	return nil
}

func pushBytes(m *wire.Push) int {
	n := 0
	for i := range m.Chunks {
		n += 4*(len(m.Chunks[i].Rows)+len(m.Chunks[i].Values)) + 8*len(m.Chunks[i].Keys)
	}
	return n
}

// pushRows counts the row deltas of a push: the rows of its chunks, and every row of an exclusive lease.
func pushRows(m *wire.Push, l *Lane) int64 {
	n := 0
	for i := range m.Chunks {
		c := &m.Chunks[i]
		n += len(c.Values) / l.cfg.Tables[c.Ref.Table].Width
	}
	for i := range m.Leases {
		e := &m.Leases[i]
		n += len(e.Values) / l.cfg.Tables[e.Ref.Table].Width
	}
	return int64(n)
}

// bits is what a push would add to the ledgers if it never counted, but for partitions that have not come here.
func (l *Lane) bits(m *wire.Push) []audit.Ledger {
	list := make([]audit.Ledger, len(l.cfg.Tables))
	for i := range m.Chunks {
		c := &m.Chunks[i]
		if p := l.byNumber[l.cfg.Route.Number(c.Ref)]; p != nil {
			list[c.Ref.Table].Dropped += p.bits(c, m.Clock)
		}
	}
	for i := range m.Leases {
		e := &m.Leases[i]
		if p := l.byNumber[l.cfg.Route.Number(e.Ref)]; p != nil {
			list[e.Ref.Table].Dropped += p.slabBits(e.Values, m.Clock)
		}
	}
	return list
}

// drop counts a push that never counts.
func (l *Lane) drop(rows int64, bits []audit.Ledger) {
	l.counts.Dropped += rows
	l.counts.Ledgers = audit.Add(l.counts.Ledgers, bits)
}

// takeRecord applies one record: it makes a flush count, whose deltas become visible at once, or with their whole clock
// where the table has a barrier.
func (l *Lane) takeRecord(from wire.Address, r *wire.Record, out *wire.Outbox) {
	if r.Number != l.applied+1 {
		l.breach(from, out, "record %d after %d", r.Number, l.applied)
		return
	}
	l.applied = r.Number
	if r.Control.Kind != bellows.NoControl {
		l.takeControl(from, &r.Control, out)
		return
	}
	l.counted.Add(r.Flush) // every lane learns of every flush, so that gaps close
	before := l.progress.Complete()
	for i := range r.Results {
		u := r.Results[i].Unit
		if err := l.progress.Check(u); err != nil {
			l.breach(from, out, "record %d: %v", r.Number, err)
			return
		}
		l.progress.Commit(u)
	}
	l.unhold(r.Flush)
	for _, f := range l.numbered {
		f.number = r.Number
		if l.mayShow(f) {
			l.owe(&subscriber{f.from, r.Flush.Incarnation}, noBarrier)
		}
		l.applyFlush(f, out)
	}
	if len(l.numbered) > 0 {
		l.admitWaiting(out)
	}
	if c := l.progress.Complete(); c > before {
		l.barrier = r.Number
		for _, p := range l.owned {
			p.reach(c, l, out)
		}
		if !planted.On("relay-forgotten") {
			l.owe(nil, hasBarrier)
		}
	}
	for _, f := range l.numbered {
		if f.push != nil && l.mayShow(f) && !planted.On("number-when-visible") {
			l.note(f, true)
		}
	}
	clear(l.numbered)
	l.numbered = l.numbered[:0]
}

// mayShow reports whether reads may see some of a recorded flush before all of it is visible.
func (l *Lane) mayShow(f *flush) bool {
	for i := range f.push.Chunks {
		if !l.byNumber[l.cfg.Route.Number(f.push.Chunks[i].Ref)].barrier {
			return true
		}
	}
	return false
}

func (l *Lane) applyFlush(f *flush, out *wire.Outbox) {
	if f.open == 0 {
		l.closeFlush(f)
		return
	}
	// The last application closes the flush, after which it may not be looked at.
	m := f.push
	leases := len(m.Leases)
	for i, n := 0, len(m.Chunks); i < n; i++ {
		c := &m.Chunks[i]
		p := l.byNumber[l.cfg.Route.Number(c.Ref)]
		p.applied = l.applied
		p.take(entry{flush: f, chunk: i, clock: m.Clock}, l, out)
	}
	for i := range leases {
		e := &m.Leases[i]
		p := l.byNumber[l.cfg.Route.Number(e.Ref)]
		p.applied = l.applied
		p.endExclusive(f, i, l, out)
	}
}

// finish ends one chunk or lease end of a flush: it is part of the state.
func (l *Lane) finish(f *flush) {
	if f.open--; f.open == 0 {
		l.closeFlush(f)
	}
}

// closeFlush gives the chunks' memory back to the client.
func (l *Lane) closeFlush(f *flush) {
	l.note(f, false)
	wire.Free(f.push)
	*f = flush{rows: f.rows[:0]}
	l.spare = append(l.spare, f)
}

// note keeps for tell that a flush counts.
func (l *Lane) note(f *flush, waiting bool) {
	one := wire.Commitment{Flush: f.push.Flush, Commit: f.number, Waiting: waiting}
	if f.named && !planted.On("pairs-unnamed") {
		one.Pairs = l.pairsOf(f.push)
	}
	i := slices.IndexFunc(l.news, func(n news) bool {
		return n.to == f.from && len(n.committed.List) < l.cfg.Limits.Commitments && n.committed.HasRoom(len(one.Pairs))
	})
	if i < 0 {
		i = len(l.news)
		l.news = append(l.news, news{f.from, wire.New[wire.Committed]()})
	}
	l.news[i].committed.Append(one)
}

// tell sends clients what has been noted, before rows that may show it.
func (l *Lane) tell(out *wire.Outbox) {
	for _, n := range l.news {
		out.Send(l.cfg.Self, n.to, n.committed)
	}
	clear(l.news)
	l.news = l.news[:0]
}

func (l *Lane) newFlush() *flush {
	if n := len(l.spare); n > 0 {
		f := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return f
	}
	return new(flush)
}

// unhold moves what is held of a flush to numbered. As a rule that came in one push, and is near the first.
func (l *Lane) unhold(id bellows.FlushID) {
	for i := 0; i < len(l.held); i++ {
		f := l.held[i]
		if f.push.Flush != id {
			continue
		}
		l.held = slices.Delete(l.held, i, i+1)
		i--
		l.heldBytes -= f.bytes
		l.numbered = append(l.numbered, f)
		if !f.several {
			return
		}
	}
}

// same reports whether two names are those of one flush.
func same(a, b bellows.FlushID) bool {
	if planted.On("incarnation-ignored") {
		a.Incarnation = b.Incarnation
	}
	return a == b
}

// outlived reports whether a newer process of a client's node is known. What the one before it sends any more is nothing: a flush of which a part
// is not held then never will be whole. It takes note of a newer one, and that the one before wants no rows any more.
func (l *Lane) outlived(who subscriber) bool {
	i := slices.Index(l.cfg.Clients, who.address)
	if i < 0 || who.incarnation <= l.lives[i] {
		return i >= 0 && who.incarnation < l.lives[i]
	}
	l.lives[i] = who.incarnation
	if c := l.creditOf(who.address.Node); c != nil {
		*c = credit{life: who.incarnation}
	}
	l.pulls = slices.DeleteFunc(l.pulls, func(r parkedPull) bool { return r.from == who.address }) // which it has not asked
	for _, p := range l.owned {
		p.subs = slices.DeleteFunc(p.subs, func(s subscription) bool { return s.to.address == who.address })
	}
	return false
}

// takeEnd waits for the end from the controller and from every client that can still send it.
func (l *Lane) takeEnd(from wire.Address, m *wire.End, out *wire.Outbox) {
	l.noteEnd(from)
	if from == l.cfg.Controller {
		l.abandon()
	}
	for _, n := range m.Gone {
		l.noteEnd(wire.ClientAt(n))
	}
	if from == l.cfg.Controller {
		l.closing, l.told = true, m
	}
	if l.closing && !l.closed && l.open == 0 {
		l.end(out)
	}
}

func (l *Lane) noteEnd(from wire.Address) {
	switch i := slices.Index(l.cfg.Clients, from); {
	case i < 0 && from.Role == wire.Client && !slices.Contains(l.left, from):
		l.left = append(l.left, from)
	case i >= 0 && !l.ended[i]:
		l.ended[i] = true
		l.open--
	}
}

// end closes the lane: what is held and not recorded never counts, nor what found no room, nor what
// waits for a clock that will not complete.
func (l *Lane) end(out *wire.Outbox) {
	l.closed = true
	for _, f := range l.held {
		if planted.On("held-applied-at-end") {
			l.applyFlush(f, out)
			continue
		}
		if planted.On("held-counted-applied") {
			l.counts.Applied += pushRows(f.push, l)
			continue
		}
		l.drop(pushRows(f.push, l), l.bits(f.push))
	}
	l.held = nil
	for _, w := range l.waiting {
		if !planted.On("full-uncounted") {
			l.drop(w.rows, w.bits)
		}
	}
	l.count()
	l.final = l.counts
	l.final.Ledgers = slices.Clone(l.counts.Ledgers)
	l.lastWord(out)
}

// lastWord tells the controller that nothing more comes that counts. What those push who were declared gone, and wake, is no part of it: to each controller it is the same.
func (l *Lane) lastWord(out *wire.Outbox) {
	counts := l.final
	counts.Ledgers = slices.Clone(counts.Ledgers) // a message is its receiver's
	out.Send(l.cfg.Self, l.cfg.Controller, &wire.Closed{Counts: counts})
}

// closeAgain says the last word to a controller that follows another, which ends the job once more.
func (l *Lane) closeAgain(e wire.Envelope, out *wire.Outbox) {
	if m, end := e.Message.(*wire.End); end && e.From == l.cfg.Controller && m.Term > l.told.Term && !planted.On("last-word-not-repeated") {
		l.told = m
		l.lastWord(out)
	}
}

// count adds up what the partitions and their stores have counted.
func (l *Lane) count() {
	l.counts.Ledgers = audit.Add(l.counts.Ledgers, make([]audit.Ledger, len(l.cfg.Tables)))
	for _, p := range l.owned {
		w := p.store.Written()
		l.counts.Applied += w.Rows + p.joined
		l.counts.Dropped += p.drop()
		l.counts.Ledgers[p.ref.Table].Add(&audit.Ledger{Taken: p.taken, Dropped: p.dropped, Yielded: p.yielded, Written: w.Bits})
	}
}

// Progress is how far the job has come by the records taken.
func (l *Lane) Progress() *gate.Progress { return l.progress }

// Refused is how many words of earlier controllers the lane has dropped.
func (l *Lane) Refused() int { return l.dropped }

// Applied is the number of the last record taken.
func (l *Lane) Applied() bellows.CommitNumber { return l.applied }

// Partition is the state of a partition that the lane owns, when the job is over and no task runs any
// more. It fails for one whose exclusive lease never ended: its values are neither before nor after.
func (l *Lane) Partition(ref bellows.PartitionRef) (store.Image, error) {
	p := l.byNumber[l.cfg.Route.Number(ref)]
	switch {
	case p == nil || p.gone:
		return store.Image{}, fmt.Errorf("partition %v is not at %v", ref, l.cfg.Self)
	case p.torn():
		return store.Image{}, bellows.Errorf(bellows.Lost, "read partition", ref.String(),
			"a task died inside its exclusive lease")
	}
	p.applyDeferred(l)
	var im store.Image
	p.store.Save(&im)
	return im, nil
}

// Kept is the image of a partition that the last Keep made, or nil.
func (l *Lane) Kept(ref bellows.PartitionRef) *store.Image {
	if p := l.byNumber[l.cfg.Route.Number(ref)]; p != nil && p.kept && !p.gone {
		return &p.image
	}
	return nil
}

// LoadKept gives a partition the kept image of a saved run.
func (l *Lane) LoadKept(ref bellows.PartitionRef, im *store.Image) {
	p := l.byNumber[l.cfg.Route.Number(ref)]
	p.image, p.kept = *im, true
	if p.schema.Sparse && im.Keys == nil {
		p.image.Keys = []bellows.Key{} // there were none
	}
}

// Load replaces the state of a partition before the job starts, and Resume the clocks; or it brings the state of one that the lane was given while
// the job runs, which is served then from the next step on.
func (l *Lane) Load(ref bellows.PartitionRef, im *store.Image) error {
	p := l.byNumber[l.cfg.Route.Number(ref)]
	if p.awaited {
		p.awaited = false
		l.awaited--
	}
	return p.store.Load(im)
}

// Resume continues after the clocks that a saved run had completed.
func (l *Lane) Resume(complete []bellows.Clock) error {
	if planted.On("resumed-at-zero") {
		return nil
	}
	err := l.progress.Restore(complete)
	for _, p := range l.owned {
		p.reached = l.progress.Complete()
	}
	return err
}

// buffer makes an empty buffer for sums over a partition.
func (p *part) buffer() *delta.Buffer {
	if n := len(p.buffers); n > 0 {
		b := p.buffers[n-1]
		p.buffers = p.buffers[:n-1]
		return b
	}
	return delta.NewBuffer(p.schema, p.store.Rows())
}

func (p *part) giveBuffer(b *delta.Buffer) {
	b.Reset()
	p.buffers = append(p.buffers, b)
}
