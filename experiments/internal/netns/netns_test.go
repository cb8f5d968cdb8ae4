package netns

import (
	"slices"
	"strings"
	"testing"
)

func TestStepsLimitBothDirections(t *testing.T) {
	t.Parallel()
	s := Spaces{"a", "b"}
	if lead := s.steps(0, ""); !slices.Contains(lead, "ip -n a link add bridge0 type bridge") ||
		!slices.Contains(lead, "ip -n a addr add 10.90.0.1/24 dev bridge0") {
		t.Errorf("node 0 has no bridge with its address: %q", lead)
	}
	other := s.steps(1, "100mbit")
	for _, want := range []string{
		"ip -n a link set port1 master bridge0 up",
		"ip netns exec a tc qdisc add dev port1 root tbf rate 100mbit burst 256kb latency 100ms",
		"ip netns exec b tc qdisc add dev eth0 root tbf rate 100mbit burst 256kb latency 100ms",
		"ip -n b addr add 10.90.0.2/24 dev eth0",
	} {
		if !slices.Contains(other, want) {
			t.Errorf("node 1 lacks %q: %q", want, other)
		}
	}
	if got := strings.Join(s.Command(1), " "); got != "ip netns exec b" {
		t.Errorf("a process of node 1 is started by %q", got)
	}
}
