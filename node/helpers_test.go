package node_test

import (
	"context"
	"slices"
	"testing"

	"bellows/internal/require"
	"bellows/node"
	"bellows/train"
)

// runAlone runs a job to its end on one node.
func runAlone(t *testing.T, j train.Job, o node.Options) *node.Result {
	t.Helper()
	r, err := node.Train(context.Background(), j, o)
	require.NoError(t, err)
	return r
}

// sameTable wants the first table of a job to have the bits of another job's.
func sameTable(t *testing.T, r, want *node.Result) {
	t.Helper()
	if !slices.Equal(r.Tables[0], want.Tables[0]) {
		t.Errorf("ends at %v, not %v", r.Tables[0], want.Tables[0])
	}
}

// checkAudit wants a job to have sent something, and lanes to have got what clients sent.
func checkAudit(t *testing.T, r *node.Result) {
	t.Helper()
	if r.Audit.Sent == 0 || r.Audit.Disagreements(true) != nil {
		t.Errorf("audit %+v", r.Audit)
	}
}
