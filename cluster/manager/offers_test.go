//go:build unix

package manager

import (
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"bellows/cluster"
)

// saw follows a job until it has written some text.
func (u *up) saw(j cluster.Job, text string) {
	u.t.Helper()
	all := ""
	_, err := u.client.Output(u.t.Context(), j.Job, func(f cluster.Frame) error {
		if all += string(f.Out); strings.Contains(all, text) {
			return io.EOF
		}
		return nil
	})
	if err != io.EOF {
		u.t.Fatalf("%q, %v, without %q", all, err, text)
	}
}

// TestANodeComesBackToItsJob offers a job the node where its process has died, until the job takes it, and once more by `scale` to the same number. When the agent of the node is killed the job is notified, and `scale`
// offers another node.
func TestANodeComesBackToItsJob(t *testing.T) {
	u := bringUpWith(t, 2, 0)
	j := u.submit("lose")
	u.saw(j, "offered node-2\noffered node-2\n")
	two, three := 2, 3
	d, err := u.client.Scale(t.Context(), cluster.Scale{Workers: &two}, time.Minute)
	if err != nil || d.Workers != 2 || strings.Join(d.Sentences, ";") != "it is offered node-2" {
		t.Errorf("scale to the same number: %+v, %v", d, err)
	}
	s, err := u.client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(s.Nodes[1].Agent, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	u.saw(j, "lost [node-2]\n")
	d, err = u.client.Scale(t.Context(), cluster.Scale{Workers: &three}, time.Minute)
	if err != nil || d.Workers != 3 || strings.Join(d.Sentences, ";") != "node-3 has joined the cluster;node-4 has joined the cluster;it is offered node-3" {
		t.Errorf("scale after the loss of an agent: %+v, %v", d, err)
	}
	if err := u.client.Interrupt(t.Context(), j.Job); err != nil {
		t.Error(err)
	}
}
