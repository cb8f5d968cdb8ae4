// Package processes holds the flags for the processes of a job, and decides which of them run tasks and hold tables.
package processes

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"bellows"
	"bellows/cli/internal/clusterverbs"
	"bellows/cli/internal/dryrun"
	"bellows/cli/internal/line"
	"bellows/cluster/lead"
	"bellows/figures"
	"bellows/node"
	"bellows/policy/choose"
	"bellows/vec"

	"github.com/spf13/pflag"
)

// Options are the flags for the number of processes of a job; without them it runs in this one. None of them
// changes the result, except the format of values on the wire (processes.txtar), and none is in run.json: a run may
// resume in other processes.
type Options struct {
	Processes   int
	Servers     string
	Transport   string
	Wire        string
	Format      vec.Format // of wire
	Pairs       string     // connections of each pair of processes
	Connections int
	Roam        bool // the system may move processes between processors
	Shape       string
	pins        []string   // roles of nodes, for Shape
	Ask         choose.Ask // what is demanded of the shape
	Child       bool       // this process was started for a part of another's job
	Notice      time.Duration
	clusterverbs.Where
	Lead *lead.Lead // this process was started to lead a job of a cluster
}

// IsDistributed reports whether the job runs in more processes than this one.
func (o *Options) IsDistributed() bool {
	return o.Processes > 0 || o.At != "" || o.Lead != nil || o.Child
}

// Auto reports whether small tables may all be on one node. For a resumed job that is already decided.
func (o *Options) Auto() bool {
	if o.Lead != nil {
		return !o.Lead.HasServersOnly() && o.Lead.Follows() == nil
	}
	return o.Servers == "auto" && !o.Reshapes()
}

// Sockets returns the kind of sockets between processes here: unix or tcp.
func (o *Options) Sockets() string {
	if o.Transport == "tcp" || o.Reshapes() {
		return "tcp"
	}
	return "unix"
}

// Reshapes reports whether the job chooses its shape, or says what it would choose.
func (o *Options) Reshapes() bool { return o.Shape != "off" }

// shapes are the values of --shape.
var shapes = []string{"auto", "explain", "off"}

// demand reads what the flags say about the shape. workers is --workers.
func (o *Options) demand(workers string) (err error) {
	switch {
	case !slices.Contains(shapes, o.Shape):
		return line.BadFlag("shape", o.Shape, "it must be auto, explain or off%s", line.DidYouMean(o.Shape, shapes))
	case !o.Reshapes() && len(o.pins) > 0:
		return line.BadFlag("pin", o.pins[0], "the roles of nodes stay; give --shape auto too, or leave this out")
	case !o.Reshapes() && strings.Contains(o.Servers, ":"):
		return line.BadFlag("servers", o.Servers, "the number of servers stays; give one number, or --shape auto too")
	case !o.Reshapes():
		return nil
	case !o.IsDistributed():
		return line.BadFlag("shape", o.Shape, "one process has one shape; give --processes too")
	}
	if o.Transport == "unix" {
		return line.BadFlag("transport", o.Transport, "the system does not measure such links; with --shape they are tcp")
	}
	low, high, ranged := strings.Cut(workers, ":")
	switch {
	case !ranged: // they are compute slots
		workers = ""
	case low == "auto":
		workers = "1:" + high
	}
	servers := o.Servers
	if servers == "auto" {
		servers = ""
	}
	if o.Ask, err = dryrun.Demand(workers, servers, o.pins); err != nil || o.Processes == 0 {
		return err
	}
	if low := o.Ask.Servers.Low; low > o.Processes {
		return line.BadFlag("servers", o.Servers, "there are %d processes", o.Processes)
	}
	for _, p := range o.pins {
		node, _, _ := strings.Cut(strings.TrimPrefix(p, "node-"), "=")
		if n, err := strconv.Atoi(node); err == nil && (n < 1 || n > o.Processes) {
			return line.BadFlag("pin", p, "the roles of node-1 to node-%d can be pinned", o.Processes)
		}
	}
	return nil
}

// pin is the value of --pin: false, true, or the role of a node.
type pin struct{ *Options }

// String implements pflag.Value.
func (p pin) String() string {
	if p.Options == nil || !p.Roam {
		return "true"
	}
	return "false"
}

// Type implements pflag.Value.
func (p pin) Type() string { return "string" }

// Set implements pflag.Value.
func (p pin) Set(text string) error {
	bound, err := strconv.ParseBool(text)
	switch {
	case err == nil:
		p.Roam = !bound
	case strings.Contains(text, "="):
		p.pins = append(p.pins, text)
	default:
		return errors.New("it must be true, false, or a node and its role, as in node-3=server")
	}
	return nil
}

// alone is why flags that say how processes talk mean nothing for one.
const alone = "nothing travels within one process; give --processes too"

// processesMost bounds what one machine is asked to start.
const processesMost = 256

// Members returns the nodes of a job with that many compute slots in all: this process, which leads, and the
// others. With servers, the last of them hold the tables and run no tasks; without, each does both.
func (o *Options) Members(slots int, workers string) ([]node.Member, error) {
	if err := o.demand(workers); err != nil {
		return nil, err
	}
	if o.Processes < 0 || o.Processes > processesMost {
		return nil, line.BadFlag("processes", strconv.Itoa(o.Processes), "it must be from 0, for this process alone, to %d", processesMost)
	}
	if o.Transport != "auto" && o.Transport != "unix" && o.Transport != "tcp" {
		return nil, line.BadFlag("transport", o.Transport, "it must be auto, unix or tcp")
	}
	if f, err := vec.ParseFormat(o.Wire); err != nil {
		return nil, line.BadFlag("wire", o.Wire, "%v", err)
	} else if o.Format = f; f != vec.Float32 && !o.IsDistributed() {
		return nil, line.BadFlag("wire", o.Wire, alone)
	}
	var err error
	if o.Connections, err = node.ParseConnections(o.Pairs); err != nil {
		return nil, line.BadFlag("connections", o.Pairs, "%v", err)
	}
	switch {
	case o.IsDistributed():
	case o.Transport != "auto":
		return nil, line.BadFlag("transport", o.Transport, alone)
	case o.Pairs != "auto":
		return nil, line.BadFlag("connections", o.Pairs, alone)
	}
	if o.Notice < 0 {
		return nil, line.BadFlag("notice", o.Notice.String(), "it must not be negative")
	}
	if o.At != "" || o.Lead != nil {
		return o.placed(slots)
	}
	servers := 0
	if o.Servers != "auto" && !o.Reshapes() {
		n, err := strconv.Atoi(o.Servers)
		if err != nil || n < 1 || n >= max(1, o.Processes) {
			return nil, line.BadFlag("servers", o.Servers, "it must be auto or a number from 1 to less than --processes, which is %d", o.Processes)
		}
		servers = n
	}
	if o.Processes == 0 {
		return []node.Member{{Slots: slots, Lanes: slots}}, nil
	}
	working := o.Processes - servers
	list := []node.Member{{}}
	for i := range o.Processes {
		m := node.Member{Node: bellows.NodeID(i + 1)}
		if i < working {
			m.Slots = max(1, slots*(i+1)/working-slots*i/working)
		}
		switch {
		case servers == 0:
			m.Lanes = max(m.Slots, o.Connections-1) // each connection but the first has a lane
		case i >= working:
			m.Lanes = max(1, slots/servers, o.Connections-1)
		}
		list = append(list, m)
	}
	return list, nil
}

// placed returns the members of a job that runs in a cluster: its nodes are given.
func (o *Options) placed(slots int) ([]node.Member, error) {
	switch {
	case o.Processes > 0:
		return nil, line.BadFlag("processes", strconv.Itoa(o.Processes), "the job runs in the nodes of a cluster, as many as it has; leave one of --cluster and --processes out")
	case o.Servers != "auto" && !o.Reshapes():
		return nil, line.BadFlag("servers", o.Servers, "the cluster's nodes have their roles already; `scale --servers` changes how many there are")
	case o.Lead == nil: // it runs elsewhere
		return []node.Member{{Slots: slots, Lanes: slots}}, nil
	}
	list := o.Lead.Members(o.Connections)
	if o.Reshapes() && o.Lead.Follows() == nil {
		for i := range list { // each node that works can serve
			if m := &list[i]; m.Slots > 0 {
				m.Lanes = max(m.Lanes, m.Slots)
			}
		}
	}
	return list, nil
}

// Count returns the members in numbers.
func Count(list []node.Member) Counts {
	m := Counts{Processes: len(list) - 1}
	for _, o := range list {
		m.Workers += o.Slots
		if o.Lanes > 0 {
			m.Servers++
		}
	}
	return m
}

// Place says where a job runs, for the headline.
func (m Counts) Place() string {
	if m.Processes == 0 {
		return "one process, " + figures.Plural(m.Workers, "worker")
	}
	return fmt.Sprintf("%s, %s, %s", figures.Plural(m.Processes, "process"), figures.Plural(m.Workers, "worker"), figures.Plural(m.Servers, "server"))
}

func (m Counts) String() string { return fmt.Sprintf("%dw %ds", m.Workers, m.Servers) }

// Flags declares the flags.
func (o *Options) Flags(f *pflag.FlagSet) {
	f.IntVar(&o.Processes, "processes", 0, "`NUMBER` of processes here to train in; 0: this one alone")
	f.StringVar(&o.Servers, "servers", "auto", "`NUMBER` of table processes, or A:B (--shape)")
	f.StringVar(&o.Transport, "transport", "auto", "`KIND` of process sockets: auto, unix or tcp")
	f.StringVar(&o.Wire, "wire", "fp32", "`TYPE` of sent floats: fp32, fp16 or bf16")
	f.StringVar(&o.Pairs, "connections", "auto", "`NUMBER` of connections per pair of processes")
	f.StringVar(&o.Shape, "shape", "off", "`MODE` of choosing roles: auto, explain or off")
	f.Var(pin{o}, "pin", "`NODE=ROLE` that stays; false: roam over CPUs")
	o.Where.Flags(f)
	f.DurationVar(&o.Notice, "notice", 30*time.Second, "`DURATION` to hand over work after SIGTERM")
	f.BoolVar(&o.Child, "child", false, "train the part of the job that standard input assigns")
	if err := f.MarkHidden("child"); err != nil {
		panic(err) // it was declared in the line above
	}
}

// Counts are the members of a job in numbers.
type Counts struct {
	Workers   int `json:"workers"`
	Servers   int `json:"servers"`
	Processes int `json:"processes"` // 0: all in this one
}
