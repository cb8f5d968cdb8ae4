package launch

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"

	"bellows"
	"bellows/node"
)

// A Starter starts the processes of a job's nodes: Local on this machine, others elsewhere. The messages to and from a
// process belong to the fleet, and are the same for all Starters.
type Starter interface {
	// Start starts the process of a member, in its place among those that compute; -1: no place. It does not block: a
	// process that cannot be started after all has ended.
	Start(m node.Member, place, computing int) (Process, error)
}

// A Process is a process of a job, as the leader sees it. Its methods, except Wait, are safe for concurrent use.
type Process interface {
	Say(text []byte) error  // to its standard input; text is shorter than a pipe's buffer
	PID() int               // the system's number, on its machine; 0: not known
	Answer() <-chan []byte  // the first line of its standard output, once
	Wait()                  // for its end; it is called once, and Over is closed when it returns
	Ended() <-chan struct{} // closed when it has ended
	How() string            // which process it was and how it has ended, as "(process 4711) ended with exit status 1"; once it is over
	Last() string           // its last lines, as the end of a sentence; empty: none
	End()                   // closes its standard input
	Kill()
}

// Local starts processes of this machine.
type Local struct {
	Program string
	Args    []string                       // the first its name
	Env     []string                       // in addition to the mark of a started process; nil: this process's
	Dir     string                         // where they run; "": where this process does
	Output  func(bellows.NodeID) io.Writer // as Processes has it
	Host    string                         // the address at which the others reach them, with tcp; "": that which node 0 says
}

// hostVariable names the environment variable that gives a process its Host, which its starter knows and node 0 does
// not.
const hostVariable = "_BELLOWS_HOST"

// Start starts a process, and keeps the last bytes of its standard error.
func (l Local) Start(m node.Member, place, computing int) (Process, error) {
	p := &local{cmd: exec.Command(l.Program), over: make(chan struct{}), first: first{line: make(chan []byte, 1)}}
	p.cmd.Args, p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = l.Args, &p.first, &p.tail, ownGroup()
	if l.Output != nil {
		p.tail.all = l.Output(m.Node)
	}
	p.cmd.Dir, p.cmd.Env = l.Dir, l.Env
	if l.Env == nil {
		p.cmd.Env = os.Environ()
	}
	p.cmd.Env = append(p.cmd.Env[:len(p.cmd.Env):len(p.cmd.Env)], started+"=1", hostVariable+"="+l.Host)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.in = in
	if err := startPlaced(p.cmd, place, computing); err != nil {
		_ = in.Close() // the cause is said; what could not be started may have closed it
		return nil, err
	}
	return p, nil
}

// local is a process of this machine.
type local struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	first first
	tail  tail
	over  chan struct{}
}

func (p *local) Say(text []byte) error {
	_, err := p.in.Write(text)
	return err
}

func (p *local) PID() int               { return p.cmd.Process.Pid }
func (p *local) Answer() <-chan []byte  { return p.first.line }
func (p *local) Ended() <-chan struct{} { return p.over }
func (p *local) Last() string           { return p.tail.last() }

// Wait waits for the end. An error that is no exit status, as one of a pipe, is added to what the process said last.
func (p *local) Wait() {
	err := p.cmd.Wait()
	close(p.over)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.tail.note(err.Error())
	}
	if p.tail.all != nil {
		_, _ = io.WriteString(p.tail.all, p.How()+"\n")
	}
}

func (p *local) How() string {
	how := "ended"
	if state := p.cmd.ProcessState; state != nil {
		how = "ended with " + state.String()
	}
	return "(process " + strconv.Itoa(p.cmd.Process.Pid) + ") " + how
}

func (p *local) End() {
	if err := p.in.Close(); err != nil && !errors.Is(err, os.ErrClosed) { // it has ended, and was waited for
		p.tail.note(err.Error())
	}
}

func (p *local) Kill() {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.tail.note(err.Error())
	}
}
