package prepare

import (
	"bellows"
	"bellows/link/wire"
)

// Prepare takes a push, after so many records: it holds the push, answers why not, or has it wait for room. A push that
// can never be held is refused for the first error, and the caller tells its client. The second is a breach of the
// protocol.
//
// Keys get rows before the vote, so that sums along the tree and rules work on rows as those of any table.
func (f *Flushes) Prepare(from wire.Address, m *wire.Push, applied bellows.CommitNumber, at Partitions,
	out *wire.Outbox) (refused, breach error) {
	switch j := f.judge(from, m, applied, at, out); j.verdict {
	case verdictStale:
		breach = f.Refuse(from, m, out)
		f.Admit(out)
	case verdictRefused:
		refused = j.err
	case verdictBreach:
		breach = j.err
	case verdictFits:
		rows, err := at.Reserve(m)
		if err != nil {
			f.Miss(m)
			return err, nil
		}
		at.Hold(m)
		f.hold(from, m, j, rows, out)
	}
	return refused, breach
}
