package lead

import (
	"strings"
	"testing"

	"bellows"
)

// TestRefusalNamesClusterNodes refuses a drain with a reason of the job, in which node 6 is node-12 of the cluster.
func TestRefusalNamesClusterNodes(t *testing.T) {
	t.Parallel()
	l := &Lead{Assignment: Assignment{Job: 3}}
	l.Names.Set(6, "node-12")
	err := l.refused(bellows.Errorf(bellows.Refused, "drain", "", "node 6 still has 2 splits"), "ask again")
	if bellows.KindOf(err) != bellows.Refused || !strings.Contains(err.Error(), "node-12 still has 2 splits") || strings.Contains(err.Error(), "node 6") {
		t.Error(err)
	}
	p := &remote{lead: l}
	p.end.How = "was ended with the agent of node-12"
	if how := l.Names.Text(p.How()); how != p.end.How {
		t.Errorf("%q of the cluster becomes %q", p.end.How, how)
	}
}
