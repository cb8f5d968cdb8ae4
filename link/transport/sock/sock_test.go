package sock_test

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"bellows/internal/require"
	"bellows/link/transport"
	"bellows/link/transport/sock"
	"bellows/link/transport/transporttest"
)

func open(t *testing.T, c transport.Config) transport.Transport {
	t.Helper()
	s, err := sock.New(c)
	require.NoError(t, err)
	return s
}

func stranger(t *testing.T, address string) {
	t.Helper()
	network, place, _ := strings.Cut(address, ":")
	c, err := net.Dial(network, place)
	if err != nil {
		t.Error(err)
		return
	}
	t.Cleanup(func() { c.Close() })
}

func TestTCPConforms(t *testing.T) {
	t.Parallel()
	transporttest.Run(t, open, func(*testing.T) string { return "tcp:127.0.0.1:0" }, stranger)
}

func TestUnixConforms(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "s") // the transport makes it
	var next atomic.Int64
	transporttest.Run(t, open, func(*testing.T) string { return fmt.Sprintf("unix:%s/%d", folder, next.Add(1)) }, stranger)
}
