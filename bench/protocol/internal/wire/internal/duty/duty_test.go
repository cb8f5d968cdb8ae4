package duty

import "testing"

func TestPortOf(t *testing.T) {
	t.Parallel()
	if p := portOf("tcp:127.0.0.1:6543"); p != 6543 {
		t.Errorf("port %d", p)
	}
	if p := portOf("unix:/run/x/s"); p != 0 {
		t.Errorf("a socket's file has port %d", p)
	}
}
