package dryrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"bellows"
	"bellows/cli/internal/screen"
	"bellows/policy/gauge"
)

// shaped returns what `plan shape` prints for some words, and its error. in is its standard input.
func shaped(t *testing.T, asJSON bool, in string, words ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := Command(&screen.Console{In: strings.NewReader(in), Out: &out, Err: &out, JSON: asJSON})
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(append([]string{"shape"}, words...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// TestAPlanIsPrinted round by round, with what each step waits for; policies that draw say by what.
func TestAPlanIsPrinted(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"--workers 1:2 --servers 1 --splits 3 --partitions 8 --slots 2 --to workers=2,servers=2": `2 workers and 2 servers are wanted, there are 1 and 1
now 3 nodes, 1 running tasks and 1 holding partitions; then 5 nodes, 2 running tasks and 2 holding partitions
round 1
    1  add node-3 with 2 compute slots and 0 lanes
round 2
    2  add node-4 with 0 compute slots and 1 lane
    7  move split 2 from node-1 to node-3, after 1
round 3
    3  move partition 4 from node-2 to lane 0 of node-4, 1.0 MiB, after 2
    4  move partition 5 from node-2 to lane 0 of node-4, 1.0 MiB, after 2
round 4
    5  move partition 6 from node-2 to lane 0 of node-4, 1.0 MiB, after 2
    6  move partition 7 from node-2 to lane 0 of node-4, 1.0 MiB, after 2
7 steps in 4 rounds, 4.0 MiB to move; steps of a round run at once
`,
		"--workers 2 --servers 2 --lanes 2 --splits 2 --partitions 14,1 --partition-bytes 0 --at-once 9 --to leave=node-2,leave=4": `1 workers and 1 servers are wanted, there are 2 and 2, node-2 and node-4 to leave
now 5 nodes, 2 running tasks and 2 holding partitions; then 3 nodes, 1 running tasks and 1 holding partitions
round 1
    1  move partition 7 from node-4 to lane 0 of node-3
    2  move partition 8 from node-4 to lane 0 of node-3
    3  move partition 9 from node-4 to lane 0 of node-3
    4  move partition 10 from node-4 to lane 1 of node-3
    5  move partition 11 from node-4 to lane 1 of node-3
    6  move partition 12 from node-4 to lane 1 of node-3
    7  move partition 13 from node-4 to lane 1 of node-3
    8  move split 1 from node-2 to node-1
round 2
    9  delete node-2, after 8
   10  delete node-4, after 1 2 3 4 5 6 and 1 more
10 steps in 2 rounds, 0 bytes to move; steps of a round run at once
`,
		"--workers 2 --servers 2 --splits 2 --partitions 2 --to leave=node-2,leave=4": `1 workers and 1 servers are wanted, there are 2 and 2, node-2 and node-4 to leave
now 5 nodes, 2 running tasks and 2 holding partitions; then 3 nodes, 1 running tasks and 1 holding partitions
round 1
    1  move partition 1 from node-4 to lane 0 of node-3, 1.0 MiB
    2  move split 1 from node-2 to node-1
round 2
    3  delete node-2, after 2
    4  delete node-4, after 1
4 steps in 2 rounds, 1.0 MiB to move; steps of a round run at once
`,
		"--nodes 2 --splits 2 --partitions 2 --to nodes=2": `what there is is spread evenly
now 3 nodes, 2 running tasks and 2 holding partitions; then 3 nodes, 2 running tasks and 2 holding partitions
nothing is to be done
`,
		"--workers 1 --servers 1 --print-snapshot --partitions 1,1 --slots 2 --lanes 3 --split-bytes 5 --partition-bytes 6 --splits 2": `{"nodes":[{"id":0,"slots":0,"lanes":0},{"id":1,"slots":2,"lanes":0},{"id":2,"slots":0,"lanes":3}],"tables":[1,1],"partitions":[{"node":2,"lane":0,"bytes":6},{"node":2,"lane":1,"bytes":6}],"splits":[{"node":1,"bytes":5},{"node":1,"bytes":5}],"want":{"workers":1,"servers":1,"slots":2,"lanes":3,"beside":false,"leaves":[],"stays":0,"next":3}}
`,
	} {
		if got, err := shaped(t, false, "", strings.Fields(words)...); got != want || err != nil {
			t.Errorf("%s\n%s%v, want\n%s", words, got, err, want)
		}
	}
	snapshot, err := shaped(t, false, "", "--nodes", "1", "--print-snapshot")
	if err != nil || strings.Count(snapshot, `"bytes":0`) != 4 || strings.Count(snapshot, `"bytes":1048576`) != 16 {
		t.Errorf("a node by default: %s, %v", snapshot, err)
	}
	var p planned
	text, err := shaped(t, true, snapshot, "--snapshot", "-", "--policy", "add-one", "--seed", "3")
	if e := json.Unmarshal([]byte(text), &p); err != nil || e != nil || p.Policy != "add-one" || p.Seed == nil || *p.Seed != 3 || p.Now.Nodes != 2 || p.Then.Nodes != 3 {
		t.Errorf("%s, %v, %v", text, err, e)
	}
}

// TestFlagsOfPlansAreRefused with what may be given.
func TestFlagsOfPlansAreRefused(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]string{
		"":                                         "no cluster is given",
		"--workers 1":                              "no cluster is given",
		"--servers 1":                              "no cluster is given",
		"--nodes 1 --workers 1":                    "each of these runs tasks and holds partitions",
		"--nodes 1 --servers 1":                    "each of these runs tasks and holds partitions",
		"--nodes 0":                                "it must be from 1 to ",
		"--nodes 1 --policy evne":                  "did you mean even",
		"--nodes 1 --seed 2":                       "policy even draws nothing",
		"--nodes 1 --policy random --to node=2":    "policy random decides by its seed alone",
		"--nodes 1 --at-once 0":                    "it must be from 1 to 1024",
		"--nodes 1 --at-once 1025":                 "it must be from 1 to 1024",
		"--snapshot - --slots 1":                   "the snapshot says it",
		"--workers 3:2 --servers 1":                "there are 3, which is more than the 2 that there may be",
		"--workers x --servers 1":                  "it must be a number, or two as in 3:8",
		"--workers 1:x --servers 1":                "it must be a number, or two as in 3:8",
		"--workers 0:1 --servers 1":                "it must be from 1 to ",
		"--workers 1 --servers 0":                  "it must be from 1 to ",
		"--nodes 1 --slots 0":                      "it must be from 1 to 4096",
		"--nodes 1 --slots 4097":                   "it must be from 1 to 4096",
		"--nodes 1 --lanes 0":                      "it must be from 1 to 4096",
		"--nodes 1 --splits 0":                     "it must be from 1 to ",
		"--nodes 1 --partition-bytes -1":           "it must be from 0 to ",
		"--nodes 1 --split-bytes -1":               "it must be from 0 to ",
		"--nodes 1 --partitions 3,0":               "it must be numbers from 1",
		"--nodes 1 --to leave=node-1,leave=1":      "leave=1 must name a node once",
		"--nodes 1 --to leave=x":                   "leave=x must name a node once",
		"--nodes 1 --to nodes=0":                   "must be a number from 1 to ",
		"--nodes 1 --to workers=2":                 "each node runs tasks and holds partitions: say nodes=2",
		"--workers 1 --servers 1 --to nodes=2":     "nodes= is not possible here",
		"--workers 1:2 --servers 1 --to workers=3": "--workers 1:2 allows 2",
	} {
		if out, err := shaped(t, false, "", strings.Fields(words)...); out != "" || bellows.KindOf(err) != bellows.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s%v, want %q", words, out, err, want)
		}
	}
	for _, words := range []string{fmt.Sprintf("--nodes %d", nodesMost), fmt.Sprintf("--nodes 1 --slots %d", slotsMost), "--nodes 1 --at-once 1024", "--workers 1:2 --servers 1 --to workers=2"} {
		if _, err := shaped(t, false, "", strings.Fields(words)...); err != nil {
			t.Errorf("%s: %v", words, err)
		}
	}
}

// TestBoundsThatSayNothing wants an upper bound far above the value to be unknown, that of a short move only if it is
// long compared with an epoch.
func TestBoundsThatSayNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v     gauge.Interval
		epoch float64
		want  string
	}{
		{gauge.Interval{Value: 0.2, Low: 0.1, High: 20}, 0, "0.10 to 20.0"},
		{gauge.Interval{Value: 0.2, Low: 0.1, High: 20.1}, 0, "0.10 to unknown"},
		{gauge.Interval{Value: 0.2, Low: 0.1, High: math.Inf(1)}, 0, "0.10 to unknown"},
		{gauge.Interval{Value: 0, Low: 0, High: 3}, 0.1, "0.0000 to 3.00"},
		{gauge.Interval{Value: 0, Low: 0, High: 11}, 0.1, "0.0000 to unknown"},
		{gauge.Exactly(0), 0, "0.0000 to 0.0000"},
	} {
		if got := between(c.v, c.epoch); got != c.want {
			t.Errorf("%+v with epochs of %g: %s, not %s", c.v, c.epoch, got, c.want)
		}
	}
}
