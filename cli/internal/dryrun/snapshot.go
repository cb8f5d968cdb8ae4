package dryrun

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"bellows"
	"bellows/policy/plan"
	"bellows/policy/shape"
)

// snapshot is a cluster and its job as JSON has them.
type snapshot struct {
	Nodes      []nodeAt      `json:"nodes"`      // in the order of their numbers
	Tables     []int         `json:"tables"`     // partitions of each
	Partitions []partitionAt `json:"partitions"` // those of the first table, then of the second
	Splits     []splitAt     `json:"splits"`
	Want       *want         `json:"want,omitempty"` // what is given by flags comes first
}

type nodeAt struct {
	ID    int `json:"id"`
	Slots int `json:"slots"` // compute slots; 0: it runs no tasks
	Lanes int `json:"lanes"` // 0: it holds no partitions
}

type partitionAt struct {
	Node  int   `json:"node"`
	Lane  int   `json:"lane"`
	Bytes int64 `json:"bytes"`
	Near  *int  `json:"near,omitempty"` // split with its state in the partition
}

type splitAt struct {
	Node  int   `json:"node"`
	Bytes int64 `json:"bytes"` // that move with it; 0: the receiver has them
}

// want is what is asked of the cluster.
type want struct {
	Workers int   `json:"workers"`
	Servers int   `json:"servers"`
	Slots   int   `json:"slots"`  // of a node that gets to run tasks
	Lanes   int   `json:"lanes"`  // of a node that gets to hold partitions
	Beside  bool  `json:"beside"` // workers also hold partitions
	Leaves  []int `json:"leaves"` // nodes that go
	Stays   int   `json:"stays"`  // the node that leads
	Next    int   `json:"next"`   // number of the next node; 0: the last one plus 1
}

// Bounds of what is planned here. The policies allow more.
const (
	nodesMost = 4096
	partsMost = 1 << 17 // splits, and partitions
	slotsMost = 1 << 12
	bytesMost = math.MaxInt64 / partsMost
)

// state is a snapshot as policies take it.
type state struct {
	shape.Snapshot
	sizes plan.Sizes
}

// readSnapshot reads a file, or standard input by "-".
func readSnapshot(name string, in io.Reader) (*state, error) {
	text, err := content(name, in)
	if err != nil {
		return nil, bellows.Errorf(bellows.NoInput, "read snapshot", name, "%w", bellows.Pathless(err))
	}
	s := &snapshot{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(s)
	if err == nil && d.More() {
		err = errors.New("there is text after the snapshot")
	}
	var st *state
	if err == nil {
		st, err = s.state()
	}
	if err != nil {
		return nil, &bellows.Error{Kind: bellows.BadData, Op: "read snapshot", Subject: name, Err: err, Hint: "`plan shape --print-snapshot` with --workers and --servers prints one"}
	}
	return st, nil
}

// fileMost is how long a snapshot may be.
const fileMost = 64 << 20

func content(name string, in io.Reader) ([]byte, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, fileMost+1))
	if err == nil && len(text) > fileMost {
		err = fmt.Errorf("it is longer than %d MiB", fileMost>>20)
	}
	return text, err
}

// state returns the snapshot as policies take it, or an error if it is not a valid shape.
func (s *snapshot) state() (*state, error) {
	if len(s.Nodes) > nodesMost || len(s.Splits) > partsMost || len(s.Partitions) > partsMost {
		return nil, fmt.Errorf("it has %d nodes, %d splits and %d partitions; at most %d, %d and %d are planned for", len(s.Nodes), len(s.Splits), len(s.Partitions), nodesMost, partsMost, partsMost)
	}
	st := &state{}
	for _, n := range s.Nodes {
		if n.ID < 0 || n.ID >= math.MaxUint16 || n.Slots > slotsMost || n.Lanes > slotsMost {
			return nil, fmt.Errorf("node %d has %d compute slots and %d lanes; numbers are from 0 to %d, and neither is above %d", n.ID, n.Slots, n.Lanes, math.MaxUint16-1, slotsMost)
		}
		st.Nodes = append(st.Nodes, shape.Node{ID: bellows.NodeID(n.ID), Slots: n.Slots, Lanes: n.Lanes})
	}
	all := 0
	for t, n := range s.Tables {
		if n < 1 || n > partsMost {
			return nil, fmt.Errorf("table %d has %d partitions; it must be from 1 to %d", t, n, partsMost)
		}
		all += n
	}
	if all != len(s.Partitions) {
		return nil, fmt.Errorf("its tables have %d partitions, and %d are listed", all, len(s.Partitions))
	}
	st.Tables = s.Tables
	for i, p := range s.Partitions {
		near := -1
		if p.Near != nil {
			if near = *p.Near; near < 0 || near >= len(s.Splits) {
				return nil, fmt.Errorf("partition %d is near split %d, of %d", i, near, len(s.Splits))
			}
		}
		at, err := place("partition", i, p.Node, p.Bytes)
		if err != nil {
			return nil, err
		}
		st.Partitions = append(st.Partitions, shape.Place{Node: at, Lane: p.Lane})
		st.Near, st.sizes.Partitions = append(st.Near, near), append(st.sizes.Partitions, p.Bytes)
	}
	for i, p := range s.Splits {
		at, err := place("split", i, p.Node, p.Bytes)
		if err != nil {
			return nil, err
		}
		st.Splits, st.sizes.Splits = append(st.Splits, at), append(st.sizes.Splits, p.Bytes)
	}
	if err := st.Validate(); err != nil {
		return nil, err
	}
	return st, st.wanted(s.Want)
}

// wanted takes what is asked, or else what there is.
func (st *state) wanted(w *want) error {
	workers, servers := st.Counts()
	last := st.Nodes[len(st.Nodes)-1].ID
	st.Want = shape.Want{Workers: workers, Servers: servers, Slots: 1, Lanes: 1, Next: last + 1, Stays: st.Nodes[0].ID}
	for _, n := range st.Nodes { // a new node has as much as the present ones
		st.Want.Slots, st.Want.Lanes = max(st.Want.Slots, n.Slots), max(st.Want.Lanes, n.Lanes)
	}
	if w == nil {
		return nil
	}
	if w.Workers < 0 || w.Workers > nodesMost || w.Servers < 0 || w.Servers > nodesMost || w.Slots > slotsMost || w.Lanes > slotsMost {
		return fmt.Errorf("%d workers and %d servers with %d slots and %d lanes are wanted; at most %d nodes with %d are planned for", w.Workers, w.Servers, w.Slots, w.Lanes, nodesMost, slotsMost)
	}
	if w.Next != 0 && w.Next <= int(last) || w.Next > math.MaxUint16-2*nodesMost {
		return fmt.Errorf("the next node is to be %d, and the last one is %d", w.Next, last)
	}
	st.Want.Workers, st.Want.Servers, st.Want.Slots, st.Want.Lanes, st.Want.Beside = w.Workers, w.Servers, w.Slots, w.Lanes, w.Beside
	if w.Next != 0 {
		st.Want.Next = bellows.NodeID(w.Next)
	}
	st.Want.Leaves = nil
	for _, n := range append([]int{w.Stays}, w.Leaves...) {
		if n < 0 || n >= math.MaxUint16 {
			return fmt.Errorf("there is no node %d", n)
		}
		st.Want.Leaves = append(st.Want.Leaves, bellows.NodeID(n))
	}
	st.Want.Stays, st.Want.Leaves = st.Want.Leaves[0], st.Want.Leaves[1:]
	if _, found := st.Node(st.Want.Stays); !found {
		return fmt.Errorf("the snapshot has no node %d, which is to stay", st.Want.Stays)
	}
	return nil
}

// place returns a node that something is at.
func place(what string, i, at int, size int64) (bellows.NodeID, error) {
	if at < 0 || at >= math.MaxUint16 {
		return 0, fmt.Errorf("%s %d is at node %d, which is not there", what, i, at)
	}
	if size < 0 || size > bytesMost {
		return 0, fmt.Errorf("%s %d has %d bytes; it must be from 0 to %d", what, i, size, int64(bytesMost))
	}
	return bellows.NodeID(at), nil
}

// snapshot returns the state as JSON has it.
func (st *state) snapshot() *snapshot {
	s := &snapshot{Nodes: []nodeAt{}, Tables: st.Tables, Partitions: []partitionAt{}, Splits: []splitAt{}}
	for _, n := range st.Nodes {
		s.Nodes = append(s.Nodes, nodeAt{int(n.ID), n.Slots, n.Lanes})
	}
	for i, p := range st.Partitions {
		q := partitionAt{Node: int(p.Node), Lane: p.Lane, Bytes: st.sizes.Partitions[i]}
		if near := st.Near[i]; near >= 0 {
			q.Near = &near
		}
		s.Partitions = append(s.Partitions, q)
	}
	for i, n := range st.Splits {
		s.Splits = append(s.Splits, splitAt{int(n), st.sizes.Splits[i]})
	}
	w := &st.Want
	s.Want = &want{w.Workers, w.Servers, w.Slots, w.Lanes, w.Beside, []int{}, int(w.Stays), int(w.Next)}
	for _, n := range w.Leaves {
		s.Want.Leaves = append(s.Want.Leaves, int(n))
	}
	return s
}
