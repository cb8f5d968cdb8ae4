package data

import (
	"context"

	"bellows/data/internal/bags"
	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// bag hands out the blocks of a docword; first is the one behind the header.
func (r *reader) bag(ctx context.Context, s *source.Stream, blocks *lines.Blocks, first job) error {
	text, buf, next := first.text, first.buf, first
	c := &bags.Cutter{Docs: first.bag.Docs, Send: func(text []byte, part bags.Part) {
		j := next
		next.skipped = 0 // the header is above the first
		j.buf = append((<-r.free)[:0], text...)
		j.text, j.block, j.piece, j.part = j.buf, r.blocks, &piece{source: first.piece.source}, part
		r.blocks++
		r.jobs <- j
	}}
	for ctx.Err() == nil && !r.failed.Load() {
		if r.total > 0 {
			next.read = float64(r.taken+s.Position()) / float64(r.total)
		}
		c.Add(text)
		r.free <- buf
		if buf = <-r.free; cap(buf) < r.opt.blockBytes {
			buf = make([]byte, 0, r.opt.blockBytes)
		}
		var err error
		if buf, err = blocks.Next(buf); err != nil {
			return err
		}
		if text = buf; len(text) == 0 {
			r.free <- buf
			c.End()
			return nil
		}
	}
	return nil
}
