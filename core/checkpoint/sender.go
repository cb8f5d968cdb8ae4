package checkpoint

import (
	"cmp"

	"bellows"
	"bellows/core/rowstore"
	"bellows/link/wire"
)

// Source is where a lane's state is: the lane.
type Source interface {
	// Kept is the image of a partition that the driver last kept, or nil.
	Kept(bellows.PartitionRef) *rowstore.Image
	// Partition is its state as it ended. It fails for one that is neither before nor after a lease.
	Partition(bellows.PartitionRef) (rowstore.Image, error)
}

// A Sender is a lane's end: what it has been asked for and has not sent.
//
// It cuts one partition at a time into views of its images, so that a lane has in memory twice only the partition that
// is leaving. It is over when its end has left, once for each controller that asks
// (TestAnotherControllerIsSentAllOfIt). What it may owe is bounded, however often it is asked
// (TestEndlessRequestsAreOwedLittle).
type Sender struct {
	// Most is how many values, or half as many keys, go into one Slab: by default 4 Mi. Tests make it small.
	Most int

	refs   []bellows.PartitionRef // not begun, in order
	slabs  []wire.Slab            // of the partition that was begun last: views of its images
	asked  bool
	whole  bool
	credit int // slabs that may leave
	over   bool
	term   bellows.Term // of the controller that asks
}

// creditMost bounds what a controller that asks again and again is owed.
const creditMost = 64

// slabMost is the default of Sender.Most.
const slabMost = 4 << 20

// Ask takes the question for some slabs. refs are the partitions of the lane; the first question
// decides what is sent. Another controller is sent all of it once more.
func (s *Sender) Ask(m *wire.Collect, refs []bellows.PartitionRef) {
	if m.Term > s.term {
		*s = Sender{Most: s.Most, term: m.Term}
	}
	if !s.asked {
		s.asked, s.whole, s.refs = true, m.Whole, refs
	}
	s.credit = min(s.credit+int(m.Slabs), creditMost)
}

// Asked reports whether there is a question.
func (s *Sender) Asked() bool { return s.asked }

// Send appends the slabs that may leave, from a lane to the controller that asked, and after the last of them the end,
// or why there is no state.
func (s *Sender) Send(from Source, self, to wire.Address, out *wire.Outbox) {
	for s.asked && !s.over {
		for len(s.slabs) == 0 && len(s.refs) > 0 {
			if err := s.begin(from, s.refs[0]); err != nil {
				s.end(self, to, err.Error(), out)
				return
			}
			s.refs = s.refs[1:]
		}
		switch {
		case len(s.slabs) == 0:
			s.end(self, to, "", out)
			return
		case s.credit == 0:
			return
		}
		s.credit--
		m := s.slabs[0]
		m.Term = s.term
		s.slabs = s.slabs[1:]
		out.Send(self, to, &m)
	}
}

func (s *Sender) end(self, to wire.Address, reason string, out *wire.Outbox) {
	s.over, s.slabs, s.refs = true, nil, nil
	out.Send(self, to, &wire.Collected{Reason: reason, Term: s.term})
}

// begin makes the slabs of a partition: as kept, and as it ended where it was not kept or the whole
// state is wanted.
func (s *Sender) begin(from Source, ref bellows.PartitionRef) error {
	s.slabs = s.slabs[:0]
	kept := from.Kept(ref)
	if kept != nil {
		s.cut(wire.Slab{Ref: ref, Kept: true}, kept)
	}
	if kept != nil && !s.whole {
		return nil
	}
	live, err := from.Partition(ref)
	if err != nil {
		return err
	}
	s.cut(wire.Slab{Ref: ref}, &live)
	return nil
}

// cut makes the slabs of an image, its rule's slots only as part of the whole. Every array has one
// at least, though it be empty.
func (s *Sender) cut(head wire.Slab, im *rowstore.Image) {
	most := cmp.Or(s.Most, slabMost)
	if im.Keys != nil {
		for keys, first := im.Keys, true; first || len(keys) > 0; first = false {
			m := head
			n := min(len(keys), max(1, most/2))
			m.Keys, keys = keys[:n:n], keys[n:]
			s.slabs = append(s.slabs, m)
		}
	}
	arrays := [][]float32{im.Values}
	if s.whole {
		arrays = append(arrays, im.Slots...)
	}
	for i, values := range arrays {
		for first := true; first || len(values) > 0; first = false {
			m := head
			n := min(len(values), most)
			m.Slot, m.Values = uint16(i), values[:n:n]
			values = values[n:]
			s.slabs = append(s.slabs, m)
		}
	}
}
