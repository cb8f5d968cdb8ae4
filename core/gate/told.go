package gate

import (
	"slices"

	"bellows"
	"bellows/link/wire"
)

// List is the flushes as somebody is told of them who begins later.
func (f *Counted) List() (list []wire.Recorded) {
	for n, lives := range f.byClient {
		for _, l := range lives {
			list = append(list, wire.Recorded{Client: bellows.NodeID(n), Incarnation: l.incarnation, UpTo: l.upTo, Above: slices.Clone(l.above)})
		}
	}
	return list
}

// Load makes the flushes those of a list.
func (f *Counted) Load(list []wire.Recorded) {
	*f = Counted{}
	for _, r := range list {
		l := f.of(bellows.FlushID{Client: r.Client, Incarnation: r.Incarnation})
		l.upTo, l.above = r.UpTo, slices.Clone(r.Above)
	}
}
