// Package registry is the interface to what processes of a cluster agree on: small values under keys, leases, and the
// leader. A lease marks a missing process as a suspect.
//
// The caller's duties, in order:
//
//  1. Open a Registry through an implementation, and Close it in the end.
//  2. Put values, with the value that was read before as a condition if others may also write. A value that must not
//     outlive its writer is put with a Lease, which the writer renews well before it ends.
//  3. To follow changes, List, and Watch from the revision that List has returned. After ErrBehind do both again.
//  4. A process that must be the only one campaigns (Campaign), and passes Leadership.Holds as a condition of all its
//     writes.
//
// An error of Put, Delete, Grant or Revoke that is neither ErrChanged nor ErrExpired leaves open whether it was done: the
// answer may have been lost. A Put with a condition on its own key may be repeated: it is not done twice, and after
// ErrChanged the caller must read the key.
//
// A lease only suspects. Its end does not prove that its holder has stopped, and a holder may learn of it late. An action
// that only one process may do is guarded by a term, which the receiver compares. Terms grow and none is used twice.
//
// The package refuses keys that some registry could not have (CheckKey), values above ValueBytesMost, and lists above
// EntriesMost.
package registry

import (
	"context"
	"time"
)

// Limits of what a registry takes, whichever it is.
const (
	ValueBytesMost  = 1 << 16
	EntriesMost     = 1024 // that one List returns
	ConditionsMost  = 8    // of one Put or Delete
	LeaseLeast      = time.Second
	LeaseMost       = time.Hour
	keyBytesMost    = 512
	prefixBytesMost = keyBytesMost
)

// Revision counts the changes of a registry, of all its keys. It never goes back.
type Revision int64

// LeaseID names a lease. 0 is none.
type LeaseID int64

// Entry is a key with its value.
type Entry struct {
	Key      string
	Value    []byte
	Revision Revision // of its last change
	Lease    LeaseID  // with which it ends
}

// Change is what became of a key.
type Change struct {
	Entry      // without a value where it is gone
	Gone  bool // deleted, or ended with its lease
}

// Is is a condition: the key's last change has that revision. 0: the key does not exist.
type Is struct {
	Key      string
	Revision Revision
}

// A Registry is a client of a registry. Its methods are safe for concurrent use, and each ends: with its context, or
// when the implementation has waited long enough for an answer, with an error of kind Unavailable that names what does
// not answer.
type Registry interface {
	// Name returns the registry's name for people.
	Name() string
	// Get finds a key's value, as new as any that was put before. Its error is fs.ErrNotExist if the key has no value.
	Get(ctx context.Context, key string) (Entry, error)
	// List returns the entries whose keys begin with a prefix, in the order of their keys' bytes, all as of one
	// revision. ErrTooMany: there are more than EntriesMost.
	List(ctx context.Context, prefix string) ([]Entry, Revision, error)
	// Put sets a key's value, with a lease or 0, if all conditions hold, and returns the new revision. ErrChanged: a
	// condition does not hold. ErrExpired: the lease does not exist.
	Put(ctx context.Context, key string, value []byte, lease LeaseID, where ...Is) (Revision, error)
	// Delete removes a key if all conditions hold. Deleting a missing key is no error.
	Delete(ctx context.Context, key string, where ...Is) error
	// Watch follows the changes of keys with a prefix, from the first after a revision. It returns at once.
	Watch(prefix string, after Revision) (Watch, error)
	// Grant begins a lease of a time from LeaseLeast to LeaseMost.
	Grant(ctx context.Context, least time.Duration) (Lease, error)
	// Close ends the client, its watches and waiting calls. Its leases expire.
	Close() error
}

// Watch is the changes of keys, in order. One goroutine at a time may call Next.
type Watch interface {
	// Next waits for changes and returns the next ones: whole revisions, each once, none left out. It bridges lost connections. ErrBehind: the registry does not know all
	// changes since any more, and the watch is over. It says nothing of a registry that is silent: Renew does.
	Next(ctx context.Context) ([]Change, error)
	// Close ends it, and a Next that waits.
	Close()
}

// Lease is a promise to say every now and then that one is there. Its keys end with it.
type Lease interface {
	ID() LeaseID
	// TTL is how long it holds from Grant or Renew on, at least: registries may give more than was asked for, and may notice later.
	TTL() time.Duration
	// Renew begins its time anew. ErrExpired: it is over, and another one is needed.
	Renew(ctx context.Context) error
	// Revoke ends it. That it is over is no error.
	Revoke(ctx context.Context) error
}
