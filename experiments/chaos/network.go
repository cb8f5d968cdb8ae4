package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// network is a cluster whose nodes are in network namespaces of their own, on one bridge: the manager and a worker in
// the first, and in each other one a worker that has joined. Its links can be cut and made narrow.
type network struct {
	spaces []string
	joined []*aside // by namespace; the first has none
}

// apart is how many other namespaces there are.
const apart = 2

// addressOf returns the address of a namespace. It reaches no other one of the machine.
func addressOf(i int) string { return fmt.Sprintf("10.91.0.%d", i+1) }

// ip carries out a command of iproute2.
func ip(words string) error {
	_, err := asked("ip " + words)
	return err
}

// asked carries out a command of the system, and returns what it says.
func asked(words string) (string, error) { return command(strings.Fields(words)...) }

func command(words ...string) (string, error) {
	said, err := exec.Command(words[0], words[1:]...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", strings.Join(words, " "), err, strings.TrimSpace(string(said)))
	}
	return string(said), err
}

// mayNetwork returns why no network namespaces can be made here; nil: they can.
func mayNetwork() error {
	for _, tool := range []string{"ip", "tc", "ss", "nft"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w; it is of the packages iproute2 and nftables", err)
		}
	}
	name := fmt.Sprintf("chaos-%d", os.Getpid())
	if err := ip("netns add " + name); err != nil {
		return fmt.Errorf("no network namespace can be made, which root can: %w", err)
	}
	return ip("netns del " + name)
}

// newNetwork makes the namespaces.
func newNetwork(name string) (n *network, err error) {
	n = &network{joined: make([]*aside, apart+1)}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close())
		}
	}()
	for i := range apart + 1 {
		s := fmt.Sprintf("%s-%d", name, i)
		if err := ip("netns add " + s); err != nil {
			return n, err
		}
		n.spaces = append(n.spaces, s)
		device := "bridge0"
		steps := []string{"-n " + s + " link set lo up", "-n " + s + " link add bridge0 type bridge"}
		if i > 0 {
			device = "eth0"
			port := fmt.Sprint("port", i)
			steps = []string{"-n " + s + " link set lo up", "link add " + port + " netns " + n.spaces[0] + " type veth peer name eth0 netns " + s,
				"-n " + n.spaces[0] + " link set " + port + " master bridge0 up"}
		}
		for _, chain := range []string{"input", "output"} {
			steps = append(steps, "netns exec "+s+" nft add table "+rules, fmt.Sprintf("netns exec %s nft add chain %s %s { type filter hook %s priority 0 ; }", s, rules, chain, chain))
		}
		for _, step := range append(steps, "-n "+s+" addr add "+addressOf(i)+"/24 dev "+device, "-n "+s+" link set "+device+" up") {
			if err := ip(step); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// close takes the namespaces away, when nothing runs in them any more.
func (n *network) close() (err error) {
	for _, s := range n.spaces {
		err = errors.Join(err, ip("netns del "+s))
	}
	n.spaces = nil
	return err
}

// within returns a command that runs in a namespace.
func (n *network) within(i int, args []string) []string {
	return append([]string{"ip", "netns", "exec", n.spaces[i]}, args...)
}

// The table of rules that drop what passes a machine's link.
const rules = "inet chaos"

// inside carries out a command in a namespace.
func (n *network) inside(i int, words string) (string, error) {
	return asked("ip netns exec " + n.spaces[i] + " " + words)
}

// ways are the directions in which a link is cut.
type ways int

const (
	bothWays  ways = iota
	oneWay         // what comes, or what goes, as it is drawn
	apartOnly      // what passes between the two machines that have joined
)

// cut drops packets of a machine, by rules on incoming and outgoing ones.
func (n *network) cut(i int, comes, goes bool, only string) (err error) {
	for _, side := range []struct {
		wanted              bool
		chain, device, peer string
	}{{comes, "input", "iifname", "saddr"}, {goes, "output", "oifname", "daddr"}} {
		if !side.wanted {
			continue
		}
		rule := side.device + " eth0 counter drop"
		if only != "" {
			rule = "ip " + side.peer + " " + only + " counter drop"
		}
		_, wrong := n.inside(i, "nft add rule "+rules+" "+side.chain+" "+rule)
		err = errors.Join(err, wrong)
	}
	return err
}

// whole takes the rules away again, and returns how many packets they have dropped.
func (n *network) whole(i int) (dropped int, err error) {
	text, err := n.inside(i, "nft list table "+rules)
	for rest, there := text, true; there; {
		if _, rest, there = strings.Cut(rest, "counter packets "); there {
			var k int
			_, _ = fmt.Sscanf(rest, "%d", &k) // 0 if it is no number
			dropped += k
		}
	}
	_, wrong := n.inside(i, "nft flush table "+rules)
	return dropped, errors.Join(err, wrong)
}

// reset ends the connections of a machine, both ends of each with a reset; but: those with that port are spared.
func (n *network) reset(i int, but string) (ended int, err error) {
	text, err := n.inside(i, "ss -K -H -t state established sport != :"+but+" and dport != :"+but)
	return strings.Count(text, "\n"), err
}

// narrow limits the bandwidth of a link, in both directions; wide takes the limits away, and returns how many packets have waited for them.
func (n *network) narrow(i int, rate string) error {
	_, err := n.inside(0, fmt.Sprintf("tc qdisc replace dev port%d root tbf rate %s burst 64kb latency 50ms", i, rate))
	_, wrong := n.inside(i, fmt.Sprintf("tc qdisc replace dev eth0 root tbf rate %s burst 64kb latency 50ms", rate))
	return errors.Join(err, wrong)
}

func (n *network) wide(i int) (waited int, err error) {
	for _, at := range []struct {
		space  int
		device string
	}{{0, fmt.Sprint("port", i)}, {i, "eth0"}} {
		text, wrong := n.inside(at.space, "tc -s qdisc show dev "+at.device)
		if _, rest, there := strings.Cut(text, "overlimits "); there {
			var k int
			_, _ = fmt.Sscanf(rest, "%d", &k)
			waited += k
		}
		_, gone := n.inside(at.space, "tc qdisc del dev "+at.device+" root")
		err = errors.Join(err, wrong, gone)
	}
	return waited, err
}

// join makes the other namespaces join the cluster, if none of their agents runs.
func (c *cluster) join() error {
	n := c.network
	token, err := os.ReadFile(filepath.Join(c.state(), "bellows", "cluster", "token"))
	if err != nil {
		return err
	}
	for i := 1; i < len(n.spaces); i++ {
		if a := n.joined[i]; a != nil {
			select {
			case <-a.over:
			default:
				continue
			}
		}
		env := append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(c.j.folder, fmt.Sprint("state-", i)), "BELLOWS_TOKEN="+strings.TrimSpace(string(token)))
		if n.joined[i], err = c.giveIn(i, env, "join", addressOf(0)+":7070", "--slots", "1"); err != nil {
			return err
		}
	}
	return nil
}

// leave ends what has joined.
func (n *network) leave() (err error) {
	for i := 1; i < len(n.spaces); i++ {
		if a := n.joined[i]; a != nil {
			_ = a.cmd.Process.Signal(syscall.SIGINT) // it may have ended
			if _, wrong := a.wait(asideMost); errors.Is(wrong, errHangs) {
				err = errors.Join(err, wrong)
			}
		}
	}
	return err
}

// hits are what the kernel has counted of what was done to links.
type hits struct {
	Dropped int `json:"packets_dropped"`
	Waited  int `json:"packets_over_limit"`
	Reset   int `json:"connections_reset"`
}

// add adds what another has counted.
func (h *hits) add(o hits) {
	h.Dropped, h.Waited, h.Reset = h.Dropped+o.Dropped, h.Waited+o.Waited, h.Reset+o.Reset
}

// cutLink cuts a link: for less than a lease, or until the nodes on its other side are given up, which may be several
// nodes of the job, or none.
func (j *job) cutLink(l *life, which ways, long bool) (k came, err error) {
	n, i := j.cluster.network, 1+j.rng.IntN(apart)
	comes, goes, only := true, true, ""
	switch which {
	case oneWay:
		comes = j.rng.IntN(2) == 0
		goes = !comes
	case apartOnly:
		only = addressOf(apart + 1 - i)
	}
	if err := n.cut(i, comes, goes, only); err != nil {
		return late, err
	}
	l.hurt = true
	within := time.Duration(50+j.rng.IntN(1500)) * time.Millisecond
	var wanted func(event) bool
	if long {
		within = longCut
		wanted = func(e event) bool { return e.Kind == "gone" || e.Kind == "rolled-back" || e.Kind == "lost" }
	}
	k, _, err = l.await(within, wanted)
	if k == met {
		k, _, err = l.await(time.Duration(j.rng.IntN(1500))*time.Millisecond, nil) // the job continues without it, and it wakes
	}
	dropped, wrong := n.whole(i)
	j.hits.Dropped += dropped
	if err = errors.Join(err, wrong); err != nil || k == over {
		return k, err
	}
	return j.goesOn(l)
}

// longCut is the longest cut of a link: nodes on its other side are given up sooner.
const longCut = 6 * time.Second

// resetConnections ends connections of a machine: those of the job, which are made again and resumed, or all of them, its agent's to the manager too.
func (j *job) resetConnections(l *life) (came, error) {
	but := "7070"
	if j.rng.IntN(6) == 0 {
		but, l.mine = "0", true // an agent without a manager ends
	}
	ended, err := j.cluster.network.reset(j.rng.IntN(apart+1), but)
	j.hits.Reset += ended
	if err == nil && ended == 0 {
		return nobody, nil
	}
	return met, err
}

// narrowly limits the bandwidth of a link while something is done.
func (j *job) narrowly(do func() (came, error)) (came, error) {
	n, i := j.cluster.network, 1+j.rng.IntN(apart)
	if err := n.narrow(i, []string{"20mbit", "50mbit", "100mbit", "200mbit"}[j.rng.IntN(4)]); err != nil {
		return late, err
	}
	c, err := do()
	waited, wrong := n.wide(i)
	j.hits.Waited += waited
	return c, errors.Join(err, wrong)
}

// narrowMoving makes a node leave over a narrow link.
func (j *job) narrowMoving(l *life) (came, error) {
	return j.narrowly(func() (came, error) {
		c, err := j.drainNode(l)
		if c == met && err == nil {
			c, _, err = l.await(narrowMost, func(e event) bool { return e.Kind == "left" || e.Kind == "plan" && e.Took > 0 })
		}
		return c, err
	})
}

// narrowCheckpoints leaves a link narrow until some checkpoints are written.
func (j *job) narrowCheckpoints(l *life) (came, error) {
	return j.narrowly(func() (came, error) {
		more := 1 + j.rng.IntN(3)
		c, _, err := l.await(narrowMost, func(e event) bool {
			if e.Kind == "checkpoint" {
				more--
			}
			return more == 0
		})
		return c, err
	})
}

// narrowMost is how long a link is narrow at most.
const narrowMost = 4 * time.Second
