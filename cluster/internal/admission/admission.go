// Package admission limits the callers that a server has at once, by kind, so that one kind leaves room for the others.
//
// The caller's duties, in order:
//
//  1. NewPlaces makes places for one kind of caller: unknown ones, users, agents, and so on.
//  2. Take takes a place, or reports that all are taken. TakeOver always takes one: when all are taken, the oldest holder gives its place up.
//  3. Call the function that Take and TakeOver return, to give the place back.
//
// The package refuses to let a caller wait.
package admission

import (
	"container/list"
	"sync"
)

// Places are places for so many callers at once.
//
// Lock: mu, of taken. No yield is called while it is held.
type Places struct {
	most int

	mu    sync.Mutex
	taken list.List // of func(), the yield of each holder; the oldest first
}

// NewPlaces makes places for at most so many callers.
func NewPlaces(most int) *Places { return &Places{most: most} }

// Take takes a place, which leave gives back; it may be called twice. ok is false when all are taken.
func (p *Places) Take() (leave func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken.Len() >= p.most {
		return nil, false
	}
	return p.add(nil), true
}

// TakeOver takes a place, which leave gives back; it may be called twice. When all places are taken, the oldest holder has lost its own: its yield is called, which must make it stop.
func (p *Places) TakeOver(yield func()) (leave func()) {
	p.mu.Lock()
	var goes func()
	if p.taken.Len() >= p.most {
		goes, _ = p.taken.Remove(p.taken.Front()).(func())
	}
	leave = p.add(yield)
	p.mu.Unlock()
	if goes != nil {
		goes()
	}
	return leave
}

func (p *Places) add(yield func()) (leave func()) {
	e := p.taken.PushBack(yield)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken.Remove(e) // nothing, if it is not there any more
	}
}
