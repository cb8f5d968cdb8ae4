package run

import (
	"context"
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

	"bellows"
	"bellows/port/blob"
)

// A run whose folder is lost is found again where its cuts are: at the place that the command names, by a blob beside them that says whose they are (owner). The same command goes on with them
// where nobody else may be doing so: the run was of this machine, its folder is gone, and so is its process. Of any other it says why it begins anew, and how to go on with it: by naming the very folder of the
// run, below the place. Two processes that write to one archive would each take away what the other needs.

// ownerBlob names what says whose the cuts beside it are.
const ownerBlob = "owner.json"

// ownerMost is how many bytes of one are read.
const ownerMost = 1 << 16

// owner is whose the cuts at a place are.
type owner struct {
	Job     string `json:"job"` // identity
	Host    string `json:"host"`
	Folder  string `json:"folder"`
	Process int    `json:"process"` // that trains
}

// own writes down whose the cuts are that are kept at a place of their own.
func (f *Folder) own(ctx context.Context) error {
	if !f.Named() {
		return nil
	}
	host, err := os.Hostname()
	o := owner{Job: hex.EncodeToString(f.id[:]), Host: host, Process: os.Getpid()}
	if err == nil {
		o.Folder, err = filepath.Abs(f.Dir)
	}
	if err != nil {
		return bellows.Errorf(bellows.IO, "find", f.Dir, "%w", err)
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	s, err := openStore(ctx, f.place())
	if err == nil {
		err = disown(ctx, s)
	}
	if err != nil {
		return err
	}
	w, err := s.Create(ctx, ownerBlob)
	if err != nil {
		return err
	}
	if _, err = w.Write(append(text, '\n')); err == nil {
		err = w.Publish()
	}
	return errors.Join(err, w.Close())
}

func disown(ctx context.Context, s blob.Store) error {
	if err := s.Delete(ctx, ownerBlob); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ownerAt is whose the cuts of a store are; nil: nobody has said so that this program understands.
func ownerAt(ctx context.Context, s blob.Store) (*owner, error) {
	r, err := s.Open(ctx, ownerBlob)
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

// find looks for cuts of the same job at a place where a run without any would begin to keep its own: "" and why each that is there is left alone, or where they are. The newest life counts.
func (f *Folder) find(ctx context.Context, asked, app string) (where string, err error) {
	s, err := openStore(ctx, asked)
	if err != nil {
		return "", err
	}
	o, err := ownerAt(ctx, s)
	if err != nil {
		return "", err
	}
	if o != nil && o.Job == hex.EncodeToString(f.id[:]) { // it was named itself
		if o.here() && o.lives() {
			return "", bellows.Errorf(bellows.Refused, "keep checkpoints at", blob.Shown(asked), "process %d trains the run in %s, and keeps its own there", o.Process, o.Folder)
		}
		_, any, err := f.cutsAt(ctx, asked)
		if err != nil || any {
			return asked, err
		}
	}
	newest := bellows.Era(0)
	for info, err := range s.List(ctx, app+"-") {
		if err != nil {
			return "", err
		}
		name, is := strings.CutSuffix(info.Name, "/"+ownerBlob)
		if !is || strings.Contains(name, "/") {
			continue
		}
		at := beneath(asked, name)
		era, any, why, err := f.mayAdopt(ctx, at)
		switch {
		case err != nil:
			return "", err
		case why != "":
			f.Left = append(f.Left, why)
		case any && (where == "" || era > newest):
			where, newest = at, era
		}
	}
	return where, nil
}

// cutsAt is the newest life that has a cut at a place; any: one has.
func (f *Folder) cutsAt(ctx context.Context, place string) (era bellows.Era, any bool, err error) {
	g := &Folder{id: f.id, tables: f.tables, record: runFile{Checkpoint: place}}
	if err := g.openCuts(ctx); err != nil {
		return 0, false, err
	}
	return g.cuts.Era(ctx)
}

// mayAdopt says whether there are cuts of this job at a place, and why they are left alone all the same; "": they need not be.
func (f *Folder) mayAdopt(ctx context.Context, at string) (era bellows.Era, any bool, why string, err error) {
	s, err := openStore(ctx, at)
	if err != nil {
		return 0, false, "", err
	}
	o, err := ownerAt(ctx, s)
	if err != nil || o == nil || o.Job != hex.EncodeToString(f.id[:]) {
		return 0, false, "", err
	}
	if era, any, err = f.cutsAt(ctx, at); err != nil || !any {
		return 0, false, "", err
	}
	const anew = "the checkpoint of the same job at %s is left alone, and this run begins anew: "
	r := readRecord(o.Folder)
	theirs := false
	if r != nil && r.Checkpoint != "" {
		t, err := openStore(ctx, r.Checkpoint)
		theirs = err == nil && t.URI("") == s.URI("") // by whatever name
	}
	switch shown := blob.Shown(at); {
	case !o.here():
		why = fmt.Sprintf(anew+"it is of the run in %s on %s, where that may be trained still; if it is not, --checkpoint %s goes on with it here", shown, o.Folder, o.Host, shown)
	case theirs:
		why = fmt.Sprintf(anew+"it is of the run in %s; --out %s goes on with it", shown, o.Folder, o.Folder)
	case o.lives():
		why = fmt.Sprintf(anew+"process %d, which trains the run that was in %s, has not ended", shown, o.Process, o.Folder)
	}
	return era, any, why, nil
}

// here reports whether the run was of this machine.
func (o *owner) here() bool {
	host, err := os.Hostname()
	return err == nil && host == o.Host
}

// lives reports whether the process is there that has trained the run, or another of its number.
func (o *owner) lives() bool {
	return o.Process > 0 && o.Process != os.Getpid() && !errors.Is(syscall.Kill(o.Process, 0), syscall.ESRCH)
}
