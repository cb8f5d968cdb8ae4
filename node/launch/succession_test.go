package launch

import (
	"context"
	"encoding/json"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"bellows"
	"bellows/core/join"
	"bellows/internal/require"
	"bellows/link/secure"
	"bellows/link/transport"
	"bellows/node"
)

// stays is a process that stays after its starter, until it is asked to end or dies.
type stays struct {
	once sync.Once
	over chan struct{}
}

func newStays() *stays { return &stays{over: make(chan struct{})} }

func (p *stays) Say([]byte) error       { return nil }
func (p *stays) PID() int               { return 7 }
func (p *stays) Answer() <-chan []byte  { return nil }
func (p *stays) Wait()                  { <-p.over }
func (p *stays) Ended() <-chan struct{} { return p.over }
func (p *stays) How() string            { return "ended" }
func (p *stays) Last() string           { return "" }
func (p *stays) End()                   { p.once.Do(func() { close(p.over) }) }
func (p *stays) Kill()                  { p.End() }

// TestFollowerWaitsForPresentNodes waits for the members with a process, except one that dies meanwhile. A joining node
// of the previous leader ends, and lost ones are reported.
func TestFollowerWaitsForPresentNodes(t *testing.T) {
	t.Parallel()
	begun := []node.Member{{}, {Node: 1, Slots: 1}, {Node: 2, Lanes: 1}}
	own := assignment{Cluster: node.Cluster{Members: begun}}
	one, four, guest := newStays(), newStays(), newStays()
	l := Processes{Following: &Following{
		Succession: Succession{Own: own, Addresses: make([]string, 6), Members: []node.Member{begun[1], begun[2], {Node: 4, Slots: 1}}, Nodes: 6},
		Processes:  map[bellows.NodeID]Process{1: one, 4: four, 5: guest},
	}}
	f := l.adopt(own)
	<-guest.over
	dead := l.lost()
	if len(dead) != 1 || dead[0].Node != 2 || !strings.Contains(dead[0].Reason, "node 2 had no process any more") {
		t.Fatalf("lost are %+v", dead)
	}
	who := own.Joining()
	who.Nodes = 6
	tries := 0
	conns, dead, err := f.rejoin(t.Context(), who, dead, func(ctx context.Context, c join.Cluster) ([]transport.Conn, error) {
		tries++
		gone := slices.Sorted(slices.Values(c.Gone))
		switch tries {
		case 1:
			if want := []bellows.NodeID{2, 3, 5}; !slices.Equal(gone, want) {
				t.Errorf("%v are gone, want %v", gone, want)
			}
			four.Kill()
			<-ctx.Done()
			return nil, net.ErrClosed
		default:
			if want := []bellows.NodeID{2, 3, 4, 5}; !slices.Equal(gone, want) {
				t.Errorf("%v are gone, want %v", gone, want)
			}
			return make([]transport.Conn, 6), nil
		}
	})
	if err != nil || len(conns) != 6 || tries != 2 || len(dead) != 2 || dead[1].Node != 4 {
		t.Errorf("%d connections in %d tries, %v; dead are %+v", len(conns), tries, err, dead)
	}
	f.close()
	<-one.over
}

// TestSuccessorInformationIsSentInTime checks that it is sent once the first tasks have left, contains a node's number
// before the node is announced, and does not contain a node that has ended. It survives its encoding as JSON.
func TestSuccessorInformationIsSentInTime(t *testing.T) {
	t.Parallel()
	issues, err := secure.NewAuthority("a test")
	require.NoError(t, err)
	var told []Succession
	own := assignment{Cluster: node.Cluster{Members: []node.Member{{}, {Node: 1, Slots: 1}}}, Token: transport.Token{3}, Saved: []byte("here"), Era: 4}
	f := newFleet(Processes{Succeed: func(s Succession) { told = append(told, s) }}, own, issues)
	f.addresses[0], f.addresses[1] = "tcp:a", "tcp:b"
	p := newStays()
	c := &child{node: 1, member: own.Members[1], told: true, key: []byte("key"), Process: p}
	f.children = []*child{c, {node: 2, Process: newStays()}}
	f.reportSuccession()
	if len(told) != 0 {
		t.Error("it is sent before the first tasks have left")
	}
	f.begun.Store(true)
	f.reportSuccession()
	text, err := json.Marshal(told[0])
	var s Succession
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	require.NoError(t, err)
	if s.Era() != 4 || string(s.Saved()) != "here" || s.Own.Token != own.Token || !slices.Equal(s.Begins(), own.Members) || !slices.Equal(s.Members, own.Members[1:]) || s.Nodes != 2 ||
		!slices.Equal(s.Addresses, []string{"tcp:a", "tcp:b"}) || string(s.Keys[1]) != "key" || string(s.Issues.Certificate()) != string(issues.Certificate()) {
		t.Errorf("it is %+v", s)
	}
	p.End()
	f.dismiss(1)
	if s := told[len(told)-1]; len(s.Members) != 0 || s.Nodes != 2 {
		t.Errorf("behind its end: %+v", s)
	}
}
