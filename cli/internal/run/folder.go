package run

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"bellows"
	"bellows/cli/internal/event"
)

// Folder is the folder of one run, held by this process.
type Folder struct {
	Dir     string
	Resumed bool     // an unfinished run of the same Config was found and is going on here
	Image   []byte   // what its runtime saved, nil when it starts over
	Before  Progress // what led to the image; zero without one
	Log     *event.Log
	lock    *os.File
	record  runFile
}

// Request says which folder Claim is to give.
type Request struct {
	Config   Config
	Out      string // --out; "" is runs/APP-N, the N of an unfinished run of Config or the next free one
	Fresh    bool   // start over: give up what an unfinished run has
	Versions map[string]string
}

// runsFolder holds the folders that nobody named.
const runsFolder = "runs"

var errHeld = errors.New("another process is training in it")

// Claim finds or makes the run's folder and locks it. Errors are of kind CannotWrite, or Refused
// for a folder that is in use or holds an unfinished run of another command.
func Claim(req Request) (*Folder, error) {
	if req.Out != "" {
		return claimNamed(req)
	}
	old, err := filepath.Glob(filepath.Join(runsFolder, req.Config.App+"-*"))
	if err != nil {
		return nil, cannotMake(runsFolder, err)
	}
	last := 0
	slices.SortFunc(old, func(a, b string) int {
		return cmp.Compare(folderNumber(req.Config.App, a), folderNumber(req.Config.App, b))
	})
	for _, dir := range old {
		last = max(last, folderNumber(req.Config.App, dir))
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
		return f.begin(req)
	}
	return claimNext(req, last+1)
}

// claimNext makes runs/APP-N for the next N that no other process takes first.
func claimNext(req Request, n int) (*Folder, error) {
	if err := os.MkdirAll(runsFolder, 0o777); err != nil {
		return nil, cannotMake(runsFolder, err)
	}
	for ; ; n++ {
		dir := filepath.Join(runsFolder, fmt.Sprintf("%s-%d", req.Config.App, n))
		err := os.Mkdir(dir, 0o777)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, cannotMake(dir, err)
		}
		f, err := open(dir)
		if err != nil {
			return nil, err
		}
		return f.begin(req)
	}
}

func claimNamed(req Request) (*Folder, error) {
	if err := os.MkdirAll(req.Out, 0o777); err != nil {
		return nil, cannotMake(req.Out, err)
	}
	f, err := open(req.Out)
	if err != nil {
		return nil, err
	}
	if r := readRecord(req.Out); r != nil && r.State != done && !req.Fresh && !r.Config.same(&req.Config) {
		f.lock.Close()
		return nil, &bellows.Error{Kind: bellows.Refused, Op: "use run folder", Subject: req.Out,
			Err:  errors.New("it holds an unfinished run of another command or of data that has changed since"),
			Hint: "give --out another folder, or add --fresh to give that run up"}
	}
	return f.begin(req)
}

func cannotMake(dir string, err error) error {
	return &bellows.Error{Kind: bellows.CannotWrite, Op: "make run folder", Subject: dir, Err: err,
		Hint: "give --out a folder that can be written"}
}

// open locks a folder that exists. The lock is on the folder itself and ends with the process.
func open(dir string) (*Folder, error) {
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
	return &Folder{Dir: dir, lock: d}, nil
}

// begin takes up the unfinished run in the folder, or starts one.
func (f *Folder) begin(req Request) (*Folder, error) {
	// The record is read again, now that the folder is locked.
	r := readRecord(f.Dir)
	if r != nil && r.State != done && !req.Fresh && r.Config.same(&req.Config) {
		f.Resumed = true
		f.Image = f.readImage()
	}
	if f.Image != nil {
		f.Before = r.Progress
	}
	f.record = runFile{Format: recordFormat, State: running, Config: req.Config, Versions: req.Versions, Progress: f.Before}
	err := f.start()
	if err != nil {
		return nil, cannotMake(f.Dir, errors.Join(err, f.Close()))
	}
	return f, nil
}

func (f *Folder) start() error {
	if f.Image == nil {
		if err := errors.Join(f.drop(imageFile), f.drop(metricsFile)); err != nil {
			return err
		}
	}
	var err error
	if f.Log, err = event.OpenLog(f.Dir, f.Image != nil); err != nil {
		return err
	}
	return f.record.write(f.Dir)
}

// readImage is the image that an interrupted run left, without its checksum; nil when there is none
// or it is damaged, in which case the run starts over.
func (f *Folder) readImage() []byte {
	b, err := os.ReadFile(filepath.Join(f.Dir, imageFile))
	if err != nil || len(b) < sha256.Size {
		return nil
	}
	image := b[:len(b)-sha256.Size]
	if sum := sha256.Sum256(image); string(sum[:]) != string(b[len(image):]) {
		return nil
	}
	return image
}

// Interrupted stores what the runtime needs to go on, for the next Claim of the same Config, and
// what it has cost so far. A nil image makes that start over.
func (f *Folder) Interrupted(image []byte, so Progress) error {
	var err error
	f.record.Progress = so
	if image != nil {
		sum := sha256.Sum256(image)
		err = replaceFile(filepath.Join(f.Dir, imageFile), append(slices.Clip(image), sum[:]...))
	} else {
		err = f.drop(imageFile)
	}
	return f.end(interrupted, err)
}

// Measured stores the run's figures as JSON, in place of those of an earlier process.
func (f *Folder) Measured(figures any) error {
	text, err := json.Marshal(figures)
	if err == nil {
		err = replaceFile(filepath.Join(f.Dir, metricsFile), append(text, '\n'))
	}
	if err != nil {
		return &bellows.Error{Kind: bellows.IO, Op: "write run folder", Subject: f.Dir, Err: err}
	}
	return nil
}

// Done marks the run as finished; the same command then starts another.
func (f *Folder) Done() error {
	// The state first: a finished run with an image is harmless, the other way round is a restart.
	return f.end(done, nil)
}

func (f *Folder) end(s state, err error) error {
	if err == nil {
		f.record.State = s
		err = f.record.write(f.Dir)
	}
	if err == nil && s == done {
		err = f.drop(imageFile)
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

// Close lets others into the folder. Closing twice is allowed.
func (f *Folder) Close() error {
	var err error
	if f.Log != nil {
		err = f.Log.Close()
	}
	if f.lock != nil {
		err = errors.Join(err, f.lock.Close())
		f.lock = nil
	}
	return err
}
