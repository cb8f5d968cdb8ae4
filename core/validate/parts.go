package validate

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"bellows"
	"bellows/core/audit"
	"bellows/core/pending"
	"bellows/link/wire"
	"bellows/table"
)

// The checks of what messages are made of. Each takes the field's name and which of several parts
// it is in.
//
// Checks that need not one another stand in one cmp.Or, whose first breach is the one that is told.
// A check that indexes by what another has passed stands behind its return.

// each is the first breach of a list.
func each[T any](list []T, check func(i int, x *T) *breach) *breach {
	for i := range list {
		if b := check(i, &list[i]); b != nil {
			return b
		}
	}
	return nil
}

func (ck *Checker) node(field string, at int, n bellows.NodeID) *breach {
	return within(field, at, int64(n), 0, int64(ck.cfg.Numbers()-1))
}

// ref is a partition that the job has.
func (ck *Checker) ref(field string, at int, p bellows.PartitionRef) *breach {
	if ck.cfg.Route.Has(p) {
		return nil
	}
	if b := within("the table", at, int64(p.Table), 0, int64(len(ck.cfg.Tables)-1)); b != nil {
		return b
	}
	return within(field, at, int64(p.Partition), 0, int64(ck.cfg.Route.Cut(p.Table).Len()-1))
}

// owned is a partition that the job has and the lane holds, at the generation that is known here.
// Of another the lane may have been the owner, or may be soon.
func (ck *Checker) owned(lane wire.Address, field string, at int, p wire.Pair) *breach {
	if b := ck.ref(field, at, p.Ref); b != nil {
		return b
	}
	if owner := ck.now.Load().route.Owner(p.Ref); owner.Generation == p.Generation && owner.Lane != lane {
		return &breach{"the lane of " + field, at, lane.String(), owner.Lane.String()}
	}
	return nil
}

// narrow is tables whose values may travel in fewer bytes than they have: counts may not, which
// must add up exactly.
func (ck *Checker) narrow(tables []bellows.TableID) *breach {
	for i, t := range tables {
		if b := within("the narrow table", i, int64(t), 0, int64(len(ck.cfg.Tables)-1)); b != nil {
			return b
		}
		if ck.cfg.Tables[t].DType != table.Float32 {
			return &breach{"the narrow table", i, ck.cfg.Tables[t].Name + " of counts", "one of float32 values"}
		}
	}
	return nil
}

// size is the number of rows of a partition, and of values in one.
func (ck *Checker) size(p bellows.PartitionRef) (rows, width int) {
	first, end := ck.cfg.Route.Cut(p.Table).Rows(p.Partition)
	return int(end - first), ck.cfg.Tables[p.Table].Width
}

// list is rows of a partition of which there are that many: nil stands for all. sorted says that
// the last is the largest; else all of them are looked at. Behind this the store indexes by rows
// without asking again.
func list(at int, rows []uint32, all int, sorted bool) *breach {
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

// largest is the largest of some rows. Four at a time, so that no comparison waits for the one before.
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

// content is rows of a partition with the values of each.
func (ck *Checker) content(at int, p bellows.PartitionRef, rows []uint32, values []float32, sorted bool) *breach {
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

// way is rows that are named as those of their table are: by numbers, or by keys.
func (ck *Checker) way(at int, p bellows.PartitionRef, keys []bellows.Key) *breach {
	s := &ck.cfg.Tables[p.Table]
	if s.Sparse == (keys != nil) {
		return nil
	}
	names := map[bool]string{false: "numbers", true: "keys"}
	return &breach{"the list", at, "of " + names[!s.Sparse], "of " + names[s.Sparse] + " as those of table " + s.Name}
}

// answerMax is how many values an answer to keys may have: what a frame carries.
const answerMax = 16 << 20

// chunk is rows of a partition with their deltas. Keys are no more than the partition may have, and
// its own. How many keys the partition has already is for the lane, which refuses what finds no
// room (TestKeysRefused).
func (ck *Checker) chunk(at int, c *wire.Chunk) *breach {
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

// leasable is a partition that the job has and that can be leased.
func (ck *Checker) leasable(p bellows.PartitionRef) *breach {
	if b := ck.ref("the partition", -1, p); b != nil {
		return b
	}
	if s := &ck.cfg.Tables[p.Table]; s.Sparse {
		return &breach{"the table", -1, s.Name + ", which is sparse", "one whose partitions are leased"}
	}
	return nil
}

// slab is a whole partition that the lane holds.
func (ck *Checker) slab(lane wire.Address, field string, at int, p wire.Pair, values []float32) *breach {
	if b := ck.owned(lane, field, at, p); b != nil {
		return b
	}
	return ck.content(at, p.Ref, nil, values, true)
}

// ascends refuses a partition that is not behind the one before it in a list: so that none comes
// twice, and a list is no longer than the job has partitions.
func (ck *Checker) ascends(at int, before, p bellows.PartitionRef) *breach {
	if ck.cfg.Route.Number(p) > ck.cfg.Route.Number(before) {
		return nil
	}
	return &breach{"the partition", at, p.String(), "one behind " + before.String()}
}

// flush is one of the client that it is said by, or is said to.
func flush(client wire.Address, f bellows.FlushID) *breach {
	return cmp.Or(exactly("the flush's client", -1, int64(f.Client), int64(client.Node)), numbered(-1, f))
}

// numbered is a flush with a number, of a client that has an incarnation.
func numbered(at int, f bellows.FlushID) *breach {
	return cmp.Or(atLeastOne("the flush's incarnation", at, uint64(f.Incarnation)), atLeastOne("the flush's number", at, f.Seq))
}

// answer is a flush of the client it is for, and pairs of it.
func (ck *Checker) answer(client wire.Address, f bellows.FlushID, pairs []wire.Pair) *breach {
	return cmp.Or(flush(client, f), ck.pairs(pairs))
}

// pairs are partitions that the job has.
func (ck *Checker) pairs(list []wire.Pair) *breach {
	return each(list, func(i int, p *wire.Pair) *breach { return ck.ref("the partition of the flush", i, p.Ref) })
}

// waits are of a client that has an incarnation, for partitions that the job has.
func (ck *Checker) waits(incarnation uint32, list []pending.Wait) *breach {
	return cmp.Or(atLeastOne("the incarnation", -1, uint64(incarnation)),
		each(list, func(i int, w *pending.Wait) *breach { return ck.ref("the partition", i, w.Ref) }))
}

// committed is flushes of the client it is for, with their numbers. Whether the client has sent
// them it knows.
func (ck *Checker) committed(e wire.Envelope, m *wire.Committed) *breach {
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
func atLeastOne(field string, at int, n uint64) *breach {
	if n == 0 {
		return outside(field, at, 0, 1, math.MaxInt64)
	}
	return nil
}

// clock is one of a task: NoClock is not.
func clock(at int, c bellows.Clock) *breach {
	return within("the clock", at, int64(c), 0, math.MaxInt32)
}

// ran reports whether a node has run a split by an earlier route, or may have.
func (ck *Checker) ran(s bellows.SplitID, n bellows.NodeID) bool {
	k := ck.now.Load()
	return k.follows || slices.Contains(k.ran, ran{s, n})
}

// unit is a split of the job with items that it may have. A node's own is one that it runs. Which
// items are a split's in a clock is asked for dispatches only (dispatch): units come back as they
// were dispatched, and the controller compares.
func (ck *Checker) unit(at int, u bellows.Unit, own bool, node bellows.NodeID) *breach {
	if b := within("the split", at, int64(u.Split), 0, int64(ck.cfg.Route.Splits()-1)); b != nil {
		return b
	}
	if b := clock(at, u.Clock); b != nil || !own {
		return b
	}
	return exactly("the split's node", at, int64(ck.now.Load().route.Node(u.Split)), int64(node))
}

// pull is of one table, and its partitions ascend: so an answer is never larger than the table. Of
// a sparse table it is not larger than a frame.
func (ck *Checker) pull(_ wire.Envelope, m *wire.Pull) *breach {
	if b := atLeastOne("the incarnation", -1, uint64(m.Incarnation)); b != nil {
		return b
	}
	values := 0 // of keys
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

// rows are answers, or come for a subscription: then those of a sparse table are named. What was
// asked for is the client's to compare; here the values must be as many as the rows.
func (ck *Checker) rows(e wire.Envelope, m *wire.Rows) *breach {
	if b := ck.narrow(m.Narrowed()); b != nil {
		return b
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		if b := ck.owned(e.From, "the partition", i, p.Pair); b != nil {
			return b
		}
		var b *breach
		switch sparse := ck.cfg.Tables[p.Ref.Table].Sparse; {
		case p.Keys != nil && m.Request > 0:
			b = &breach{"the list", i, "of keys", "none, in the answer to a question"}
		case p.Keys != nil || sparse && m.Request == 0:
			b = ck.unasked(i, p)
		case sparse && p.Rows == nil: // as many as the client has asked for, which knows
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

// unasked is rows of keys that come for a subscription.
func (ck *Checker) unasked(at int, p *wire.RowsPart) *breach {
	if b := ck.way(at, p.Ref, p.Keys); b != nil {
		return b
	}
	if b := ck.subscribed(at, p.Ref, p.Keys); b != nil {
		return b
	}
	return exactly("the number of values", at, int64(len(p.Values)), int64(len(p.Keys)*ck.cfg.Tables[p.Ref.Table].Width))
}

// subscribed is keys to which one client may be subscribed: no more than that, and of the partition.
func (ck *Checker) subscribed(at int, p bellows.PartitionRef, list []bellows.Key) *breach {
	cut := ck.cfg.Route.Cut(p.Table)
	most := cut.SubscribedMost(ck.cfg.Tables[p.Table].Width)
	if b := within("the number of keys subscribed to", at, int64(len(list)), 0, int64(most)); b != nil {
		return b
	}
	return ownKeys(cut, at, p, list)
}

// ownKeys is keys of the partition.
func ownKeys(cut table.Cut, at int, p bellows.PartitionRef, list []bellows.Key) *breach {
	for _, k := range list {
		if of := cut.FindKey(k); of != p.Partition {
			return &breach{fmt.Sprintf("the partition of key %d", k), at, fmt.Sprint(of), fmt.Sprint(p.Partition)}
		}
	}
	return nil
}

// push is parts of a flush of its sender. That a subtree has splits of the sender alone is for the
// lane, which goes by the route of its records.
func (ck *Checker) push(e wire.Envelope, m *wire.Push) *breach {
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
		nothing := len(m.Pairs) == 0 // it waits for no route, and names none: whose its units are the controller judges
		if b := ck.done(e.From, m.Done, !ck.ahead(m) && !nothing); b != nil {
			return b
		}
	}
	return ck.leases(m.Leases)
}

// subtree checks that a subtree has splits of the job; or, of one split, items of a clock.
func subtree(ck *Checker, at int, c bellows.Clock, t wire.Subtree) *breach {
	b := within("the first split", at, int64(t.Index)<<t.Level, 0, int64(ck.cfg.Route.Splits()-1))
	if b != nil || !t.Part() {
		return b
	}
	return ck.items(at, &bellows.Unit{Split: bellows.SplitID(t.Index), Clock: c, Items: t.Items})
}

// leases end once each: their partitions ascend.
func (ck *Checker) leases(ends []wire.LeaseEnd) *breach {
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
		if b := ck.content(i, l.Ref, nil, l.Values, true); b != nil {
			return b
		}
	}
	return nil
}

// whole is what a flush's parts and its end say of all of it.
func (ck *Checker) whole(client wire.Address, f bellows.FlushID, c bellows.Clock, pairs []wire.Pair) *breach {
	return cmp.Or(flush(client, f), clock(-1, c), ck.pairs(pairs))
}

// done is a client's word, or passed on for it by the lane that holds all of the flush. Its units
// are the client's own, as far as that is known here.
func (ck *Checker) done(from wire.Address, m *wire.Done, own bool) *breach {
	client := from
	if from.Role == wire.Lane {
		if own && !ck.now.Load().worksAt(m.Flush.Client) {
			return &breach{"the flush's client", -1, fmt.Sprint(m.Flush.Client), "a node that runs tasks"}
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

// sent is of tables that the job has, each once.
func (ck *Checker) sent(at int, list []audit.Sent) *breach {
	for i, s := range list {
		if b := within("the table sent", at, int64(s.Table), 0, int64(len(ck.cfg.Tables)-1)); b != nil {
			return b
		}
		if slices.ContainsFunc(list[:i], func(o audit.Sent) bool { return o.Table == s.Table }) {
			return &breach{"the table sent", at, fmt.Sprint(s.Table), "one that was not named"}
		}
	}
	return nil
}

// records are of flushes that some client may have had, or of changes that this node can make. They
// are in the order of their numbers, which is for the lane.
func (ck *Checker) records(_ wire.Envelope, m *wire.Records) *breach {
	for i := range m.List {
		r := &m.List[i]
		if r.Control.Kind != bellows.NoControl {
			if b := ck.control(i, r); b != nil {
				return b
			}
			continue
		}
		if b := cmp.Or(ck.node("the flush's client", i, r.Flush.Client), numbered(i, r.Flush),
			each(r.Pairs, func(_ int, p *wire.Pair) *breach { return ck.ref("the partition", i, p.Ref) }),
			each(r.Results, func(_ int, r *wire.Result) *breach { return ck.unit(i, r.Unit, false, 0) }),
			ck.sent(i, r.Sent), signalled(i, r.Results)); b != nil {
			return b
		}
	}
	return nil
}

// control is a change that this node knows how to make, and no flush besides.
func (ck *Checker) control(at int, r *wire.Record) *breach {
	c := &r.Control
	if r.Flush != (bellows.FlushID{}) || len(r.Pairs)+len(r.Results)+len(r.Sent) > 0 {
		return &breach{"the flush", at, r.Flush.String(), "none beside a control"}
	}
	if c.Kind == bellows.NoControl || c.Kind > bellows.CutTables && !c.Kind.ChangesRoute() {
		return &breach{"the kind of control", at, fmt.Sprint(c.Kind), fmt.Sprintf("from %d to %d, or from %d to %d", bellows.KeepTables, bellows.CutTables, bellows.RemoveLane, bellows.LoseClient)}
	}
	if b := ck.consistency(at, c.Table, c.Clocks); b != nil || !c.Kind.ChangesRoute() {
		return b
	}
	return ck.change(at, c)
}

// change is one of the route that can be made in the one that is known, or is known to have been
// made. It is known then.
func (ck *Checker) change(at int, c *bellows.Control) (b *breach) {
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
			b = &breach{"the change of the route", at, err.Error(), "one that follows"}
			return nil
		}
		return k.with(next, k.here)
	})
	return b
}

// named is a change whose nodes are of the cluster.
func (ck *Checker) named(at int, c *bellows.Control) *breach {
	return cmp.Or(ck.node("the node of the route", at, c.Node), ck.node("the node of the heir", at, c.Heir))
}

// route is changes that can be made, or a route of the job as a whole and how far that is.
func (ck *Checker) route(_ wire.Envelope, m *wire.Route) *breach {
	if m.Begin == nil {
		return each(m.Changes, ck.change)
	}
	if b := each(m.Changes, ck.named); b != nil {
		return b
	}
	whole, err := ck.cfg.Route.Rebuilt(m.Version, m.Changes)
	if err != nil {
		return &breach{"the route", -1, err.Error(), "one of the job's"}
	}
	if b := ck.begin(m.Begin); b != nil {
		return b
	}
	ck.hear(whole)
	return nil
}

// begin is how far a job is that has these splits and tables.
func (ck *Checker) begin(m *wire.Begin) *breach {
	return cmp.Or(exactly("the number of splits", -1, int64(len(m.Complete)), int64(ck.cfg.Route.Splits())),
		exactly("the number of tables", -1, int64(len(m.Staleness)), int64(len(ck.cfg.Tables))),
		each(m.Staleness, func(i int, clocks *int32) *breach { return ck.consistency(i, bellows.TableID(i), *clocks) }),
		each(m.Recorded, func(i int, r *wire.Recorded) *breach { return ck.node("the client", i, r.Client) }),
		each(m.Open, func(i int, u *bellows.Unit) *breach {
			if b := ck.unit(i, *u, false, 0); b != nil {
				return b
			}
			return ck.items(i, u)
		}))
}

// consistency is that of a table.
func (ck *Checker) consistency(at int, t bellows.TableID, clocks int32) *breach {
	if b := within("the table", at, int64(t), 0, int64(len(ck.cfg.Tables)-1)); b != nil {
		return b
	}
	return within("the staleness", at, int64(clocks), 0, int64(table.Async))
}

// signalledMost is how many numbers the tasks of one flush may signal, since every lane keeps them for a while.
const signalledMost = 1 << 16

// signalled is what the tasks of one flush have said to the driver, no more than a lane can keep.
func signalled(at int, list []wire.Result) *breach {
	n := 0
	for i := range list {
		n += len(list[i].Values)
	}
	return within("the number of results", at, int64(n), 0, signalledMost)
}

// dispatch is tasks of splits that the node runs, with items that those have in the clock: an
// executor indexes its data by them.
func (ck *Checker) dispatch(e wire.Envelope, m *wire.Dispatch) *breach {
	return each(m.Tasks, func(i int, t *wire.Task) *breach {
		if b := ck.unit(i, t.Unit, true, e.To.Node); b != nil {
			return b
		}
		return ck.items(i, &t.Unit)
	})
}

// items are some of a split in a clock.
func (ck *Checker) items(at int, u *bellows.Unit) *breach {
	all := ck.cfg.Items(u.Split, u.Clock)
	return cmp.Or(within("the first item", at, int64(u.Items.Begin), int64(all.Begin), int64(all.End)),
		within("the end of the items", at, int64(u.Items.End), int64(u.Items.Begin), int64(all.End)))
}
