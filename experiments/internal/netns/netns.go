// Package netns gives each node of a job on this machine a network namespace, with a link of a limited rate: a token
// bucket of the system limits what the node sends, and one what it is sent.
//
// The caller's duty: Enter at the start of the program, and put Command before the command line of a node
// process, which listens at Address.
//
// Only root can make namespaces, with ip and tc of iproute2. The package refuses to reach other machines.
package netns

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// variable names the variable of the environment that tells this program, started again in the namespace of the bridge,
// the names of all namespaces, by node.
const variable = "_EXPERIMENT_SPACES"

// Spaces are the names of the namespaces, by node. Node 0 has a bridge that joins the others.
type Spaces []string

// Enter returns the namespaces if the program runs in that of node 0. Otherwise it makes them for node 0 and one more
// for each rate, as tc has it. Then it runs the program again there, with its arguments, and returns nil when that has
// ended.
func Enter(name string, rates []string) (_ Spaces, err error) {
	if list := os.Getenv(variable); list != "" {
		return strings.Split(list, ","), nil
	}
	s := make(Spaces, len(rates)+1)
	for i := range s {
		s[i] = fmt.Sprintf("%s-%d-%d", name, os.Getpid(), i)
	}
	defer func() {
		for _, space := range s {
			_ = exec.Command("ip", "netns", "del", space).Run() // it may not be there
		}
	}()
	for i := range s {
		rate := ""
		if i > 0 {
			rate = rates[i-1]
		}
		for n, step := range s.steps(i, rate) {
			if err := run(step); err != nil && n == 0 {
				return nil, fmt.Errorf("make a network namespace, which root can, with ip of iproute2: %w", err)
			} else if err != nil {
				return nil, err
			}
		}
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	again := exec.Command("ip", append([]string{"netns", "exec", s[0], self}, os.Args[1:]...)...)
	again.Env = append(os.Environ(), variable+"="+strings.Join(s, ","))
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	return nil, again.Run()
}

// steps returns the commands that make the namespace of a node.
func (s Spaces) steps(node int, rate string) []string {
	space, device, port := s[node], "bridge0", fmt.Sprintf("port%d", node)
	list := []string{"ip netns add " + space, "ip -n " + space + " link set lo up"}
	if node == 0 {
		list = append(list, "ip -n "+space+" link add bridge0 type bridge")
	} else {
		device = "eth0"
		list = append(list, "ip link add "+port+" netns "+s[0]+" type veth peer name eth0 netns "+space,
			"ip -n "+s[0]+" link set "+port+" master bridge0 up")
		for _, end := range []string{s[0] + " tc qdisc add dev " + port, space + " tc qdisc add dev eth0"} {
			list = append(list, "ip netns exec "+end+" root tbf rate "+rate+" burst 256kb latency 100ms")
		}
	}
	return append(list, "ip -n "+space+" addr add "+s.Address(node)+"/24 dev "+device,
		"ip -n "+space+" link set "+device+" up")
}

// Address returns the address of a node.
func (s Spaces) Address(node int) string { return fmt.Sprintf("10.90.0.%d", node+1) }

// Command returns the beginning of a command line that runs in the namespace of a node.
func (s Spaces) Command(node int) []string { return []string{"ip", "netns", "exec", s[node]} }

// run runs a command, with its output in its error.
func run(command string) error {
	words := strings.Fields(command)
	if said, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, strings.TrimSpace(string(said)))
	}
	return nil
}
