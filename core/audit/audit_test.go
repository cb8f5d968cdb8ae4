package audit_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/audit"
)

func values(n int) []float32 {
	r := rand.New(rand.NewPCG(uint64(n), 1))
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// TestRowsInAnyOrder wants one sum of rows however they are listed, and of all of them listed or not.
func TestRowsInAnyOrder(t *testing.T) {
	const width, rows = 3, 20
	v := values(rows * width)
	whole := audit.Rows(4, width, nil, v)
	list, shuffled := rand.New(rand.NewPCG(1, 2)).Perm(rows), []float32(nil)
	var order []uint32
	for _, r := range list {
		order, shuffled = append(order, uint32(r)), append(shuffled, v[r*width:(r+1)*width]...)
	}
	if got := audit.Rows(4, width, order, shuffled); got != whole {
		t.Errorf("shuffled rows add up to %016x, all to %016x", got, whole)
	}
	if audit.Rows(5, width, nil, v) == whole {
		t.Error("another partition has the same sum")
	}
	order[3], order[7] = order[7], order[3]
	if audit.Rows(4, width, order, shuffled) == whole {
		t.Error("two rows may change places")
	}
	if audit.Rows(4, width, order[1:], shuffled[width:]) == whole {
		t.Error("a row may be lost")
	}
}

// TestKeysInAnyOrder wants the same for rows that have keys.
func TestKeysInAnyOrder(t *testing.T) {
	keys, v := []bellows.Key{1 << 60, 3, 2}, values(6)
	whole := audit.Keys(1, 2, keys, v)
	back, turned := slices.Clone(keys), []float32{v[4], v[5], v[2], v[3], v[0], v[1]}
	slices.Reverse(back)
	if got := audit.Keys(1, 2, back, turned); got != whole {
		t.Errorf("reversed keys add up to %016x, want %016x", got, whole)
	}
	if audit.Keys(1, 2, back, v) == whole || audit.Keys(1, 2, keys[:2], v[:4]) == whole || audit.Keys(2, 2, keys, v) == whole {
		t.Error("rows may change keys, be lost or be another partition's")
	}
}

// TestSamples wants every clock of small partitions, and of others one in each 16, not always the same one.
func TestSamples(t *testing.T) {
	small, ref := audit.SampleOf(bellows.PartitionRef{Table: 1, Partition: 2}, 256), bellows.PartitionRef{Table: 1, Partition: 2}
	for _, values := range []int{0, 257, 1 << 30} {
		places := map[bellows.Clock]int{}
		s, other, apart := audit.SampleOf(ref, values), audit.SampleOf(bellows.PartitionRef{Table: 2, Partition: 2}, values), 0
		for first := bellows.Clock(0); first < 3200; first += 16 {
			var in []bellows.Clock
			for c := first; c < first+16; c++ {
				if s.Contains(c) {
					in = append(in, c-first)
				}
				if s.Contains(c) != other.Contains(c) {
					apart++
				}
				if !small.Contains(c) {
					t.Fatalf("clock %d of a small partition is not in the sample", c)
				}
			}
			if len(in) != 1 {
				t.Fatalf("of the clocks from %d on, %v are in the sample", first, in)
			}
			places[in[0]]++
		}
		for c := range bellows.Clock(16) {
			if places[c] < 3 || places[c] > 30 {
				t.Errorf("of 200 samples %d are clock %d of 16", places[c], c)
			}
		}
		if apart < 100 {
			t.Errorf("the samples of two tables differ in %d clocks", apart)
		}
	}
}

func TestDisagreements(t *testing.T) {
	good := func() audit.Account {
		return audit.Account{Sent: 5, Applied: 5, Tables: []audit.TableLedger{{Name: "w", Ledger: audit.Ledger{Sent: 9, Taken: 9, Yielded: 3, Written: 3}}}}
	}
	for want, spoil := range map[string]func(a *audit.Account){
		"":                                       func(*audit.Account) {},
		"5 updates were sent, 4 applied":         func(a *audit.Account) { a.Applied = 4 },
		"the job finished, and 1 of 5":           func(a *audit.Account) { a.Applied, a.Dropped = 4, 1 },
		"table w: the bits of what clients sent": func(a *audit.Account) { a.Tables[0].Taken++ },
		"to stores add up to 0000000000000003, of w": func(a *audit.Account) { a.Tables[0].Written = 6 },
		"values whose bits add up":                   func(a *audit.Account) { a.Tables[0].Taken, a.Tables[0].Dropped = 7, 2 },
	} {
		a := good()
		spoil(&a)
		got := a.Disagreements(true)
		if len(got) > 1 || strings.Join(got, "") == "" != (want == "") || !strings.Contains(strings.Join(got, ""), want) {
			t.Errorf("%q, want one sentence with %q", got, want)
		}
	}
	interrupted := good()
	interrupted.Applied, interrupted.Dropped = 4, 1
	interrupted.Tables[0].Taken, interrupted.Tables[0].Dropped = 7, 2
	if got := interrupted.Disagreements(false); got != nil {
		t.Errorf("a job that was interrupted may drop; %q", got)
	}
}

func TestAddLedgers(t *testing.T) {
	one := []audit.Ledger{{1, 2, 3, 4, 5}}
	if got := audit.Add(audit.Add(nil, one), []audit.Ledger{{1, 1, 1, 1, 1}, {Sent: 8}}); !slices.Equal(got, []audit.Ledger{{2, 3, 4, 5, 6}, {Sent: 8}}) {
		t.Errorf("%v", got)
	}
	if one[0] != (audit.Ledger{1, 2, 3, 4, 5}) {
		t.Error("what is added changes")
	}
}

func TestPlus(t *testing.T) {
	one := audit.Account{Sent: 1, Applied: 2, Dropped: 3, Tables: []audit.TableLedger{{Name: "w", Ledger: audit.Ledger{Sent: 4}}}}
	two := one.Plus(&one)
	if two.Sent != 2 || two.Applied != 4 || two.Dropped != 6 || !slices.Equal(two.Tables, []audit.TableLedger{{Name: "w", Ledger: audit.Ledger{Sent: 8}}}) || one.Tables[0].Sent != 4 {
		t.Errorf("%+v of %+v", two, one)
	}
	if old := (&audit.Account{Sent: 1}).Plus(&one); old.Sent != 2 || !slices.Equal(old.Tables, one.Tables) {
		t.Errorf("%+v with a part that has no ledgers", old)
	}
}

func TestSumsSurviveJSON(t *testing.T) {
	in := audit.TableLedger{Name: "w", Ledger: audit.Ledger{Sent: 1<<64 - 1, Taken: 10}}
	text, err := json.Marshal(in)
	if err != nil || !strings.Contains(string(text), `"taken":"000000000000000a"`) {
		t.Fatalf("%s: %v", text, err)
	}
	var out audit.TableLedger
	if err := json.Unmarshal(text, &out); err != nil || out != in {
		t.Errorf("%+v: %v", out, err)
	}
}

func TestSumsAllocateNothing(t *testing.T) {
	v, rows, keys := values(60), []uint32{3, 4, 9, 1}, []bellows.Key{5, 6}
	if n := testing.AllocsPerRun(10, func() {
		audit.Rows(1, 15, rows, v)
		audit.Rows(1, 15, nil, v)
		audit.Keys(1, 30, keys, v)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
