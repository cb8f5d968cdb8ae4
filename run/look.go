package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"bellows"
)

// PageFile is the run on a page, as `report` leaves it in the folder. Training neither writes nor removes it.
const PageFile = "report.html"

// Past describes the run in a folder, for readers that train nothing.
type Past struct {
	Config   Config
	Versions map[string]string
	Progress Progress // of a finished run the whole, of an interrupted one up to what is kept of it, else nothing
	Finished bool
	Order    string // the job of a cluster that it is; "": none
	Kept     bool   // the same command resumes where it was interrupted
	Busy     bool   // a process is training in it
	Figures  []byte // metrics.json; nil: none
	Measured []byte // figures.json; nil: none
}

// Look reads a folder and changes nothing. A folder without a run is an error of kind NoInput, and one whose record is
// damaged of kind BadData.
func Look(dir string) (*Past, error) {
	name := filepath.Join(dir, recordFile)
	text, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, &bellows.Error{Kind: bellows.NoInput, Op: "look at run", Subject: dir, Err: fmt.Errorf("there is no %s in it", recordFile),
			Hint: "name the run folder that train printed, such as runs/mf-1"}
	case err != nil:
		return nil, bellows.Errorf(bellows.NoInput, "look at run", dir, "%w", err)
	}
	var r runFile
	if err = json.Unmarshal(text, &r); err != nil {
		err = fmt.Errorf("it is not the record of a run: %w", err)
	} else if r.Format != recordFormat {
		err = fmt.Errorf("its format is %.40q, and this version reads %q", r.Format, recordFormat)
	}
	if err != nil {
		return nil, &bellows.Error{Kind: bellows.BadData, Op: "look at run", Subject: name, Err: err, Hint: "copy the folder again from where it came from"}
	}
	p := &Past{Config: r.Config, Versions: r.Versions, Progress: r.Progress, Finished: r.State == done, Order: r.Order}
	f := Folder{Dir: dir, record: r}
	p.Kept = !p.Finished && f.hasCuts()
	p.Busy = locked(dir)
	if p.Figures, err = os.ReadFile(filepath.Join(dir, metricsFile)); err != nil {
		p.Figures = nil
	}
	if p.Measured, err = os.ReadFile(filepath.Join(dir, figuresFile)); err != nil {
		p.Measured = nil
	}
	return p, nil
}

// locked reports whether a process has the lock of the folder.
func locked(dir string) bool {
	d, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer d.Close()
	return errors.Is(syscall.Flock(int(d.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
