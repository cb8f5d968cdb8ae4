package checkpoint_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/checkpoint"
	"bellows/core/keys"
	"bellows/core/route"
	"bellows/core/rowstore"
	"bellows/internal/require"
	"bellows/link/wire"
	"bellows/table"
)

var (
	controller = wire.Address{Role: wire.Controller}
	lanes      = []wire.Address{{Node: 1, Role: wire.Lane}, {Node: 2, Role: wire.Lane}}
)

// The tables of the tests: a dense one with a second partition without rows, a sparse one, and both again with rules
// that keep slots.
const (
	dense bellows.TableID = iota
	sparse
	adam
	momentum
)

var tables = []table.Schema{
	dense:    {Name: "dense", Rows: 8, Width: 2, Bounds: []bellows.RowID{0, 3, 3, 8}},
	sparse:   {Name: "sparse", Sparse: true, Rows: 12, Width: 1, Partitions: 3},
	adam:     {Name: "adam", Rows: 5, Width: 2, Bounds: []bellows.RowID{0, 0, 5}, Rule: table.Rule{Name: "adam", Step: 1, Epsilon: 1, Beta1: 0.5, Beta2: 0.5}},
	momentum: {Name: "momentum", Sparse: true, Rows: 9, Width: 3, Partitions: 2, Rule: table.Rule{Name: "momentum", Step: 1, Momentum: 0.5}},
}

// slotWidths are those of the tables' rules.
var slotWidths = [][]int{adam: {2, 2, 1}, momentum: {3}}

// source is the state of all lanes.
type source struct {
	live, kept map[bellows.PartitionRef]*rowstore.Image
	leased     map[bellows.PartitionRef]bool // by a task
}

func (s *source) Kept(ref bellows.PartitionRef) *rowstore.Image { return s.kept[ref] }

func (s *source) Partition(ref bellows.PartitionRef) (rowstore.Image, error) {
	if s.leased[ref] {
		return rowstore.Image{}, fmt.Errorf("%v is leased", ref)
	}
	return *s.live[ref], nil
}

// newSource makes a state of values that differ, from a first on. Partition 1 of the sparse table has no keys.
func newSource(r *route.Route, first float32) map[bellows.PartitionRef]*rowstore.Image {
	all := map[bellows.PartitionRef]*rowstore.Image{}
	for ref := range r.Each() {
		s := &tables[ref.Table]
		begin, end := r.Cut(ref.Table).Rows(ref.Partition)
		im, rows := &rowstore.Image{}, int(end-begin)
		if s.Sparse {
			im.Keys = keysOf(ref)
			rows = len(im.Keys)
		}
		fill := func(n int) []float32 {
			values := make([]float32, n)
			for i := range values {
				first++
				values[i] = first
			}
			return values
		}
		im.Values = fill(rows * s.Width)
		if int(ref.Table) < len(slotWidths) {
			for _, w := range slotWidths[ref.Table] {
				im.Slots = append(im.Slots, fill(rows*w))
			}
		}
		all[ref] = im
	}
	return all
}

// keysOf returns three keys of a partition, ascending; none of the sparse table's second.
func keysOf(ref bellows.PartitionRef) []bellows.Key {
	list := []bellows.Key{}
	if ref == (bellows.PartitionRef{Table: sparse, Partition: 1}) {
		return list
	}
	n := 3
	if ref.Table == momentum {
		n = 2
	}
	for k := bellows.Key(1); len(list) < 3; k++ {
		if keys.Partition(k, n) == ref.Partition {
			list = append(list, k)
		}
	}
	return list
}

// desk is a collector, the senders of all lanes, and what is between them.
type desk struct {
	*checkpoint.Collector
	t       *testing.T
	route   *route.Route
	from    *source
	senders map[wire.Address]*checkpoint.Sender
	credit  map[wire.Address]int // slabs that were asked for and have not been sent
	under   []wire.Envelope      // way
	slabs   []string             // that have left, with how much
}

func newDesk(t *testing.T, kept bool) *desk {
	t.Helper()
	d := &desk{t: t, route: route.Spread(tables, 1, lanes, []bellows.NodeID{1}), senders: map[wire.Address]*checkpoint.Sender{}, credit: map[wire.Address]int{}}
	d.from = &source{live: newSource(d.route, 100), leased: map[bellows.PartitionRef]bool{}}
	if kept {
		d.from.kept = newSource(d.route, 10_000)
	}
	var err error
	if d.Collector, err = checkpoint.New(tables, d.route, controller.Node); err != nil {
		t.Fatal(err)
	}
	for _, a := range lanes {
		d.senders[a] = &checkpoint.Sender{}
	}
	return d
}

// ask brings a question to a lane, and takes the answers.
func (d *desk) ask(a wire.Address, m *wire.Collect) {
	d.credit[a] += int(m.Slabs)
	var refs []bellows.PartitionRef
	for ref := range d.route.Each() {
		if d.route.Owner(ref).Lane == a {
			refs = append(refs, ref)
		}
	}
	d.senders[a].Ask(m, refs)
	var out wire.Outbox
	d.senders[a].Send(d.from, a, controller, &out)
	for _, e := range out.Envelopes {
		if s, ok := e.Message.(*wire.Slab); ok {
			d.slabs = append(d.slabs, fmt.Sprintf("%v %d %v keys %d values %d", s.Ref, s.Slot, s.Kept, len(s.Keys), len(s.Values)))
			if d.credit[a]--; d.credit[a] < 0 {
				d.t.Fatalf("%v sends a slab for which it was not asked", a)
			}
		}
		if e.From != a || e.To != controller {
			d.t.Fatalf("%v sends from %v to %v", a, e.From, e.To)
		}
	}
	d.under = append(d.under, out.Envelopes...)
}

// begin asks all lanes.
func (d *desk) begin(whole bool) {
	d.Begin(whole)
	for _, a := range d.Open() {
		d.ask(a, d.Ask())
	}
}

// take takes a message, as it comes over a wire where it crosses one: arrays without values are nil.
func (d *desk) take(e wire.Envelope) error {
	switch m := e.Message.(type) {
	case *wire.Slab:
		if len(m.Values) == 0 {
			m.Values = nil
		}
		return d.Take(e.From, m)
	case *wire.Collected:
		return d.End(e.From, m)
	}
	d.t.Fatalf("%T", e.Message)
	return nil
}

// slabsOf returns all slabs that a lane sends.
func (d *desk) slabsOf(a wire.Address, whole bool) (slabs []*wire.Slab) {
	for d.Begin(whole); ; d.ask(a, d.More()) {
		for _, e := range d.under {
			m, slab := e.Message.(*wire.Slab)
			if !slab {
				return slabs
			}
			slabs = append(slabs, m)
		}
		d.under = nil
	}
}

// run continues until nothing is under way.
func (d *desk) run() {
	d.t.Helper()
	for len(d.under) > 0 {
		d.step()
	}
}

// runUntilOver runs until the collector waits for nothing.
func (d *desk) runUntilOver() {
	d.t.Helper()
	for len(d.under) > 0 && !d.Finished() {
		d.step()
	}
}

// step brings one message, and its answer.
func (d *desk) step() {
	d.t.Helper()
	e := d.under[0]
	d.under = d.under[1:]
	require.NoError(d.t, d.take(e))
	if _, slab := e.Message.(*wire.Slab); slab {
		d.ask(e.From, d.More())
	}
}

// expectImages holds what the collector has against a state.
func (d *desk) expectImages(name string, got [][]rowstore.Image, want map[bellows.PartitionRef]*rowstore.Image) {
	d.t.Helper()
	if want == nil {
		if got != nil {
			d.t.Errorf("%s images of nothing", name)
		}
		return
	}
	for tab := range tables {
		if n := d.route.Cut(bellows.TableID(tab)).Len(); len(got[tab]) != n {
			d.t.Fatalf("%s: table %d has %d images of %d partitions", name, tab, len(got[tab]), n)
		}
	}
	for ref, im := range want {
		have := got[ref.Table][ref.Partition]
		if !slices.Equal(have.Values, im.Values) || !slices.Equal(have.Keys, im.Keys) || len(have.Slots) != len(im.Slots) {
			d.t.Errorf("%s: %v is %+v, not %+v", name, ref, have, *im)
		}
		for i := range im.Slots {
			if !slices.Equal(have.Slots[i], im.Slots[i]) {
				d.t.Errorf("%s: slot %d of %v is %v, not %v", name, i, ref, have.Slots[i], im.Slots[i])
			}
		}
	}
}

// TestTheWholeStateComes collects all that a job needs to resume, with what was kept and without: it comes as it was,
// partitions without rows at their places.
func TestTheWholeStateComes(t *testing.T) {
	for _, kept := range []bool{false, true} {
		d := newDesk(t, kept)
		d.begin(true)
		d.run()
		if !d.Finished() || d.Err() != nil {
			t.Fatalf("over %v, %v", d.Finished(), d.Err())
		}
		live, was := d.Images()
		d.expectImages("as they ended", live, d.from.live)
		d.expectImages("as kept", was, d.from.kept)
	}
}

// TestAnEmptyPartitionIsCollected collects what a job returns, of tables with partitions that have no rows, as they ended or as the driver
// kept them.
func TestAnEmptyPartitionIsCollected(t *testing.T) {
	for _, kept := range []bool{false, true} {
		d := newDesk(t, kept)
		d.begin(false)
		d.run()
		if !d.Finished() || d.Err() != nil {
			t.Fatalf("kept %v: over %v, %v", kept, d.Finished(), d.Err())
		}
		state := d.from.live
		if kept {
			state = d.from.kept
		}
		values, list := d.Tables()
		for tab := range tables {
			got := map[bellows.Key][]float32{}
			want := map[bellows.Key][]float32{}
			width, row := tables[tab].Width, bellows.Key(0)
			for p := range d.route.Cut(bellows.TableID(tab)).Len() {
				im := state[bellows.PartitionRef{Table: bellows.TableID(tab), Partition: bellows.PartitionID(p)}]
				for i := range len(im.Values) / width {
					k := row
					if im.Keys != nil {
						k = im.Keys[i]
					}
					want[k] = im.Values[i*width : (i+1)*width]
					row++
				}
			}
			for i := range len(values[tab]) / width {
				k := bellows.Key(i)
				if tables[tab].Sparse {
					k = list[tab][i]
				}
				got[k] = values[tab][i*width : (i+1)*width]
			}
			if len(want) == 0 || !reflect.DeepEqual(got, want) || !slices.IsSorted(list[tab]) {
				t.Errorf("kept %v: table %d is %v, not %v", kept, tab, got, want)
			}
		}
		for _, s := range d.slabs { // state that is not returned does not travel
			if strings.Contains(s, "p0 1 ") || !strings.Contains(s, fmt.Sprint(kept)) {
				t.Errorf("kept %v: %s travels", kept, s)
			}
		}
	}
}

// TestLaneSendsOnlyRequestedSlabs holds back the answers: a lane sends its first window and no more, and one for each
// that is asked for.
func TestLaneSendsOnlyRequestedSlabs(t *testing.T) {
	d := newDesk(t, true)
	d.begin(true)
	if len(d.slabs) != len(lanes)*checkpoint.Window {
		t.Errorf("%d slabs are under way at first", len(d.slabs))
	}
	for n := range 5 {
		d.slabs = nil
		d.ask(lanes[0], d.More())
		if len(d.slabs) != 1 {
			t.Errorf("question %d: %d slabs leave", n, len(d.slabs))
		}
	}
	var out wire.Outbox // without a question nothing leaves
	d.senders[lanes[0]].Send(d.from, lanes[0], controller, &out)
	new(checkpoint.Sender).Send(d.from, lanes[0], controller, &out)
	if len(out.Envelopes) != 0 {
		t.Errorf("%d messages leave without a question", len(out.Envelopes))
	}
}

// many is a state of many small partitions, all alike.
type many struct{ image rowstore.Image }

func (many) Kept(bellows.PartitionRef) *rowstore.Image                { return nil }
func (m many) Partition(bellows.PartitionRef) (rowstore.Image, error) { return m.image, nil }
func slabsOf(t *testing.T, s *checkpoint.Sender, from checkpoint.Source) (slabs []*wire.Slab, end *wire.Collected) {
	t.Helper()
	var out wire.Outbox
	s.Send(from, lanes[0], controller, &out)
	for _, e := range out.Envelopes {
		if end != nil {
			t.Fatalf("%T behind the end", e.Message)
		}
		switch m := e.Message.(type) {
		case *wire.Slab:
			slabs = append(slabs, m)
		case *wire.Collected:
			end = m
		}
	}
	return slabs, end
}

// TestEndlessRequestsAreOwedLittle asks for far more slabs than a window while the lane may not answer yet. The first
// question decides what is sent, and of which partitions.
func TestEndlessRequestsAreOwedLittle(t *testing.T) {
	const most = 64
	var s checkpoint.Sender
	refs := make([]bellows.PartitionRef, most+3)
	for i := range refs {
		refs[i].Partition = bellows.PartitionID(i)
	}
	s.Ask(&wire.Collect{Slabs: 3}, refs)
	for range 100 {
		s.Ask(&wire.Collect{Slabs: 1 << 30, Whole: true}, nil)
	}
	from := many{rowstore.Image{Values: []float32{1}, Slots: [][]float32{{2}}}}
	slabs, end := slabsOf(t, &s, from)
	if len(slabs) != most || end != nil {
		t.Fatalf("%d slabs leave, end %v", len(slabs), end)
	}
	s.Ask(&wire.Collect{Slabs: 100}, nil)
	rest, end := slabsOf(t, &s, from)
	if len(rest) != 3 || end == nil || end.Reason != "" {
		t.Fatalf("then %d slabs leave, end %v", len(rest), end)
	}
	for i, m := range append(slabs, rest...) {
		if m.Ref != refs[i] || m.Slot != 0 || len(m.Values) != 1 {
			t.Errorf("slab %d is %+v", i, m)
		}
	}
	s.Ask(&wire.Collect{Slabs: 1}, refs)
	if more, end := slabsOf(t, &s, from); len(more) > 0 || end != nil {
		t.Errorf("after the end, %d slabs leave, and %v", len(more), end)
	}
}

// TestLongArraysAreCut sends keys and rows that are longer than one slab may be.
func TestLongArraysAreCut(t *testing.T) {
	const most = 4 << 20
	var s checkpoint.Sender
	s.Ask(&wire.Collect{Slabs: 64}, make([]bellows.PartitionRef, 1))
	im := rowstore.Image{Keys: make([]bellows.Key, most/2+5), Values: make([]float32, 2*most+1)}
	im.Keys[most/2], im.Values[most], im.Values[2*most] = 11, 12, 13
	slabs, end := slabsOf(t, &s, many{im})
	if end == nil || len(slabs) != 5 {
		t.Fatalf("%d slabs, end %v", len(slabs), end)
	}
	for i, want := range []struct {
		keys, values int
		first        float32
	}{{keys: most / 2}, {keys: 5, first: 11}, {values: most}, {values: most, first: 12}, {values: 1, first: 13}} {
		m := slabs[i]
		first := float32(0)
		if m.Keys != nil {
			first = float32(m.Keys[0])
		} else {
			first = m.Values[0]
		}
		if len(m.Keys) != want.keys || len(m.Values) != want.values || first != want.first {
			t.Errorf("slab %d has %d keys and %d values from %v on, not %+v", i, len(m.Keys), len(m.Values), first, want)
		}
	}
}

// TestBreachesAreNamedAndTakeNothing sends an invalid slab in the middle of the ones that a lane owes: the error names
// it, and the other slabs come as if it had not been sent.
func TestBreachesAreNamedAndTakeNothing(t *testing.T) {
	ref := func(tab bellows.TableID, p bellows.PartitionID) bellows.PartitionRef {
		return bellows.PartitionRef{Table: tab, Partition: p}
	}
	own := keysOf(ref(sparse, 0))
	for name, c := range map[string]struct {
		from int
		slab *wire.Slab
		want string
	}{
		"another's partition":        {1, &wire.Slab{Ref: ref(dense, 0), Values: []float32{1}}, "sent values of t0/p0, for which it was not asked"},
		"too many values":            {0, &wire.Slab{Ref: ref(dense, 0), Values: make([]float32, 7)}, "sent 7 values of t0/p0, slot 0, which has 6"},
		"values where there are no":  {1, &wire.Slab{Ref: ref(dense, 1), Values: make([]float32, 1)}, "sent 1 values of t0/p1, slot 0, which has 0"},
		"too many kept values":       {0, &wire.Slab{Ref: ref(dense, 0), Kept: true, Values: make([]float32, 7)}, "sent 7 values"},
		"too many in a slot":         {1, &wire.Slab{Ref: ref(adam, 1), Slot: 3, Values: make([]float32, 6)}, "sent 6 values of t2/p1, slot 3, which has 5"},
		"rows before their keys":     {0, &wire.Slab{Ref: ref(sparse, 0), Values: []float32{1}}, "sent 1 values of t1/p0, slot 0, which has 0"},
		"keys of a dense table":      {0, &wire.Slab{Ref: ref(dense, 0), Keys: []bellows.Key{1}}, "sent keys of t0/p0, which has none"},
		"keys that descend":          {0, &wire.Slab{Ref: ref(sparse, 0), Keys: []bellows.Key{own[1], own[0]}}, "which is not behind the one before"},
		"a key twice":                {0, &wire.Slab{Ref: ref(sparse, 0), Keys: []bellows.Key{own[0], own[0]}}, "which is not behind the one before"},
		"a key of another partition": {0, &wire.Slab{Ref: ref(sparse, 0), Keys: keysOf(ref(sparse, 2))}, "or not of that partition"},
		"more keys than may be":      {0, &wire.Slab{Ref: ref(sparse, 0), Keys: make([]bellows.Key, 1000)}, "sent 1000 keys of t1/p0, which has at most"},
	} {
		for _, whole := range []bool{false, true} {
			d := newDesk(t, false)
			d.begin(whole)
			if err := d.take(wire.Envelope{From: lanes[c.from], Message: c.slab}); err == nil || !strings.Contains(err.Error(), lanes[c.from].String()) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
			d.run()
			if !d.Finished() || d.Err() != nil {
				t.Errorf("%s: afterwards over %v, %v", name, d.Finished(), d.Err())
			}
			if whole {
				live, _ := d.Images()
				d.expectImages(name, live, d.from.live)
			}
		}
	}
}

// TestTheNextPieceFitsWhatHasCome sends an array in two pieces, the second longer than what is left of it.
func TestTheNextPieceFitsWhatHasCome(t *testing.T) {
	ref := bellows.PartitionRef{Table: adam, Partition: 1}
	for slot, most := range []int{10, 10, 10, 5} {
		d := newDesk(t, false)
		d.Begin(true)
		from := d.route.Owner(ref).Lane
		piece := func(n int) error {
			return d.Take(from, &wire.Slab{Ref: ref, Slot: uint16(slot), Values: make([]float32, n)})
		}
		require.NoError(t, piece(most-2))
		want := fmt.Sprintf("sent %d values of t2/p1, slot %d, which has %d", most+1, slot, most)
		if err := piece(3); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("slot %d: three values beside %d of %d: %v", slot, most-2, most, err)
		}
		if err := piece(2); err != nil {
			t.Error(err)
		}
	}
}

// TestArraysOfOwnNodeAreNotCopied sends a slot from a lane of the collector's node, whole and in pieces, and from
// another node: only the first is taken as it is, and a piece does not write to the memory of a lane.
func TestArraysOfOwnNodeAreNotCopied(t *testing.T) {
	ref, size := bellows.PartitionRef{Table: adam, Partition: 1}, 10
	for name, c := range map[string]struct {
		own    bool
		pieces int
		same   bool
	}{"own": {true, 1, true}, "own, two pieces": {true, 2, false}, "another node's": {false, 1, false}} {
		r := route.Spread(tables, 1, lanes, []bellows.NodeID{1})
		from, self := r.Owner(ref).Lane, controller.Node
		if c.own {
			self = from.Node
		}
		d, err := checkpoint.New(tables, r, self)
		require.NoError(t, err)
		d.Begin(true)
		sent := make([]float32, size)
		for i := range c.pieces {
			values := sent[i*size/c.pieces : (i+1)*size/c.pieces]
			require.NoError(t, d.Take(from, &wire.Slab{Ref: ref, Slot: 1, Values: values}))
		}
		live, _ := d.Images()
		got := live[ref.Table][ref.Partition].Slots[0]
		if len(got) != size || (&got[0] == &sent[0]) != c.same {
			t.Errorf("%s: %d values of %d, in the memory of the lane: %v", name, len(got), size, &got[0] == &sent[0])
		}
	}
}

// TestScratchTablesAreNotReturned collects a scratch table from a lane of the collector's node and from another node. The
// images have its rows, which come without a copy from the own node, and Tables does not.
func TestScratchTablesAreNotReturned(t *testing.T) {
	schemas := slices.Clone(tables)
	schemas[dense].Scratch = true
	r := route.Spread(schemas, 1, lanes, []bellows.NodeID{1})
	ref := bellows.PartitionRef{Table: dense, Partition: 2}
	from := r.Owner(ref).Lane
	for self, same := range map[bellows.NodeID]bool{from.Node: true, from.Node + 1: false} {
		d, err := checkpoint.New(schemas, r, self)
		require.NoError(t, err)
		d.Begin(true)
		sent := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
		require.NoError(t, d.Take(from, &wire.Slab{Ref: ref, Values: sent}))
		live, _ := d.Images()
		got := live[dense][2].Values
		if !slices.Equal(got, sent) || (&got[0] == &sent[0]) != same {
			t.Errorf("collected at node %d: %v, in the memory of the lane: %v", self, got, &got[0] == &sent[0])
		}
		if rows, _ := d.Tables(); rows[dense] != nil {
			t.Errorf("collected at node %d, %d values are returned", self, len(rows[dense]))
		}
	}
}

// TestCollectingNothingEndsAtOnce collects the state of a job without tables.
func TestCollectingNothingEndsAtOnce(t *testing.T) {
	c, err := checkpoint.New(nil, route.Spread(nil, 1, lanes, []bellows.NodeID{1}), controller.Node)
	require.NoError(t, err)
	if c.Finished() {
		t.Error("over before it begins")
	}
	if c.Begin(false); !c.Finished() || c.Err() != nil || len(c.Open()) > 0 {
		t.Errorf("over %v, %v, and %v are waited for", c.Finished(), c.Err(), c.Open())
	}
}

// TestKeysComeInOneOrder sends the keys of a partition in two slabs, and what is wrong with a second.
func TestKeysComeInOneOrder(t *testing.T) {
	ref := bellows.PartitionRef{Table: sparse}
	own := keysOf(ref)
	for name, c := range map[string]struct {
		first, then *wire.Slab
		want        string
	}{
		"in order":            {&wire.Slab{Keys: own[:1]}, &wire.Slab{Keys: own[1:]}, ""},
		"none, and then some": {&wire.Slab{Keys: []bellows.Key{}}, &wire.Slab{Keys: own}, ""},
		"again":               {&wire.Slab{Keys: own[:1]}, &wire.Slab{Keys: own[:1]}, "is not behind the one before"},
		"backwards":           {&wire.Slab{Keys: own[1:2]}, &wire.Slab{Keys: own[:1]}, "is not behind the one before"},
		"too many in all":     {&wire.Slab{Keys: own}, &wire.Slab{Keys: make([]bellows.Key, 998)}, "sent 1001 keys"},
	} {
		d := newDesk(t, false)
		d.Begin(false)
		for _, m := range []*wire.Slab{c.first, c.then} {
			m.Ref = ref
		}
		require.NoError(t, d.Take(lanes[0], c.first))
		err := d.Take(lanes[0], c.then)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	d := newDesk(t, false)
	d.Begin(false)
	for _, m := range []*wire.Slab{{Ref: ref, Keys: own}, {Ref: ref, Values: []float32{1}}} {
		require.NoError(t, d.Take(lanes[0], m))
	}
	if err := d.Take(lanes[0], &wire.Slab{Ref: ref, Keys: own[2:]}); err == nil || !strings.Contains(err.Error(), "or after its rows") {
		t.Errorf("keys behind rows: %v", err)
	}
}

// TestAnEarlyEndIsABreach leaves out each slab of a lane in turn, of what the job returns and of the whole state. A
// slab without values is missed if no other slab of its partition comes.
func TestAnEarlyEndIsABreach(t *testing.T) {
	for i, a := range lanes {
		for _, whole := range []bool{false, true} {
			for _, kept := range []bool{false, true} {
				slabs := newDesk(t, kept).slabsOf(a, whole)
				for missing := -1; missing < len(slabs); missing++ {
					if missing >= 0 && slabs[missing].Ref.Table != dense && slabs[missing].Keys == nil && len(slabs[missing].Values) == 0 {
						continue
					}
					d := newDesk(t, kept)
					d.Begin(whole)
					var err error
					for n, m := range slabs {
						if n != missing && err == nil {
							err = d.take(wire.Envelope{From: a, Message: m})
						}
					}
					if err == nil {
						err = d.End(a, &wire.Collected{})
					}
					if (err == nil) != (missing < 0) || d.Owes(a.Node) != (missing >= 0) || !d.Owes(lanes[1-i].Node) || d.Finished() {
						t.Errorf("lane %d, whole %v, kept %v: without slab %d of %d: %v, owes %v", i, whole, kept, missing, len(slabs), err, d.Owes(a.Node))
					}
				}
			}
		}
	}
}

// TestPartlyKeptStateIsABreach lets one of two lanes send nothing that was kept.
func TestPartlyKeptStateIsABreach(t *testing.T) {
	for i := range lanes {
		d := newDesk(t, true)
		for ref := range d.from.kept {
			if d.route.Owner(ref).Lane == lanes[i] {
				delete(d.from.kept, ref)
			}
		}
		d.begin(true)
		d.run()
		if !d.Finished() || d.Err() == nil || !strings.Contains(d.Err().Error(), "keeps all or none") {
			t.Errorf("over %v, %v", d.Finished(), d.Err())
		}
	}
}

// TestUnrequestedSlabsAreBreaches sends before the beginning, after the end, and from a lane that has no part.
func TestUnrequestedSlabsAreBreaches(t *testing.T) {
	slab := &wire.Slab{Values: []float32{1}}
	d := newDesk(t, false)
	expect := func(when string) {
		t.Helper()
		if err := d.Take(lanes[0], slab); err == nil || !strings.Contains(err.Error(), "for which it was not asked") {
			t.Errorf("%s: values %v", when, err)
		}
		if err := d.End(lanes[0], &wire.Collected{}); err == nil || !strings.Contains(err.Error(), "for which it was not asked") {
			t.Errorf("%s: end %v", when, err)
		}
	}
	expect("before the beginning")
	d.begin(true)
	d.run()
	expect("behind the end")
	if d.Err() != nil {
		t.Error(d.Err())
	}
}

// TestALaneThatCannotSaysWhy asks a lane with a partition that is neither before nor after a lease.
func TestALaneThatCannotSaysWhy(t *testing.T) {
	for _, kept := range []bool{false, true} {
		d := newDesk(t, kept)
		d.from.leased[bellows.PartitionRef{Table: dense}] = true
		d.begin(true)
		d.runUntilOver()
		if !d.Finished() || d.Err() == nil || d.Err().Error() != "t0/p0 is leased" || len(d.Open()) != 0 {
			t.Errorf("over %v, %v, open %v", d.Finished(), d.Err(), d.Open())
		}
	}
	d := newDesk(t, true) // what was kept is returned all the same
	d.from.leased[bellows.PartitionRef{Table: dense}] = true
	d.begin(false)
	d.run()
	if !d.Finished() || d.Err() != nil {
		t.Errorf("over %v, %v", d.Finished(), d.Err())
	}
}

// TestTheFirstFailureStands ends the collecting twice, and once when all had come.
func TestTheFirstFailureStands(t *testing.T) {
	d := newDesk(t, false)
	d.begin(false)
	d.Fail(errors.New("first"))
	d.Fail(errors.New("second"))
	if !d.Finished() || d.Err().Error() != "first" || d.Owes(1) {
		t.Errorf("over %v, %v", d.Finished(), d.Err())
	}
	d = newDesk(t, false)
	d.begin(false)
	d.run()
	if d.Fail(errors.New("late")); d.Err() != nil {
		t.Errorf("all had come, and then %v", d.Err())
	}
}

// TestIdleLaneIsNotAsked adds a lane without partitions: it is not asked, and its node may go.
func TestIdleLaneIsNotAsked(t *testing.T) {
	idle := wire.Address{Node: 3, Role: wire.Lane}
	small := []table.Schema{{Name: "w", Rows: 2, Width: 1, Partitions: 2}}
	c, err := checkpoint.New(small, route.Spread(small, 1, append(slices.Clone(lanes), idle), []bellows.NodeID{1}), controller.Node)
	require.NoError(t, err)
	c.Begin(false)
	if c.Owes(3) || !c.Owes(1) || !c.Owes(2) || !slices.Equal(c.Open(), lanes) {
		t.Errorf("of %v, node 3 owes: %v", c.Open(), c.Owes(3))
	}
}

// TestStateIsAskedOfCurrentOwners follows a route by which a partition has moved to a lane that had none.
func TestStateIsAskedOfCurrentOwners(t *testing.T) {
	small := []table.Schema{{Name: "a", Rows: 2, Width: 1, Partitions: 2}}
	old, late := wire.LaneAt(1, 0), wire.LaneAt(2, 0)
	r := route.Spread(small, 1, []wire.Address{old}, []bellows.NodeID{1})
	c, err := checkpoint.New(small, r, controller.Node)
	require.NoError(t, err)
	for _, change := range []func() bellows.Control{func() bellows.Control { return r.AddLane(late) }, func() bellows.Control { return r.MovePartition(bellows.PartitionRef{Partition: 1}, late) }} {
		if r, err = r.Next(change()); err != nil {
			t.Fatal(err)
		}
	}
	c.Follow(r)
	c.Begin(false)
	if !slices.Equal(c.Open(), []wire.Address{old, late}) {
		t.Errorf("asked are %v", c.Open())
	}
	if err := c.Take(old, &wire.Slab{Ref: bellows.PartitionRef{Partition: 1}, Values: []float32{1}}); err == nil {
		t.Error("the owner of the past is believed")
	}
}

// TestAnotherControllerIsSentAllOfIt asks a lane by a new controller after the previous one has received everything: it
// sends everything again, with the new term.
func TestAnotherControllerIsSentAllOfIt(t *testing.T) {
	var s checkpoint.Sender
	from := many{rowstore.Image{Values: []float32{1, 2}}}
	refs := []bellows.PartitionRef{{}, {Partition: 1}}
	for term := bellows.Term(1); term <= 3; term++ {
		s.Ask(&wire.Collect{Term: term, Slabs: 9}, refs)
		s.Ask(&wire.Collect{Term: 1, Slabs: 9}, nil)
		slabs, end := slabsOf(t, &s, from)
		if len(slabs) != 2 || end == nil || slabs[0].Term != term || end.Term != term {
			t.Errorf("term %d is sent %d slabs, and %+v", term, len(slabs), end)
		}
	}
}
