package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"sync"

	"bellows"
	"bellows/core/coord"
	"bellows/core/rowstore"
	"bellows/port/blob"
	"bellows/table"
)

// Archive is the cuts of one job in a store.
//
// Invariants:
//
//   - A cut is whole or absent, whatever call of the store fails, is cut short or is the last (TestKilledAtEveryCall).
//   - There is no moment without a whole cut, once there was one: one is removed only when a newer one was read back (TestKilledAtEveryCall).
//   - No shard belongs to two cuts that follow each other (TestConsecutiveCutsShareNoShard).
//   - What was removed by Clear or forgotten is not read again: a manifest goes before its shards.
//
// Several goroutines may use it; one cut is written at a time.
//
// Lock: mu, of kept, and over what is written and removed. A store that stalls keeps it.
type Archive struct {
	store  blob.Store
	id     ID
	tables []table.Schema
	cuts   []table.Cut
	widths [][]int // by table
	guard  Guard

	mu   sync.Mutex
	kept []*Manifest // newest first, at most keepMost; what cuts that follow may refer to
}

// Guard is the checks that an archive makes before it changes its place: they stop a process after another run has
// taken the place. A nil function allows everything.
type Guard struct {
	Write  func(context.Context) error // before each shard that is written
	Remove func(context.Context) error // before a manifest is written, and before anything is removed
}

func allowed(ctx context.Context, ask func(context.Context) error) error {
	if ask == nil {
		return nil
	}
	return ask(ctx)
}

// SetGuard sets the checks. Call it before several goroutines use the archive.
func (a *Archive) SetGuard(g Guard) { a.guard = g }

// keepMost is how many cuts there are at least: the newest, and the one to use where that is damaged.
const keepMost = 2

// Open returns the archive of a job in a store. It reads nothing before Latest.
func Open(s blob.Store, job ID, tables []table.Schema) (*Archive, error) {
	a := &Archive{store: s, id: job, tables: tables}
	for i := range tables {
		widths, err := widthsOf(&tables[i])
		if err != nil {
			return nil, err
		}
		a.widths, a.cuts = append(a.widths, widths), append(a.cuts, tables[i].Cut())
	}
	return a, nil
}

// partitions yields the partitions of all tables, in order.
func (a *Archive) partitions() iter.Seq[bellows.PartitionRef] {
	return func(yield func(bellows.PartitionRef) bool) {
		for t := range a.cuts {
			for p := range a.cuts[t].Len() {
				if !yield(bellows.PartitionRef{Table: bellows.TableID(t), Partition: bellows.PartitionID(p)}) {
					return
				}
			}
		}
	}
}

// names returns the manifests in the store, newest first.
func (a *Archive) names(ctx context.Context) (list []At, err error) {
	for info, err := range a.store.List(ctx, cutsFolder) {
		if err != nil {
			return nil, err
		}
		if at, ok := parseCutName(info.Name); ok {
			list = append(list, at)
		}
	}
	slices.SortFunc(list, func(a, b At) int { return b.Compare(a) })
	return list, nil
}

// unusable returns the error for a bad blob of a cut.
func (a *Archive) unusable(name string, err error) error {
	if bellows.KindOf(err) != bellows.Bug { // of the store, which names it
		return err
	}
	return &bellows.Error{Kind: bellows.BadData, Op: "read checkpoint", Subject: a.store.URI(name), Err: err}
}

// Passed is a cut that cannot be used.
type Passed struct {
	At
	Why error // names the blob
}

// Latest returns the newest complete cut; nil if there is none. Every byte of it was read and checked against its
// checksums. Newer cuts that are incomplete are skipped. If there are cuts and none is complete, it returns an error of
// kind BadData. Any error of the store, other than a missing blob, is returned: it may be temporary, and the cut may be
// complete.
func (a *Archive) Latest(ctx context.Context) (*Manifest, []Passed, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = nil
	list, err := a.names(ctx)
	if err != nil {
		return nil, nil, err
	}
	var passed []Passed
	for _, at := range list {
		m, err := a.manifest(ctx, at)
		if err == nil && len(a.kept) == 0 {
			err = a.verify(ctx, m.Shards)
			m.summed = err == nil
		}
		switch kind := bellows.KindOf(err); {
		case err == nil:
			a.kept = append(a.kept, m)
		case kind != bellows.BadData && kind != bellows.NoInput:
			return nil, passed, err
		case len(a.kept) == 0:
			passed = append(passed, Passed{at, err})
		}
		if len(a.kept) == keepMost {
			break
		}
	}
	if len(a.kept) > 0 {
		return a.kept[0], passed, nil
	}
	if len(passed) > 0 {
		return nil, passed, bellows.Errorf(bellows.BadData, "resume from", a.store.URI(""),
			"no checkpoint in it is whole: %w", passed[0].Why)
	}
	return nil, nil, nil
}

// Era returns the newest era with a cut, complete or not; false if there is none.
func (a *Archive) Era(ctx context.Context) (bellows.Era, bool, error) {
	list, err := a.names(ctx)
	if err != nil || len(list) == 0 {
		return 0, false, err
	}
	return list[0].Era, true, nil
}

// manifest reads that of a cut.
func (a *Archive) manifest(ctx context.Context, where At) (*Manifest, error) {
	name := where.name()
	r, err := a.store.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.Bytes() > manifestBytesMax {
		return nil, a.unusable(name, fmt.Errorf("it has %d bytes, and at most %d are read", r.Bytes(),
			manifestBytesMax))
	}
	text, err := io.ReadAll(io.NewSectionReader(r, 0, r.Bytes()))
	if err != nil {
		return nil, a.unusable(name, err)
	}
	m, err := a.parse(text, where)
	if err != nil {
		return nil, a.unusable(name, err)
	}
	return m, nil
}

// verify reads shards back and holds every byte against the checksums.
func (a *Archive) verify(ctx context.Context, list []Entry) error {
	for i := range list {
		if err := a.read(ctx, &list[i], true, func(uint32, int, []byte) error { return nil }); err != nil {
			return err
		}
	}
	return nil
}

// read goes through a shard, and says that it is not as its entry says only behind its end. Every block is held against
// its checksum, and, if it is to be, the whole against its digest.
func (a *Archive) read(ctx context.Context, e *Entry, digest bool,
	take func(image uint32, rows int, b []byte) error) error {
	r, err := a.store.Open(ctx, e.Name)
	if err != nil {
		return err
	}
	defer r.Close()
	if r.Bytes() != e.Bytes {
		return a.unusable(e.Name, fmt.Errorf("it is damaged: it has %d bytes, and its manifest says %d", r.Bytes(),
			e.Bytes))
	}
	memory := blocks.Get().(*[]byte)
	want, shard := e.stamp(a.id), shardReader{from: io.NewSectionReader(r, 0, r.Bytes()), rest: r.Bytes(), b: *memory}
	defer func() {
		*memory = shard.b
		blocks.Put(memory)
	}()
	if err := shard.header(&want); err != nil {
		return a.unusable(e.Name, err)
	}
	whole := sha256.New()
	if digest {
		shard.from = io.TeeReader(shard.from, whole)
	}
	kept, err := shard.read(a.moldOf(e.Ref()), take)
	if err == nil && kept != e.Kept {
		err = fmt.Errorf("it is damaged: what was kept is in it: %v, and its manifest says %v", kept, e.Kept)
	}
	if err != nil {
		return a.unusable(e.Name, err)
	}
	if digest && hex.EncodeToString(whole.Sum(nil)) != e.SHA256 {
		return a.unusable(e.Name, errors.New("it is damaged: it does not have the checksum that its manifest states"))
	}
	return nil
}

// Partition reads a partition of a cut, and the copy that the driver kept, if there is one, and verifies both: by
// checksums again if Latest has read all of the cut, else also by their digests.
func (a *Archive) Partition(ctx context.Context, m *Manifest, ref bellows.PartitionRef) (live, kept *rowstore.Image,
	err error) {
	e := m.find(ref)
	if e == nil {
		return nil, nil, bellows.Errorf(bellows.Bug, "read checkpoint", a.store.URI(m.At.name()), "it has no %v", ref)
	}
	s := a.moldOf(ref)
	images := [2]*rowstore.Image{liveImage: s.empty()}
	if e.Kept {
		images[keptImage] = s.empty()
	}
	err = a.read(ctx, e, !m.summed, func(image uint32, rows int, b []byte) error {
		if image == gathered {
			return s.takeSum(images[liveImage], rows, b)
		}
		if images[image] == nil {
			return errors.New("it has what was kept, and its manifest does not say so")
		}
		return s.take(images[image], rows, b)
	})
	if err != nil {
		return nil, nil, err
	}
	for _, im := range images {
		if im == nil {
			continue
		}
		if err := s.whole(im); err != nil {
			return nil, nil, a.unusable(e.Name, err)
		}
	}
	return images[liveImage], images[keptImage], nil
}

// Cut returns the cut of a number. Its shards are verified as they are read. It is for processes that are told which
// cut to resume from.
func (a *Archive) Cut(ctx context.Context, at At) (*Manifest, error) { return a.manifest(ctx, at) }

// Saved is a cut to resume from: a train.Saved. Its Partition is safe for concurrent use.
type Saved struct {
	ctx      context.Context // of all that is read
	archive  *Archive
	manifest *Manifest
}

// Saved returns a cut of the archive to resume from. The context is used for everything that is read from it.
func (a *Archive) Saved(ctx context.Context, m *Manifest) *Saved { return &Saved{ctx, a, m} }

// Controller returns the state of the job's controller.
func (s *Saved) Controller() coord.State { return s.manifest.saved.State }

// Partition returns a partition of the cut.
func (s *Saved) Partition(ref bellows.PartitionRef) (live, kept *rowstore.Image, err error) {
	return s.archive.Partition(s.ctx, s.manifest, ref)
}

// Clear removes all cuts.
func (a *Archive) Clear(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = nil
	return a.collect(ctx, math.MaxUint32)
}

// collect removes the blobs of eras up to one that no kept cut needs. A later era belongs to another process, which
// judges for itself. Manifests go first, the oldest before the others, so that a process that dies meanwhile leaves
// whole cuts.
func (a *Archive) collect(ctx context.Context, upTo bellows.Era) error {
	if err := allowed(ctx, a.guard.Remove); err != nil {
		return err
	}
	list, err := a.names(ctx)
	if err != nil {
		return err
	}
	needed := map[string]bool{}
	for _, m := range a.kept {
		needed[m.At.name()] = true
		for i := range m.Shards {
			needed[m.Shards[i].Name] = true
		}
	}
	for _, at := range slices.Backward(list) {
		if name := at.name(); !needed[name] && at.Era <= upTo {
			if err := a.store.Delete(ctx, name); err != nil {
				return err
			}
		}
	}
	var idle []string
	for info, err := range a.store.List(ctx, shardsFolder) {
		if err != nil {
			return err
		}
		if !needed[info.Name] && eraOf(info.Name) <= upTo {
			idle = append(idle, info.Name)
		}
	}
	for _, name := range idle {
		if err := a.store.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
