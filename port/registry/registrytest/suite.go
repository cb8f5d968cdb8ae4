// Package registrytest is the test suite that every registry must pass. The test of an implementation calls Run with a
// function that makes an empty registry.
//
// The suite waits for events and never for time, but for the end of leases; where the machine stalls for longer than a lease it tries again.
package registrytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bellows"
	"bellows/port/registry"
)

// Place is where the suite is played.
type Place struct {
	// New makes an empty registry, or fails the test. It returns what opens another client of that.
	New func(t *testing.T) func() registry.Registry
	// Compact makes the registry forget all changes so far.
	Compact func(t *testing.T)
	// Play runs a test; it may give the test a separate clock.
	Play func(t *testing.T, test func(t *testing.T))
}

// patience is how long one test may wait for all that it waits for.
const patience = 2 * time.Minute

// Run holds an implementation to the suite.
func Run(t *testing.T, p Place) {
	t.Helper()
	for i, c := range []struct {
		name string
		test func(*suite)
	}{
		{"a watch that falls behind gets an error", (*suite).fallsBehind}, // alone: it makes the registry forget
		{"what is put is found", (*suite).puts},
		{"conditions guard", (*suite).conditions},
		{"of many counters each counts once", (*suite).counts},
		{"lists are whole and in order", (*suite).lists},
		{"a long list is refused", (*suite).tooMany},
		{"what is deleted is gone", (*suite).deletes},
		{"a watch misses nothing", (*suite).watches},
		{"a list and a watch are one story", (*suite).listThenWatch},
		{"a lease that is revoked takes its keys along", (*suite).revokes},
		{"a lease that is not renewed expires", (*suite).expires},
		{"a lease that is renewed holds", (*suite).renews},
		{"one leads, and terms grow", (*suite).elects},
		{"a waiting campaigner names the leader", (*suite).waitsByName},
		{"a leader without a lease has lost", (*suite).deposes},
		{"a campaign that is repeated is won once", (*suite).campaignsAgain},
		{"what no registry has is refused", (*suite).limits},
		{"contexts end what they are for", (*suite).contexts},
		{"nothing is done after the end", (*suite).ends},
	} {
		t.Run(c.name, func(t *testing.T) {
			if i > 0 {
				t.Parallel()
			}
			p.Play(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("the test has waited for %v", patience))
				defer cancel()
				s := &suite{T: t, open: p.New(t), compact: p.Compact, ctx: ctx}
				s.reg = s.another()
				c.test(s)
			})
		})
	}
}

// suite is one test with a separate registry.
type suite struct {
	*testing.T
	open    func() registry.Registry
	compact func(*testing.T)
	reg     registry.Registry
	ctx     context.Context
}

// another opens another client.
func (s *suite) another() registry.Registry {
	r := s.open()
	s.Cleanup(func() { _ = r.Close() })
	return r
}

func (s *suite) put(key, value string, lease registry.LeaseID, where ...registry.Is) registry.Revision {
	s.Helper()
	at, err := s.reg.Put(s.ctx, key, []byte(value), lease, where...)
	if err != nil {
		s.Fatal(err)
	}
	return at
}

func (s *suite) holds(key, value string, at registry.Revision) {
	s.Helper()
	e, err := s.reg.Get(s.ctx, key)
	if err != nil || e.Key != key || string(e.Value) != value || e.Revision != at {
		s.Errorf("%s is %+v: %v; wanted %q of revision %d", key, e, err, value, at)
	}
}

func (s *suite) lacks(key string) {
	s.Helper()
	_, err := s.reg.Get(s.ctx, key)
	s.fails("get", err, fs.ErrNotExist, bellows.NoInput)
}

// fails wants an error of a cause and a kind.
func (s *suite) fails(what string, err, cause error, kind bellows.Kind) {
	s.Helper()
	if !errors.Is(err, cause) || bellows.KindOf(err) != kind {
		s.Errorf("%s: %v, of kind %d; wanted is %v, of kind %d", what, err, bellows.KindOf(err), cause, kind)
	}
}

func (s *suite) watch(prefix string, after registry.Revision) registry.Watch {
	s.Helper()
	w, err := s.reg.Watch(prefix, after)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(w.Close)
	return w
}

// next waits for n changes.
func (s *suite) next(w registry.Watch, n int) (all []registry.Change) {
	s.Helper()
	for len(all) < n {
		list, err := w.Next(s.ctx)
		if err != nil {
			s.Fatalf("after %d of %d changes: %v", len(all), n, err)
		}
		all = append(all, list...)
	}
	return all
}

func (s *suite) grant(r registry.Registry, ttl time.Duration) registry.Lease {
	s.Helper()
	l, err := r.Grant(s.ctx, ttl)
	if err != nil {
		s.Fatal(err)
	}
	if l.ID() == 0 || l.TTL() < ttl {
		s.Errorf("lease %d holds for %v, of %v", l.ID(), l.TTL(), ttl)
	}
	return l
}

// long is the time of leases that do not end within a test.
const long = 10 * time.Minute

func (s *suite) puts() {
	s.lacks("a")
	first := s.put("a", "1", 0)
	s.holds("a", "1", first)
	second := s.put("a/b.c-d_e=f", "", 0)
	third := s.put("a", "2", 0)
	if first <= 0 || second <= first || third <= second {
		s.Errorf("revisions are %d, %d, %d", first, second, third)
	}
	s.holds("a", "2", third)
	s.holds("a/b.c-d_e=f", "", second)
	big := strings.Repeat("x", registry.ValueBytesMost)
	s.holds2(s.another(), "a", "2")
	s.holds("big", big, s.put("big", big, 0))
	if s.reg.Name() == "" {
		s.Error("it has no name")
	}
}

func (s *suite) holds2(r registry.Registry, key, value string) {
	s.Helper()
	if e, err := r.Get(s.ctx, key); err != nil || string(e.Value) != value {
		s.Errorf("another client has %+v: %v", e, err)
	}
}

func (s *suite) conditions() {
	first := s.put("a", "1", 0, registry.Is{Key: "a"})
	_, err := s.reg.Put(s.ctx, "a", []byte("2"), 0, registry.Is{Key: "a"})
	s.fails("put where there is one", err, registry.ErrChanged, bellows.Refused)
	guard := s.put("guard", "g", 0)
	second := s.put("a", "2", 0, registry.Is{Key: "a", Revision: first}, registry.Is{Key: "guard", Revision: guard})
	_, err = s.reg.Put(s.ctx, "a", []byte("3"), 0, registry.Is{Key: "a", Revision: first})
	s.fails("put over what has changed", err, registry.ErrChanged, bellows.Refused)
	s.put("guard", "g", 0)
	_, err = s.reg.Put(s.ctx, "a", []byte("3"), 0, registry.Is{Key: "a", Revision: second}, registry.Is{Key: "guard", Revision: guard})
	s.fails("put under a guard that has changed", err, registry.ErrChanged, bellows.Refused)
	s.fails("delete what has changed", s.reg.Delete(s.ctx, "a", registry.Is{Key: "a", Revision: first}), registry.ErrChanged, bellows.Refused)
	s.holds("a", "2", second)
}

// counts makes several clients add to one number, each by what it has read.
func (s *suite) counts() {
	const who, each = 6, 5
	var all sync.WaitGroup
	for range who {
		r := s.another()
		all.Go(func() {
			for done := 0; done < each; {
				e, err := r.Get(s.ctx, "n")
				if err != nil && !errors.Is(err, fs.ErrNotExist) {
					s.Error(err)
					return
				}
				n := append(e.Value, '+')
				switch _, err := r.Put(s.ctx, "n", n, 0, registry.Is{Key: "n", Revision: e.Revision}); {
				case err == nil:
					done++
				case !errors.Is(err, registry.ErrChanged):
					s.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if e, err := s.reg.Get(s.ctx, "n"); err != nil || len(e.Value) != who*each {
		s.Errorf("%d were counted of %d: %v", len(e.Value), who*each, err)
	}
}

func (s *suite) lists() {
	if list, _, err := s.reg.List(s.ctx, ""); err != nil || len(list) != 0 {
		s.Errorf("an empty registry lists %v: %v", list, err)
	}
	for _, key := range []string{"b", "a/2", "a", "a/10", "a=", "a.b", "ab"} {
		s.put(key, "of "+key, 0)
	}
	last := s.put("c", "", 0)
	for prefix, want := range map[string]string{"": "a a.b a/10 a/2 a= ab b c", "a": "a a.b a/10 a/2 a= ab", "a/": "a/10 a/2", "a/1": "a/10", "d": ""} {
		list, at, err := s.reg.List(s.ctx, prefix)
		var keys []string
		for _, e := range list {
			keys = append(keys, e.Key)
			if e.Key != "c" && string(e.Value) != "of "+e.Key {
				s.Errorf("%s is listed with %q", e.Key, e.Value)
			}
		}
		if got := strings.Join(keys, " "); err != nil || got != want || at < last {
			s.Errorf("of %q are listed %q at %d: %v; wanted are %q at %d", prefix, got, at, err, want, last)
		}
	}
}

func (s *suite) tooMany() {
	var all sync.WaitGroup
	const lanes = 8
	for lane := range lanes {
		all.Go(func() {
			for i := lane; i <= registry.EntriesMost; i += lanes {
				if _, err := s.reg.Put(s.ctx, fmt.Sprintf("n/%d", i), nil, 0); err != nil {
					s.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	_, _, err := s.reg.List(s.ctx, "n/")
	s.fails("list", err, registry.ErrTooMany, bellows.Bug)
	if err := s.reg.Delete(s.ctx, "n/0"); err != nil {
		s.Error(err)
	}
	if list, _, err := s.reg.List(s.ctx, "n/"); err != nil || len(list) != registry.EntriesMost {
		s.Errorf("%d are listed: %v", len(list), err)
	}
}

func (s *suite) deletes() {
	at := s.put("a", "1", 0)
	s.put("ab", "1", 0)
	if err := errors.Join(s.reg.Delete(s.ctx, "a", registry.Is{Key: "a", Revision: at}), s.reg.Delete(s.ctx, "a"), s.reg.Delete(s.ctx, "never")); err != nil {
		s.Error(err)
	}
	s.lacks("a")
	if again := s.put("a", "2", 0, registry.Is{Key: "a"}); again <= at {
		s.Errorf("revision %d follows %d", again, at)
	}
	s.holds2(s.reg, "ab", "1")
}

// watches opens a watch that is not read while much happens, and one that is read all the time.
func (s *suite) watches() {
	early := s.watch("w/", s.put("before", "", 0))
	var want []string
	for i := range 200 {
		key := fmt.Sprintf("w/%d", i%3)
		if i%7 == 6 {
			if _, err := s.reg.Get(s.ctx, key); err == nil {
				want = append(want, "-"+key)
			}
			if err := s.reg.Delete(s.ctx, key); err != nil {
				s.Fatal(err)
			}
			continue
		}
		s.put("other", "", 0)
		s.put(key, fmt.Sprint(i), 0)
		want = append(want, fmt.Sprintf("%s=%d", key, i))
	}
	var got []string
	at := registry.Revision(0)
	for _, c := range s.next(early, len(want)) {
		if c.Revision <= at {
			s.Errorf("revision %d follows %d", c.Revision, at)
		}
		at = c.Revision
		if c.Gone {
			got = append(got, "-"+c.Key)
		} else {
			got = append(got, fmt.Sprintf("%s=%s", c.Key, c.Value))
		}
	}
	if !slices.Equal(got, want) {
		s.Errorf("seen were\n%v, wanted\n%v", got, want)
	}
	for _, value := range []string{"behind", "last"} { // no earlier value comes again
		put := s.put("w/0", value, 0)
		if list := s.next(early, 1); len(list) != 1 || list[0].Revision != put || string(list[0].Value) != value {
			s.Errorf("after them all comes %+v, wanted is %s at revision %d", list, value, put)
		}
	}
}

// listThenWatch follows a registry that is written to meanwhile: the list and the changes after it give what there is in the end.
func (s *suite) listThenWatch() {
	const changes = 100
	writer, wrote := s.another(), make(chan error, 1)
	go func() {
		for i := range changes {
			if _, err := writer.Put(s.ctx, fmt.Sprintf("k/%d", i%10), fmt.Append(nil, i), 0); err != nil {
				wrote <- err
				return
			}
		}
		_, err := writer.Put(s.ctx, "k/end", nil, 0)
		wrote <- err
	}()
	list, at, err := s.reg.List(s.ctx, "k/")
	if err != nil {
		s.Fatal(err)
	}
	have := map[string]string{}
	for _, e := range list {
		have[e.Key] = string(e.Value)
		if e.Revision > at {
			s.Errorf("%s of revision %d is in a list of %d", e.Key, e.Revision, at)
		}
	}
	w := s.watch("k/", at)
	for _, ended := have["k/end"]; !ended; _, ended = have["k/end"] {
		for _, c := range s.next(w, 1) {
			if c.Revision <= at {
				s.Errorf("a change of revision %d comes after a list of %d", c.Revision, at)
			}
			have[c.Key] = string(c.Value)
		}
	}
	if err := <-wrote; err != nil {
		s.Fatal(err)
	}
	for i := range 10 {
		if key := fmt.Sprintf("k/%d", i); have[key] != fmt.Sprint(changes-10+i) {
			s.Errorf("%s is %s", key, have[key])
		}
	}
}

func (s *suite) fallsBehind() {
	first := s.put("a", "1", 0)
	s.put("a", "2", 0)
	last := s.put("a", "3", 0)
	s.compact(s.T)
	w := s.watch("a", first-1)
	_, err := w.Next(s.ctx)
	s.fails("watch what is forgotten", err, registry.ErrBehind, bellows.Lost)
	list, at, err := s.reg.List(s.ctx, "a")
	if err != nil || len(list) != 1 || list[0].Revision != last {
		s.Errorf("%+v is listed: %v", list, err)
	}
	again := s.watch("a", at)
	put := s.put("a", "4", 0)
	if got := s.next(again, 1); len(got) != 1 || got[0].Revision != put || !bytes.Equal(got[0].Value, []byte("4")) {
		s.Errorf("seen was %+v", got)
	}
}

func (s *suite) revokes() {
	l := s.grant(s.reg, long)
	s.put("l/a", "", l.ID())
	s.put("l/b", "", l.ID())
	s.put("l/c", "", l.ID())
	kept := s.put("l/c", "mine", 0) // which takes it off the lease
	if e, err := s.reg.Get(s.ctx, "l/a"); err != nil || e.Lease != l.ID() {
		s.Errorf("l/a is %+v: %v", e, err)
	}
	w := s.watch("l/", kept)
	if err := errors.Join(l.Revoke(s.ctx), l.Revoke(s.ctx)); err != nil {
		s.Fatal(err)
	}
	got := s.next(w, 2)
	if len(got) != 2 || !got[0].Gone || !got[1].Gone || got[0].Revision != got[1].Revision || got[0].Key == got[1].Key {
		s.Errorf("seen were %+v", got)
	}
	s.lacks("l/a")
	s.holds("l/c", "mine", kept)
	s.fails("renew", l.Renew(s.ctx), registry.ErrExpired, bellows.Lost)
	_, err := s.reg.Put(s.ctx, "l/a", nil, l.ID())
	s.fails("put with a lease that is over", err, registry.ErrExpired, bellows.Lost)
	_, err = s.reg.Put(s.ctx, "l/a", nil, 1<<40+7)
	s.fails("put with a lease that never was", err, registry.ErrExpired, bellows.Lost)
}

func (s *suite) expires() {
	for range 20 {
		other := s.another()
		l := s.grant(other, time.Second)
		at, err := s.reg.Put(s.ctx, "l/a", nil, l.ID())
		if errors.Is(err, registry.ErrExpired) {
			continue // it has taken long
		}
		if err != nil {
			s.Fatal(err)
		}
		if err := other.Close(); err != nil { // a client's end is no end of its leases
			s.Error(err)
		}
		if got := s.next(s.watch("l/", at), 1); len(got) != 1 || !got[0].Gone {
			s.Errorf("seen were %+v", got)
		}
		s.lacks("l/a")
		return
	}
	s.Error("each lease was over at once")
}

// renews keeps a lease for longer than it would hold, and tries again if this process was away for that long.
func (s *suite) renews() {
	for range 20 {
		l := s.grant(s.reg, time.Second)
		begun := time.Now()
		last, end := begun, begun.Add(5*l.TTL()/2)
		_, err := s.reg.Put(s.ctx, "l/a", nil, l.ID())
		for err == nil && time.Now().Before(end) {
			<-time.After(l.TTL() / 8)
			if err = l.Renew(s.ctx); err == nil {
				_, err = s.reg.Get(s.ctx, "l/a")
			}
			if away := time.Since(last); err != nil && away < l.TTL() {
				s.Fatalf("%v after it was renewed: %v", away, err)
			}
			last = time.Now()
		}
		if err == nil {
			return
		}
	}
	s.Error("no lease was renewed in time")
}

// elects makes several clients lead one after another. Each must be the only leader while it leads.
func (s *suite) elects() {
	const who = 5
	var mu sync.Mutex
	var terms []registry.Revision
	leading := 0
	var all sync.WaitGroup
	for i := range who {
		r := s.another()
		lease := s.grant(r, long)
		all.Go(func() {
			l, err := registry.Campaign(s.ctx, r, "office", fmt.Appendf(nil, "candidate %d", i), lease)
			if err != nil {
				s.Error(err)
				return
			}
			mu.Lock()
			leading++
			if leading != 1 {
				s.Errorf("%d lead", leading)
			}
			terms = append(terms, l.Term)
			mu.Unlock()
			if _, err := r.Put(s.ctx, "done", nil, 0, l.Holds()); err != nil {
				s.Error(err)
			}
			mu.Lock()
			leading--
			mu.Unlock()
			if err := l.Resign(s.ctx, r); err != nil {
				s.Error(err)
			}
			_, err = r.Put(s.ctx, "done", nil, 0, l.Holds())
			s.fails("put of who has resigned", err, registry.ErrChanged, bellows.Refused)
			if err := l.Resign(s.ctx, r); err != nil {
				s.Error(err)
			}
		})
	}
	all.Wait()
	if len(terms) != who || !slices.IsSorted(terms) || len(slices.Compact(terms)) != who {
		s.Errorf("terms are %v", terms)
	}
}

func (s *suite) waitsByName() {
	if _, err := registry.Campaign(s.ctx, s.reg, "office", []byte("the manager of host-1"), s.grant(s.reg, long)); err != nil {
		s.Fatal(err)
	}
	other := s.another()
	lease := s.grant(other, long)
	ctx, cancel := context.WithCancelCause(s.ctx)
	cancel(errors.New("enough"))
	_, err := registry.Campaign(ctx, other, "office", nil, lease)
	if bellows.KindOf(err) != bellows.Interrupted {
		s.Errorf("a campaign that is over says %v", err)
	}
	ctx, cancelLate := context.WithTimeout(s.ctx, 2*time.Second)
	defer cancelLate()
	_, err = registry.Campaign(ctx, other, "office", nil, lease)
	s.fails("campaign", err, context.DeadlineExceeded, bellows.Unavailable)
	if err == nil || !strings.Contains(err.Error(), "the manager of host-1 leads") {
		s.Errorf("it says %v", err)
	}
}

func (s *suite) deposes() {
	first := s.another()
	lease := s.grant(first, long)
	old, err := registry.Campaign(s.ctx, first, "office", []byte("one"), lease)
	if err != nil {
		s.Fatal(err)
	}
	if err := lease.Revoke(s.ctx); err != nil { // as when it expires: the leader is not notified
		s.Fatal(err)
	}
	next, err := registry.Campaign(s.ctx, s.reg, "office", []byte("two"), s.grant(s.reg, long))
	if err != nil || next.Term <= old.Term {
		s.Fatalf("term %d follows %d: %v", next.Term, old.Term, err)
	}
	_, err = first.Put(s.ctx, "state", []byte("late"), 0, old.Holds())
	s.fails("put of who has led", err, registry.ErrChanged, bellows.Refused)
	if err := old.Resign(s.ctx, first); err != nil {
		s.Error(err)
	}
	s.put("state", "of two", 0, next.Holds())
	_, err = registry.Campaign(s.ctx, first, "other", nil, lease)
	s.fails("campaign", err, registry.ErrExpired, bellows.Lost)
}

func (s *suite) campaignsAgain() {
	lease := s.grant(s.reg, long)
	first, err := registry.Campaign(s.ctx, s.reg, "office", []byte("one"), lease)
	if err != nil {
		s.Fatal(err)
	}
	if again, err := registry.Campaign(s.ctx, s.reg, "office", []byte("one"), lease); err != nil || again != first {
		s.Errorf("%+v leads, then %+v: %v", first, again, err)
	}
}

func (s *suite) limits() {
	for _, key := range []string{"", "/", "a/", "/a", "a//b", ".a", "-a", "A", "a b", "ä", "a\x00", strings.Repeat("k", 513)} {
		_, err := s.reg.Get(s.ctx, key)
		_, err2 := s.reg.Put(s.ctx, key, nil, 0)
		for _, err := range []error{err, err2, s.reg.Delete(s.ctx, key)} {
			if bellows.KindOf(err) != bellows.Bug || err == nil {
				s.Errorf("key %q: %v", key, err)
			}
		}
	}
	_, _, err := s.reg.List(s.ctx, "A")
	_, err2 := s.reg.Watch("A", 0)
	_, err3 := s.reg.Put(s.ctx, "a", make([]byte, registry.ValueBytesMost+1), 0)
	_, err4 := s.reg.Put(s.ctx, "a", nil, 0, make([]registry.Is, registry.ConditionsMost+1)...)
	_, err5 := s.reg.Grant(s.ctx, registry.LeaseLeast-1)
	_, err6 := s.reg.Grant(s.ctx, registry.LeaseMost+1)
	for i, err := range []error{err, err2, err3, err4, err5, err6} {
		if err == nil || bellows.KindOf(err) != bellows.Bug {
			s.Errorf("%d: %v", i, err)
		}
	}
	if list, _, err := s.reg.List(s.ctx, ""); err != nil || len(list) != 0 {
		s.Errorf("there are %+v: %v", list, err)
	}
}

func (s *suite) contexts() {
	at := s.put("a", "", 0)
	lease := s.grant(s.reg, long)
	w := s.watch("a", at)
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err := s.reg.Get(ctx, "a")
	_, _, err2 := s.reg.List(ctx, "a")
	_, err3 := s.reg.Put(ctx, "a", nil, 0)
	_, err4 := s.reg.Grant(ctx, long)
	_, err5 := w.Next(ctx)
	for i, err := range []error{err, err2, err3, err4, err5, s.reg.Delete(ctx, "a"), lease.Renew(ctx), lease.Revoke(ctx)} {
		s.fails(fmt.Sprint(i), err, context.Canceled, bellows.Interrupted)
	}
	s.holds("a", "", at)
	later, cancelLater := context.WithCancel(s.ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := w.Next(later)
		ended <- err
	}()
	cancelLater()
	s.fails("a wait", <-ended, context.Canceled, bellows.Interrupted)
	again := s.put("a", "", 0)
	if got := s.next(w, 1); got[0].Revision != again {
		s.Errorf("seen were %+v", got)
	}
}

func (s *suite) ends() {
	at := s.put("a", "", 0)
	ended := make(chan error, 2)
	for _, end := range []func(registry.Registry, registry.Watch){
		func(_ registry.Registry, w registry.Watch) { w.Close(); w.Close() },
		func(r registry.Registry, _ registry.Watch) { _ = r.Close() },
	} {
		r := s.another()
		w, err := r.Watch("a", at)
		if err != nil {
			s.Fatal(err)
		}
		go func() {
			_, err := w.Next(s.ctx)
			ended <- err
		}()
		end(r, w)
		s.fails("a wait", <-ended, registry.ErrClosed, bellows.Bug)
		_, err = w.Next(s.ctx)
		s.fails("another", err, registry.ErrClosed, bellows.Bug)
	}
	r := s.another()
	lease := s.grant(r, long)
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		s.Error(err)
	}
	_, err := r.Get(s.ctx, "a")
	_, _, err2 := r.List(s.ctx, "a")
	_, err3 := r.Put(s.ctx, "a", nil, 0)
	_, err4 := r.Grant(s.ctx, long)
	_, err5 := r.Watch("a", at)
	for i, err := range []error{err, err2, err3, err4, err5, r.Delete(s.ctx, "a"), lease.Renew(s.ctx)} {
		s.fails(fmt.Sprint(i), err, registry.ErrClosed, bellows.Bug)
	}
	s.holds("a", "", at)
}
