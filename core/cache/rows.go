package cache

import (
	"fmt"

	"bellows/core/gate"
	"bellows/core/planted"
	"bellows/link/wire"
)

// Take takes a part of a message of rows, an answer or one sent unasked, into the cache, and pins the rows for
// readers that wait. The message is open.
//
// An answer to no question is ignored: its question was asked again of another owner. One of an owner of the past is
// asked for again: what it says was so, and others may have seen newer rows since
// (TestAnswersOfFormerOwnerAreIgnored). An unsure one may or may not have updates of this node that are laid
// over what is read: another lane held them before the partition moved, and has not said yet whether they count. Its
// question is asked again when it has (TestNewOwnersRowsWaitForPreviousOwner). Other rows than were asked for are
// an error.
func (c *Cache) Take(a *Answer, part int, unsure bool, fx *Effects) error {
	r := &a.rows.Parts[part]
	n := c.number(r.Ref)
	if a.rows.Request == 0 {
		c.takeUnasked(n, r, a, fx)
		return nil
	}
	f := c.find(a.rows.Request, n)
	switch {
	case f == nil:
		return nil
	case c.partitions[n].outdated(r.Generation) && !f.lease:
		c.ask(f, fx.Outbox)
		return nil
	case unsure && !planted.On("new-owner-overtakes"):
		f.stale, f.staleUntil = true, 0
		return nil
	case !f.fits(r, c.partitions[n].schema.Width):
		return fmt.Errorf("other rows of %v than were asked for", r.Ref)
	}
	b := c.store(n, r, f, a)
	kept := b == c.partitions[n].block
	for _, w := range f.waiters {
		c.pin(w, n, b)
		if !kept && !planted.On("older-block-kept") { // some of its rows are of that version, if not all
			w.pins[n].seen = wire.Need{Commit: r.Commit, Clock: r.Complete}
		}
	}
	c.resume(f, fx)
	if !kept {
		c.unpin(b)
	}
	return nil
}

// store makes the rows of an answer the partition's block. It joins them with the block before, if that is new enough
// for the readers that asked, and no update of this node came between the two: the joined block has the older
// version, so that such an update would be laid over rows that contain it (planted: join-across-own). Rows of a
// partition that is subscribed to, which are not part of the subscription, are shown to the readers that asked and
// not kept: nothing would lift their version.
func (c *Cache) store(n int, r *wire.RowsPart, f *fetch, a *Answer) *block {
	p := &c.partitions[n]
	old, sparse := p.block, p.schema.Sparse
	begins := f.subscribe && !p.subscribed
	p.subscribed = p.subscribed || begins
	valid := old != nil && (sparse || r.Rows != nil) && (!begins || planted.On("subscribed-to-less")) &&
		gate.Admits(f.need, old.commit, old.complete) && !c.changedBetween(n, old.commit, r.Commit)
	if valid && !sparse && old.rows == nil {
		return old
	}
	b := c.blocks.Get()
	b.commit, b.complete, b.rows, b.values, b.readers = r.Commit, r.Complete, r.Rows, r.Values, 1
	switch {
	case valid && sparse:
		b.joinKeys(old, f.keys, p.schema.Width)
	case valid:
		b.join(old, p.schema.Width)
	default:
		b.keys, f.keys = f.keys, b.keys
		b.source = a
		a.uses++
	}
	if p.subscribed && !f.subscribe || old != nil && !p.subscribed && planted.On("older-block-kept") {
		return b
	}
	if old != nil {
		c.unpin(old)
	}
	p.block = b
	return b
}
