package cache_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/cache"
	"bellows/core/delta"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
)

var (
	self  = wire.Address{Node: 1}
	lanes = []wire.Address{{Role: wire.Lane}, {Role: wire.Lane, Index: 1}}
)

// A bench is a cache that a test drives, with a reader for each of two splits, and what it has said. Partition p of
// each table belongs to lane p.
type bench struct {
	*cache.Cache
	t       *testing.T
	tables  []table.Schema
	route   *route.Route
	pools   *delta.Pools
	readers [2]cache.Reader
	out     wire.Outbox
	fx      cache.Effects
	asked   []wire.Message // questions
}

// twoTables returns the tables of most tests, of two partitions with four rows each: w (table 0) is BSP, f (table 1)
// async.
func twoTables() []table.Schema {
	return []table.Schema{
		{Name: "w", Rows: 8, Width: 1, Partitions: 2},
		{Name: "f", Rows: 8, Width: 1, Partitions: 2, Consistency: table.Async},
	}
}

// keyTables returns two sparse tables of one partition: b (table 0) is BSP, a (table 1) async.
func keyTables() []table.Schema {
	s := table.Schema{Name: "b", Sparse: true, Rows: 1, Width: 1, Partitions: 1}
	a := s
	a.Name, a.Consistency = "a", table.Async
	return []table.Schema{s, a}
}

func newBench(t *testing.T, tables []table.Schema) *bench {
	return newBenchWithin(t, tables, cache.Limits{Subscribed: 100, Unread: 4})
}

func newBenchWithin(t *testing.T, tables []table.Schema, l cache.Limits) *bench {
	r := route.Spread(tables, 2, lanes, []bellows.NodeID{1})
	b := &bench{t: t, tables: tables, route: r, pools: delta.NewPools(r.Partitions(), 0)}
	b.Cache = cache.New(r, tables, self, 3, l)
	for _, a := range lanes {
		b.AddLane(a)
	}
	for ref := range r.Each() {
		s := &tables[ref.Table]
		b.pools.Describe(r.Number(ref), s, s.Rows/s.Partitions, 0)
		b.SetOwner(r.Number(ref), int(r.Owner(ref).Lane.Index), 1)
	}
	for s := range b.readers {
		b.Join(bellows.SplitID(s), &b.readers[s], r.Partitions())
	}
	b.fx.Outbox = &b.out
	return b
}

// begin lets the splits run tasks in a clock, which are to see a commit.
func (b *bench) begin(clock bellows.Clock, commit bellows.CommitNumber, splits ...bellows.SplitID) {
	for _, s := range splits {
		b.readers[s].Begin(bellows.Unit{Split: s, Clock: clock}, commit)
	}
}

func (b *bench) end(splits ...bellows.SplitID) {
	for _, s := range splits {
		b.End(&b.readers[s], &b.out)
	}
}

// retain lets a split keep a delta of its own, of one row.
func (b *bench) retain(s bellows.SplitID, t bellows.TableID, row int, value float32) *delta.Bundle {
	own := b.pools.NewBundle()
	ref := bellows.PartitionRef{Table: t, Partition: bellows.PartitionID(row / 4)}
	own.Buffer(b.route.Number(ref)).AddRow(row%4, []float32{value})
	b.readers[s].Retain(own)
	return own
}

func (b *bench) read(s bellows.SplitID, t bellows.TableID, first, end bellows.RowID) bool {
	return b.Read(&b.readers[s], t, first, end, &b.out)
}

func (b *bench) readRows(s bellows.SplitID, t bellows.TableID, rows ...bellows.RowID) bool {
	return b.ReadRows(&b.readers[s], t, rows, &b.out)
}

func (b *bench) readKeys(s bellows.SplitID, t bellows.TableID, keys ...bellows.Key) bool {
	b.readers[s].Group(t, b.route.Cut(t), keys)
	return b.ReadKeys(&b.readers[s], &b.out)
}

// rows returns rows of a partition as a message has them: all if list is nil.
func rows(t bellows.TableID, p bellows.PartitionID, list []uint32, commit bellows.CommitNumber, complete bellows.Clock,
	values ...float32) wire.RowsPart {
	ref := bellows.PartitionRef{Table: t, Partition: p}
	at := wire.Pair{Ref: ref, Generation: 1}
	return wire.RowsPart{Pair: at, Commit: commit, Complete: complete, Rows: list, Values: values}
}

// keyed returns the rows of keys, each with its value.
func keyed(t bellows.TableID, keys []bellows.Key, commit bellows.CommitNumber, complete bellows.Clock,
	value float32) wire.RowsPart {
	r := rows(t, 0, nil, commit, complete, slices.Repeat([]float32{value}, len(keys))...)
	r.Keys = keys
	return r
}

// take delivers rows that answer a question, or 0: that come unasked.
func (b *bench) take(request uint64, parts ...wire.RowsPart) error {
	return b.takeUnsure(request, false, parts...)
}

func (b *bench) takeUnsure(request uint64, unsure bool, parts ...wire.RowsPart) error {
	a := b.Open(&wire.Rows{Incarnation: 3, Request: request, Parts: parts})
	defer b.Close(a)
	for i := range parts {
		if err := b.Take(a, i, unsure, &b.fx); err != nil {
			return err
		}
	}
	return nil
}

// must delivers rows that the cache takes.
func (b *bench) must(request uint64, parts ...wire.RowsPart) {
	b.t.Helper()
	if err := b.take(request, parts...); err != nil {
		b.t.Error(err)
	}
}

// granted delivers a lease.
func (b *bench) granted(request uint64, t bellows.TableID, p bellows.PartitionID, mode wire.Mode,
	commit bellows.CommitNumber, complete bellows.Clock, g bellows.Generation) error {
	m := wire.New[wire.Granted]()
	m.Request, m.Mode, m.Commit, m.Complete, m.Values = request, mode, commit, complete, []float32{1, 2, 3, 4}
	m.Pair = wire.Pair{Ref: bellows.PartitionRef{Table: t, Partition: p}, Generation: g}
	return b.TakeGranted(m, &b.fx)
}

// expect wants what the cache has done since the last call, one line each.
func (b *bench) expect(want ...string) {
	b.t.Helper()
	var got []string
	for _, r := range b.fx.Woken {
		got = append(got, fmt.Sprintf("wake %d", r.Split()))
	}
	for _, e := range b.out.Envelopes {
		got = append(got, fmt.Sprintf("lane %d: %s", e.To.Index, b.describe(e.Message)))
	}
	b.fx.Woken, b.out.Envelopes = nil, nil
	if !slices.Equal(got, want) {
		b.t.Errorf("said:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (b *bench) describe(m wire.Message) string {
	switch m := m.(type) {
	case *wire.Pull:
		b.asked = append(b.asked, m)
		s := fmt.Sprintf("pull %d", m.Request)
		for _, p := range m.Parts {
			s += fmt.Sprintf(" %d/%d", p.Ref.Table, p.Ref.Partition)
			if p.Rows != nil {
				s += fmt.Sprint(p.Rows)
			}
			if p.Keys != nil {
				s += fmt.Sprintf("keys%v", p.Keys)
			}
			if p.Subscribe {
				s += "+"
			}
		}
		return s + fmt.Sprintf(" after %d, clock %d", m.Need.Commit, m.Need.Clock)
	case *wire.Acquire:
		p, n := m.Pair.Ref, m.Need
		s := fmt.Sprintf("acquire %d %d/%d after %d, clock %d", m.Request, p.Table, p.Partition, n.Commit, n.Clock)
		if m.Mode == wire.Exclusive {
			s += ", exclusive"
		}
		return s
	case *wire.Release:
		return fmt.Sprintf("release %d/%d", m.Ref.Table, m.Ref.Partition)
	case *wire.Unsubscribe:
		return fmt.Sprintf("unsubscribe %d/%d", m.Ref.Table, m.Ref.Partition)
	}
	return fmt.Sprintf("%T", m)
}

// sees returns rows of a partition as a split sees them.
func (b *bench) sees(s bellows.SplitID, t bellows.TableID, first, end int) []float32 {
	n := b.route.Number(bellows.PartitionRef{Table: t, Partition: bellows.PartitionID(first / 4)})
	v := slices.Clone(b.readers[s].View(n, first%4, end-first/4*4, 1))
	b.readers[s].Overlay(n, first%4, end-first/4*4, v)
	return v
}

// seesKeys returns the rows of keys as a split sees them.
func (b *bench) seesKeys(s bellows.SplitID, t bellows.TableID, keys ...bellows.Key) (v []float32) {
	n := b.route.Number(bellows.PartitionRef{Table: t})
	for _, k := range keys {
		row := slices.Clone(b.readers[s].KeyRow(n, k, 1))
		b.readers[s].OverlayKey(n, k, row)
		v = append(v, row...)
	}
	return v
}

func (b *bench) equal(what string, got []float32, want ...float32) {
	b.t.Helper()
	if !slices.Equal(got, want) {
		b.t.Errorf("%s: %v; want %v", what, got, want)
	}
}
