package netns

import (
	"slices"
	"strings"
	"testing"
)

func TestStepsMakeLinkToBridge(t *testing.T) {
	t.Parallel()
	s := &Spaces{names: []string{"a", "b"}}
	lead, other := s.steps(0), s.steps(1)
	if !slices.Contains(lead, "ip -n a link add bridge0 type bridge") || !slices.Contains(lead, "ip -n a addr add 10.90.0.1/24 dev bridge0") {
		t.Errorf("node 0 has no bridge with its address: %q", lead)
	}
	for _, want := range []string{"ip link add port1 netns a type veth peer name eth0 netns b", "ip -n a link set port1 master bridge0 up",
		"ip -n b addr add 10.90.0.2/24 dev eth0"} {
		if !slices.Contains(other, want) {
			t.Errorf("node 1 lacks %q: %q", want, other)
		}
	}
	if got := strings.Join(s.Command(1), " "); got != "nsenter --net=/run/netns/b" {
		t.Errorf("a process of node 1 is started by %q", got)
	}
}

func TestLimitIsInBits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate  float64
		burst int
		want  string
	}{
		{0, 0, "pfifo limit 10000"},
		{1e6, 0, "tbf rate 8000000bit burst 8192 limit 108192"},
		{1e6, 1 << 17, "tbf rate 8000000bit burst 131072 limit 231072"},
		{1e5, 0, "tbf rate 800000bit burst 8192 limit 73728"},
	} {
		if got, want := limit("a", "eth0", c.rate, c.burst), "ip netns exec a tc qdisc replace dev eth0 root "+c.want; got != want {
			t.Errorf("%v bytes a second: %q; want %q", c.rate, got, want)
		}
	}
}
