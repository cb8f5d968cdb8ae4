package launch

import (
	"bufio"
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bellows"
	"bellows/internal/require"
	"bellows/link/secure"
	"bellows/link/transport"
	"bellows/link/transport/sock"
	"bellows/node"
)

// TestProcessesGetNewCertificates checks renewal before the current ones expire. A process without the addresses of the
// others gets none yet. The process takes each into use, and none that is not its own.
func TestProcessesGetNewCertificates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		issues, err := secure.NewAuthority("a job")
		require.NoError(t, err)
		who, err := secure.NewIdentity()
		require.NoError(t, err)
		told, silent := &sink{}, &sink{}
		one := &child{node: 1, Process: &local{in: told}}
		f := &fleet{issues: issues, ending: make(chan struct{}), children: []*child{one, {node: 2, Process: &local{in: silent}}}}
		require.NoError(t, f.sendAddresses(one, addresses{Addresses: []string{"here", "there"}}, who.Public()))
		if err := f.sendAddresses(one, addresses{}, []byte("no key")); bellows.KindOf(err) != bellows.Lost {
			t.Errorf("what is no key is certified: %v", err)
		}
		over := make(chan struct{})
		go func() { f.renew(); close(over) }()
		<-time.After(renewEvery + time.Minute)
		synctest.Wait()
		close(f.ending)
		<-over
		text := told.String()
		if strings.Count(text, "\n") != 2 || silent.Len() > 0 {
			t.Fatalf("it receives %q, the other %q", text, silent.String())
		}
		begun := time.Now().Add(-renewEvery - time.Minute)
		c := &endpoint{assignment: assignment{Cluster: node.Cluster{Self: 1, Members: make([]node.Member, 2)}, Authority: issues.Certificate()}, identity: who}
		list := make(chan addresses, 1)
		first, rest, _ := strings.Cut(text, "\n")
		c.hear(bufio.NewReader(strings.NewReader(first+"\n")), list)
		if got := <-list; len(got.Addresses) != 2 || who.Name() != sock.NodeName(1) || !who.Due().Equal(begun.Add(16*time.Hour)) {
			t.Errorf("it knows %v, as %v, until %v", got, who.Name(), who.Due())
		}
		c.hear(bufio.NewReader(strings.NewReader(first+"\n"+rest+`{"Certificate":"AAAA"}`+"\n")), list)
		if !who.Due().Equal(begun.Add(renewEvery + 16*time.Hour)) {
			t.Errorf("it has one that is due at %v", who.Due())
		}
	})
}

// TestWithTCPNodesHaveCertificates checks that nodes have certificates of the job's authority with TCP, and none with
// Unix sockets, which check the other process's user.
func TestWithTCPNodesHaveCertificates(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"tcp": true, "unix": false} {
		own := assignment{Transport: name, Folder: filepath.Join(t.TempDir(), "s"), Token: transport.Token{1}}
		issues, err := own.certify(own.Transport)
		if err != nil || (issues != nil) != want || (own.Authority != nil) != want {
			t.Fatalf("%s: %v, %v", name, issues, err)
		}
		var out bytes.Buffer
		text, err := jsonLine(own)
		require.NoError(t, err)
		c, err := takeAssignment(strings.NewReader(text), &out, func(error) {})
		require.NoError(t, err)
		c.listener.Close()
		if (c.identity != nil) != want || strings.Contains(out.String(), `"Key":null`) == want {
			t.Errorf("%s: it answers %s", name, out.String())
		}
	}
}

// jsonLine returns what a process receives.
func jsonLine(own assignment) (string, error) {
	s := &sink{}
	c := child{Process: &local{in: s}}
	err := c.say(own)
	return s.String(), err
}
