package validate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/pending"
	"bellows/link/padding"
	"bellows/link/wire"
	"bellows/table"
)

// The checks of the parts of messages. Each takes the field's name and the index of the part that it is in.
//
// Independent checks are joined in one cmp.Or, which returns the first violation. A check that indexes by a value
// that another check has passed comes after that one's return.

// each returns the first violation in a list.
func each[T any](list []T, check func(i int, x *T) *violation) *violation {
	for i := range list {
		if b := check(i, &list[i]); b != nil {
			return b
		}
	}
	return nil
}

func (ck *Checker) node(field string, at int, n bellows.NodeID) *violation {
	return within(field, at, int64(n), 0, int64(ck.cfg.Numbers()-1))
}

// ref refuses a partition that the job does not have.
func (ck *Checker) ref(field string, at int, p bellows.PartitionRef) *violation {
	if ck.cfg.Route.Contains(p) {
		return nil
	}
	if b := within("the table", at, int64(p.Table), 0, int64(len(ck.cfg.Tables)-1)); b != nil {
		return b
	}
	return within(field, at, int64(p.Partition), 0, int64(ck.cfg.Route.Cut(p.Table).Len()-1))
}

// owned refuses a partition that the job does not have, or that the lane does not hold at the generation known here.
// At another generation the lane may have been the owner, or may become it.
func (ck *Checker) owned(lane wire.Address, field string, at int, p wire.Pair) *violation {
	if b := ck.ref(field, at, p.Ref); b != nil {
		return b
	}
	if owner := ck.now.Load().route.Owner(p.Ref); owner.Generation == p.Generation && owner.Lane != lane {
		return &violation{"the lane of " + field, at, lane.String(), owner.Lane.String()}
	}
	return nil
}

// narrow refuses tables whose values may not travel in fewer bytes than they have: counts, which must add up exactly.
func (ck *Checker) narrow(tables []bellows.TableID) *violation {
	for i, t := range tables {
		if b := within("the narrow table", i, int64(t), 0, int64(len(ck.cfg.Tables)-1)); b != nil {
			return b
		}
		if ck.cfg.Tables[t].DType != table.Float32 {
			return &violation{"the narrow table", i, ck.cfg.Tables[t].Name + " of counts", "one of float32 values"}
		}
	}
	return nil
}

// size returns the number of rows of a partition, and of values in a row.
func (ck *Checker) size(p bellows.PartitionRef) (rows, width int) {
	first, end := ck.cfg.Route.Cut(p.Table).Rows(p.Partition)
	return int(end - first), ck.cfg.Tables[p.Table].Width
}

// list refuses rows that a partition of all rows does not have; nil stands for all rows. If sorted, the last row is
// the largest; else all of them are compared. After this check the store indexes by rows without another.
func list(at int, rows []uint32, all int, sorted bool) *violation {
	if len(rows) == 0 {
		return nil
	}
	if b := within("the number of rows", at, int64(len(rows)), 0, int64(all)); b != nil {
		return b
	}
	top := rows[len(rows)-1]
	if !sorted {
		top = largest(rows)
	}
	return within("a row", at, int64(top), 0, int64(all-1))
}

// largest returns the largest of some rows. It keeps four maxima, so that no comparison waits for the previous one.
func largest(rows []uint32) uint32 {
	var a, b, c, d uint32
	for ; len(rows) >= 4; rows = rows[4:] {
		a, b, c, d = max(a, rows[0]), max(b, rows[1]), max(c, rows[2]), max(d, rows[3])
	}
	for _, r := range rows {
		a = max(a, r)
	}
	return max(max(a, b), max(c, d))
}

// content refuses rows that the partition does not have, and values that are not as many as the rows need.
func (ck *Checker) content(at int, p bellows.PartitionRef, rows []uint32, values []float32, sorted bool) *violation {
	all, width := ck.size(p)
	if b := list(at, rows, all, sorted); b != nil {
		return b
	}
	n := all
	if rows != nil {
		n = len(rows)
	}
	return exactly("the number of values", at, int64(len(values)), int64(n*width))
}

// way refuses rows that are not named as the rows of their table are: by numbers, or by keys.
func (ck *Checker) way(at int, p bellows.PartitionRef, keys []bellows.Key) *violation {
	s := &ck.cfg.Tables[p.Table]
	if s.Sparse == (keys != nil) {
		return nil
	}
	names := map[bool]string{false: "numbers", true: "keys"}
	return &violation{"the list", at, "of " + names[!s.Sparse], "of " + names[s.Sparse] + " as those of table " + s.Name}
}

// answerMax is the most values that an answer to keys may have: as many as a frame carries.
const answerMax = 16 << 20

// chunk refuses rows that the partition does not have, and deltas that do not fit them. Keys belong to the partition,
// and are no more than it may have. The lane knows how many keys the partition has, and refuses those that find no
// room (TestKeysRefused).
func (ck *Checker) chunk(at int, c *wire.Chunk) *violation {
	if b := ck.way(at, c.Ref, c.Keys); b != nil {
		return b
	}
	if c.Keys == nil {
		return ck.content(at, c.Ref, c.Rows, c.Values, false)
	}
	cut := ck.cfg.Route.Cut(c.Ref.Table)
	if b := within("the number of keys", at, int64(len(c.Keys)), 0, int64(cut.Most())); b != nil {
		return b
	}
	if b := ownKeys(cut, at, c.Ref, c.Keys); b != nil {
		return b
	}
	return exactly("the number of values", at, int64(len(c.Values)), int64(len(c.Keys)*ck.cfg.Tables[c.Ref.Table].Width))
}

// leasable refuses a partition that the job does not have or that cannot be leased.
func (ck *Checker) leasable(p bellows.PartitionRef) *violation {
	if b := ck.ref("the partition", -1, p); b != nil {
		return b
	}
	if s := &ck.cfg.Tables[p.Table]; s.Sparse {
		return &violation{"the table", -1, s.Name + ", which is sparse", "one whose partitions are leased"}
	}
	return nil
}

// granted refuses a lease that has not all rows of its partition, unless it names a copy of them.
func granted(ck *Checker, e wire.Envelope, m *wire.Granted) *violation {
	if b := ck.owned(e.From, "the partition", -1, m.Pair); b != nil {
		return b
	}
	if b := columns(&ck.cfg.Tables[m.Ref.Table], -1, m.Columns); b != nil || !m.Unchanged {
		return cmp.Or(b, ck.content(-1, m.Ref, nil, m.Values, true))
	}
	return cmp.Or(exactly("the number of values of an unchanged copy", -1, int64(len(m.Values)), 0),
		atLeastOne("the copy's revision", -1, uint64(m.Revision)))
}

// columns refuses rows of a lease that came without other padding than their table's.
func columns(s *table.Schema, at int, c padding.Columns) *violation {
	if want := padding.Find(s.Width, s.Padding); c != want {
		return &violation{"the columns", at, fmt.Sprint(c), fmt.Sprint(want)}
	}
	return nil
}

// ascends refuses a partition that does not come after the previous one in a list. So none comes twice, and a list is
// no longer than the job has partitions.
func (ck *Checker) ascends(at int, before, p bellows.PartitionRef) *violation {
	if ck.cfg.Route.Number(p) > ck.cfg.Route.Number(before) {
		return nil
	}
	return &violation{"the partition", at, p.String(), "one behind " + before.String()}
}

// flush refuses a flush of another client than the one that sends the message, or receives it.
func flush(client wire.Address, f bellows.FlushID) *violation {
	return cmp.Or(exactly("the flush's client", -1, int64(f.Client), int64(client.Node)), numbered(-1, f))
}

// numbered refuses a flush without a number, or of a client without an incarnation.
func numbered(at int, f bellows.FlushID) *violation {
	return cmp.Or(atLeastOne("the flush's incarnation", at, uint64(f.Incarnation)), atLeastOne("the flush's number", at, f.Seq))
}

// answer refuses a flush of another client than the receiver, and invalid pairs.
func (ck *Checker) answer(client wire.Address, f bellows.FlushID, pairs []wire.Pair) *violation {
	return cmp.Or(flush(client, f), ck.pairs(pairs))
}

// pairs refuses partitions that the job does not have.
func (ck *Checker) pairs(list []wire.Pair) *violation {
	return each(list, func(i int, p *wire.Pair) *violation { return ck.ref("the partition of the flush", i, p.Ref) })
}

// waits refuses a client without an incarnation, and partitions that the job does not have.
func (ck *Checker) waits(incarnation uint32, list []pending.Wait) *violation {
	return cmp.Or(atLeastOne("the incarnation", -1, uint64(incarnation)),
		each(list, func(i int, w *pending.Wait) *violation { return ck.ref("the partition", i, w.Ref) }))
}

// committed refuses flushes of another client than the receiver, or without record numbers. The client knows whether
// it has sent them.
func (ck *Checker) committed(e wire.Envelope, m *wire.Committed) *violation {
	for i := range m.List {
		c := &m.List[i]
		if b := ck.answer(e.To, c.Flush, c.Pairs); b != nil {
			b.at = i
			return b
		}
		if b := atLeastOne("the commit", i, uint64(c.Commit)); b != nil {
			return b
		}
	}
	return nil
}

// atLeastOne refuses 0 where numbers begin at 1, so that 0 stands for none.
func atLeastOne(field string, at int, n uint64) *violation {
	if n == 0 {
		return outside(field, at, 0, 1, math.MaxInt64)
	}
	return nil
}

// clock refuses NoClock, and others that no task can have.
func clock(at int, c bellows.Clock) *violation {
	return within("the clock", at, int64(c), 0, math.MaxInt32)
}

// ran reports whether a node has run a split by an earlier route, or may have run it.
func (ck *Checker) ran(s bellows.SplitID, n bellows.NodeID) bool {
	k := ck.now.Load()
	return k.follows || slices.Contains(k.ran, ran{s, n})
}

// unit refuses a split that the job does not have, and items that it cannot have. If own, the node must run the
// split. Only dispatches are checked for the items of a split in a clock (dispatch): units come back as they were
// dispatched, and the controller compares them.
func (ck *Checker) unit(at int, u bellows.Unit, own bool, node bellows.NodeID) *violation {
	if b := within("the split", at, int64(u.Split), 0, int64(ck.cfg.Route.Splits()-1)); b != nil {
		return b
	}
	if b := clock(at, u.Clock); b != nil || !own {
		return b
	}
	return exactly("the split's node", at, int64(ck.now.Load().route.Node(u.Split)), int64(node))
}

// pull refuses reads of more than one table, and partitions that do not ascend. So an answer is never larger than the
// table, and for a sparse table not larger than a frame.
func (ck *Checker) pull(_ wire.Envelope, m *wire.Pull) *violation {
	if b := atLeastOne("the incarnation", -1, uint64(m.Incarnation)); b != nil {
		return b
	}
	values := 0 // those of the keys
	for i := range m.Parts {
		p := &m.Parts[i]
		if b := ck.ref("the partition", i, p.Ref); b != nil {
			return b
		}
		if i > 0 {
			if b := exactly("the table", i, int64(p.Ref.Table), int64(m.Parts[0].Ref.Table)); b != nil {
				return b
			}
			if b := ck.ascends(i, m.Parts[i-1].Ref, p.Ref); b != nil {
				return b
			}
		}
		if b := ck.way(i, p.Ref, p.Keys); b != nil {
			return b
		}
		if p.Subscribe && p.Keys != nil {
			if b := ck.subscribed(i, p.Ref, p.Keys); b != nil {
				return b
			}
		}
		all, width := ck.size(p.Ref)
		if b := list(i, p.Rows, all, true); b != nil {
			return b
		}
		if values += len(p.Keys) * width; values > answerMax {
			return outside("the number of values asked for up to", i, int64(values), 0, answerMax)
		}
	}
	return nil
}

// rows refuses answers and rows of subscriptions whose values are not as many as the rows; subscribed rows of sparse
// tables have keys. The client compares an answer with what it asked for.
func (ck *Checker) rows(e wire.Envelope, m *wire.Rows) *violation {
	if b := ck.narrow(m.Narrowed()); b != nil {
		return b
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		if b := ck.owned(e.From, "the partition", i, p.Pair); b != nil {
			return b
		}
		var b *violation
		switch sparse := ck.cfg.Tables[p.Ref.Table].Sparse; {
		case p.Keys != nil && m.Request > 0:
			b = &violation{"the list", i, "of keys", "none, in the answer to a question"}
		case p.Keys != nil || sparse && m.Request == 0:
			b = ck.unasked(i, p)
		case sparse && p.Rows == nil: // as many as the client has asked for; the client compares
			b = exactly("the number of values beyond whole rows", i, int64(len(p.Values)%ck.cfg.Tables[p.Ref.Table].Width), 0)
		default:
			b = ck.content(i, p.Ref, p.Rows, p.Values, true)
		}
		if b != nil {
			return b
		}
	}
	return nil
}

// unasked refuses rows of keys that do not fit a subscription.
func (ck *Checker) unasked(at int, p *wire.RowsPart) *violation {
	if b := ck.way(at, p.Ref, p.Keys); b != nil {
		return b
	}
	if b := ck.subscribed(at, p.Ref, p.Keys); b != nil {
		return b
	}
	return exactly("the number of values", at, int64(len(p.Values)), int64(len(p.Keys)*ck.cfg.Tables[p.Ref.Table].Width))
}

// subscribed refuses more keys than one client may be subscribed to, and keys of other partitions.
func (ck *Checker) subscribed(at int, p bellows.PartitionRef, list []bellows.Key) *violation {
	cut := ck.cfg.Route.Cut(p.Table)
	most := cut.SubscribedMost(ck.cfg.Tables[p.Table].Width)
	if b := within("the number of keys subscribed to", at, int64(len(list)), 0, int64(most)); b != nil {
		return b
	}
	return ownKeys(cut, at, p, list)
}

// ownKeys refuses keys that do not belong to the partition.
func ownKeys(cut table.Cut, at int, p bellows.PartitionRef, list []bellows.Key) *violation {
	for _, k := range list {
		if of := cut.FindKey(k); of != p.Partition {
			return &violation{fmt.Sprintf("the partition of key %d", k), at, fmt.Sprint(of), fmt.Sprint(p.Partition)}
		}
	}
	return nil
}

// push refuses parts of another client's flush. The lane checks that a subtree has only splits of the sender, since
// it goes by the route of its records.
func (ck *Checker) push(e wire.Envelope, m *wire.Push) *violation {
	if b := cmp.Or(ck.narrow(m.Narrowed()), ck.whole(e.From, m.Flush, m.Clock, m.Pairs)); b != nil {
		return b
	}
	for i := range m.Chunks {
		c := &m.Chunks[i]
		if b := ck.ref("the partition", i, c.Ref); b != nil {
			return b
		}
		if b := subtree(ck, i, m.Clock, c.Subtree); b != nil {
			return b
		}
		if b := ck.chunk(i, c); b != nil {
			return b
		}
	}
	if m.Done != nil {
		nothing := len(m.Pairs) == 0 // it waits for no route and names none: the controller judges which node runs its units
		if b := ck.done(e.From, m.Done, !ck.ahead(m) && !nothing); b != nil {
			return b
		}
	}
	return ck.leases(m.Leases)
}

// subtree refuses splits that the job does not have or, for a subtree of one split, items that the clock does not
// have.
func subtree(ck *Checker, at int, c bellows.Clock, t wire.Subtree) *violation {
	b := within("the first split", at, int64(t.Index)<<t.Level, 0, int64(ck.cfg.Route.Splits()-1))
	if b != nil || !t.Part() {
		return b
	}
	return ck.items(at, &bellows.Unit{Split: bellows.SplitID(t.Index), Clock: c, Items: t.Items})
}

// leases refuses lease ends whose partitions do not ascend, so that each lease ends once.
func (ck *Checker) leases(ends []wire.LeaseEnd) *violation {
	for i := range ends {
		l := &ends[i]
		if b := ck.ref("the leased partition", i, l.Ref); b != nil {
			return b
		}
		if i > 0 {
			if b := ck.ascends(i, ends[i-1].Ref, l.Ref); b != nil {
				return b
			}
		}
		if b := cmp.Or(columns(&ck.cfg.Tables[l.Ref.Table], i, l.Columns), ck.content(i, l.Ref, nil, l.Values, true)); b != nil {
			return b
		}
	}
	return nil
}

// whole refuses what a flush's parts and its end have in common.
func (ck *Checker) whole(client wire.Address, f bellows.FlushID, c bellows.Clock, pairs []wire.Pair) *violation {
	return cmp.Or(flush(client, f), clock(-1, c), ck.pairs(pairs))
}

// done refuses a Done that comes neither from the client nor from a lane that holds all of the flush. Its units are
// the client's own, as far as that is known here.
func (ck *Checker) done(from wire.Address, m *wire.Done, own bool) *violation {
	client := from
	if from.Role == wire.Lane {
		if own && !ck.now.Load().worksAt(m.Flush.Client) {
			return &violation{"the flush's client", -1, fmt.Sprint(m.Flush.Client), "a node that runs tasks"}
		}
		client = wire.ClientAt(m.Flush.Client)
	}
	if b := ck.whole(client, m.Flush, m.Clock, m.Pairs); b != nil {
		return b
	}
	for i := range m.Results {
		u := m.Results[i].Unit
		if b := ck.unit(i, u, own && !ck.ran(u.Split, client.Node), client.Node); b != nil {
			return b
		}
	}
	return cmp.Or(ck.sent(-1, m.Sent), signalled(-1, m.Results))
}

// sent refuses tables that the job does not have, or that come twice.
func (ck *Checker) sent(at int, list []audit.Sent) *violation {
	for i, s := range list {
		if b := within("the table sent", at, int64(s.Table), 0, int64(len(ck.cfg.Tables)-1)); b != nil {
			return b
		}
		if slices.ContainsFunc(list[:i], func(o audit.Sent) bool { return o.Table == s.Table }) {
			return &violation{"the table sent", at, fmt.Sprint(s.Table), "one that was not named"}
		}
	}
	return nil
}

// records refuses flushes that no client can have sent, and changes that this node cannot make. The lane checks that
// they are in the order of their numbers.
func (ck *Checker) records(_ wire.Envelope, m *wire.Records) *violation {
	for i := range m.List {
		r := &m.List[i]
		if r.Control.Kind != bellows.NoControl {
			if b := ck.control(i, r); b != nil {
				return b
			}
			continue
		}
		if b := cmp.Or(ck.node("the flush's client", i, r.Flush.Client), numbered(i, r.Flush),
			each(r.Pairs, func(_ int, p *wire.Pair) *violation { return ck.ref("the partition", i, p.Ref) }),
			each(r.Results, func(_ int, r *wire.Result) *violation { return ck.unit(i, r.Unit, false, 0) }),
			ck.sent(i, r.Sent), signalled(i, r.Results)); b != nil {
			return b
		}
	}
	return nil
}

// control refuses a change that this node does not know how to make, and a flush next to one.
func (ck *Checker) control(at int, r *wire.Record) *violation {
	c := &r.Control
	if r.Flush != (bellows.FlushID{}) || len(r.Pairs)+len(r.Results)+len(r.Sent) > 0 {
		return &violation{"the flush", at, r.Flush.String(), "none beside a control"}
	}
	if c.Kind == bellows.NoControl || c.Kind > bellows.CutTables && !c.Kind.ChangesRoute() {
		return &violation{"the kind of control", at, fmt.Sprint(c.Kind), fmt.Sprintf("from %d to %d, or from %d to %d", bellows.KeepTables, bellows.CutTables, bellows.RemoveLane, bellows.LoseClient)}
	}
	if b := ck.consistency(at, c.Table, c.Clocks); b != nil || !c.Kind.ChangesRoute() {
		return b
	}
	return ck.change(at, c)
}

// change refuses a change of the route that neither fits the known route nor is known to have been made. If it
// passes, it becomes known.
func (ck *Checker) change(at int, c *bellows.Control) (b *violation) {
	if b := ck.named(at, c); b != nil {
		return b
	}
	ck.replace(func(k *known) *known {
		b = nil
		if c.Route <= k.route.Version() {
			return nil
		}
		next, err := k.route.Next(*c)
		if err != nil {
			b = &violation{"the change of the route", at, err.Error(), "one that follows"}
			return nil
		}
		return k.replaced(next, k.here)
	})
	return b
}

// named refuses a change whose nodes are not of the cluster.
func (ck *Checker) named(at int, c *bellows.Control) *violation {
	return cmp.Or(ck.node("the node of the route", at, c.Node), ck.node("the node of the heir", at, c.Heir))
}

// route refuses changes that cannot be made, or a whole route that does not fit the job or how far it has come.
func (ck *Checker) route(_ wire.Envelope, m *wire.Route) *violation {
	if m.Begin == nil {
		return each(m.Changes, ck.change)
	}
	if b := each(m.Changes, ck.named); b != nil {
		return b
	}
	whole, err := ck.cfg.Route.Rebuilt(m.Version, m.Changes)
	if err != nil {
		return &violation{"the route", -1, err.Error(), "one of the job's"}
	}
	if b := ck.begin(m.Begin); b != nil {
		return b
	}
	ck.hear(whole)
	return nil
}

// begin refuses a state of progress that does not have the job's splits and tables.
func (ck *Checker) begin(m *wire.Begin) *violation {
	return cmp.Or(exactly("the number of splits", -1, int64(len(m.Complete)), int64(ck.cfg.Route.Splits())),
		exactly("the number of tables", -1, int64(len(m.Staleness)), int64(len(ck.cfg.Tables))),
		each(m.Staleness, func(i int, clocks *int32) *violation { return ck.consistency(i, bellows.TableID(i), *clocks) }),
		each(m.Recorded, func(i int, r *wire.Recorded) *violation { return ck.node("the client", i, r.Client) }),
		each(m.Open, func(i int, u *bellows.Unit) *violation {
			if b := ck.unit(i, *u, false, 0); b != nil {
				return b
			}
			return ck.items(i, u)
		}))
}

// consistency refuses a consistency that the table cannot have.
func (ck *Checker) consistency(at int, t bellows.TableID, clocks int32) *violation {
	if b := within("the table", at, int64(t), 0, int64(len(ck.cfg.Tables)-1)); b != nil {
		return b
	}
	return within("the staleness", at, int64(clocks), 0, int64(table.Async))
}

// signalledMost is the most numbers that the tasks of one flush may signal, since every lane keeps them for a while.
const signalledMost = 1 << 16

// signalled refuses more signals from the tasks of one flush than a lane can keep.
func signalled(at int, list []wire.Result) *violation {
	n := 0
	for i := range list {
		n += len(list[i].Values)
	}
	return within("the number of results", at, int64(n), 0, signalledMost)
}

// dispatch refuses tasks of splits that the node does not run, and items that the splits do not have in the clock: an
// executor uses them as indexes of its data.
func (ck *Checker) dispatch(e wire.Envelope, m *wire.Dispatch) *violation {
	return each(m.Tasks, func(i int, t *wire.Task) *violation {
		if b := ck.unit(i, t.Unit, true, e.To.Node); b != nil {
			return b
		}
		return ck.items(i, &t.Unit)
	})
}

// items refuses items that a split does not have in a clock.
func (ck *Checker) items(at int, u *bellows.Unit) *violation {
	all := ck.cfg.Items(u.Split, u.Clock)
	return cmp.Or(within("the first item", at, int64(u.Items.Begin), int64(all.Begin), int64(all.End)),
		within("the end of the items", at, int64(u.Items.End), int64(u.Items.Begin), int64(all.End)))
}
