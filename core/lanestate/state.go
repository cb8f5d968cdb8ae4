package lanestate

import (
	"slices"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/gate"
	"bellows/core/partition"
	"bellows/core/planted"
	"bellows/core/route"
	"bellows/link/wire"
	"bellows/table"
)

// Config describes the partitions of a lane.
type Config struct {
	Self    wire.Address
	Tables  []table.Schema // the list belongs to the State: the consistency of a table may change
	Route   *route.Route   // with which the job begins
	Items   gate.Items
	KeySeed uint64            // of indexes of keys
	Blank   bool              // partitions are loaded later, and not filled by their initialisers
	Digits  int               // see partition.Config
	LogMax  int               // see partition.Config
	Direct  int               // see partition.Config
	Cuts    *checkpoint.Giver // which gives cuts of the partitions away
	// Follow, if it is set, is called with each partition that is made, before its first change.
	Follow func(*partition.Partition)
}

// A State has the partitions of a lane, and how far the lane has come.
//
// Invariants:
//
//   - Owned is in the order of the numbers of partitions, in which clocks are applied and rows are sent, so
//     that each run does the same (TestOwnedIsInOrder).
//   - A partition is found by a pair if, and only if, the lane owns it at that generation (TestFind).
//   - Awaiting is right without looking at each partition (TestAwaiting).
type State struct {
	cfg      Config
	progress *gate.Progress
	applied  bellows.CommitNumber // records up to this have been taken
	barrier  bellows.CommitNumber // applied when the last clock became complete

	owned    []*partition.Partition
	byNumber []*partition.Partition // by route.Number; nil: it was never here
	awaited  int                    // the lane's partitions without their state yet
}

// New returns the state of a lane that has no partition yet.
func New(c Config) *State {
	return &State{cfg: c, progress: gate.NewProgress(c.Route.Splits(), c.Items),
		byNumber: make([]*partition.Partition, c.Route.Partitions())}
}

// Route returns the current route.
func (s *State) Route() *route.Route { return s.cfg.Route }

// SetRoute replaces the route.
func (s *State) SetRoute(r *route.Route) { s.cfg.Route = r }

// Progress returns how far the job is by the records that were taken.
func (s *State) Progress() *gate.Progress { return s.progress }

// Applied returns the number of the last record that was taken.
func (s *State) Applied() bellows.CommitNumber { return s.applied }

// Frontier returns how far the lane is by its records.
func (s *State) Frontier() partition.Frontier {
	return partition.Frontier{Applied: s.applied, Barrier: s.barrier, Complete: s.progress.Complete()}
}

// Number notes that a record is taken.
func (s *State) Number(n bellows.CommitNumber) { s.applied = n }

// Begin continues after a record, at a lane that begins while the job runs.
func (s *State) Begin(m *wire.Begin) error {
	if !planted.On("begun-at-one") {
		s.applied, s.barrier = m.Commit, m.Commit
	}
	return s.progress.Restore(m.Complete, m.Open)
}

// Resume continues after the clocks that a saved run had completed, and the units of the next ones that counted there.
func (s *State) Resume(complete []bellows.Clock, open []bellows.Unit) error {
	if planted.On("resumed-at-zero") {
		return nil
	}
	err := s.progress.Restore(complete, open)
	for _, p := range s.owned {
		p.Resume(s.progress.Complete())
	}
	return err
}

// Owned returns the partitions that the lane owns. The list belongs to the State.
func (s *State) Owned() []*partition.Partition { return s.owned }

// Create makes a partition that the route gives to the lane.
func (s *State) Create(ref bellows.PartitionRef) error {
	p, err := s.Make(ref, s.cfg.Blank)
	if err == nil {
		s.Add(p)
	}
	return err
}

// Make makes a partition that is filled by its initialiser; or blank, to be filled by a copy.
func (s *State) Make(ref bellows.PartitionRef, blank bool) (*partition.Partition, error) {
	r := s.cfg.Route
	p, err := partition.New(partition.Config{Ref: ref, Generation: r.Owner(ref).Generation,
		Schema: &s.cfg.Tables[ref.Table], Cut: r.Cut(ref.Table), Blank: blank, Barrier: s.isBarrier(ref.Table),
		Complete: s.progress.Complete(), KeySeed: s.cfg.KeySeed, Digits: s.cfg.Digits, LogMax: s.cfg.LogMax,
		Direct: s.cfg.Direct, Cuts: s.cfg.Cuts})
	if err == nil && s.cfg.Follow != nil {
		s.cfg.Follow(p)
	}
	return p, err
}

// Add makes a partition the lane's own.
func (s *State) Add(p *partition.Partition) {
	at := s.cfg.Route.Number(p.Ref)
	i := slices.IndexFunc(s.owned, func(o *partition.Partition) bool { return s.cfg.Route.Number(o.Ref) > at })
	if i < 0 {
		i = len(s.owned)
	}
	s.owned = slices.Insert(s.owned, i, p)
	s.byNumber[at] = p
}

// Await makes a partition of which nothing was copied here, by a record. Its state comes by Load.
func (s *State) Await(ref bellows.PartitionRef) error {
	if err := s.Create(ref); err != nil {
		return err
	}
	s.Lookup(ref).Await()
	s.awaited++
	return nil
}

// Gain makes a partition the lane's that is copied here, by the last record. Its state is still to come.
func (s *State) Gain(p *partition.Partition) {
	p.Gain(s.cfg.Route.Owner(p.Ref).Generation, s.applied, s.progress.Complete(), s.isBarrier(p.Ref.Table))
	s.awaited++
	s.Add(p)
}

// Settle ends the wait for the state of a partition.
func (s *State) Settle(p *partition.Partition, fx *partition.Effects) error {
	if p.Awaited() {
		s.awaited--
	}
	return p.Settle(s.Frontier(), fx)
}

// Leave ends the service of a partition that the last record has given to another lane. It returns the
// requests for leases that are to be made there.
func (s *State) Leave(p *partition.Partition) []partition.Request {
	if p.Awaited() {
		s.awaited--
	}
	return p.Leave(s.applied)
}

// Remove forgets a partition that has gone and counts here no more.
func (s *State) Remove(p *partition.Partition) {
	s.owned = slices.DeleteFunc(s.owned, func(o *partition.Partition) bool { return o == p })
}

// Expects reports whether the state of a partition is still to come.
func (s *State) Expects() bool {
	return s.awaited > 0 && !planted.On("handoff-end-unawaited") &&
		slices.ContainsFunc(s.owned, func(p *partition.Partition) bool { return p.Awaited() && p.In.Lost == "" })
}

// Refs returns the names of the partitions that have not gone.
func (s *State) Refs() []bellows.PartitionRef {
	refs := make([]bellows.PartitionRef, 0, len(s.owned))
	for _, p := range s.owned {
		if !p.Gone() {
			refs = append(refs, p.Ref)
		}
	}
	return refs
}

// Whole returns the partitions that have their state here, each with the newest record that concerns it.
func (s *State) Whole() (list []wire.Owned) {
	for _, p := range s.owned {
		if !p.Awaited() {
			list = append(list, wire.Owned{Pair: p.Pair(), Newest: p.Applied()})
		}
	}
	return list
}

// Forget ends the subscriptions of processes that are gone.
func (s *State) Forget(gone func(partition.Subscriber) bool) {
	for _, p := range s.owned {
		p.Subscribers.Forget(gone)
	}
}

// isBarrier reports whether the clocks of a table become visible as a whole.
func (s *State) isBarrier(t bellows.TableID) bool { return s.cfg.Tables[t].Consistency == table.BSP }
