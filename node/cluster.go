package node

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"bellows"
	"bellows/core/join"
	"bellows/core/route"
	"bellows/figures"
	"bellows/link/wire"
	"bellows/table"
	"bellows/train"
	"bellows/vec"
)

// Member is a node of a job and what it hosts.
type Member struct {
	Node  bellows.NodeID
	Slots int // compute slots; 0: it runs no tasks
	Lanes int // server lanes; 0: it holds no partitions
}

// Place decides which of a job's nodes hold its tables. If no table has as many partitions as there are members with
// lanes, one node holds all of them, so that nodes without tables get no records, and losing any other node costs only
// its units. Otherwise members stay as they are.
//
// That node is node 0, next to the controller: a record and its changes then reach a worker in one write. One lane of
// node 0 runs nothing that the controller does not run anyway, so it is no more likely to die than before. Rejected: a
// client at node 0, because application code would run in the process that leads. If another process may replace node
// 0, the tables are at node 1: node 0 then holds nothing that could die with it (Follow).
func Place(members []Member, tables []table.Schema, follows bool) []Member {
	partitions, servers := 0, 0
	for i := range tables {
		partitions = max(partitions, tables[i].Cut().Len())
	}
	for _, m := range members {
		if m.Lanes > 0 {
			servers++
		}
	}
	if partitions >= servers || len(members) == 1 {
		return members
	}
	placed := slices.Clone(members)
	for i := range placed {
		placed[i].Lanes = 0
	}
	holder := 0
	if follows {
		holder = 1
	}
	placed[holder].Lanes = 1
	return placed
}

// Cluster is the members of a job, by node from 0, and which of them this process is. Node 0 hosts the controller. It is
// the cluster that a job begins with, and the same in every process but for Self: what it does not say, where partitions
// and splits go, follows from it by route, a pure function.
type Cluster struct {
	Self        bellows.NodeID
	Members     []Member
	Connections int // of each pair of nodes, at most ConnectionsMost; 0: one
	// Invited is why this process is none of the members: it joins while the job runs. nil: it is one of them.
	Invited *Invitation
}

// An Invitation is what node 0 sends to a node that joins while the job runs, in addition to the cluster that the job
// began with.
type Invitation struct {
	join.Newcomer
	Gone []bellows.NodeID    // lower numbers of nodes that are not there any more; known when it is the node's turn (Await)
	Job  bellows.Fingerprint // the job that the node must also have
	turn <-chan []bellows.NodeID
}

// Await waits for the node's turn to connect to the others, which node 0 announces, and fills in Gone. Meanwhile its
// process may start and read its data, in parallel with others. If ctx ends, Await returns an error: the node was given
// up, or is not awaited any more.
func (i *Invitation) Await(ctx context.Context) error {
	select {
	case i.Gone = <-i.turn:
		return nil
	case <-ctx.Done():
		return bellows.Errorf(bellows.Interrupted, "add a node", fmt.Sprintf("node %d", i.Node), "it did not learn which node to call: %w", context.Cause(ctx))
	}
}

// Accept returns the cluster as the invited node sees it.
func (c Cluster) Accept(i Invitation) Cluster {
	c.Self, c.Invited = i.Node, &i
	return c
}

// Check refuses a job that differs from the one that a node is invited to. The node's own process checks before it
// joins; node 0 also checks.
func (i *Invitation) Check(job *train.Job, wire vec.Format) error {
	if own := train.Fingerprint(job, wire); own != i.Job {
		return bellows.Errorf(bellows.Config, "join", fmt.Sprintf("as node %d", i.Node), "this process has made another job than node 0: what differs is %s", i.Job.Differs(own))
	}
	return nil
}

// ConnectionsMost is how many connections a pair of nodes may have.
const ConnectionsMost = 4

// ParseConnections returns the number of connections in a setting: 1 to ConnectionsMost, or "auto".
func ParseConnections(s string) (int, error) {
	if s == "auto" {
		return connectionsAuto, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > ConnectionsMost {
		return 0, fmt.Errorf("it must be auto or a number from 1 to %d", ConnectionsMost)
	}
	return n, nil
}

// connectionsAuto is the number of "auto": on two cores no other moves a table faster, and each costs goroutines, and more
// messages for each clock (./dev bench protocol --only transfer).
const connectionsAuto = 1

// Joining returns the cluster as joining nodes see it.
func (c Cluster) Joining() join.Cluster {
	if i := c.Invited; i != nil {
		return join.Cluster{Self: c.Self, Nodes: int(c.Self) + 1, Connections: c.connections(), Gone: i.Gone}
	}
	return join.Cluster{Self: c.Self, Nodes: len(c.Members), Connections: c.connections()}
}

// connections returns the number of connections of each pair of nodes.
func (c *Cluster) connections() int { return max(1, c.Connections) }

// alone returns the cluster of a job in one process.
func alone(opt Options) Cluster {
	slots := max(1, opt.Slots)
	lanes := opt.Lanes
	if lanes == 0 {
		lanes = slots
	}
	return Cluster{Members: []Member{{Slots: slots, Lanes: lanes}}}
}

// validate refuses a cluster that cannot run a job (TestAClusterIsWhole). Members in another order are a mistake of this
// program's, and numbers that the user chose are theirs.
func (c *Cluster) validate() error {
	slots, lanes := 0, 0
	for i, m := range c.Members {
		if int(m.Node) != i || m.Slots < 0 || m.Lanes < 0 || m.Lanes > 1<<10 {
			return bellows.Errorf(bellows.Bug, "assemble cluster", "", "member %d is %+v", i, m)
		}
		slots += m.Slots
		lanes += m.Lanes
	}
	if c.Connections < 0 || c.Connections > ConnectionsMost {
		return bellows.Errorf(bellows.Config, "assemble cluster", "", "a pair of nodes has %d connections; must be 1 to %d", c.Connections, ConnectionsMost)
	}
	if slots == 0 || lanes == 0 || c.Invited == nil && int(c.Self) >= len(c.Members) {
		return bellows.Errorf(bellows.Config, "assemble cluster", "",
			"%d members have %d compute slots and %d lanes, and this is node %d", len(c.Members), slots, lanes, c.Self)
	}
	return nil
}

// Me returns this process.
func (c *Cluster) SelfMember() Member {
	if i := c.Invited; i != nil {
		return Member{i.Node, i.Slots, i.Lanes}
	}
	return c.Members[c.Self]
}

// lanes returns the addresses of all lanes.
func (c *Cluster) lanes() []wire.Address {
	counts := make([]int, len(c.Members))
	for i, m := range c.Members {
		counts[i] = m.Lanes
	}
	return route.Lanes(counts)
}

// workers returns the nodes that run tasks.
func (c *Cluster) workers() []bellows.NodeID {
	var list []bellows.NodeID
	for _, m := range c.Members {
		if m.Slots > 0 {
			list = append(list, m.Node)
		}
	}
	return list
}

func (c *Cluster) clients() []wire.Address { return route.Clients(c.workers()) }

// Surplus says how many members run no tasks, since the job has too few splits, as the end of a sentence; empty: none.
func Surplus(list []Member, splits int) string {
	c := Cluster{Members: list}
	if idle := figures.Surplus(len(c.workers()), splits); idle != "" {
		return "; " + idle
	}
	return ""
}

// route gives partitions and splits to members. If there are more workers than splits, the last ones hold none: the
// number of splits depends on the data alone, since it fixes the order of sums.
func (c *Cluster) route(job *train.Job) *route.Route {
	return route.Spread(job.Tables, job.Splits, c.lanes(), c.workers())
}
