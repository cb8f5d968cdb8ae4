package node_test

import (
	"slices"
	"testing"

	"bellows/node"
	"bellows/table"
)

// TestTablesAreHeldWhereThereAreEnoughOfThem places tables of as many partitions as members have lanes, and of fewer; a job without tables; and a node that is alone.
func TestTablesAreHeldWhereThereAreEnoughOfThem(t *testing.T) {
	two := []node.Member{{}, {Node: 1, Slots: 1, Lanes: 2}, {Node: 2, Lanes: 1}}
	one := []node.Member{{}, {Node: 1, Slots: 1, Lanes: 1}}
	alone := []node.Member{{Slots: 1, Lanes: 3}}
	of := func(partitions int) []table.Schema {
		return []table.Schema{{Rows: 8, Width: 1, Partitions: partitions}}
	}
	for _, c := range []struct {
		what    string
		members []node.Member
		tables  []table.Schema
		stay    bool
	}{
		{"as many", two, of(2), true}, {"fewer", two, of(1), false}, {"none for one", one, nil, false}, {"one for one", one, of(1), true}, {"none, alone", alone, nil, true},
	} {
		want := c.members
		if !c.stay {
			want = slices.Clone(c.members)
			for i := range want {
				want[i].Lanes = 0
			}
			want[0].Lanes = 1
		}
		if got := node.Place(c.members, c.tables, false); !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", c.what, got, want)
		}
		if !c.stay { // another process may take the place of node 0, which has nothing then
			want[0].Lanes, want[1].Lanes = 0, 1
		}
		if got := node.Place(c.members, c.tables, true); !slices.Equal(got, want) {
			t.Errorf("%s, followed: %+v, want %+v", c.what, got, want)
		}
	}
}
