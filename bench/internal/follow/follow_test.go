package follow

import (
	"errors"
	"strings"
	"testing"
	"time"

	"bellows/bench/internal/pair"
)

// TestCommandsAreFollowed reads events and other lines of a shell, and waits for what does not come.
func TestCommandsAreFollowed(t *testing.T) {
	t.Parallel()
	var texts []string
	c := Start(func(e Event) { texts = append(texts, e.Kind+":"+e.Text) }, "sh", "-c",
		`echo '{"kind":"epoch","epoch":3,"node":7}'; echo plain; echo '{"kind":"gone","node":"node-2"}'; echo trouble >&2; read never`)
	defer c.Kill()
	if e := c.Await("an epoch", time.Minute, IsEpoch); *e.Epoch != 3 {
		t.Errorf("epoch %d", *e.Epoch)
	}
	if e := c.Await("a loss", time.Minute, HasKind("lost", "gone")); e.Node != "node-2" {
		t.Errorf("node %q", e.Node)
	}
	if len(texts) != 3 || texts[1] != ":plain" {
		t.Errorf("noted %q", texts)
	}
	if _, err := c.Pass(time.Minute, nil); !errors.Is(err, ErrEnded) { // its input is empty
		t.Errorf("a command that ends: %v", err)
	}
	err := pair.Attempt(func() { c.Rest(time.Millisecond) })
	if !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "trouble") {
		t.Errorf("a rest of a command that has ended: %v", err)
	}
	if c.Code() != 1 {
		t.Errorf("exit code %d of a read without input", c.Code())
	}
}

func TestKillEndsACommand(t *testing.T) {
	t.Parallel()
	c := Start(nil, "sleep", "600")
	if _, err := c.Pass(time.Millisecond, nil); !errors.Is(err, ErrTime) {
		t.Errorf("a command that sleeps: %v", err)
	}
	c.Kill()
	c.Kill()
	if c.Code() != -1 {
		t.Errorf("exit code %d of a command that was killed", c.Code())
	}
}
