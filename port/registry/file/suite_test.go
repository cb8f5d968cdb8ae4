package file

import (
	"testing"
	"testing/synctest"

	"bellows/internal/require"
	"bellows/port/registry"
	"bellows/port/registry/registrytest"
)

// TestSuite runs the conformance suite on real files. The clock is virtual; the disk is not.
func TestSuite(t *testing.T) {
	t.Parallel()
	var forget *Store // of the test that runs alone
	registrytest.Run(t, registrytest.Place{
		New: func(t *testing.T) func() registry.Registry {
			s := openFolder(t, Config{Folder: t.TempDir()})
			if forget == nil {
				forget = s
			}
			return s.Client
		},
		Compact: func(*testing.T) {
			forget.mu.Lock()
			defer forget.mu.Unlock()
			forget.space.Forget()
		},
		Play: func(t *testing.T, test func(*testing.T)) { synctest.Test(t, test) },
	})
}

func openFolder(t *testing.T, c Config) *Store {
	t.Helper()
	s, err := Open(c)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
