package node_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"bellows"
	"bellows/core/tally"
	"bellows/internal/require"
	"bellows/link/transport"
	"bellows/link/transport/mem"
	"bellows/link/transport/sock"
	"bellows/link/wire"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// bulky returns a job with only long messages between clients and lanes: rows that are read and changed, under BSP, by
// listed rows and by keys, and leases. Its bits do not depend on timing.
func bulky(rounds int) train.Job {
	const splits, rows, width, leased = 4, 600, 4, 1500
	j := job(rounds, func(t *train.Task) error {
		if err := drift(t); err != nil {
			return err
		}
		s := bellows.RowID(t.Split())
		d := slices.Clone(t.PullRange(1, 0, rows))
		for i := range d {
			d[i] = (d[i]+float32(i%7))*0.25*float32(s+1) + float32(t.Clock())
		}
		var list []bellows.RowID
		var keys []bellows.Key
		for r := s; r < rows; r += 2 {
			list, keys = append(list, r), append(keys, bellows.Key(r*r)<<20)
		}
		some, known := make([]float32, width*len(list)), make([]float32, len(keys))
		t.Pull(1, list, some)
		t.PullKeys(3, keys, known)
		for i := range known {
			known[i] += some[i*width] * 0.125
		}
		t.PushRange(1, 0, d)
		t.PushKeys(3, keys, known)
		slab := t.Lease(2, bellows.PartitionID((int(s)+int(t.Clock()))%splits), train.Exclusive)
		for i := range slab {
			slab[i] = slab[i]*0.5 + float32(i%11+int(s))
		}
		return nil
	})
	j.Tables = append(j.Tables, table.Schema{Name: "long", Rows: rows, Width: width, Partitions: 2},
		table.Schema{Name: "leased", Rows: splits * leased, Width: 1, Partitions: splits, Consistency: table.Async},
		table.Schema{Name: "keys", Rows: 4000, Width: 1, Sparse: true, Partitions: 2})
	return j
}

// partConn counts the parts of messages that come, by class, and what comes between them.
type partConn struct {
	transport.Conn
	parts *[tally.Classes]atomic.Int64
}

func (c partConn) ReadFrame() (wire.Header, []byte, error) {
	h, payload, err := c.Conn.ReadFrame()
	if err == nil && h.Part != 0 {
		c.parts[h.Class()].Add(1)
	}
	return h, payload, err
}

// promptConn is partConn for a connection whose readers answer at once.
type promptConn struct {
	transport.NonBlockingConn
	parts *[tally.Classes]atomic.Int64
}

func (c promptConn) ReadFrame() (wire.Header, []byte, error) {
	return partConn{c.NonBlockingConn, c.parts}.ReadFrame()
}

func inMemory(n int) string { return fmt.Sprint("node-", n) }

func inFolder(t *testing.T) func(n int) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.Chmod(folder, 0o700))
	return func(n int) string { return "unix:" + filepath.Join(folder, fmt.Sprint(n)) }
}

// TestSplitMessagesKeepBits plays a job whose messages are longer than a part may be, over every transport: pulls,
// rows, pushes and leases all travel in parts, and the bits are those of one process.
func TestSplitMessagesKeepBits(t *testing.T) {
	t.Parallel()
	rounds := 12
	one := runAlone(t, bulky(rounds), node.Options{})
	for name, c := range map[string]struct {
		shape string
		part  int
		open  func(transport.Config) (transport.Transport, error)
		at    func(n int) string
	}{
		"mem":                {"leader leads", 500, mem.New().Join, inMemory},
		"mem, server apart":  {"server apart", 999, mem.New().Join, inMemory},
		"unix":               {"leader leads", 500, sock.New, inFolder(t)},
		"unix, server apart": {"server apart", 1 << 10, sock.New, inFolder(t)},
		"tcp":                {"leader works", 500, sock.New, func(int) string { return "tcp:127.0.0.1:0" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var parts [tally.Classes]atomic.Int64
			r := gang{members: shapes[c.shape], part: c.part, job: func(bellows.NodeID) train.Job { return bulky(rounds) },
				open: c.open, address: c.at,
				wrap: func(_, _ bellows.NodeID, conn transport.Conn) transport.Conn {
					if p, ok := conn.(transport.NonBlockingConn); ok {
						return promptConn{p, &parts}
					}
					return partConn{conn, &parts}
				}}.done(t)
			for i := range one.Tables {
				if !slices.Equal(r.Tables[i], one.Tables[i]) || !slices.Equal(r.Keys[i], one.Keys[i]) {
					t.Errorf("table %d is not as one node makes it", i)
				}
			}
			checkAudit(t, r)
			for _, class := range []tally.Class{tally.Pulls, tally.Rows, tally.Leases, tally.Pushes} {
				if n := parts[class].Load(); n < 10 {
					t.Errorf("%d parts of %v came", n, class)
				}
			}
		})
	}
}
