//go:build unix

package cli

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestClosedAtStart(t *testing.T) {
	t.Parallel()
	open := func(name string, flags int) *os.File {
		f, err := os.OpenFile(name, flags, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	file := filepath.Join(t.TempDir(), "out")
	replaced := open(os.DevNull, os.O_RDWR) // as the runtime opens it
	duplicate, err := syscall.Dup(int(replaced.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	twin := os.NewFile(uintptr(duplicate), "twin")
	t.Cleanup(func() { twin.Close() })
	for name, c := range map[string]struct {
		stream, other *os.File
		want          bool
	}{
		"replaced by the runtime":       {replaced, open(os.DevNull, os.O_RDWR), true},
		"a shell's > /dev/null":         {open(os.DevNull, os.O_WRONLY), open(os.DevNull, os.O_RDWR), false},
		"a file":                        {open(file, os.O_RDWR|os.O_CREATE), open(os.DevNull, os.O_RDWR), false},
		"a daemon's, shared with stdin": {replaced, twin, false},
	} {
		if got := closedAtStart(c.stream, c.other); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if _, err := closedStream.Write([]byte("lost")); !errors.Is(err, syscall.EBADF) {
		t.Errorf("a write ended with %v, want EBADF", err)
	}
}
