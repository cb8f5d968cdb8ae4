package node

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"bellows"
	"bellows/core/join"
	"bellows/core/route"
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

// Place decides which of a job's nodes hold its tables. Where no table has as many partitions as there are members with
// lanes, one node holds them all, so that nobody is told of records who holds nothing, and the loss of nobody else costs more than its units. Otherwise members stay as they are.
//
// That one is node 0, beside the controller: a record and what it changes then reach a worker in one write. One lane of node 0 runs nothing that the controller does not run itself, so that it is no more likely to
// die than before. A client there was turned down: an application's code would run in the process that leads. Where another process may take the place of node 0 it is node 1: node 0 has nothing that could die
// with it (Follow).
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

// Invitation is what node 0 tells a node that joins while the job runs, beside the cluster that the job began with.
type Invitation struct {
	join.Newcomer
	Gone []bellows.NodeID    // lower numbers of nodes that are not there any more; known when it is the node's turn (Await)
	Job  bellows.Fingerprint // what it must have made, too
	turn <-chan []bellows.NodeID
}

// Await waits until it is the node's turn to call the others, which node 0 says, and fills in Gone. Its process may start and read its data meanwhile,
// beside those of others. The end of ctx is an error: the node is given up, or nobody waits for it any more.
func (i *Invitation) Await(ctx context.Context) error {
	select {
	case i.Gone = <-i.turn:
		return nil
	case <-ctx.Done():
		return bellows.Errorf(bellows.Interrupted, "add a node", fmt.Sprintf("node %d", i.Node), "it was not told whom to call: %w", context.Cause(ctx))
	}
}

// Accept is the cluster as the invited node sees it.
func (c Cluster) Accept(i Invitation) Cluster {
	c.Self, c.Invited = i.Node, &i
	return c
}

// Check refuses a job that is not the one that a node is invited to. Its own process says so, before it joins anybody; node 0 looks, too.
func (i *Invitation) Check(job *train.Job, wire vec.Format) error {
	if own := train.Fingerprint(job, wire); own != i.Job {
		return bellows.Errorf(bellows.Config, "join", fmt.Sprintf("as node %d", i.Node), "this process has made another job than node 0: what differs is %s", i.Job.Differs(own))
	}
	return nil
}

// ConnectionsMost is how many connections a pair of nodes may have.
const ConnectionsMost = 4

// ParseConnections is the number of connections that a setting names: 1 to ConnectionsMost, or "auto".
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

// Joining is the cluster as those who join it see it.
func (c Cluster) Joining() join.Cluster {
	if i := c.Invited; i != nil {
		return join.Cluster{Self: c.Self, Nodes: int(c.Self) + 1, Connections: c.connections(), Gone: i.Gone}
	}
	return join.Cluster{Self: c.Self, Nodes: len(c.Members), Connections: c.connections()}
}

// connections is how many each pair of nodes has.
func (c *Cluster) connections() int { return max(1, c.Connections) }

// alone is the cluster of a job in one process.
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

// Me is this process.
func (c *Cluster) Me() Member {
	if i := c.Invited; i != nil {
		return Member{i.Node, i.Slots, i.Lanes}
	}
	return c.Members[c.Self]
}

// lanes are the addresses of all lanes.
func (c *Cluster) lanes() []wire.Address {
	counts := make([]int, len(c.Members))
	for i, m := range c.Members {
		counts[i] = m.Lanes
	}
	return route.Lanes(counts)
}

// workers are the nodes that run tasks.
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

// Fits refuses a cluster with more workers than the job has splits, since some would have nothing to do. Lead and Serve do the same; who
// starts processes asks before.
func (c *Cluster) Fits(job *train.Job) error {
	if workers := len(c.workers()); workers > job.Splits {
		return bellows.Errorf(bellows.Config, "assemble cluster", fmt.Sprintf("%d nodes", workers),
			"the data is cut into %d splits, so that some nodes would have none; use fewer processes, or set splits", job.Splits)
	}
	return nil
}

// route gives partitions and splits to members.
func (c *Cluster) route(job *train.Job) (*route.Route, error) {
	if err := c.Fits(job); err != nil {
		return nil, err
	}
	return route.Spread(job.Tables, job.Splits, c.lanes(), c.workers()), nil
}
