package script

import (
	"testing"
	"time"

	"bellows/policy/reshape"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Event{
		"1s:move:5:2":       {At: time.Second, Kind: Move, Partition: 5, Node: 2},
		"1ms:split:4:3":     {At: time.Millisecond, Kind: Split, Split: 4, Node: 3},
		"2s:leave:3":        {At: 2 * time.Second, Kind: Leave, Node: 3},
		"2s:leave:3:500ms":  {At: 2 * time.Second, Kind: Leave, Node: 3, For: 500 * time.Millisecond},
		"0:die:1":           {Kind: Die, Node: 1},
		"3s:cut":            {At: 3 * time.Second, Kind: Cut},
		"3s:switch:2:both":  {At: 3 * time.Second, Kind: Switch, Node: 2, Role: reshape.Both},
		"1s:slow:2:2.5:10s": {At: time.Second, Kind: Slow, Node: 2, Slower: 2.5, For: 10 * time.Second},
	} {
		if e, err := Parse(text); err != nil || e != want {
			t.Errorf("%s: %+v, %v", text, e, err)
		}
		if e, _ := Parse(text); e.Check(4, 5, 6) != nil {
			t.Errorf("%s: %v", text, e.Check(4, 5, 6))
		}
	}
	for _, text := range []string{"", "1s", "x:cut", "1s:cut:2", "1s:die", "1s:die:x", "1s:move:1", "1s:leave", "1s:switch:1:king", "1s:slow:1:2", "1s:rest:2"} {
		if e, err := Parse(text); err == nil {
			t.Errorf("%q is %+v", text, e)
		}
	}
}

func TestCheckNamesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	for _, e := range []Event{{Kind: "rest"}, {Kind: Cut, At: -1}, {Kind: Die}, {Kind: Leave, Node: 4}, {Kind: Move, Partition: 6}, {Kind: Split, Split: 5}, {Kind: Slow}} {
		if e.Check(4, 5, 6) == nil {
			t.Errorf("%+v is accepted", e)
		}
	}
}

func TestSlownessHoldsForItsTime(t *testing.T) {
	t.Parallel()
	list := []Event{{Kind: Slow, Node: 1, At: 10, For: 20, Slower: 2}, {Kind: Slow, Node: 1, At: 20, For: 20, Slower: 3}, {Kind: Cut, At: 15}}
	for now, want := range map[time.Duration][2]float64{0: {1, 10}, 10: {2, 20}, 20: {6, 30}, 30: {3, 40}, 40: {1, 1000}} {
		if slower, until := Slowness(list, 1, now, 1000); slower != want[0] || float64(until) != want[1] {
			t.Errorf("at %d it is %v times slower until %d", now, slower, until)
		}
	}
	if slower, _ := Slowness(list, 2, 15, 1000); slower != 1 {
		t.Errorf("another node is %v times slower", slower)
	}
}
