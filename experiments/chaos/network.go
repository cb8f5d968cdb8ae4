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

// network is a cluster whose nodes are in network namespaces of their own, on one bridge: the manager and a worker in the first, and in each other one a worker that has
// joined. Its links can be cut and made narrow.
type network struct {
	spaces []string
	joined []*aside // by namespace; the first has none
}

// apart is how many other namespaces there are.
const apart = 2

// at is the address of a namespace. No other one of the machine is reached from there.
func at(i int) string { return fmt.Sprintf("10.91.0.%d", i+1) }

// ip carries out a command of iproute2.
func ip(words string) error {
	if said, err := exec.Command("ip", strings.Fields(words)...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", words, err, strings.TrimSpace(string(said)))
	}
	return nil
}

// mayNetwork is why no network namespaces can be made here; nil: they can.
func mayNetwork() error {
	name := fmt.Sprintf("chaos-%d", os.Getpid())
	if err := ip("netns add " + name); err != nil {
		return fmt.Errorf("no network namespace can be made, which root can, with ip of iproute2: %w", err)
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
		for _, step := range append(steps, "-n "+s+" addr add "+at(i)+"/24 dev "+device, "-n "+s+" link set "+device+" up") {
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

// within is a command that runs in a namespace.
func (n *network) within(i int, args []string) []string {
	return append([]string{"ip", "netns", "exec", n.spaces[i]}, args...)
}

// cut cuts the link of a namespace, or joins it again.
func (n *network) cut(i int, state string) error {
	return ip(fmt.Sprintf("-n %s link set port%d %s", n.spaces[0], i, state))
}

// narrow limits the bandwidth of a link, in both directions.
func (n *network) narrow(i int, rate string) error {
	return errors.Join(ip(fmt.Sprintf("netns exec %s tc qdisc replace dev port%d root tbf rate %s burst 64kb latency 50ms", n.spaces[0], i, rate)),
		ip(fmt.Sprintf("netns exec %s tc qdisc replace dev eth0 root tbf rate %s burst 64kb latency 50ms", n.spaces[i], rate)))
}

// join has the other namespaces join the cluster, where none of theirs runs.
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
		if n.joined[i], err = c.giveIn(i, env, "join", at(0)+":7070", "--slots", "1"); err != nil {
			return err
		}
	}
	return nil
}

// leave ends what has joined.
func (n *network) leave() (err error) {
	for i := 1; i < len(n.spaces); i++ {
		err = errors.Join(err, n.cut(i, "up"))
		if a := n.joined[i]; a != nil {
			_ = a.cmd.Process.Signal(syscall.SIGINT) // it may have ended
			if _, wrong := a.wait(asideMost); errors.Is(wrong, errHangs) {
				err = errors.Join(err, wrong)
			}
		}
	}
	return err
}

// The acts on a job of a cluster with links.
var networkActs = []act{
	{"narrow a link", 3, (*job).narrowLink},
	{"cut a link for a moment", 4, func(j *job, l *life) (came, error) { return j.cutLink(l, false) }},
	{"cut a link until its node is given up", 3, func(j *job, l *life) (came, error) { return j.cutLink(l, true) }},
	{"kill a worker", 2, func(j *job, l *life) (came, error) { return j.kill(l, j.any(l)) }},
	{"drain", 1, (*job).drainNode},
}

// narrowLink gives a link another bandwidth.
func (j *job) narrowLink(*life) (came, error) {
	rates := []string{"50mbit", "100mbit", "200mbit", "1gbit"}
	j.narrowed++
	return met, j.cluster.network.narrow(1+j.rng.IntN(apart), rates[j.rng.IntN(len(rates))])
}

// cutLink cuts a link: for less than a lease, or for as long as it takes to give up who is behind it, which may be more than one node of the job, or none.
func (j *job) cutLink(l *life, long bool) (k came, err error) {
	n, i := j.cluster.network, 1+j.rng.IntN(apart)
	if err := n.cut(i, "down"); err != nil {
		return late, err
	}
	j.cuts++
	l.hurt = true
	within := time.Duration(50+j.rng.IntN(1500)) * time.Millisecond
	var wanted func(event) bool
	if long {
		within = longCut
		wanted = func(e event) bool { return e.Kind == "gone" || e.Kind == "lost" }
	}
	k, _, err = l.await(within, wanted)
	if k == met {
		_, _, err = l.await(time.Duration(j.rng.IntN(1500))*time.Millisecond, nil) // the job goes on without it, and it wakes
	}
	return k, errors.Join(err, n.cut(i, "up"))
}

// longCut is how long a link is cut at most: the nodes behind it are given up sooner, if there are any.
const longCut = 6 * time.Second
