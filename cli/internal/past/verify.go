package past

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"bellows/cli/internal/event"
	"bellows/core/visits"
)

// verifier goes through a log, line by line, and says of the first that does not fit what is wrong with it.
//
// It trusts nothing but the log: numbers and digests say that it is whole, the statement what each epoch is to visit, and what counted is held against
// that (visits.Proof). A digest that does not fit is told last, since what was altered may be told better: which split, and which clock.
type verifier struct {
	chain  event.Chain
	seq    uint64
	lines  int
	events int
	proofs []*proof // one, or one for each fold
	broken error    // the first line that does not fit the chain
	result bool     // the line behind the events was read, as train --json writes it
	ended  string   // how the run ended: the kind of its last event; "": it has not
}

// proof is of a run, or of a fold of one.
type proof struct {
	fold     int
	unproved error // why there is nothing to prove by
	say      *event.Statement
	*visits.Proof
	epochs int // that were told
	ended  bool
}

// fault is what is wrong with a line.
type fault struct {
	line  int
	cause error
}

func (f *fault) Error() string { return f.cause.Error() }
func (f *fault) Unwrap() error { return f.cause }

// take goes through a line.
func (v *verifier) take(line []byte) error {
	v.lines++
	if err := v.event(line); err != nil {
		return &fault{v.lines, err}
	}
	return nil
}

func (v *verifier) event(line []byte) error {
	e, err := read(line)
	switch {
	case err != nil:
		return err
	case v.result:
		return errors.New("it stands behind the result, which is the last line")
	case e == nil:
		v.result = true
		return nil
	}
	v.events++
	if e.Seq != v.seq+1 {
		return fmt.Errorf("event %d follows event %d: what stood between was taken out, or events stand in another order", e.Seq, v.seq)
	}
	v.seq = e.Seq
	switch v.chain.Follows(line) {
	case event.Unsealed:
		return errors.New("it has no digest: the log is of an earlier version, which did not tell what counted, or it was altered")
	case event.Altered:
		if v.broken == nil {
			v.broken = &fault{v.lines, fmt.Errorf("event %d was altered, or what stood before it", e.Seq)}
		}
	}
	return v.kind(e)
}

// read is the event of a line; nil: it is the last line of train --json, which is none.
func read(line []byte) (*event.Event, error) {
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

// kind goes through an event by its kind.
func (v *verifier) kind(e *event.Event) error {
	v.ended = ""
	switch e.Kind {
	case event.Stated:
		return v.stated(e)
	case event.Visited:
		p, err := v.proof(e)
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
		p, err := v.proof(e)
		if err != nil || p.unproved != nil {
			return err
		}
		if e.Epoch == nil {
			return errors.New("it does not say which epoch is over")
		}
		p.epochs = *e.Epoch
		return p.over()
	case event.Fold:
		p, err := v.proof(e)
		if err != nil || p.unproved != nil {
			return err
		}
		p.ended = true
		return p.over()
	case event.Finished:
		for _, p := range v.proofs {
			if p.unproved == nil {
				if err := p.over(); err != nil {
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

// over refuses that the epochs are over that were told, as long as something of them has not counted.
func (p *proof) over() error {
	if err := p.Proof.Over(p.epochs); err != nil {
		return fmt.Errorf("%d epochs are told of: %w", p.epochs, err)
	}
	return nil
}

// proof is that of an event's run or fold.
func (v *verifier) proof(e *event.Event) (*proof, error) {
	if i := slices.IndexFunc(v.proofs, func(p *proof) bool { return p.fold == e.Fold && !p.ended }); i >= 0 {
		return v.proofs[i], nil
	}
	return nil, errors.New("nothing is stated before it of what is to be visited")
}

// stated begins a proof, or goes on with it.
func (v *verifier) stated(e *event.Event) error {
	say := e.Statement
	if say == nil {
		return errors.New("it states nothing")
	}
	p, err := v.proof(e)
	if err != nil {
		p = &proof{fold: e.Fold, say: say}
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
			return p.Resume(say.Complete)
		}
		return nil
	}
	if e.Fold > 0 || say.Complete == nil {
		return errors.New("the job is stated a second time, and does not go on with anything")
	}
	was, now := *p.say, *say
	was.Complete, now.Complete = nil, nil
	if !same(&was, &now) {
		return errors.New("the job is another than before: other splits, clocks or items")
	}
	if p.unproved != nil {
		return nil
	}
	return p.Resume(say.Complete)
}

func same(a, b *event.Statement) bool {
	return a.SplitCount == b.SplitCount && a.OpeningClocks == b.OpeningClocks && a.EpochClocks == b.EpochClocks && a.Unstated == b.Unstated &&
		slices.Equal(a.Opening, b.Opening) && slices.Equal(a.EpochVisits, b.EpochVisits)
}

// verified is what `events --verify --json` prints.
type verified struct {
	Run      string   `json:"run"`
	Verified bool     `json:"verified"` // an error is printed else
	Ended    string   `json:"ended"`    // how the run ended: the kind of its last event; "": it goes on
	Events   int      `json:"events"`
	Proofs   []proved `json:"proofs"` // one, or one for each fold
}

// proved is what a proof came to.
type proved struct {
	Fold    int   `json:"fold,omitempty"`
	Splits  int   `json:"splits"`
	Items   int64 `json:"items"`   // that an epoch visits
	Epochs  int   `json:"epochs"`  // in each of which each of them was visited once; void ones too
	Visited int64 `json:"visited"` // by what counts
	Before  int64 `json:"before"`  // of these, before the first epoch
	Begun   int64 `json:"begun"`   // of these, in an epoch that is not over
	Void    int64 `json:"void"`    // visited and given up, since the run went on from before
	Lives   int   `json:"lives"`   // processes that trained it
}

// conclude says what the log proves. going is that its run is trained by a process now.
func (v *verifier) conclude(going bool) (*verified, error) {
	r := &verified{Verified: true, Ended: v.ended, Events: v.events, Proofs: []proved{}}
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
		r.Proofs = append(r.Proofs, proved{p.fold, a.Splits, a.Items, a.Epochs, a.Visited, a.Before, a.Begun, a.Void, a.Lives})
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
