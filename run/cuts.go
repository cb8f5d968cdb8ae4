package run

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"bellows"
	"bellows/core/coord"
	"bellows/node"
	"bellows/node/archive"
	"bellows/port/blob"
	"bellows/port/blob/file"
	"bellows/port/blob/s3"
	"bellows/table"
	"bellows/train"
)

// checkpointFolder holds the cuts of a run in its folder, unless the run keeps them elsewhere.
const checkpointFolder = "checkpoint"

// NoCheckpoints is the place of a run that keeps none while it trains.
const NoCheckpoints = "none"

// schemes are the places that a run can keep its cuts at.
var schemes = blob.Schemes{"file": file.Open, "s3": s3.Open}

// Stores are the places whose blobs are read as DATA, whatever program wrote them.
var Stores = blob.Schemes{"s3": s3.Options{Others: true}.Open, "gs": s3.Options{Others: true}.Open}

// openStore opens a place by its URI, or by the path of a folder.
func openStore(ctx context.Context, place string) (blob.Store, error) {
	if !strings.Contains(place, "://") {
		return file.InFolder(place), nil
	}
	return schemes.Open(ctx, place)
}

// CheckPlace refuses a place that --checkpoint cannot name.
func CheckPlace(ctx context.Context, place string) error {
	if place == "" || place == NoCheckpoints {
		return nil
	}
	_, err := openStore(ctx, place)
	return err
}

// Shown returns a place as it may be shown: without a user and a password.
func Shown(place string) string { return blob.Shown(place) }

// isFolder reports whether a place is a folder of this machine, by its path or as file://.
func isFolder(place string) bool {
	return !strings.Contains(place, "://") || strings.HasPrefix(place, "file://")
}

// Reach checks that a remote place answers, so that a training does not learn at its first checkpoint that it does not.
func Reach(ctx context.Context, place string) error {
	if place == "" || place == NoCheckpoints || isFolder(place) {
		return nil
	}
	s, err := openStore(ctx, place)
	if err != nil {
		return err
	}
	for _, err := range s.List(ctx, cutsOfNobody) {
		return err
	}
	return nil
}

// cutsOfNobody begins no blob's name.
const cutsOfNobody = "none/"

// beneath returns a place below another. Of a URI the query stays behind.
func beneath(place, name string) string {
	query := ""
	if strings.Contains(place, "://") {
		if at := strings.IndexByte(place, '?'); at >= 0 {
			place, query = place[:at], place[at:]
		}
	}
	return strings.TrimSuffix(place, "/") + "/" + name + query
}

// named returns a place as it is kept: the path of a folder is whole.
func named(place string) (string, error) {
	if strings.Contains(place, "://") {
		return place, nil
	}
	whole, err := filepath.Abs(place)
	if err != nil {
		return "", bellows.Errorf(bellows.IO, "find", place, "%w", err)
	}
	return whole, nil
}

// lastOf returns the folder of a run below the place that was asked for.
func lastOf(place string) string {
	if strings.Contains(place, "://") {
		place, _, _ = strings.Cut(place, "?")
	}
	return place[strings.LastIndexByte(place, '/')+1:]
}

// identity returns what makes a job the same: its command, and its tables, which follow from that and from the program.
func identity(c *Config, tables []table.Schema) archive.ID {
	h := sha256.New()
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // strings and numbers
	}
	h.Write(text)
	for i := range tables {
		s := &tables[i]
		fmt.Fprintf(h, "\n%q %v %d %d %d %d %+v", s.Name, s.Sparse, s.Rows, s.Width, s.DType, s.Cut().Len(), s.Rule)
	}
	return archive.ID(h.Sum(nil))
}

// place returns where the run's cuts are, as openStore takes it.
func (f *Folder) place() string {
	if f.record.Checkpoint != "" {
		return f.record.Checkpoint
	}
	return filepath.Join(f.Dir, checkpointFolder)
}

// settle decides where the cuts of this run are from now on: where the resumed run has them, or where the command wants
// them. There the run has a folder of its own, so that several runs may use one place.
func (f *Folder) settle(req Request, was string) error {
	asked := req.Checkpoint
	if asked == "" || asked == NoCheckpoints {
		if f.Resumed {
			f.record.Checkpoint = was
		}
		return nil
	}
	asked, err := named(asked)
	switch {
	case err != nil:
		return err
	case f.Resumed && was != "" && (was == beneath(asked, lastOf(was)) || was == asked):
		f.record.Checkpoint = was
	case f.Resumed:
		where := was
		if was == "" {
			where = filepath.Join(f.Dir, checkpointFolder)
		}
		return bellows.Errorf(bellows.Refused, "keep checkpoints at", blob.Shown(asked), "the unfinished run in %s has its own at %s", f.Dir, where).
			Hinted("leave --checkpoint out, or add --fresh to give that run up and start over")
	default:
		if err := Reach(context.Background(), asked); err != nil {
			return err
		}
		if !req.Fresh {
			if f.Found, err = f.find(context.Background(), asked, req.Config.App); err != nil || f.Found != "" {
				f.record.Checkpoint = f.Found
				return err
			}
		}
		f.record.Checkpoint = beneath(asked, req.Config.App+"-"+strings.ToLower(rand.Text()[:12]))
	}
	return nil
}

// openCuts opens the archive of the run's cuts.
func (f *Folder) openCuts(ctx context.Context) error {
	s, err := openStore(ctx, f.place())
	if err != nil {
		return err
	}
	if f.cuts, err = archive.Open(s, f.id, f.tables); err == nil {
		f.cuts.SetGuard(f.guard())
	}
	return err
}

// latest finds the cut from which an unfinished run resumes. If it has cuts and none is complete, that is an error and
// nothing is changed: they may be all that is left of days of work.
func (f *Folder) latest(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(f.Dir, imageFile)); err == nil {
		return &bellows.Error{Kind: bellows.BadData, Op: "resume from", Subject: filepath.Join(f.Dir, imageFile), Err: errors.New("an older version of this program has saved it, and this one reads checkpoints alone"),
			Hint: "resume with that version, or add --fresh to discard that run and start over; until then it stays as it is"}
	}
	if err := f.openCuts(ctx); err != nil {
		return err
	}
	o, err := f.owner(ctx)
	if err == nil && o != nil { // it may have come to no cut
		f.Life = max(f.Life, o.Era+1)
	}
	era, any := bellows.Era(0), false
	if err == nil {
		era, any, err = f.cuts.Era(ctx)
	}
	if err == nil && any {
		f.Life = max(f.Life, era+1)
		f.Saved, f.Passed, err = f.cuts.Latest(ctx)
	}
	if err == nil && f.Saved != nil {
		if err = json.Unmarshal(f.Saved.Run, &f.Before); err != nil {
			err = bellows.Errorf(bellows.BadData, "resume from", f.place(), "the figures of its run cannot be read: %w", err)
		}
		f.goesOn = true
	}
	if err == nil {
		return nil
	}
	var e *bellows.Error
	if errors.As(err, &e) && e.Hint == "" {
		e.Hint = "add --fresh to give that run up and start over; until then it stays as it is"
		if e.Kind != bellows.BadData {
			e.Hint = "try again, or " + e.Hint
		}
	}
	return err
}

// follow continues an attempt of the run that another process led, with its cuts and its log.
func (f *Folder) follow(begun bellows.Era, req Request) error {
	life := req.Era
	apart := func(format string, args ...any) error {
		return bellows.Errorf(bellows.Lost, "resume", f.Dir, format, args...)
	}
	var r Reference
	if err := json.Unmarshal(req.Follow, &r); err != nil {
		return apart("what the process that led has left cannot be read: %w", err)
	}
	place, err := named(f.place())
	switch {
	case err != nil:
		return apart("%w", err)
	case begun != life:
		return apart("era %d of it has begun, and its nodes are in era %d", begun, life)
	case f.Orderly:
		return apart("it was interrupted at a safe point meanwhile")
	case r.ID != hex.EncodeToString(f.id[:]) || r.Place != place:
		return apart("its nodes run another job than the one that is there")
	case f.Saved != nil && f.Saved.At.Era == life: // of this life
	case f.Saved == nil != (r.From == nil) || f.Saved != nil && f.Saved.At != *r.From:
		return apart("the checkpoint that its nodes began with is not there any more")
	}
	f.Life, f.proof, f.goesOn = life, r.Proof, true
	return nil
}

// RollBack restarts the run of this process after its attempt has ended, as the same command would: from its newest
// complete cut, or from its beginning if there is none. The new attempt has a higher era than all before it.
func (f *Folder) RollBack(ctx context.Context) error {
	if err := f.CheckHeld(); err != nil {
		return err
	}
	f.Live = false
	f.Saved, f.Passed, f.Before = nil, nil, Progress{}
	f.Life++
	if err := f.latest(ctx); err != nil {
		return err
	}
	return f.Enter()
}

// Enter writes down which life of the run is about to begin, where the run has a record: before its processes are started, so that those of no other have its number.
func (f *Folder) Enter() error {
	if err := f.CheckHeld(); err != nil {
		return err
	}
	r := readRecord(f.Dir)
	if r == nil || !f.begun && !f.Resumed || r.Era == f.Life {
		return nil
	}
	if err := f.claim(context.Background()); err != nil {
		return err
	}
	r.Era, f.record.Era, r.Name = f.Life, f.Life, f.record.Name
	if err := r.write(f.Dir); err != nil {
		return cannotMake(f.Dir, err)
	}
	return nil
}

// Same refuses an attempt of the run on other data than those that it began with.
func (f *Folder) Same(c Config) error {
	if f.record.Config.same(&c) {
		return nil
	}
	return bellows.Errorf(bellows.Refused, "resume", f.Dir, "its data were changed while it was trained")
}

// hasCutsMost limits the wait for a store when a run is only inspected.
const hasCutsMost = 3 * time.Second

// hasCuts reports whether there is one, whole or not. Nobody knows of a store that cannot be asked.
func (f *Folder) hasCuts() bool {
	ctx, cancel := context.WithTimeout(context.Background(), hasCutsMost)
	defer cancel()
	if f.openCuts(ctx) != nil {
		return false
	}
	_, any, err := f.cuts.Era(ctx)
	return any && err == nil
}

// clearCuts removes all cuts that are at a place, and the folders in which they were.
func clearCuts(ctx context.Context, place string) error {
	s, err := openStore(ctx, place)
	if err != nil {
		return err
	}
	a, err := archive.Open(s, archive.ID{}, nil)
	if err == nil {
		err = a.Clear(ctx)
	}
	if err == nil {
		err = clearProofs(ctx, s)
	}
	if err == nil {
		err = disown(ctx, s)
	}
	if err != nil {
		return err
	}
	if path, ok := strings.CutPrefix(s.URI(""), "file://"); ok {
		for _, dir := range []string{"cuts", "shards", "proof", "claims", ""} {
			dir = filepath.Join(filepath.FromSlash(path), dir)
			file.RemoveDrafts(dir)
			if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				break // the folder holds other files
			}
		}
	}
	return nil
}

// A Reference is what another process needs to resume from the same cut, and to write to the same archive: as JSON.
type Reference struct {
	Place string
	ID    string
	Keep  bool        // the job is saved while it runs
	From  *archive.At `json:",omitempty"` // nil: it begins
	// Proof is a blob that is at the place while this life runs: a process of another machine that does not find it looks at another place of the same name. "": it is known to be of this machine.
	Proof string `json:",omitempty"`
	Named bool   `json:",omitempty"` // the command names the place, so that all are to reach it
	// Inode is the inode of the run folder that contains the place: a process of the same machine writes nothing to another folder of that name. 0: the place is elsewhere.
	Inode uint64 `json:",omitempty"`
}

// Named reports whether the cuts are at a place of their own, and not in the run's folder.
func (f *Folder) Named() bool { return f.record.Checkpoint != "" }

// proofs begins the names of blobs that prove to a process which place is meant.
const proofs = "proof/"

// Prove puts at the place of the run's cuts what a process that is to write there must find, in place of what another life has left. It is gone with the cuts.
func (f *Folder) Prove(ctx context.Context) error {
	err := f.CheckHeld()
	if err == nil && (f.begun || f.Resumed) { // a new place has no other claim
		err = f.claim(ctx)
	}
	if err != nil {
		return err
	}
	s, err := openStore(ctx, f.place())
	if err == nil {
		err = clearProofs(ctx, s)
	}
	if err != nil {
		return err
	}
	f.proof = proofs + strings.ToLower(rand.Text())
	return f.prove(ctx)
}

// prove writes the proof that was drawn, if one was.
func (f *Folder) prove(ctx context.Context) error {
	if f.proof == "" {
		return nil
	}
	s, err := openStore(ctx, f.place())
	if err != nil {
		return err
	}
	w, err := s.Create(ctx, f.proof)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, "a run keeps its checkpoints here\n")
	if err == nil {
		err = w.Publish()
	}
	return errors.Join(err, w.Close())
}

func clearProofs(ctx context.Context, s blob.Store) error {
	var old []string
	for info, err := range s.List(ctx, proofs) {
		if err != nil {
			return err
		}
		old = append(old, info.Name)
	}
	for _, name := range old {
		if err := s.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// Reference returns the reference of this run. keep: it is saved while it runs. later is for a process that joins while
// the job runs: it names no cut, because the cut from which the run resumes is removed once it has others, and a
// joining process owns nothing yet.
func (f *Folder) Reference(keep bool) (first, later []byte, err error) {
	place, err := named(f.place())
	if err != nil {
		return nil, nil, err
	}
	r := Reference{Place: place, ID: hex.EncodeToString(f.id[:]), Keep: keep, Proof: f.proof, Named: f.Named()}
	if !f.Named() {
		r.Inode = inode(f.Dir)
	}
	if later, err = json.Marshal(r); err != nil {
		return nil, nil, err
	}
	if f.Saved != nil {
		r.From = &f.Saved.At
	}
	first, err = json.Marshal(r)
	return first, later, err
}

// Refer opens what a reference says, for a job with these tables. saved is nil where it begins.
func Refer(ctx context.Context, reference []byte, tables []table.Schema) (c *node.Checkpoints, saved train.Saved, err error) {
	var a *archive.Archive
	var r Reference
	var id archive.ID
	err = json.Unmarshal(reference, &r)
	if err == nil {
		if n, wrong := hex.Decode(id[:], []byte(r.ID)[:min(len(r.ID), 2*len(id))]); wrong != nil || n != len(id) {
			err = errors.New("it names no job")
		}
	}
	if err != nil {
		return nil, nil, bellows.Errorf(bellows.Usage, "take assignment", "its checkpoint", "%w", err)
	}
	s, err := openStore(ctx, r.Place)
	if err == nil {
		a, err = archive.Open(s, id, tables)
	}
	if err != nil {
		return nil, nil, err
	}
	if r.Proof != "" {
		_, err := s.Stat(ctx, r.Proof)
		elsewhere := errors.Is(err, fs.ErrNotExist)
		switch {
		case elsewhere && (r.Named || r.From != nil):
			return nil, nil, bellows.Errorf(bellows.Config, "keep checkpoints at", Shown(r.Place), "this machine does not have the same place of that name as node 0").
				Hinted("give --checkpoint a place that all machines of the job reach, such as a folder that they share")
		case elsewhere: // what this node holds is in no cut, which is said at each
			r.Keep = false
		case err != nil:
			return nil, nil, err
		}
	}
	if r.Keep {
		c = &node.Checkpoints{Archive: a}
		a.SetGuard(archive.Guard{Write: func(ctx context.Context) error { return r.checkFolder(ctx, s) }})
	}
	if r.From == nil {
		return c, nil, nil
	}
	m, err := a.Cut(ctx, *r.From)
	if err != nil {
		return nil, nil, err
	}
	return c, a.Saved(context.WithoutCancel(ctx), m), nil
}

// checkFolder returns an error if the run folder that contains the place was removed or replaced.
func (r *Reference) checkFolder(ctx context.Context, s blob.Store) error {
	if r.Named || r.Inode == 0 {
		return nil
	}
	var err error
	if r.Proof != "" {
		_, err = s.Stat(ctx, r.Proof)
	} else if inode(filepath.Dir(r.Place)) != r.Inode {
		err = fs.ErrNotExist
	}
	if errors.Is(err, fs.ErrNotExist) {
		return bellows.Errorf(bellows.CannotWrite, "keep checkpoints at", r.Place, "the run folder was removed during the run")
	}
	return err
}

// inode returns the inode of a folder; 0: the folder does not exist, or the file system has no inodes.
func inode(dir string) uint64 {
	info, err := os.Stat(dir)
	if err != nil {
		return 0
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino)
	}
	return 0
}

// everyLeast is the least time between two checkpoints: each is several files that are synced.
const everyLeast = 10 * time.Millisecond

// ParseEvery returns the time between two checkpoints that a setting names; 0 for "auto": as node.Interval has it.
func ParseEvery(text string) (time.Duration, error) {
	if text == "auto" || text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < everyLeast {
		return 0, fmt.Errorf("it must be auto or a time of at least %v, such as 60s", everyLeast)
	}
	return d, nil
}

// Checkpoints returns how the run is saved while it runs: nowhere but where its cuts are. With each is kept what the
// run has cost until then, and of the audit what was known when this life began: what this life has sent and applied
// by then only its end can say.
func (f *Folder) Checkpoints(every time.Duration) (*node.Checkpoints, error) {
	if f.cuts == nil {
		if err := f.openCuts(context.Background()); err != nil {
			return nil, err
		}
	}
	return &node.Checkpoints{Archive: f.cuts, Every: every, Note: func(so node.Spent) json.RawMessage {
		text, err := json.Marshal(Progress{Seconds: f.Before.Seconds + so.Trained.Seconds(), Account: f.Before.Account})
		if err != nil {
			panic(err) // numbers
		}
		return text
	}}, nil
}

// GoOn returns the cut from which the run resumes; nil: it begins.
func (f *Folder) GoOn(ctx context.Context) train.Saved {
	if f.Saved == nil {
		return nil
	}
	return f.cuts.Saved(ctx, f.Saved)
}

// Interrupted stores the runtime's state for the next Claim of the same Config, and the run's cost so far: as the run's
// last cut, after the given number of commits of this attempt. wrote gets the bytes written. With a nil image the next
// Claim starts over.
func (f *Folder) Interrupted(ctx context.Context, im *train.Image, commits bellows.CommitNumber, so Progress, wrote func(bytes int64)) error {
	if err := f.Begin(); err != nil {
		return err
	}
	f.record.Progress = so
	var err error
	if im == nil {
		err = f.clear(ctx)
	} else {
		err = f.keep(ctx, im, archive.At{Era: f.Life, Commit: commits + 1}, so, wrote) // a cut that was taken while it ran may be of the last commit
	}
	return f.end(interrupted, err)
}

// keep writes an image as a cut.
func (f *Folder) keep(ctx context.Context, im *train.Image, at archive.At, so Progress, wrote func(bytes int64)) error {
	if f.cuts == nil {
		if err := f.openCuts(ctx); err != nil {
			return err
		}
	}
	note, err := json.Marshal(so)
	if err != nil {
		return err
	}
	c, err := f.cuts.Begin(at)
	if err != nil {
		return err
	}
	for t := range f.tables {
		for p := range f.tables[t].Cut().Len() {
			ref, before := bellows.PartitionRef{Table: bellows.TableID(t), Partition: bellows.PartitionID(p)}, c.Written()
			live, kept, err := im.Partition(ref)
			if err == nil {
				err = c.Put(ctx, ref, live, kept)
			}
			if err != nil {
				return err
			}
			wrote(c.Written() - before)
		}
	}
	_, _, err = c.Publish(ctx, &coord.Saved{State: im.State}, note, time.Now()) // what is not needed any more goes with the run
	return err
}
