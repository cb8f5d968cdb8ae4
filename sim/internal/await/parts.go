package await

import "slices"

// Parts are the parts of flushes that lanes do not hold yet, as far as a node knows. P names a part.
type Parts[P comparable] struct{ list []Part[P] }

// Part is one that is on its way.
type Part[P comparable] struct {
	At    P
	Since int64
	Named bool // it was said to be waited for
	kind  Wait
}

// Leaves takes note of a part that leaves, for the first time or again.
func (p *Parts[P]) Leaves(at P, kind Wait, now int64) {
	if !slices.ContainsFunc(p.list, func(u Part[P]) bool { return u.At == at }) {
		p.list = append(p.list, Part[P]{At: at, kind: kind, Since: now})
	}
}

// Holds records that a lane holds a part: the part is looked at for the last time. If the lane was sent more of it
// (rest), the wait continues, from the same time or, where all that is left of it left later, from that time.
func (p *Parts[P]) Holds(at P, rest bool, left int64, last func(Part[P])) {
	i := slices.IndexFunc(p.list, func(u Part[P]) bool { return u.At == at })
	switch {
	case i < 0:
	case !rest:
		last(p.list[i])
		p.list = slices.Delete(p.list, i, i+1)
	case left > p.list[i].Since:
		last(p.list[i])
		p.list[i].Since = left
	}
}

// Refused records that a lane refused some of a part, which another lane owns: it leaves again, or goes elsewhere. A
// part that was named already still waits for what is left of it. If the lane has something of the part (rest), the
// wait begins again, now for the route as well.
func (p *Parts[P]) Refused(at P, rest bool, now int64, last func(Part[P])) {
	switch i := slices.IndexFunc(p.list, func(u Part[P]) bool { return u.At == at && !u.Named }); {
	case i >= 0 && rest:
		last(p.list[i])
		p.list[i].Since = now
	case i >= 0:
		p.Holds(at, false, now, last)
	}
}

// ForgetHeld forgets parts of flushes for one lane that are held: of these a client learns with the commit.
func (p *Parts[P]) ForgetHeld(held func(P) bool) {
	p.list = slices.DeleteFunc(p.list, func(u Part[P]) bool { return u.kind == HeldAlone && held(u.At) })
}

// Each gives those that are not held.
func (p *Parts[P]) Each(do func(Part[P])) {
	for _, u := range p.list {
		do(u)
	}
}

// Name takes note of a sentence that names some of them.
func (p *Parts[P]) Name(named func(P) bool) {
	for i := range p.list {
		u := &p.list[i]
		u.Named = u.Named || named(u.At)
	}
}
