package run

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"bellows"
	"bellows/node/archive"
	"bellows/port/blob"
)

// A run that keeps its checkpoints at a named place claims the place for each of its eras, with a blob that is published
// only if its name is free: claims/e<ERA>. The newest claim names the owner of the place. Before a run publishes a manifest
// or removes anything, it checks that the newest claim is its own; and it removes only blobs of eras up to its current one
// (archive.Guard). So two runs cannot remove each other's checkpoints, even if each takes the other for dead: the run with
// the older claim writes no more checkpoints there, and reports why.
//
// A run never claims a place if the owner may still be running. Host names and process ids do not prove that it has ended:
// containers share host names and reuse ids. A claim therefore names the boot of the machine and the namespace of process
// ids. An owner has certainly ended if both match this process and the id is free (owner.ended). For any other owner, a
// person decides by naming the folder of the checkpoints.
//
// Rejected: a timestamp in the claim that a live run renews. Clocks of machines differ, and a process that was stopped
// for longer than the limit would wake up as owner.

const (
	// ownerBlob is a copy of the newest claim, for finding the place.
	ownerBlob = "owner.json"
	// claimsFolder begins the names of claims.
	claimsFolder = "claims/"
	// ownerMost is how many bytes of a claim are read.
	ownerMost = 1 << 16
)

// owner is a claim: it names the run to which the checkpoints belong.
type owner struct {
	Job     string      `json:"job"` // identity
	Host    string      `json:"host"`
	Boot    string      `json:"boot,omitempty"`  // of the machine; "": unknown
	Space   string      `json:"space,omitempty"` // the namespace of its process id; "": unknown
	Folder  string      `json:"folder"`
	Process int         `json:"process"`       // the process that trains
	Run     string      `json:"run,omitempty"` // the random name of the run
	Era     bellows.Era `json:"era"`
}

func claimName(era bellows.Era) string { return fmt.Sprintf("%se%010d", claimsFolder, era) }

// machine returns identifiers of this boot of the machine and of its namespace of process ids; "" if the system has none.
func machine() (boot, space string) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err == nil {
		boot = strings.TrimSpace(string(text))
	}
	if space, err = os.Readlink("/proc/self/ns/pid"); err != nil {
		space = ""
	}
	return boot, space
}

// here reports whether the process id of the claim can be looked up by this process.
func (o *owner) here() bool {
	host, err := os.Hostname()
	boot, space := machine()
	return err == nil && host == o.Host && boot == o.Boot && space == o.Space
}

// where describes the machine of the claim.
func (o *owner) where() string {
	if host, err := os.Hostname(); err == nil && host == o.Host {
		return "another container, or an earlier boot, of " + o.Host
	}
	return o.Host
}

// ended reports whether the process that trained the run has certainly ended.
func (o *owner) ended() bool {
	return o.here() && (o.Process <= 0 || o.Process == os.Getpid() || errors.Is(syscall.Kill(o.Process, 0), syscall.ESRCH))
}

// self returns the claim of this run for its current era.
func (f *Folder) self() (o owner, err error) {
	o = owner{Job: hex.EncodeToString(f.id[:]), Process: os.Getpid(), Run: f.record.Name, Era: f.Life}
	o.Boot, o.Space = machine()
	if o.Host, err = os.Hostname(); err == nil {
		o.Folder, err = filepath.Abs(f.Dir)
	}
	if err != nil {
		err = bellows.Errorf(bellows.IO, "find", f.Dir, "%w", err)
	}
	return o, err
}

// claim takes the place of the run's checkpoints for the current era. It returns an error of kind Refused if another run has claimed that era or a later one.
func (f *Folder) claim(ctx context.Context) error {
	if !f.Named() || f.claimed != nil && *f.claimed == f.Life {
		return nil
	}
	err := f.claimPlace(ctx)
	if typed := (*bellows.Error)(nil); err == nil || errors.As(err, &typed) && typed.Hint != "" {
		return err
	}
	return bellows.Errorf(bellows.CannotWrite, "write checkpoints to", Shown(f.record.Checkpoint), "%w", bellows.Pathless(err)).
		Hinted("give --checkpoint a place that can be written, or leave it out")
}

// claimPlace claims a place that this run has not claimed.
func (f *Folder) claimPlace(ctx context.Context) error {
	o, err := f.self()
	if err != nil {
		return err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	s, err := openStore(ctx, f.place())
	if err != nil {
		return err
	}
	era := f.Life
	if err := put(ctx, s, claimName(era), text, blob.Writer.PublishNew); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	f.claimed = &era
	if err := f.checkClaim(ctx); err != nil { // the claim may exist: its answer was lost, or another process of the run made it
		f.claimed = nil
		return err
	}
	return put(ctx, s, ownerBlob, text, blob.Writer.Publish)
}

// put writes a blob.
func put(ctx context.Context, s blob.Store, name string, text []byte, publish func(blob.Writer) error) error {
	w, err := s.Create(ctx, name)
	if err != nil {
		return err
	}
	if _, err = w.Write(text); err == nil {
		err = publish(w)
	}
	return errors.Join(err, w.Close())
}

// checkClaim returns an error of kind Refused if the newest claim at the place is not this run's claim of the current era.
func (f *Folder) checkClaim(ctx context.Context) error {
	s, err := openStore(ctx, f.place())
	if err != nil {
		return err
	}
	o, err := newestClaim(ctx, s)
	switch {
	case err != nil:
		return err
	case o == nil: // a person emptied the place
		return nil
	case o.Run == f.record.Name && (o.Era == f.Life && (f.Live || o.Process == os.Getpid())):
		return nil
	}
	return bellows.Errorf(bellows.Refused, "keep checkpoints at", blob.Shown(f.place()), "the run in %s on %s has claimed them", o.Folder, o.Host).
		Hinted("give --checkpoint another place, or wait until that run has ended")
}

// newestClaim reads the claim of the latest era at a place; nil: it has no claim, or one that cannot be parsed.
func newestClaim(ctx context.Context, s blob.Store) (*owner, error) {
	newest := ""
	for info, err := range s.List(ctx, claimsFolder) {
		if err != nil {
			return nil, err
		}
		newest = info.Name
	}
	if newest == "" {
		return nil, nil
	}
	return readOwner(ctx, s, newest)
}

// ownerAt returns the owner of a place; nil: it has none.
func ownerAt(ctx context.Context, s blob.Store) (*owner, error) {
	o, err := newestClaim(ctx, s)
	if o != nil || err != nil {
		return o, err
	}
	return readOwner(ctx, s, ownerBlob)
}

func readOwner(ctx context.Context, s blob.Store, name string) (*owner, error) {
	r, err := s.Open(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	o := &owner{}
	text, err := io.ReadAll(io.NewSectionReader(r, 0, min(r.Bytes(), ownerMost)))
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(text, o) != nil {
		return nil, nil
	}
	return o, nil
}

// checkOwner returns an error of kind Refused if another run may be using the checkpoints of the unfinished run in this folder, unless the command names their place.
func (f *Folder) checkOwner(ctx context.Context, asked string) error {
	o, err := f.owner(ctx)
	if err != nil || o == nil {
		return err
	}
	folder, err := filepath.Abs(f.Dir)
	if err == nil && asked != "" {
		asked, err = named(asked)
	}
	switch {
	case err != nil:
		return bellows.Errorf(bellows.IO, "find", f.Dir, "%w", err)
	case o.Run == f.record.Name && o.Folder == folder, o.Run == "", o.ended(): // in the first case this process holds the lock of the owner's folder
		return nil
	case asked == f.place() && !o.here():
		return nil
	}
	shown := blob.Shown(f.place())
	return bellows.Errorf(bellows.Refused, "resume", f.Dir, "the run in %s on %s has claimed its checkpoints at %s and may still be running", o.Folder, o.where(), shown).
		Hinted("wait until that run has ended, or add --fresh to start over; if it was killed, resume here with --checkpoint " + shown)
}

// owner returns the owner of the place of the run's checkpoints; nil: it has none, or the checkpoints are in the run folder.
func (f *Folder) owner(ctx context.Context) (*owner, error) {
	if !f.Named() {
		return nil, nil
	}
	s, err := openStore(ctx, f.place())
	if err != nil {
		return nil, err
	}
	return ownerAt(ctx, s)
}

// clear removes the run's checkpoints, unless another run has claimed their place.
func (f *Folder) clear(ctx context.Context) error {
	if err := f.CheckHeld(); err != nil && !f.Named() {
		return err
	}
	o, err := f.owner(ctx)
	if err != nil || o != nil && (o.Run != f.record.Name || o.Era > max(f.Life, f.record.Era)) {
		return err
	}
	return clearCuts(ctx, f.place())
}

// clearGiven removes the checkpoints that the previous run in the folder kept at a named place, unless another run has claimed it.
func (f *Folder) clearGiven(ctx context.Context) error {
	earlier := &Folder{record: runFile{Checkpoint: f.given, Name: f.gaveUp, Era: math.MaxUint32}}
	return earlier.clear(ctx)
}

// guard returns the checks that the archive of the run's checkpoints makes before it writes and removes.
func (f *Folder) guard() archive.Guard {
	g := archive.Guard{Write: func(context.Context) error { return f.CheckHeld() }, Remove: func(context.Context) error { return f.CheckHeld() }}
	if f.Named() {
		g = archive.Guard{Remove: f.checkClaim}
	}
	return g
}

// disown removes all claims at a place.
func disown(ctx context.Context, s blob.Store) error {
	var names []string
	for info, err := range s.List(ctx, claimsFolder) {
		if err != nil {
			return err
		}
		names = append(names, info.Name)
	}
	for _, name := range append(names, ownerBlob) {
		if err := s.Delete(ctx, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
