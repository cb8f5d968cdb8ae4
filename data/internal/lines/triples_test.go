package lines

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestPlainLinesReadAsOthers: ratings in one block, where most lines are plain, are those of each line in a block of
// its own, where none is.
func TestPlainLinesReadAsOthers(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	for _, separator := range []string{"\t", ",", "::"} {
		var block strings.Builder
		one, all := &Triples{Separator: separator, Fields: 3, Users: &IDs{}, Items: &IDs{}},
			&Triples{Separator: separator, Fields: 3, Users: &IDs{}, Items: &IDs{}}
		var want, got Piece
		for range 5000 {
			id := func() string {
				return pick(fmt.Sprint(r.IntN(30)), fmt.Sprint(r.IntN(30)), fmt.Sprint(r.IntN(10_000_000)), "07", "x7",
					"0")
			}
			rating := pick(fmt.Sprint(r.IntN(10)), fmt.Sprintf("%.1f", 10*r.Float64()),
				fmt.Sprintf("%.1f", 100*r.Float64()), "4.25", "-1", "1e2", "0.50", "+3", "16777217", "9.9",
				"3.0000000001")
			line := id() + separator + id() + separator + rating + pick("\n", "\n", "\n", "\n", "\r\n", " \n", "\n\n")
			block.WriteString(line)
			if f := one.Parse([]byte(line), &want); f != nil {
				t.Fatalf("%q: %+v", line, f)
			}
		}
		if f := all.Parse([]byte(block.String()), &got); f != nil {
			t.Fatalf("%q: %+v", separator, f)
		}
		if !slices.Equal(got.User, want.User) || !slices.Equal(got.Item, want.Item) ||
			!slices.Equal(got.Label, want.Label) {
			t.Errorf("%q: %d ratings in a block are not those of %d lines", separator, len(got.Label), len(want.Label))
		}
		if !slices.Equal(all.Users.List(), one.Users.List()) || !slices.Equal(all.Items.List(), one.Items.List()) {
			t.Errorf("%q: the ids differ", separator)
		}
	}
}
