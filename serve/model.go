package serve

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"bellows/app"
	"bellows/data"
	"bellows/model"
	"bellows/serve/predictions"
)

// Opened is a model that was opened and found whole.
type Opened struct {
	Model     *model.Model
	Predictor app.Predictor
	Kind      data.Kind
	Options   data.Options // how its data is read
}

// Served is a model that answers. It does not change, and several goroutines may ask it at once.
type Served struct {
	name   string
	of     *Opened
	digest string
	at     time.Time
	texts  *data.Texts
	fields app.Fields
	spare  sync.Pool  // of *desk
	only   chan *desk // instead, where the application's predictors cannot be shared
}

// desk is what one question at a time is answered with.
type desk struct {
	predictor app.Predictor
	text      bytes.Buffer
	objects   predictions.Objects
}

// newServed makes ready for questions of so many rows at most, which bounds also what a header in one of them may promise.
func newServed(name string, of *Opened, rows int, now time.Time) (*Served, error) {
	own := *of
	of = &own
	of.Options.Limits.Rows = int64(rows) + 1 // of one more it can be said how many are allowed
	of.Options.Unlabelled, of.Options.Complete, of.Options.Meter, of.Options.Stdin = true, true, nil, strings.NewReader("")
	texts, err := data.NewTexts(of.Kind, of.Options)
	if err != nil {
		return nil, err
	}
	s := &Served{name: name, of: of, digest: digestOf(of.Model), at: now, texts: texts}
	if named, ok := of.Predictor.(app.Named); ok {
		s.fields = named.Fields()
	}
	if shared, ok := of.Predictor.(app.Shared); ok {
		s.spare.New = func() any { return &desk{predictor: shared.Share(), objects: predictions.NewObjects(s.fields)} }
	} else {
		s.only = make(chan *desk, 1)
		s.only <- &desk{predictor: of.Predictor, objects: predictions.NewObjects(s.fields)}
	}
	return s, nil
}

// digestOf tells models apart by the sums of their files.
func digestOf(m *model.Model) string {
	h := sha256.New()
	for _, f := range m.Files {
		fmt.Fprintln(h, f.Name, f.SHA256)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func (s *Served) take() *desk {
	if s.only != nil {
		return <-s.only
	}
	return s.spare.Get().(*desk)
}

// give returns a desk to the pool. A desk that has become large is left to the garbage collector, because few requests
// are large. So is one whose predictor did not complete its work, because the state of its scratch memory is unknown;
// but the only desk of an application whose predictors are not shared is returned, or no request would be answered any
// more.
func (s *Served) give(d *desk, ended bool) {
	switch {
	case s.only != nil:
		s.only <- d
	case !ended:
	case d.text.Cap() <= 1<<20:
		s.spare.Put(d)
	}
}

// stamp tells whether the files of a folder have changed: names, sizes, times. "" of a folder that cannot be read.
func stamp(folder string) string {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(folder, e.Name()))
		if err != nil || !info.Mode().IsRegular() || slices.Contains([]string{"events.jsonl", "run.json"}, e.Name()) {
			continue
		}
		fmt.Fprintln(&b, e.Name(), info.Size(), info.ModTime().UnixNano())
	}
	return b.String()
}
