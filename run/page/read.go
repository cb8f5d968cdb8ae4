package page

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"bellows"
	"bellows/api"
	"bellows/app"
	"bellows/model"
	"bellows/policy/choose"
	"bellows/policy/gauge"
	"bellows/run"
	"bellows/run/event"
)

// Run is what the page is made of.
type Run struct {
	Dir string
	*run.Past
	Figures  *api.Status    // nil: the run left none
	Gauged   *gauge.Figures // of the job, by which other shapes are predicted; nil: none, or damaged
	Unread   error          // why they could not be read
	Trials   []choose.Trial // the shapes that a job that chooses them had
	Start    *event.Event
	Course   []Moment      // a line for each epoch, or for each so many
	Every    int           // epochs from one Moment to the next
	Happened []event.Event // all else, in order
	Skipped  int           // lines of the log that are no events
	latest   Moment
	Model    *model.Model // nil: none was saved, or it is damaged
	Damage   error        // why there is no model, if one was saved

	About   app.Description // by the caller: of the run's application, or no more than its name
	Steps   []Step          // by the caller
	Explain string          // by the caller: the command that explains shapes
	Program string          // by the caller: its name and version
	Made    time.Time       // by the caller: now
}

// A Step is a command for what to do next.
type Step struct {
	Command string
	Says    string // what it does
}

// Moment is what an epoch came to.
type Moment struct {
	Number int
	event.Figures
}

// The limits of what is kept of a log. Of more epochs every second is dropped, again and again; of other events, the
// first and the last are kept.
const (
	momentsMost  = 4096
	happenedMost = 200
	lineMost     = 1 << 20
)

// Read reads a run's folder. The folder must have a run; what else is missing or damaged is left out or named on the page.
func Read(dir string) (*Run, error) {
	past, err := run.Look(dir)
	if err != nil {
		return nil, err
	}
	r := &Run{Dir: dir, Past: past, Every: 1}
	if past.Figures != nil {
		var s api.Status
		if json.Unmarshal(past.Figures, &s) == nil {
			r.Figures = &s
		}
	}
	if past.Measured != nil {
		r.Gauged, r.Unread = gauge.Read(past.Measured)
	}
	if err := r.readLog(filepath.Join(dir, event.File)); err != nil {
		return nil, err
	}
	r.Model, err = model.Open(dir)
	if bellows.KindOf(err) != bellows.NoInput {
		r.Damage = err
	}
	return r, nil
}

func (r *Run) readLog(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return bellows.Errorf(bellows.NoInput, "look at run", name, "%w", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		var e event.Event
		switch {
		case err == io.EOF && len(line) == 0:
			r.finish()
			return nil
		case err != nil && err != io.EOF:
			return bellows.Errorf(bellows.IO, "look at run", name, "%w", err)
		case len(line) > lineMost || json.Unmarshal(line, &e) != nil:
			r.Skipped++
		default:
			r.take(e)
		}
	}
}

// take adds one event.
func (r *Run) take(e event.Event) {
	switch {
	case e.Kind == event.Epoch && e.Epoch != nil && e.Figures != nil:
		r.latest = Moment{*e.Epoch, *e.Figures}
		if r.latest.Number%r.Every == 0 {
			r.Course = append(r.Course, r.latest)
		}
		if len(r.Course) == momentsMost {
			r.thin()
		}
		return
	case e.Kind == event.Stated, e.Kind == event.Visited:
		return
	case e.Kind == event.Started && e.Start != nil:
		r.Start = &e
	}
	if e.Decision != nil && e.Advice != nil {
		r.Trials = e.Advice.Tried
	}
	r.Happened = append(r.Happened, e)
	if len(r.Happened) > happenedMost {
		r.Happened = slices.Delete(r.Happened, happenedMost/2, happenedMost/2+1)
	}
}

// thin drops every second moment.
func (r *Run) thin() {
	r.Every *= 2
	r.Course = slices.DeleteFunc(r.Course, func(m Moment) bool { return m.Number%r.Every != 0 })
}

// finish adds the last epoch, which is shown in any case.
func (r *Run) finish() {
	if n := len(r.Course); r.latest.Number > 0 && (n == 0 || r.Course[n-1].Number != r.latest.Number) {
		r.Course = append(r.Course, r.latest)
	}
}
