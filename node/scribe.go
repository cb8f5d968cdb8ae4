package node

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/coord"
	"bellows/core/server"
	"bellows/link/wire"
	"bellows/node/archive"
)

// Checkpoints are how a job is saved while it runs. Every process of the job has its own, of the same store.
type Checkpoints struct {
	// Archive is where; nil: the job is not saved while it runs.
	Archive *archive.Archive
	// Every is how long the job runs from one cut to the next, of Train and Lead; 0: by what a cut takes (Interval).
	Every time.Duration
	// Note is what the caller wants to have back with a cut (archive.Manifest.Run): it is asked when one begins; nil: nothing. So is what it has spent until then.
	Note func(so Spent) json.RawMessage
	// OnCut is called for each existing cut; nil: not called.
	OnCut func(Checkpoint)
}

// Checkpoint is a cut that is there.
type Checkpoint struct {
	Commit  bellows.CommitNumber
	Written int64         // bytes
	Within  time.Duration // from the request to begin it until it was verified
	Every   time.Duration // until the next
}

// scribe writes the parts of a cut that the lanes of this process provide, and at node 0 the manifest, on separate
// goroutines: lanes never wait for a disk. It asks a lane by a message in the lane's queue. One goroutine takes the
// tasks in order, and has each partition written by another, archive.Together at a time: while the disk makes one
// durable, the next is read and summed, and durable ones are settled together.
//
// States: idle; writing, while something waits; ended, when the process's part of the job is over. Unwritten parts then
// belong to no cut.
//
// Invariants:
//   - One piece of each partition that is being written is in memory.
//   - No part of a finished cut is begun. Parts of it that are being written end at the next piece, unless the store
//     stalls: then the controller has abandoned the cut, with its number in the report, and no manifest is written
//     until the store answers.
//   - While a manifest is written, nothing else is: what is removed after it belongs to no cut that is being written.
//
// Lock: mu, of the list of tasks. Nothing is called while it is held.
type scribe struct {
	*process
	cuts  *Checkpoints
	ctx   context.Context
	end   context.CancelFunc
	ended chan struct{} // closed when the goroutines have

	mu   sync.Mutex
	list []errand
	wake chan struct{} // has room: something was added
	over bellows.CommitNumber
}

// errand is something to write: a partition of a lane, or the manifest.
type errand struct {
	commit   bellows.CommitNumber
	lane     wire.Address
	ref      bellows.PartitionRef
	manifest *manifest // nil: a partition
}

// manifest is what one is made of.
type manifest struct {
	coord.CutDone
	note  json.RawMessage
	began time.Time
}

// want asks a lane for the next piece.
type want struct {
	wire.Local
	errand
	piece *checkpoint.Piece
	given chan error // has room
}

// written tells node 0 the outcome of a manifest.
type written struct {
	wire.Local
	commit  bellows.CommitNumber
	bytes   int64
	began   time.Time
	trouble error // why what is not needed any more was not removed; nil: it was
	err     error
}

// addScribe makes the scribe of a job that is to be saved.
func (p *process) addScribe() {
	c := p.opt.Checkpoints
	if c == nil || c.Archive == nil {
		return
	}
	s := &scribe{process: p, cuts: c, ended: make(chan struct{}), wake: make(chan struct{}, 1)}
	s.ctx, s.end = context.WithCancel(context.Background())
	p.scribe = s
	go s.run()
}

// close ends the scribe, and waits until it writes nothing any more, which a store that stalls may keep it from for a while.
func (s *scribe) close() {
	if s == nil {
		return
	}
	s.end()
	late := time.NewTimer(scribeWait)
	defer late.Stop()
	select {
	case <-s.ended:
	case <-late.C: // what it writes yet belongs to no cut
	}
}

// scribeWait is how long the end of a write is waited for.
const scribeWait = 3 * time.Second

// hear takes what a lane says of cuts, behind its step.
func (s *scribe) hear(lane wire.Address, news []checkpoint.News) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range news {
		switch {
		case n.Over:
			s.over = max(s.over, n.Commit)
		case n.Unchanged == 0:
			s.list = append(s.list, errand{commit: n.Commit, lane: lane, ref: n.Ref})
		}
	}
	s.rouse()
}

// publish starts to write the manifest of a cut.
func (s *scribe) publish(m *manifest) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, errand{commit: m.Saved.Commit, manifest: m})
	s.rouse()
}

// rouse tells the goroutine that there is something to do. Its caller holds the lock.
func (s *scribe) rouse() {
	select {
	case s.wake <- struct{}{}:
	default: // it knows
	}
}

// next returns what is to be written next; false: nothing.
func (s *scribe) next() (e errand, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.list) > 0 {
		e, s.list = s.list[0], s.list[1:]
		if e.manifest != nil || e.commit > s.over {
			return e, true
		}
	}
	return e, false
}

// run runs the scribe's first goroutine.
func (s *scribe) run() {
	defer close(s.ended)
	var writers sync.WaitGroup
	defer writers.Wait()
	pieces := make(chan *checkpoint.Piece, archive.Together)
	for range archive.Together {
		pieces <- &checkpoint.Piece{}
	}
	for {
		for e, ok := s.next(); ok && s.ctx.Err() == nil; e, ok = s.next() {
			if e.manifest != nil {
				writers.Wait()
				s.sign(e.manifest)
				continue
			}
			piece := <-pieces // there is one again when a writer has ended, which the context makes them do
			writers.Go(func() {
				if err := s.copy(e, piece); err != nil {
					s.bus.Send(e.lane, e.lane, &checkpoint.Failed{Commit: e.commit, Reason: err.Error()})
				}
				pieces <- piece
			})
		}
		select {
		case <-s.wake:
		case <-s.ctx.Done():
			return
		}
	}
}

// copy writes a partition, and notifies its lane. The piece belongs to the lane from each request until it answers, and
// is unusable if the scribe ends meanwhile.
func (s *scribe) copy(e errand, piece *checkpoint.Piece) error {
	shard, err := s.cuts.Archive.Create(s.ctx, archive.At{Era: s.opt.Era, Commit: e.commit}, e.ref)
	if err != nil {
		return err
	}
	w := &want{errand: e, piece: piece, given: make(chan error, 1)}
	piece.Last = false // it was another partition's
	for !w.piece.Last {
		s.bus.Send(e.lane, e.lane, w)
		select {
		case err = <-w.given:
		case <-s.ctx.Done():
			err = s.ctx.Err()
		}
		if err != nil { // the cut is over
			shard.GiveUp()
			return nil
		}
		if err := shard.Add(w.piece); err != nil {
			shard.GiveUp()
			return err
		}
	}
	entry, err := shard.Close()
	if err != nil {
		return err
	}
	s.bus.Send(e.lane, e.lane, &checkpoint.Stored{Commit: e.commit, Ref: e.ref, Name: digest(&entry), Bytes: uint64(entry.Bytes)})
	return nil
}

// keptMark marks the digest of a shard that also has what the driver kept.
const keptMark = "kept "

// digest returns what node 0 must know about a shard for the manifest, besides its size.
func digest(e *archive.Entry) string {
	if e.Kept {
		return keptMark + e.SHA256
	}
	return e.SHA256
}

// sign writes the manifest of a cut whose shards are all there, and notifies the controller.
func (s *scribe) sign(m *manifest) {
	w := &written{commit: m.Saved.Commit, began: m.began}
	c, err := s.cuts.Archive.Begin(archive.At{Era: s.opt.Era, Commit: m.Saved.Commit})
	for i := range m.Shards {
		if err != nil {
			break
		}
		one := &m.Shards[i]
		if one.Unchanged > 0 {
			err = c.Same(s.ctx, one.Ref, one.Unchanged)
			continue
		}
		sum, kept := strings.CutPrefix(one.Name, keptMark)
		err = c.AddWritten(one.Ref, kept, int64(one.Bytes), sum)
	}
	if err == nil {
		_, w.trouble, err = c.Publish(s.ctx, &m.Saved, m.note, time.Now())
	}
	if w.err = err; err == nil {
		w.bytes = c.Written()
	}
	s.lead.enqueue(w)
}

// give takes the scribe's words out of what a lane is to be stepped with, and gives what they want.
func (p *process) give(l *server.Lane, batch []wire.Envelope) []wire.Envelope {
	if p.scribe == nil {
		return batch
	}
	rest := batch[:0]
	for _, e := range batch {
		if w, ok := e.Message.(*want); ok {
			w.given <- l.CutPiece(w.commit, w.ref, w.piece)
		} else {
			rest = append(rest, e)
		}
	}
	return rest
}

// hearOfCuts passes on a lane's messages about cuts. If nothing writes them, they are abandoned.
func (p *process) hearOfCuts(l *server.Lane, self wire.Address) {
	news := l.CutNews()
	switch {
	case len(news) == 0:
	case p.scribe != nil:
		p.scribe.hear(self, news)
	case !news[0].Over:
		var out wire.Outbox
		out.Send(self, self, &checkpoint.Failed{Commit: news[0].Commit, Reason: fmt.Sprintf("node %d has no place for checkpoints", self.Node)})
		p.bus.Enqueue(&out)
		p.bus.Leave()
	}
}
