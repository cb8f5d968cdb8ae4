//go:build planted

package sim

import (
	"strings"
	"testing"

	"bellows/core/planted"
	"bellows/sim/internal/grid"
	"bellows/sim/internal/verdict"
)

// TestTheAuditAlone plants losses inside lanes and clients, and ignores all checks but the audit: its findings at the
// end of a real job, which has no model to compare its state with, are enough.
func TestTheAuditAlone(t *testing.T) {
	defer planted.Plant("")
	for bug, want := range map[string]string{
		"":                  "",
		"write-dropped":     "what lanes gave to stores",
		"write-doubled":     "what lanes gave to stores",
		"chunk-lost":        "what clients sent",
		"sum-lost":          "were sent,",
		"copy-forgotten":    "were sent,",
		"slab-changed":      "what clients sent",
		"applied-when-held": "were sent,",
	} {
		planted.Plant(bug)
		found, last := 0, ""
		for seed := range uint64(100) {
			w := newWorld(seed+1, nil, grid.Hooks{})
			w.Only = verdict.Audit
			r := w.runEras(seed + 1)
			if r.Violation != "" {
				found, last = found+1, r.Violation
			}
			if strings.Contains(r.Violation, want) && want != "" {
				break
			}
		}
		switch {
		case bug == "" && found > 0:
			t.Errorf("nothing is planted: %s", last)
		case bug != "" && !strings.Contains(last, want):
			t.Errorf("%s: of 100 schedules the audit says of %d, and last %q, not %q", bug, found, last, want)
		default:
			t.Logf("%s: %s", bug, last)
		}
	}
}
