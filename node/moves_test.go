package node_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"bellows"
	"bellows/api"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// shownMoves is a job of two tables at node 0 of two. The tasks of one split query the moves: a partition leased by a
// task stays until the task ends, and so does its move.
type shownMoves struct {
	ctx      context.Context
	commands node.Commands
	watch    node.Watch
	large    int64 // bytes of the table that moves
	rows     int
	job      train.Job
}

func newShownMoves(ctx context.Context) *shownMoves {
	s := &shownMoves{ctx: ctx, rows: 400_000} // some windows of a copy
	s.large = 4 * int64(s.rows) * 2           // with the rule's memory
	s.job = train.Job{
		Tables: []table.Schema{
			{Name: "large", Rows: s.rows, Width: 1, Partitions: 1, Consistency: table.Async, Rule: table.Rule{Name: "adagrad", Step: 0.1, Epsilon: 1e-6}},
			{Name: "words", Rows: 8, Width: 1, Partitions: 1, Consistency: table.Async, Sparse: true},
		},
		Splits: 2,
		Items:  func(bellows.SplitID, bellows.Clock) bellows.Range { return bellows.Range{Begin: 0, End: 1} },
	}
	return s
}

// look returns the moves that are shown. After a minute of looking it is an error.
func (s *shownMoves) look() ([]api.Move, error) {
	p, err := s.watch.Look(s.ctx)
	if err == nil {
		err = s.ctx.Err()
	}
	if err == nil && p.Moves == nil {
		err = fmt.Errorf("the list of moves is nil")
	}
	return p.Moves, err
}

// ask asks for a move of a table's partition to node 1.
func (s *shownMoves) ask(t bellows.TableID) (<-chan error, error) {
	return s.commands.MovePartition(context.Background(), bellows.PartitionRef{Table: t}, 1)
}

// one returns the move of the large table that is shown, and no other.
func (s *shownMoves) one() (m api.Move, err error) {
	list, err := s.look()
	if err != nil {
		return m, err
	}
	if len(list) != 1 {
		return m, fmt.Errorf("shown is %+v", list)
	}
	m = list[0]
	if m.What != "partition 0 of large" || m.From != "node-0" || m.To != "node-1" || m.Bytes < s.large || m.Copied > m.Bytes || m.Seconds < 0 || m.Rate < 0 {
		return m, fmt.Errorf("shown is %+v, of %d bytes", m, s.large)
	}
	return m, nil
}

// copied looks until all of the large table is there, which only grows, though a lease keeps its move from being made.
func (s *shownMoves) copied() error {
	for before := int64(0); ; {
		m, err := s.one()
		switch {
		case err != nil:
			return err
		case m.Copied < before || m.Bytes != s.large:
			return fmt.Errorf("shown is %+v, behind %d bytes", m, before)
		case m.Copied == m.Bytes && m.Rate > 0: // of the last seconds: this one's
			return nil
		}
		before = m.Copied
	}
}

// gone checks that no moves are shown.
func (s *shownMoves) gone() error {
	if list, err := s.look(); err != nil || len(list) > 0 {
		return fmt.Errorf("shown is %+v, %v", list, err)
	}
	return nil
}

// TestMoveInProgressIsShown queries moves that are delayed by leases. The copied bytes grow up to the whole. An
// abandoned move is not shown any more, and the next one of the same partition starts from zero; a finished one is
// gone.
func TestMoveInProgressIsShown(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s := newShownMoves(ctx)
	var large, words <-chan error
	shared := func(w *train.Worker) (err error) {
		w.Lease(0, 0, train.Shared)
		if large, err = s.ask(0); err != nil {
			return err
		}
		if err := s.copied(); err != nil {
			return fmt.Errorf("under a shared lease: %w", err)
		}
		if err := s.commands.StayPartition(context.Background(), bellows.PartitionRef{}); err != nil {
			return err
		}
		if err := <-large; bellows.KindOf(err) != bellows.Interrupted {
			return fmt.Errorf("a move that was given up ended with %w", err)
		}
		return s.gone()
	}
	exclusive := func(w *train.Worker) (err error) {
		clear(w.Lease(0, 0, train.Exclusive))
		if large, err = s.ask(0); err != nil {
			return err
		}
		for range 100 { // nothing of it is copied while it is leased, whatever was copied before
			if m, err := s.one(); err != nil || m.Copied != 0 || m.Rate != 0 {
				return fmt.Errorf("under an exclusive lease %+v is shown, %w", m, err)
			}
		}
		if words, err = s.ask(1); err != nil {
			return err
		}
		list, err := s.look()
		if err != nil || len(list) == 2 && list[1].What != "partition 0 of words" || len(list) == 0 || list[0].What != "partition 0 of large" {
			return fmt.Errorf("of two moves %+v is shown, %w", list, err)
		}
		if _, err := s.commands.MoveSplit(context.Background(), 0, 1); err != nil {
			return err
		}
		list, err = s.look()
		if last := len(list) - 1; err != nil || last < 1 || list[last].What != "split 0" || list[last].From != "node-0" || list[last].To != "node-1" || list[last].Bytes != 0 {
			return fmt.Errorf("of moves and one of a split %+v is shown, %w", list, err)
		}
		return s.commands.StaySplit(context.Background(), 0)
	}
	ended := func(*train.Worker) error {
		for _, moved := range []<-chan error{large, words} {
			if err := <-moved; err != nil {
				return err
			}
		}
		return s.gone()
	}
	train.Loop(&s.job, 3, func(w *train.Worker) error {
		for _, do := range []func(*train.Worker) error{shared, exclusive, ended} {
			if w.Split() == 0 {
				if err := do(w); err != nil {
					return err
				}
			}
			w.Clock()
		}
		return nil
	})
	g := gang{members: []node.Member{{Slots: 1, Lanes: 1}, {Node: 1, Slots: 1, Lanes: 1}}, lead: node.Options{Commands: &s.commands, Watch: &s.watch},
		job: func(bellows.NodeID) train.Job { return s.job }}
	r, errs, err := g.run(context.Background(), t)
	if err != nil || slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
		t.Fatal(err, errs)
	}
	if err := s.gone(); err != nil {
		t.Errorf("after the job: %v", err)
	}
	if r.Audit.Disagreements(true) != nil {
		t.Errorf("audit %+v", r.Audit)
	}
}
