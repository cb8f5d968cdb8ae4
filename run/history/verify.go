package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"bellows/core/visits"
	"bellows/figures"
	"bellows/run/event"
)

// A Verifier goes through a log, line by line, and reports the first line that does not fit, and why.
//
// It trusts only the log: numbers and digests show that it is complete, the statement says what each epoch has to
// visit, and what counted is checked against that (visits.Proof). A digest that does not fit is reported last, because
// another check may say better what was altered: which split, and which clock.
type Verifier struct {
	chain  event.Chain
	seq    uint64
	lines  int
	events int
	proofs []*trail // one, or one for each fold
	broken error    // the first line that does not fit the chain
	result bool     // the line after the events was read, as train --json writes it
	ended  string   // how the run ended: the kind of its last event; "": it has not
}

// trail is the visits of a run, or of a fold of one.
type trail struct {
	fold     int
	unproved error // why no proof is possible
	say      *event.Statement
	*visits.Proof
	epochs int // epochs reported
	ended  bool
}

// fault is what is wrong with a line.
type fault struct {
	line  int
	cause error
}

func (f *fault) Error() string { return f.cause.Error() }
func (f *fault) Unwrap() error { return f.cause }

// Take checks the next line, and returns what is wrong with it.
func (v *Verifier) Take(line []byte) error {
	v.lines++
	if err := v.event(line); err != nil {
		return &fault{v.lines, err}
	}
	return nil
}

func (v *Verifier) event(line []byte) error {
	e, err := Decode(line)
	switch {
	case err != nil:
		return err
	case v.result:
		return errors.New("it comes after the result, which must be the last line")
	case e == nil:
		v.result = true
		return nil
	}
	v.events++
	if e.Seq != v.seq+1 {
		return fmt.Errorf("event %d follows event %d: an event between them was removed, or events were reordered", e.Seq, v.seq)
	}
	v.seq = e.Seq
	switch v.chain.Follows(line) {
	case event.Unsealed:
		return errors.New("it has no digest: the log was written by an earlier version, or it was altered")
	case event.Altered:
		if v.broken == nil {
			v.broken = &fault{v.lines, fmt.Errorf("event %d was altered, or an event before it", e.Seq)}
		}
	}
	return v.kind(e)
}

// Decode returns the event of a line, or nil for the last line of train --json, which is none.
func Decode(line []byte) (*event.Event, error) {
	var some struct{ Kind event.Kind }
	if err := json.Unmarshal(line, &some); err != nil {
		return nil, fmt.Errorf("it is no event: %w", err)
	}
	if some.Kind == "" {
		return nil, nil
	}
	e := &event.Event{}
	if err := json.Unmarshal(line, e); err != nil {
		return nil, fmt.Errorf("it is no event: %w", err)
	}
	return e, nil
}

// kind checks an event by the rules of its kind.
func (v *Verifier) kind(e *event.Event) error {
	v.ended = ""
	switch e.Kind {
	case event.Stated:
		return v.stated(e)
	case event.Visited:
		p, err := v.trail(e)
		if err != nil || p.unproved != nil {
			return err
		}
		if e.Visits == nil {
			return errors.New("it does not say what counts")
		}
		b, err := e.Visits.Batch()
		if err == nil {
			err = p.Take(b)
		}
		return err
	case event.Epoch:
		p, err := v.trail(e)
		if err != nil || p.unproved != nil {
			return err
		}
		if e.Epoch == nil {
			return errors.New("it does not say which epoch is over")
		}
		p.epochs = *e.Epoch
		return p.checkEpochs()
	case event.Fold:
		p, err := v.trail(e)
		if err != nil || p.unproved != nil {
			return err
		}
		p.ended = true
		return p.checkEpochs()
	case event.Finished:
		for _, p := range v.proofs {
			if p.unproved == nil {
				if err := p.checkEpochs(); err != nil {
					return err
				}
			}
		}
	case event.Interrupted:
		for _, p := range v.proofs {
			if p.unproved == nil {
				p.Stop()
			}
		}
	}
	if slices.Contains([]event.Kind{event.Finished, event.Interrupted, event.Lost, event.Failed}, e.Kind) {
		v.ended = string(e.Kind)
	}
	return nil
}

// checkEpochs returns an error if visits of the reported epochs are missing.
func (p *trail) checkEpochs() error {
	if err := p.Proof.EpochsOver(p.epochs); err != nil {
		return fmt.Errorf("%d epochs are in the log: %w", p.epochs, err)
	}
	return nil
}

// trail returns the open trail of an event's run or fold.
func (v *Verifier) trail(e *event.Event) (*trail, error) {
	if i := slices.IndexFunc(v.proofs, func(p *trail) bool { return p.fold == e.Fold && !p.ended }); i >= 0 {
		return v.proofs[i], nil
	}
	return nil, errors.New("the log before it does not state what is to be visited")
}

// stated begins a proof with a statement, or continues one where the run resumed.
func (v *Verifier) stated(e *event.Event) error {
	say := e.Statement
	if say == nil {
		return errors.New("it states nothing")
	}
	p, err := v.trail(e)
	if err != nil {
		p = &trail{fold: e.Fold, say: say}
		v.proofs = append(v.proofs, p)
		if say.Unstated != "" {
			p.unproved = errors.New(say.Unstated)
			return nil
		}
		s, err := say.Statement()
		if err == nil {
			p.Proof, err = visits.NewProof(s)
		}
		if err != nil {
			return err
		}
		if say.Complete != nil {
			return p.resume(say)
		}
		return nil
	}
	if e.Fold > 0 || say.Complete == nil {
		return errors.New("the job is stated a second time, and resumes nothing")
	}
	was, now := *p.say, *say
	was.Complete, now.Complete = nil, nil
	was.Open, now.Open = nil, nil
	if !same(&was, &now) {
		return errors.New("the job differs from before: other splits, clocks or items")
	}
	if p.unproved != nil {
		return nil
	}
	return p.resume(say)
}

// resume continues the proof where a statement says that the run resumed.
func (p *trail) resume(say *event.Statement) error {
	open, err := say.Units()
	if err != nil {
		return err
	}
	return p.Resume(say.Complete, open)
}

func same(a, b *event.Statement) bool {
	return a.SplitCount == b.SplitCount && a.OpeningClocks == b.OpeningClocks && a.EpochClocks == b.EpochClocks && a.Unstated == b.Unstated &&
		slices.Equal(a.Opening, b.Opening) && slices.Equal(a.EpochVisits, b.EpochVisits)
}

// Verified is what a log proves, as `events --verify --json` prints it.
type Verified struct {
	Run      string  `json:"run"`
	Verified bool    `json:"verified"` // always true: otherwise an error is printed instead
	Ended    string  `json:"ended"`    // how the run ended: the kind of its last event; "": it is running
	Events   int     `json:"events"`
	Proofs   []Proof `json:"proofs"` // one, or one for each fold
}

// Proof says how often items were visited in a run, or in a fold of one.
type Proof struct {
	Fold    int   `json:"fold,omitempty"`
	Splits  int   `json:"splits"`
	Items   int64 `json:"items"`   // that an epoch visits
	Epochs  int   `json:"epochs"`  // each with one visit of each item; void ones included
	Visited int64 `json:"visited"` // by what counts
	Before  int64 `json:"before"`  // of these, before the first epoch
	Begun   int64 `json:"begun"`   // of these, in an epoch that is not over
	Void    int64 `json:"void"`    // visited and discarded, because the run resumed from an earlier state
	Lives   int   `json:"lives"`   // processes that trained it
}

// Sentence returns the proof in words.
func (p *Proof) Sentence() string {
	var b strings.Builder
	if p.Fold > 0 {
		fmt.Fprintf(&b, "fold %d: ", p.Fold)
	}
	fmt.Fprintf(&b, "proved: each of the %s items of %s that an epoch visits was visited once in each of %s", figures.Grouped(p.Items), figures.Plural(p.Splits, "split"), figures.Plural(p.Epochs, "epoch"))
	if p.Begun > 0 {
		fmt.Fprintf(&b, ", %s of them in one that is not over", figures.Grouped(p.Begun))
	}
	if p.Before > 0 {
		fmt.Fprintf(&b, ", and %s items before the first epoch, as stated", figures.Grouped(p.Before))
	}
	fmt.Fprintf(&b, ": %s visits count", figures.Grouped(p.Visited))
	if p.Void > 0 {
		fmt.Fprintf(&b, ", and %s are void, since the run went on from before", figures.Grouped(p.Void))
	}
	if p.Lives > 1 {
		fmt.Fprintf(&b, "; it was trained in %d parts", p.Lives)
	}
	return b.String()
}

// Conclude returns what the log proves. going says that a process trains the run now.
func (v *Verifier) Conclude(going bool) (*Verified, error) {
	r := &Verified{Verified: true, Ended: v.ended, Events: v.events, Proofs: []Proof{}}
	if v.broken != nil {
		return nil, v.broken
	}
	if len(v.proofs) == 0 {
		return nil, &fault{v.lines, errors.New("the log does not state what is to be visited")}
	}
	for _, p := range v.proofs {
		if p.unproved != nil {
			return nil, p.unproved
		}
		a := p.Account()
		r.Proofs = append(r.Proofs, Proof{p.fold, a.Splits, a.Items, a.Epochs, a.Visited, a.Before, a.Begun, a.Void, a.Lives})
		if p.fold > 0 && p.ended {
			r.Ended = string(event.Finished)
		} else if p.fold > 0 {
			r.Ended = ""
		}
	}
	if r.Ended == "" && !going {
		return nil, &fault{v.lines, errors.New("the log ends here without the end of the run: its process was killed, or lines were cut off")}
	}
	return r, nil
}
