package transport

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"bellows"
)

// TestTheEndOfAStreamIsNamed says what the end of a stream means, between two messages and within one, and of other errors what they say.
func TestTheEndOfAStreamIsNamed(t *testing.T) {
	for _, c := range []struct {
		err   error
		named bool
	}{
		{io.EOF, true}, {io.ErrUnexpectedEOF, true}, {fmt.Errorf("read: %w", io.ErrUnexpectedEOF), true}, {io.ErrClosedPipe, false},
	} {
		for _, err := range []error{OpenFault("connect", "there", c.err), ConnFault("read", "there", c.err)} {
			if got := strings.Contains(err.Error(), "it closed the connection or died"); got != c.named || !strings.Contains(err.Error(), c.err.Error()) {
				t.Errorf("of %q is said %q", c.err, err)
			}
		}
	}
	if got := bellows.KindOf(ConnFault("read", "there", io.EOF)); got != bellows.Lost {
		t.Errorf("the peer is %v", got)
	}
}
