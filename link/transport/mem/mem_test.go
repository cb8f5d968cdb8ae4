package mem_test

import (
	"testing"

	"bellows/internal/require"
	"bellows/link/transport"
	"bellows/link/transport/mem"
	"bellows/link/transport/transporttest"
)

func TestConforms(t *testing.T) {
	t.Parallel()
	network := mem.New()
	transporttest.Run(t, func(t *testing.T, c transport.Config) transport.Transport {
		t.Helper()
		node, err := network.Join(c)
		require.NoError(t, err)
		return node
	}, func(*testing.T) string { return "" }, func(t *testing.T, address string) {
		t.Helper()
		if _, err := network.Stream(address); err != nil {
			t.Error(err)
		}
	})
}
