package dryrun

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bellows"
	"bellows/cli/internal/line"
	"bellows/cli/internal/screen"
	"bellows/figures"
	"bellows/policy/shape"

	"github.com/spf13/cobra"
)

// Command returns plan, with its command.
func Command(c *screen.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "plan",
		Short:   "Show what a change of the cluster would do, without doing it",
		Example: "plan shape --workers 3 --servers 2 --to workers=5\nplan shape --nodes 4 --to leave=node-2",
	}
	line.Choose(cmd, "plan")
	cmd.AddCommand(shapeCommand(c))
	return cmd
}

// options are the flags of `plan shape`.
type options struct {
	snapshot       string
	print          bool
	nodes          int
	workers        string // A, or A:B
	servers        string
	figures        string
	job            string
	stateFolder    string
	pins           []string
	apart          bool
	slots, lanes   int
	splits         int
	partitions     string
	partitionBytes int64
	splitBytes     int64
	to, policy     string
	seed           uint64
	atOnce         int
}

// policies are those that may be asked, by name, given a seed; even takes none.
var policies = map[string]func(seed uint64) shape.Policy{
	"even":       func(uint64) shape.Policy { return shape.Even },
	"random":     func(seed uint64) shape.Policy { return shape.Random(seed, randomMore) },
	"add-one":    shape.AddOne,
	"delete-one": shape.DeleteOne,
}

// randomMore is how many nodes may come at once by chance.
const randomMore = 2

func policyNames() []string { return slices.Sorted(maps.Keys(policies)) }

func shapeCommand(c *screen.Console) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "shape",
		Short: "Show the steps from one cluster to another",
		Annotations: line.Details("It prints the steps in which nodes would join, leave and change roles, and partitions and splits would move. The cluster " +
			"is given by numbers or by a snapshot. Steps of one round would run at the same time; each waits for the steps that it names.\n\n" +
			"With --figures, or with --job, it predicts the time of each number of workers and servers, chooses the best, and prints the steps to it. " +
			"JOB is a running job, as `status` names it, or a run folder.\n\n" +
			"Node 0 leads. With --nodes, each other node runs tasks and holds partitions; with --workers and --servers it does one of them."),
		Example: "plan shape --workers 3 --servers 2 --to workers=5,servers=2\nplan shape --nodes 4 --splits 32 --partitions 64 --to leave=node-2\n" +
			"plan shape --workers 3:8 --servers 2 --print-snapshot\nplan shape --snapshot now.json --to workers=5 --json\n" +
			"plan shape --job mf-1\nplan shape --figures job.json --workers 2:6 --pin node-3=server",
		Args: line.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(c, cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.figures, "figures", "", "JSON `FILE` of what a job has measured; - is standard input")
	f.StringVar(&o.job, "job", "", "`JOB` that has measured figures: a running one, or a run folder")
	f.StringVar(&o.stateFolder, "state", "", "state `FOLDER` of running jobs (default: as for status)")
	f.BoolVar(&o.apart, "apart", false, "no node runs tasks and holds partitions; with --figures")
	f.StringArrayVar(&o.pins, "pin", nil, "`NODE=ROLE` that stays: worker, server, both, unused")
	f.StringVar(&o.snapshot, "snapshot", "", "JSON `FILE` of the cluster and its job; - is standard input")
	f.BoolVar(&o.print, "print-snapshot", false, "print the cluster as a snapshot and end")
	f.IntVar(&o.nodes, "nodes", 0, "`NUMBER` of nodes that run tasks and hold partitions")
	f.StringVar(&o.workers, "workers", "", "`NUMBER` of nodes that run tasks; A:B: A now, at most B")
	f.StringVar(&o.servers, "servers", "", "`NUMBER` of nodes that hold partitions; A:B with --figures")
	f.IntVar(&o.slots, "slots", 1, "`NUMBER` of compute slots of a node that runs tasks")
	f.IntVar(&o.lanes, "lanes", 1, "`NUMBER` of lanes of a node that holds partitions")
	f.IntVar(&o.splits, "splits", 0, "`NUMBER` of splits (default: 4 a slot of the most nodes)")
	f.StringVar(&o.partitions, "partitions", "16", "`NUMBER` of partitions, or one a table: 16,16,1")
	f.Int64Var(&o.partitionBytes, "partition-bytes", 1<<20, "`BYTES` of each partition")
	f.Int64Var(&o.splitBytes, "split-bytes", 0, "`BYTES` that move with each split")
	f.StringVar(&o.to, "to", "", "`TARGET`: workers=N, servers=N, nodes=N, leave=node-N")
	f.StringVar(&o.policy, "policy", "even", "`NAME`: "+strings.Join(policyNames(), ", "))
	f.Uint64Var(&o.seed, "seed", 1, "random `SEED` of all policies but even")
	f.IntVar(&o.atOnce, "at-once", 2, "largest `NUMBER` of copies to or from a node at once")
	return cmd
}

// described are the flags that tell of a cluster, beside --snapshot.
var described = []string{"nodes", "workers", "servers", "slots", "lanes", "splits", "partitions", "partition-bytes", "split-bytes"}

func (o *options) run(c *screen.Console, cmd *cobra.Command) error {
	if o.figures != "" || o.job != "" {
		return o.predict(c, cmd)
	}
	for _, name := range []string{"pin", "apart", "state"} {
		if f := cmd.Flag(name); f.Changed {
			return line.BadFlag(name, strings.Trim(f.Value.String(), "[]"), "shapes are compared by figures; give --job or --figures, or leave this out")
		}
	}
	policy, known := policies[o.policy]
	switch {
	case !known:
		return line.BadFlag("policy", o.policy, "it must be %s%s", strings.Join(policyNames(), ", "), line.DidYouMean(o.policy, policyNames()))
	case o.policy == "even" && cmd.Flag("seed").Changed:
		return line.BadFlag("seed", strconv.FormatUint(o.seed, 10), "policy even draws nothing; give another --policy, or leave this out")
	case o.policy != "even" && o.to != "":
		return line.BadFlag("to", o.to, "policy %s decides by its seed alone; give --policy even, or leave this out", o.policy)
	case o.atOnce < 1 || o.atOnce > 1<<10:
		return line.BadFlag("at-once", strconv.Itoa(o.atOnce), "it must be from 1 to %d", 1<<10)
	}
	st, most, err := o.state(c, cmd)
	if err == nil && o.to != "" {
		err = o.wanted(st, most)
	}
	if err != nil {
		return err
	}
	if o.print {
		text, err := json.Marshal(st.snapshot())
		if err == nil {
			_, err = c.Write(append(text, '\n'))
		}
		return err
	}
	p, err := st.planned(policy(o.seed), o.atOnce)
	if err != nil {
		return err
	}
	p.Policy = o.policy
	if o.policy != "even" {
		p.Seed = &o.seed
	}
	p.write(c)
	return c.Object(p)
}

// state returns the cluster that the flags describe, and how many of its nodes may run tasks; 0: not set.
func (o *options) state(c *screen.Console, cmd *cobra.Command) (*state, int, error) {
	if o.snapshot != "" {
		for _, name := range described {
			if f := cmd.Flag(name); f.Changed {
				return nil, 0, line.BadFlag(name, f.Value.String(), "the snapshot says it; leave this out, or leave out --snapshot")
			}
		}
		st, err := readSnapshot(o.snapshot, c.In)
		return st, 0, err
	}
	beside := cmd.Flag("nodes").Changed
	switch {
	case beside && (o.workers != "" || cmd.Flag("servers").Changed):
		return nil, 0, line.BadFlag("nodes", strconv.Itoa(o.nodes), "each of these runs tasks and holds partitions; leave this out, or leave out --workers and --servers")
	case !beside && (o.workers == "" || !cmd.Flag("servers").Changed):
		return nil, 0, bellows.Errorf(bellows.Usage, "plan", "", "no cluster is given").Hinted("give --nodes, or --workers and --servers, or --snapshot")
	}
	workers, most := o.nodes, o.nodes
	if !beside {
		var err error
		if workers, most, err = parseWorkers(o.workers); err != nil {
			return nil, 0, line.BadFlag("workers", o.workers, "%v", err)
		}
	}
	servers := 0
	if !beside {
		var err error
		if servers, err = strconv.Atoi(o.servers); err != nil {
			return nil, 0, line.BadFlag("servers", o.servers, "it must be a number")
		}
	}
	for _, f := range []struct {
		name        string
		value, most int
		applies     bool
	}{
		{"nodes", o.nodes, nodesMost, beside}, {"workers", workers, nodesMost, !beside}, {"workers", most, nodesMost, !beside}, {"servers", servers, nodesMost, !beside},
		{"slots", o.slots, slotsMost, true}, {"lanes", o.lanes, slotsMost, true}, {"splits", o.splits, partsMost, cmd.Flag("splits").Changed},
	} {
		if f.applies && (f.value < 1 || f.value > f.most) {
			return nil, 0, line.BadFlag(f.name, cmd.Flag(f.name).Value.String(), "it must be from 1 to %d", f.most)
		}
	}
	if workers+servers > nodesMost {
		return nil, 0, line.BadFlag("servers", strconv.Itoa(servers), "with %d workers these are more than %d nodes", workers, nodesMost)
	}
	for name, n := range map[string]int64{"partition-bytes": o.partitionBytes, "split-bytes": o.splitBytes} {
		if n < 0 || n > bytesMost {
			return nil, 0, line.BadFlag(name, strconv.FormatInt(n, 10), "it must be from 0 to %d", int64(bytesMost))
		}
	}
	splits := o.splits
	if splits == 0 {
		splits = min(4*o.slots*most, partsMost)
	}
	tables, all, err := parseTables(o.partitions)
	if err != nil {
		return nil, 0, line.BadFlag("partitions", o.partitions, "%v", err)
	}
	st, err := o.dealt(workers, servers, splits, tables, all)
	if !strings.Contains(o.workers, ":") {
		most = 0
	}
	return st, most, err
}

// dealt returns a cluster in which everything is spread evenly.
func (o *options) dealt(workers, servers, splits int, tables []int, partitions int) (*state, error) {
	st := &state{}
	st.Nodes = []shape.Node{{}} // it leads
	for i := range workers + servers {
		n := shape.Node{ID: bellows.NodeID(i + 1)}
		if i < workers {
			n.Slots = o.slots
		}
		if servers == 0 || i >= workers {
			n.Lanes = o.lanes
		}
		st.Nodes = append(st.Nodes, n)
	}
	st.Tables, st.Near = tables, slices.Repeat([]int{-1}, partitions)
	st.Splits, st.Partitions = make([]bellows.NodeID, splits), make([]shape.Place, partitions)
	st.sizes.Splits, st.sizes.Partitions = slices.Repeat([]int64{o.splitBytes}, splits), slices.Repeat([]int64{o.partitionBytes}, partitions)
	st.Want = shape.Want{Workers: workers, Servers: servers, Slots: o.slots, Lanes: o.lanes, Beside: servers == 0, Next: bellows.NodeID(workers + servers + 1)}
	d, err := shape.Even(st.Snapshot)
	if err != nil {
		return nil, bellows.Errorf(bellows.Bug, "plan", "", "%w", err)
	}
	st.Shape = d.Shape
	return st, nil
}

// parseWorkers reads A or A:B.
func parseWorkers(text string) (now, most int, err error) {
	a, b, ranged := strings.Cut(text, ":")
	now, err = strconv.Atoi(a)
	if most = now; err == nil && ranged {
		most, err = strconv.Atoi(b)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("it must be a number, or two as in 3:8")
	}
	if most < now {
		return 0, 0, fmt.Errorf("there are %d, which is more than the %d that there may be", now, most)
	}
	return now, most, nil
}

// parseTables reads the partitions of tables.
func parseTables(text string) (tables []int, all int, err error) {
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > partsMost || all+n > partsMost {
			return nil, 0, fmt.Errorf("it must be numbers from 1, of %d in all", partsMost)
		}
		tables, all = append(tables, n), all+n
	}
	return tables, all, nil
}

// wanted takes what --to describe.
func (o *options) wanted(st *state, most int) error {
	w := &st.Want
	for word := range strings.SplitSeq(o.to, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(word), "=")
		if key == "leave" {
			n, err := strconv.ParseUint(strings.TrimPrefix(value, "node-"), 10, 16)
			if err != nil || slices.Contains(w.Leaves, bellows.NodeID(n)) {
				return line.BadFlag("to", o.to, "%s must name a node once, as in leave=node-3", word)
			}
			w.Leaves = append(w.Leaves, bellows.NodeID(n))
			continue
		}
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > nodesMost {
			return line.BadFlag("to", o.to, "%q must be a number from 1 to %d after workers=, servers= or nodes=, or leave=node-N", word, nodesMost)
		}
		switch {
		case key == "nodes" && w.Beside, key == "workers" && !w.Beside:
			if most > 0 && n > most {
				return line.BadFlag("to", o.to, "--workers %s allows %d", o.workers, most)
			}
			w.Workers = n
		case key == "servers" && !w.Beside:
			w.Servers = n
		case w.Beside:
			return line.BadFlag("to", o.to, "each node runs tasks and holds partitions: say nodes=%d, or leave=node-N", n)
		default:
			return line.BadFlag("to", o.to, "%s= is not possible here: use workers=, servers= or leave=node-N", key)
		}
	}
	if !strings.Contains(o.to, "nodes=") && !strings.Contains(o.to, "workers=") && !strings.Contains(o.to, "servers=") {
		o.fewer(st)
	}
	return nil
}

// fewer wants as many as are there without those that leave, where nothing describe how many.
func (o *options) fewer(st *state) {
	for _, id := range st.Want.Leaves {
		n, _ := st.Node(id)
		if n.Slots > 0 && st.Want.Workers > 1 {
			st.Want.Workers--
		}
		if n.Lanes > 0 && st.Want.Servers > 1 {
			st.Want.Servers--
		}
	}
}

// write writes the plan for people: the rounds, and in each its steps.
func (p *planned) write(c *screen.Console) {
	c.Printf("%s\n", p.Reason)
	c.Printf("now %s; then %s\n", p.Now, p.Then)
	if len(p.Steps) == 0 {
		c.Printf("nothing is to be done\n")
		return
	}
	writeSteps(c, p.Steps, p.Rounds)
	c.Printf("%s in %s, %s to move; steps of a round run at once\n", figures.Plural(len(p.Steps), "step"), figures.Plural(p.Rounds, "round"), figures.Bytes(uint64(p.Bytes)))
}

// writeSteps writes rounds, and in each its steps.
func writeSteps(c *screen.Console, steps []step, rounds int) {
	for r := range rounds {
		c.Printf("round %d\n", r+1)
		for i := range steps {
			if s := &steps[i]; s.Round == r+1 {
				c.Printf("%5d  %s%s\n", s.Step, s.describe(), s.remark())
			}
		}
	}
}

func (n counts) String() string {
	return fmt.Sprintf("%s, %d running tasks and %d holding partitions", figures.Plural(n.Nodes, "node"), n.Workers, n.Servers)
}

// describe returns what the step does.
func (s *step) describe() string {
	switch {
	case s.Split != nil:
		return fmt.Sprintf("move split %d from %s to %s", *s.Split, s.From, s.Node)
	case s.Partition != nil:
		return fmt.Sprintf("move partition %d from %s to lane %d of %s", *s.Partition, s.From, *s.Lane, s.Node)
	case s.Slots == nil:
		return s.Kind + " " + s.Node
	}
	roles := figures.Plural(*s.Slots, "compute slot") + " and " + figures.Plural(*s.Lanes, "lane")
	if s.Kind == "add" {
		return "add " + s.Node + " with " + roles
	}
	return s.Kind + " " + s.Node + " to " + roles
}

// remark returns the text after a step.
func (s *step) remark() string {
	out := ""
	if s.Bytes > 0 {
		out = ", " + figures.Bytes(uint64(s.Bytes))
	}
	if len(s.After) == 0 {
		return out
	}
	const shown = 6
	list := make([]string, min(len(s.After), shown))
	for i := range list {
		list[i] = strconv.Itoa(s.After[i])
	}
	out += ", after " + strings.Join(list, " ")
	if n := len(s.After) - shown; n > 0 {
		out += fmt.Sprintf(" and %d more", n)
	}
	return out
}
