package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"bellows/node"
	"bellows/node/launch"
)

// A link of a bandwidth: each process is in a network namespace of its own, on a bridge, and a token bucket of the system limits what it sends, and what it is sent. Root can make them, with ip and tc of iproute2.

// spacesVariable names the variable of the environment that tells this program, started again in the namespace of the bridge, the names of all namespaces, by node.
const spacesVariable = "_SCALEIN_SPACES"

// addressOf returns the address of a node.
func addressOf(n int) string { return fmt.Sprintf("10.90.0.%d", n+1) }

// within runs this program again behind links of a rate, between so many processes and the one that leads.
func within(rate string, others int) (err error) {
	spaces := make([]string, others+1)
	for i := range spaces {
		spaces[i] = fmt.Sprintf("scalein-%d-%d", os.Getpid(), i)
	}
	defer func() {
		for _, s := range spaces {
			_ = exec.Command("ip", "netns", "del", s).Run() // it may not be there
		}
	}()
	for i, s := range spaces {
		if err := run("ip", "netns", "add", s); err != nil {
			return fmt.Errorf("no network namespace can be made, which root can, with ip of iproute2; without --link none is needed: %w", err)
		}
		device, port := "bridge0", fmt.Sprintf("port%d", i)
		steps := []string{"ip -n " + s + " link set lo up", "ip -n " + s + " link add bridge0 type bridge"}
		if i > 0 {
			device = "eth0"
			steps = []string{"ip -n " + s + " link set lo up", "ip link add " + port + " netns " + spaces[0] + " type veth peer name eth0 netns " + s,
				"ip -n " + spaces[0] + " link set " + port + " master bridge0 up"}
			for _, end := range []string{spaces[0] + " tc qdisc add dev " + port, s + " tc qdisc add dev eth0"} {
				steps = append(steps, "ip netns exec "+end+" root tbf rate "+rate+" burst 256kb latency 20ms")
			}
		}
		for _, step := range append(steps, "ip -n "+s+" addr add "+addressOf(i)+"/24 dev "+device, "ip -n "+s+" link set "+device+" up") {
			if err := run(strings.Fields(step)...); err != nil {
				return err
			}
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	again := exec.Command("ip", append([]string{"netns", "exec", spaces[0], self}, os.Args[1:]...)...)
	again.Env = append(os.Environ(), spacesVariable+"="+strings.Join(spaces, ","))
	again.Stdin, again.Stdout, again.Stderr = os.Stdin, os.Stdout, os.Stderr
	return again.Run()
}

// run runs a command, with what it says in its error.
func run(args ...string) error {
	if said, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(said)))
	}
	return nil
}

// linked starts each process of a job in its namespace.
type linked struct {
	plan  *plan
	order string
}

// Start implements launch.Starter.
func (l linked) Start(m node.Member, place, computing int) (launch.Process, error) {
	args := []string{"ip", "netns", "exec", l.plan.spaces[m.Node], l.plan.program, serves, l.order}
	ip, err := exec.LookPath("ip")
	if err != nil {
		return nil, err
	}
	return launch.Local{Program: ip, Args: args, Host: addressOf(int(m.Node))}.Start(m, place, computing)
}

// The first arguments of processes that make a plain copy: the second is where it is received, and the third the bytes
// of each sender.
const (
	takes = "--take"
	gives = "--give"
)

// take receives all that one sender has, at an address, into memory, and acknowledges it.
func take(args []string) error {
	l, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	var size [8]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return err
	}
	n := 0
	for _, b := range size {
		n = n<<8 | int(b)
	}
	memory := make([]byte, n)
	clear(memory) // the system has given it
	if _, err := conn.Write(size[:1]); err != nil {
		return err
	}
	_, err = io.ReadFull(conn, memory)
	_, told := conn.Write(size[:1])
	return errors.Join(err, told, conn.Close(), l.Close())
}

// give sends so many bytes to an address when a line arrives, and prints a line when all are received.
func give(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", args[0])
	if err != nil {
		return err
	}
	var size [8]byte
	for i := range size {
		size[i] = byte(n >> (8 * (7 - i)))
	}
	memory := make([]byte, n)
	for i := range memory {
		memory[i] = byte(i)
	}
	var word [1]byte
	if _, err := conn.Write(size[:]); err != nil {
		return err
	}
	if _, err := io.ReadFull(conn, word[:]); err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	if _, err := conn.Write(memory); err != nil {
		return err
	}
	if _, err := io.ReadFull(conn, word[:]); err != nil {
		return err
	}
	fmt.Println("there")
	return conn.Close()
}

// helper is a process that makes one end of a plain copy.
type helper struct {
	*exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
	first string // line that it has said
}

// start starts one in the namespace of a node, if it has one, and returns when it is ready.
func (p *plan) start(n int, args ...string) (*helper, error) {
	args = append([]string{p.program}, args...)
	if p.spaces != nil {
		args = append([]string{"ip", "netns", "exec", p.spaces[n]}, args...)
	}
	h := &helper{Cmd: exec.Command(args[0], args[1:]...)}
	h.Stderr = os.Stderr
	in, err := h.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := h.StdoutPipe()
	if err != nil {
		return nil, err
	}
	h.in, h.lines = in, bufio.NewReader(out)
	if err := h.Cmd.Start(); err != nil {
		return nil, err
	}
	if h.first, err = h.hears(); err != nil {
		return nil, errors.Join(err, h.Process.Kill(), h.Wait())
	}
	return h, nil
}

// hears waits for a line.
func (h *helper) hears() (string, error) {
	line, err := h.lines.ReadString('\n')
	return strings.TrimSpace(line), err
}

// copyOver returns the time of a plain copy of so many bytes over the links: from each node that leaves to one that
// stays.
func (p *plan) copyOver(bytes int64) (seconds float64, err error) {
	leave := p.first - p.last
	var takers, givers []*helper
	defer func() {
		for _, h := range append(givers, takers...) {
			if err != nil {
				_ = h.Process.Kill() // it may have ended
			}
			err = errors.Join(err, h.Wait())
		}
	}()
	for i := range leave {
		to := 1 + i%p.last
		address := "127.0.0.1:0"
		if p.spaces != nil {
			address = addressOf(to) + ":0"
		}
		h, err := p.start(to, takes, address)
		if err != nil {
			return 0, err
		}
		takers = append(takers, h)
		if h, err = p.start(p.last+1+i, gives, h.first, strconv.Itoa(int(bytes)/leave)); err != nil {
			return 0, err
		}
		givers = append(givers, h)
	}
	began := time.Now()
	for _, h := range givers {
		if _, err := io.WriteString(h.in, "go\n"); err != nil {
			return 0, err
		}
	}
	for _, h := range givers {
		if _, err := h.hears(); err != nil {
			return 0, err
		}
	}
	return time.Since(began).Seconds(), nil
}
