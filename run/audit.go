package run

import (
	"strings"

	"bellows"
	"bellows/core/audit"
	"bellows/node"
)

// Audit is what was sent in a run and what became of it: row deltas, and by table sums over their bits. Dropped and the ledgers are
// of all parts of a run that was interrupted; what such a part dropped, the next ran again.
type Audit struct {
	audit.Account
	Rerun      int64 `json:"rerun"`
	HalfClocks int64 `json:"half_clocks"`
	// Disagreements are sentences: none, if every update that was sent became part of the state, or was dropped with a clock
	// that never counted in a part that was interrupted.
	Disagreements []string `json:"disagreements"`
}

// Judge holds the job that has ended against its promises, and with it all that led to it. Of parts that were interrupted only the sums
// are compared: what they dropped is no fault, since the next part ran it again.
func Judge(res *node.Result, so Progress) Audit {
	r := Audit{Account: so.Account, Disagreements: res.Audit.Disagreements(res.Image == nil)}
	if r.Disagreements == nil {
		r.Disagreements = so.Disagreements(false)
	}
	if r.Disagreements == nil {
		r.Disagreements = []string{}
	}
	return r
}

// Verdict returns an error when the audit does not agree, of kind Bug: a promise was broken.
func (r *Audit) Verdict() error {
	if len(r.Disagreements) == 0 {
		return nil
	}
	return bellows.Errorf(bellows.Bug, "audit", "", "%s", strings.Join(r.Disagreements, "; "))
}
