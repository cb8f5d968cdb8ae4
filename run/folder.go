package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"bellows"
	"bellows/node/archive"
	"bellows/policy/gauge"
	"bellows/port/blob/file"
	"bellows/run/event"
	"bellows/table"
)

// Folder is the folder of one run, locked by this process.
//
// States: claimed, in which nothing is written; begun, when the job has started; closed. A start that fails changes no
// file and leaves no new folder (TestAStartThatFailsLeavesNothing).
//
// Invariants:
//   - Only files of the run are replaced or removed: those of its record, and those that the manifest of its model
//     lists (TestForeignFilesAreNeverReplaced).
//   - A folder that was replaced by another is not written: the path is compared with the lock before each write
//     (CheckHeld, TestRemovedFolderIsNotWritten).
//   - The checkpoints at a named place are written and removed only by the run with the newest claim there
//     (claim.go, TestSecondClaimFencesTheFirst).
type Folder struct {
	Dir     string
	Resumed bool              // an unfinished run of the same Config resumes here
	Found   string            // the place of this job's cuts, if its folder is lost; "": none
	Left    []string          // why other cuts of this job are not used, a sentence each
	Orderly bool              // it was interrupted at a safe point, without lost work
	Live    bool              // its nodes still run, and this process takes over their leadership
	Apart   error             // why Live is false although Request.Follow is set
	Saved   *archive.Manifest // the cut from which it resumes; nil: it starts over
	Passed  []archive.Passed  // newer cuts, all damaged
	Life    bellows.Era       // the era from now on: newer than every era of the run and of its cuts
	Before  Progress          // progress before the cut; zero without one
	Log     *event.Log
	Output  Output   // of its processes
	made    []string // folders that Claim made; the last is Dir
	goesOn  bool     // from a cut
	begun   bool
	lock    *os.File
	old     []earlier // folders before Elsewhere
	record  runFile
	id      archive.ID
	tables  []table.Schema
	cuts    *archive.Archive // nil: not opened yet
	proof   string           // proof that processes of other machines must find at the place of the cuts; "": none
	given   string           // place of the cuts of another run, which Begin discards; "": none
	gaveUp  string           // the random name of that run
	claimed *bellows.Era     // the last era for which the place of the cuts was claimed; nil: none
}

// earlier is a folder that Elsewhere replaced by another.
type earlier struct {
	lock       *os.File
	checkpoint string
	cuts       *archive.Archive
}

// Request is the request for a folder, for Claim.
type Request struct {
	Config   Config
	Out      string // --out; "" is runs/PREFIX-N (Prefix), the N of an unfinished run of Config or the next free one
	Fresh    bool   // start over: discard an unfinished run, or the model of another command
	Versions map[string]string
	Tables   []table.Schema // of the job
	// Checkpoint is the place for cuts: the URI of a store, or the path of a folder; "": the run's folder; or
	// NoCheckpoints.
	Checkpoint string
	// Order names the job of a cluster that asks for the folder; "": none. Such a job resumes its own run even with Fresh.
	Order string
	// Follow is the Reference of running nodes that this process is to lead. If that is not possible, a new attempt
	// begins, and Folder.Apart says why. nil: a new attempt begins.
	Follow []byte
	Era    bellows.Era // of those nodes
}

// runsFolder holds the folders of runs without --out.
const runsFolder = "runs"

var errHeld = errors.New("another process is training in it")

// Occupied reports whether Claim failed because another process trains in the folder.
func Occupied(err error) bool { return errors.Is(err, errHeld) }

// Claim finds or makes the run's folder and locks it. Errors are of kind CannotWrite; BadData for a run whose checkpoints
// are all damaged; or Refused for a folder that is in use, or that holds files of others.
func Claim(req Request) (*Folder, error) {
	if req.Out != "" {
		return claimNamed(req)
	}
	prefix := Prefix(req.Config.App, req.Config.Data)
	old, err := filepath.Glob(filepath.Join(runsFolder, prefix+"-*"))
	if err != nil {
		return nil, cannotMake(runsFolder, err)
	}
	last := 0
	slices.SortFunc(old, func(a, b string) int {
		return cmp.Compare(folderNumber(prefix, a), folderNumber(prefix, b))
	})
	for _, dir := range old {
		last = max(last, folderNumber(prefix, dir))
		if r := readRecord(dir); r == nil || r.State == done || !r.Config.same(&req.Config) {
			continue
		}
		f, err := open(dir)
		if errors.Is(err, errHeld) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return f.take(req)
	}
	return claimNext(req, last+1)
}

// claimNext makes runs/PREFIX-N for the next N that no other process takes first.
func claimNext(req Request, n int) (*Folder, error) {
	made, err := makeFolders(runsFolder)
	if err != nil {
		return nil, cannotMake(runsFolder, err)
	}
	for ; ; n++ {
		dir := filepath.Join(runsFolder, fmt.Sprintf("%s-%d", Prefix(req.Config.App, req.Config.Data), n))
		err := os.Mkdir(dir, 0o777)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			unmake(made)
			return nil, cannotMake(dir, err)
		}
		return openMade(dir, append(made, dir), req)
	}
}

func claimNamed(req Request) (*Folder, error) {
	made, err := makeFolders(req.Out)
	if err != nil {
		return nil, cannotMake(req.Out, err)
	}
	return openMade(req.Out, made, req)
}

// openMade opens a folder; made are the folders that were created for it.
func openMade(dir string, made []string, req Request) (*Folder, error) {
	f, err := open(dir)
	if err != nil {
		unmake(made)
		return nil, err
	}
	f.made = made
	return f.take(req)
}

// makeFolders makes a folder and those above it, and says which were not there. Either all are there in the end, or no new one.
func makeFolders(dir string) (made []string, err error) {
	var missing []string
	for p := filepath.Clean(dir); ; p = filepath.Dir(p) {
		if _, err := os.Stat(p); err == nil || p == filepath.Dir(p) {
			break
		}
		missing = append(missing, p)
	}
	for _, p := range slices.Backward(missing) {
		err := os.Mkdir(p, 0o777)
		if errors.Is(err, fs.ErrExist) {
			continue // another process was first
		}
		if err != nil {
			unmake(made)
			return nil, err
		}
		made = append(made, p)
	}
	return made, nil
}

// unmake removes folders that were created in vain. A folder with content stays: something uses it by now.
func unmake(made []string) {
	for _, p := range slices.Backward(made) {
		os.Remove(p)
	}
}

func cannotMake(dir string, err error) error {
	return &bellows.Error{Kind: bellows.CannotWrite, Op: "make run folder", Subject: dir, Err: err,
		Hint: "give --out a folder that can be written"}
}

// open locks a folder that exists. The lock is on the folder itself and ends with the process.
func open(dir string) (*Folder, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, cannotMake(dir, err)
	}
	if !info.IsDir() {
		return nil, cannotMake(dir, syscall.ENOTDIR)
	}
	d, err := os.Open(dir)
	if err != nil {
		return nil, cannotMake(dir, err)
	}
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		d.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &bellows.Error{Kind: bellows.Refused, Op: "use run folder", Subject: dir, Err: errHeld,
				Hint: "wait for it, or give --out another folder"}
		}
		return nil, cannotMake(dir, err)
	}
	f := &Folder{Dir: dir, lock: d}
	if err := f.CheckHeld(); err != nil { // it was replaced between the two calls
		d.Close()
		return nil, err
	}
	return f, nil
}

// take takes up the unfinished run in the folder, or starts one, if nothing but that run is there. Now that the folder is
// locked its record is read again.
func (f *Folder) take(req Request) (*Folder, error) {
	r := readRecord(f.Dir)
	same := r != nil && r.Config.same(&req.Config)
	f.id, f.tables = identity(&req.Config, req.Tables), req.Tables
	was := ""
	if r != nil {
		was = r.Checkpoint
	}
	own := r != nil && req.Order != "" && r.Order == req.Order
	f.Resumed = same && r.State != done && (!req.Fresh || own)
	f.Orderly = f.Resumed && r.State == interrupted
	f.record.Name = strings.ToLower(rand.Text()[:12])
	if f.Resumed && r.Name != "" {
		f.record.Name = r.Name
	}
	err := f.settle(req, was)
	switch {
	case err != nil:
	case f.Resumed:
		f.Life = r.Era + 1
		if err = f.checkOwner(context.Background(), req.Checkpoint); err == nil {
			err = f.latest(context.Background())
		}
		if err == nil && req.Follow != nil {
			f.Apart = f.follow(r.Era, req)
			f.Live = f.Apart == nil
		}
	case !same:
		err = f.yield(r, req.Fresh && !own)
	}
	if err == nil && f.Found != "" {
		f.Resumed = true
		err = f.latest(context.Background())
	}
	if !f.Resumed {
		f.given = was
	}
	if r != nil {
		f.gaveUp = r.Name
	}
	if err == nil {
		f.Log, err = event.OpenLog(f.Dir, f.goesOn)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	f.record.Format, f.record.State, f.record.Config, f.record.Versions, f.record.Progress = recordFormat, running, req.Config, req.Versions, f.Before
	f.record.Order, f.record.Era = req.Order, f.Life
	return f, nil
}

// Begin records that the job has started. It removes what was there of another run, and records this one. Calling it
// twice is allowed.
func (f *Folder) Begin() error {
	if f.begun {
		return nil
	}
	f.begun = true
	err := f.CheckHeld()
	if err == nil && !f.goesOn {
		err = errors.Join(f.drop(imageFile), f.drop(metricsFile), f.drop(figuresFile), clearCuts(context.Background(), filepath.Join(f.Dir, checkpointFolder)))
		if f.given != "" {
			err = errors.Join(err, f.clearGiven(context.Background()))
		}
		if err == nil {
			err = f.prove(context.Background())
		}
	}
	if err == nil {
		err = f.claim(context.Background())
	}
	if err == nil {
		err = f.Log.Begin()
	}
	if err == nil {
		err = f.Output.begin(f.Dir, f.goesOn, f.CheckHeld)
	}
	if err == nil {
		err = f.record.write(f.Dir)
	}
	if err == nil {
		return nil
	}
	if len(f.made) > 0 && f.CheckHeld() == nil { // nothing was in it
		f.begun = false
		for _, name := range ownFiles {
			_ = f.drop(name)
		}
	}
	if typed := (*bellows.Error)(nil); errors.As(err, &typed) && typed.Hint != "" { // it says what to do
		return err
	}
	return cannotMake(f.Dir, err)
}

// CheckHeld returns an error of kind CannotWrite if the folder's path no longer leads to the folder that this run has
// locked: it was removed or renamed, and a folder with its name is not this run's.
func (f *Folder) CheckHeld() error {
	if f.lock == nil {
		return nil
	}
	locked, err := f.lock.Stat()
	if err != nil {
		return cannotMake(f.Dir, err)
	}
	now, err := os.Stat(f.Dir)
	var why error
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		why = errors.New("it was removed during the run")
	case err != nil:
		return cannotMake(f.Dir, err)
	case !os.SameFile(locked, now):
		why = errors.New("it was removed during the run; another folder has its name now, and nothing is written to that one")
	default:
		return nil
	}
	return &bellows.Error{Kind: bellows.CannotWrite, Op: "write run folder", Subject: f.Dir, Err: why,
		Hint: "stop a run before you remove its folder; train again with --out and another folder"}
}

// Begun reports whether the run has begun.
func (f *Folder) Begun() bool { return f.begun }

// Elsewhere makes a new folder below parent the run's folder, if its own cannot be written any more. From now on
// everything is stored there, and the same command resumes from what an interruption leaves in it, if it is named
// (--out). The log stays where it is, and so does the content of the old folder.
func (f *Folder) Elsewhere(parent string) error {
	dir, err := os.MkdirTemp(parent, filepath.Base(f.Dir)+"-saved-")
	if err != nil {
		return cannotMake(parent, err)
	}
	g, err := open(dir)
	if err != nil {
		return err
	}
	f.Dir, f.old = dir, append(f.old, earlier{f.lock, f.record.Checkpoint, f.cuts})
	f.lock, f.record.Checkpoint, f.cuts = g.lock, "", nil
	return nil
}

// RestoreFolder removes a folder that Elsewhere has made, with its content, and returns to the previous one.
func (f *Folder) RestoreFolder(dir string) error {
	gone := f.Dir
	last := len(f.old) - 1
	err := f.lock.Close()
	f.Dir, f.lock, f.record.Checkpoint, f.cuts, f.old = dir, f.old[last].lock, f.old[last].checkpoint, f.old[last].cuts, f.old[:last]
	return errors.Join(err, os.RemoveAll(gone))
}

// Measured stores the run's figures as JSON, in place of those of an earlier process. A run that has not begun has none.
func (f *Folder) Measured(figures any) error {
	return f.store(metricsFile, figures)
}

// KeepFigures stores the figures of the run, from which the times of other shapes are predicted.
func (f *Folder) KeepFigures(measured *gauge.Figures) error { return f.store(figuresFile, measured) }

// store stores an object as JSON.
func (f *Folder) store(name string, object any) error {
	if !f.begun {
		return nil
	}
	if err := f.CheckHeld(); err != nil {
		return err
	}
	text, err := json.Marshal(object)
	if err == nil {
		err = file.Replace(filepath.Join(f.Dir, name), bytesOf(append(text, '\n')))
	}
	if err != nil {
		return &bellows.Error{Kind: bellows.IO, Op: "write run folder", Subject: f.Dir, Err: err}
	}
	return nil
}

// Done marks the run as finished, and keeps its cost and what is to be printed about it (Finish). The same command then
// starts another run.
func (f *Folder) Done(so Progress, e End) error {
	if err := f.Begin(); err != nil {
		return err
	}
	f.record.Progress, f.record.End = so, &e
	// The state first: a finished run with cuts is harmless, the other way round is a restart.
	return f.end(done, nil)
}

func (f *Folder) end(s state, err error) error {
	if held := f.CheckHeld(); held != nil {
		return held
	}
	if err == nil {
		f.record.State = s
		err = f.record.write(f.Dir)
	}
	if err == nil && s == done {
		err = f.clear(context.Background())
	}
	if err == nil {
		return nil
	}
	return &bellows.Error{Kind: bellows.IO, Op: "write run folder", Subject: f.Dir, Err: err}
}

// drop removes a file of the folder, if it is there.
func (f *Folder) drop(name string) error {
	err := os.Remove(filepath.Join(f.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Close lets others into the folder. The folder of a run that has not begun is no more, if Claim made it. Closing twice is allowed.
func (f *Folder) Close() error {
	var err error
	if !f.begun && f.CheckHeld() == nil {
		unmake(f.made)
		f.made = nil
	}
	if f.Log != nil {
		err = f.Log.Close()
	}
	err = errors.Join(err, f.Output.close())
	for _, h := range append(f.old, earlier{lock: f.lock}) {
		if h.lock != nil {
			err = errors.Join(err, h.lock.Close())
		}
	}
	f.lock, f.old = nil, nil
	return err
}

// Places returns the folders that may have room, the most lasting first.
func Places() (list []string) {
	home, err := os.UserHomeDir()
	if err == nil {
		list = append(list, home)
	}
	list = append(list, os.TempDir())
	if here, err := filepath.Abs("."); err == nil {
		list = append(list, here)
	}
	return list
}
