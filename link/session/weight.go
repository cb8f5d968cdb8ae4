package session

import "bellows/link/wire"

// weight estimates how many bytes a message takes on the wire, and never too few, if that may be many: a message that
// travels in parts, or that has the state of a partition. Any other is 0.
func weight(m wire.Message) int {
	const head, each = 128, 64 // of a message, and of whatever it has several of
	switch m := m.(type) {
	case *wire.Push:
		n := head + each*(len(m.Pairs)+len(m.Chunks)+len(m.Leases))
		for i := range m.Chunks {
			c := &m.Chunks[i]
			n += 4*(len(c.Rows)+len(c.Values)) + 8*len(c.Keys)
		}
		for i := range m.Leases {
			n += 4 * len(m.Leases[i].Values)
		}
		if m.Done != nil {
			for i := range m.Done.Results {
				n += each + 8*len(m.Done.Results[i].Values)
			}
		}
		return n
	case *wire.Rows:
		n := head + each*len(m.Parts)
		for i := range m.Parts {
			p := &m.Parts[i]
			n += 4*(len(p.Rows)+len(p.Values)) + 8*len(p.Keys)
		}
		return n
	case *wire.Pull:
		n := head + each*len(m.Parts)
		for i := range m.Parts {
			n += 4*len(m.Parts[i].Rows) + 8*len(m.Parts[i].Keys)
		}
		return n
	case *wire.Granted:
		return head + 4*len(m.Values)
	case *wire.Piece:
		return head + m.Bytes()
	case *wire.Slab:
		return head + 4*len(m.Values) + 8*len(m.Keys)
	}
	return 0
}
