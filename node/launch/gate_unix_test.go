//go:build unix

package launch

import (
	"context"
	"os"
	"syscall"
	"testing"

	"bellows/internal/require"
)

// makePipe makes a named pipe.
func makePipe(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, syscall.Mkfifo(path, 0o600))
}

// openGate returns when a task waits at a gate; closing the gate lets it continue.
func openGate(ctx context.Context, path string) (*os.File, error) {
	type opened struct {
		*os.File
		err error
	}
	came := make(chan opened, 1)
	go func() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		came <- opened{f, err}
	}()
	select {
	case o := <-came:
		return o.File, o.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
