// Package netns gives each node of a real job on this machine a network namespace and a link with limited rates, to
// check the laboratory. A link has an uplink and a downlink with a rate each, limited by token buckets of the system
// (tc-tbf(8)).
//
// The caller's duties, in order:
//
//  1. Enter at the start of the program. It makes the namespaces, starts the program again in the one of node 0, and
//     returns when that has ended. In the program that runs there, Enter returns the Spaces.
//  2. Limit the links before each run.
//  3. Start the process of a node with the words of Command before its own, at Address.
//
// Only root can make namespaces, with ip and tc of iproute2 and nsenter of util-linux. The package refuses to reach other machines.
package netns

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

// Link is what limits a node. Rates are in bytes a second on the wire, with headers; 0: unlimited.
type Link struct {
	Up, Down float64
	Burst    int // bytes that leave at once after a rest; 0: as few as the system allows
}

// Spaces are the namespaces of the nodes, by node. Node 0 has a bridge that joins the others.
type Spaces struct {
	names []string
}

// variable names the variable of the environment that gives the program, in the namespace of node 0, the names of all.
const variable = "_BENCH_LAB_SPACES"

// priority is the niceness of the program and its processes: a machine that does other work gives way.
const priority = -15

// Enter returns the namespaces if the program runs in that of node 0. Otherwise it makes them for node 0 and so many
// others, runs the program again there with its arguments, and returns nil when it has ended.
func Enter(others int) (_ *Spaces, err error) {
	if list := os.Getenv(variable); list != "" {
		return &Spaces{strings.Split(list, ",")}, nil
	}
	s := &Spaces{}
	for i := range others + 1 {
		s.names = append(s.names, fmt.Sprintf("bench-lab-%d-%d", os.Getpid(), i))
	}
	defer func() {
		for _, name := range s.names {
			_ = exec.Command("ip", "netns", "del", name).Run() // it may not be there
		}
	}()
	for i := range s.names {
		for _, step := range s.steps(i) {
			if err := run(step); err != nil {
				return nil, fmt.Errorf("make the network namespace of node %d, which takes root, iproute2 and nsenter: %w", i, err)
			}
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	words := append(append(s.Command(0), self), os.Args[1:]...)
	again := exec.Command(words[0], words[1:]...)
	again.Env = append(os.Environ(), variable+"="+strings.Join(s.names, ","))
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	runtime.LockOSThread() // a child has the niceness of the thread that starts it
	defer runtime.UnlockOSThread()
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, priority); err != nil {
		return nil, fmt.Errorf("raise the priority: %w", err)
	}
	return nil, again.Run()
}

// steps returns the commands that make the namespace of a node. That of node 0 is made first.
func (s *Spaces) steps(node int) []string {
	name, device := s.names[node], "bridge0"
	list := []string{"ip netns add " + name, "ip -n " + name + " link set lo up"}
	if node == 0 {
		list = append(list, "ip -n "+name+" link add bridge0 type bridge")
	} else {
		device = "eth0"
		port := fmt.Sprintf("port%d", node)
		list = append(list, "ip link add "+port+" netns "+s.names[0]+" type veth peer name eth0 netns "+name,
			"ip -n "+s.names[0]+" link set "+port+" master bridge0 up")
	}
	return append(list, "ip -n "+name+" addr add "+s.Address(node)+"/24 dev "+device, "ip -n "+name+" link set "+device+" up")
}

// Address returns the address of a node.
func (s *Spaces) Address(node int) string { return fmt.Sprintf("10.90.0.%d", node+1) }

// Command returns the words that start a process in the namespace of a node. "ip netns exec" would also give it another
// /sys, without control groups.
func (s *Spaces) Command(node int) []string {
	return []string{"nsenter", "--net=/run/netns/" + s.names[node]}
}

// Limit gives each node its link, from node 1 on; without an element a node is unlimited.
func (s *Spaces) Limit(links []Link) error {
	for node := 1; node < len(s.names); node++ {
		var l Link
		if node <= len(links) {
			l = links[node-1]
		}
		port := fmt.Sprintf("%s port%d", s.names[0], node)
		for device, rate := range map[string]float64{s.names[node] + " eth0": l.Up, port: l.Down} {
			burst := l.Burst
			if device == port {
				burst = 0 // it is of what the node sends
			}
			space, name, _ := strings.Cut(device, " ")
			if err := run(limit(space, name, rate, burst)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Bounds of a token bucket: it lets one packet pass at least, and keeps queueTime of its rate waiting.
const (
	burstLeast = 8 << 10
	queueTime  = 0.1 // seconds
	queueLeast = 64 << 10
)

// limit returns the command that limits what a device sends.
func limit(space, device string, rate float64, burst int) string {
	if rate == 0 { // a plain queue replaces the bucket
		return "ip netns exec " + space + " tc qdisc replace dev " + device + " root pfifo limit 10000"
	}
	return fmt.Sprintf("ip netns exec %s tc qdisc replace dev %s root tbf rate %.0fbit burst %d limit %d", space, device, 8*rate,
		max(burst, burstLeast), max(burst, burstLeast)+max(queueLeast, int(queueTime*rate)))
}

// run runs a command, with its output in its error.
func run(command string) error {
	words := strings.Fields(command)
	if text, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", command, err), errors.New(strings.TrimSpace(string(text))))
	}
	return nil
}
