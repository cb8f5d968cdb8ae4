package node_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"bellows"
	"bellows/link/transport"
	"bellows/node"
	"bellows/table"
	"bellows/train"
)

// busy returns a job with everything that travels: a BSP table, counts under SSP, and leases, over many partitions.
func busy(rounds int) train.Job {
	const splits = 4
	j := job(rounds, func(t *train.Task) error {
		if err := drift(t); err != nil {
			return err
		}
		s := bellows.RowID(t.Split())
		if got := table.Counts(t.PullRange(1, s, s+1))[0]; got != int32(t.Clock()) {
			return fmt.Errorf("split %d has counted %d in %d clocks", s, got, t.Clock())
		}
		t.PushRange(1, s, []float32{math.Float32frombits(1)})
		slab := t.Lease(2, bellows.PartitionID((int(s)+int(t.Clock()))%splits), train.Exclusive)
		slab[0]++
		return nil
	})
	j.Tables = append(j.Tables, table.Schema{Name: "counts", Rows: 8, Width: 1, Partitions: 8, Consistency: table.SSP(1), DType: table.Int32},
		table.Schema{Name: "leased", Rows: splits, Width: 1, Partitions: splits, Consistency: table.Async})
	return j
}

// TestAnyNumberOfConnectionsGivesTheSame joins each pair of nodes by one to four connections: the bits are the same, every update is
// seen once, and all of the connections are used where there are lanes for them.
func TestAnyNumberOfConnectionsGivesTheSame(t *testing.T) {
	t.Parallel()
	const rounds = 25
	members := []node.Member{{}, {Node: 1, Slots: 1, Lanes: 3}, {Node: 2, Slots: 1, Lanes: 3}}
	one := runAlone(t, busy(rounds), node.Options{})
	for n := 1; n <= node.ConnectionsMost; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			var bytes [node.ConnectionsMost]atomic.Int64
			r := gang{members: members, connections: n, job: func(bellows.NodeID) train.Job { return busy(rounds) },
				wrap: func(from, to bellows.NodeID, c transport.Conn) transport.Conn {
					if from+to == 3 {
						return countConn{c, &bytes[c.Peer().Number]}
					}
					return c
				}}.done(t)
			for i := range one.Tables {
				if !slices.Equal(r.Tables[i], one.Tables[i]) {
					t.Errorf("table %d ends at %v, one node at %v", i, r.Tables[i], one.Tables[i])
				}
			}
			checkAudit(t, r)
			const below = 150      // bytes that sessions may say to each other
			for i := range bytes { // the first is for control, which is all with node 0
				if used := bytes[i].Load() > below; used != (i < n && (i > 0 || n == 1)) {
					t.Errorf("connection %d of %d carried %d bytes", i, n, bytes[i].Load())
				}
			}
		})
	}
}

// TestConnectionPairEndsTogether cuts each connection of a pair in turn.
func TestConnectionPairEndsTogether(t *testing.T) {
	t.Parallel()
	members := []node.Member{{}, {Node: 1, Slots: 1, Lanes: 3}, {Node: 2, Slots: 1, Lanes: 3}}
	for number := range uint8(3) {
		for _, pair := range [][2]bellows.NodeID{{0, 2}, {2, 1}} {
			if number != 0 && pair[0] == 0 || number == 0 && pair[0] == 2 {
				continue // nothing is written there
			}
			t.Run(fmt.Sprintf("connection %d from %d to %d", number, pair[0], pair[1]), func(t *testing.T) {
				t.Parallel()
				var closings atomic.Int32
				_, _, err := gang{members: members, connections: 3, job: func(bellows.NodeID) train.Job { return busy(1 << 20) },
					wrap: func(from, to bellows.NodeID, c transport.Conn) transport.Conn {
						if from != pair[0] || to != pair[1] {
							return c
						}
						c = closeConn{c, &closings}
						if c.Peer().Number == number {
							return &cutConn{Conn: c, left: 5}
						}
						return c
					}}.run(context.Background(), t)
				if err == nil || bellows.KindOf(err) != bellows.Lost || !strings.Contains(err.Error(), "node 2") {
					t.Fatalf("error %v", err)
				}
				if closed := closings.Load(); closed < 3 {
					t.Errorf("%d of 3 connections were closed", closed)
				}
			})
		}
	}
}

// closeConn counts closings.
type closeConn struct {
	transport.Conn
	closings *atomic.Int32
}

func (c closeConn) Close() error {
	c.closings.Add(1)
	return c.Conn.Close()
}

func TestTooManyConnectionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, node.ConnectionsMost + 1} {
		c := node.Cluster{Members: []node.Member{{Slots: 1, Lanes: 1}}, Connections: n}
		_, err := node.Lead(context.Background(), job(1, drift), c, nil, node.Options{})
		if bellows.KindOf(err) != bellows.Config || !strings.Contains(err.Error(), "must be 1 to 4") {
			t.Errorf("%d connections: %v", n, err)
		}
	}
}
