package verbs

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"bellows/data"
)

// TestFillsComeFromTrainingRows: a missing value becomes the mean of the rows that surely train, in every set: with a test,
// all but the rows that may be held out for stopping.
func TestFillsComeFromTrainingRows(t *testing.T) {
	t.Parallel()
	const rows, seed = 400, 3
	for _, tested := range []bool{false, true} {
		percent := data.HeldAlone
		if tested {
			percent = data.HeldBesideTest
		}
		var text strings.Builder
		text.WriteString("y,x\n")
		sum, n := 0.0, 0.0
		for r := range rows {
			value := fmt.Sprint(r % 7)
			if r == 11 {
				value = ""
			} else if data.HeldOut(seed, int64(r), percent) {
				value = "1000"
			} else {
				sum, n = sum+float64(r%7), n+1
			}
			fmt.Fprintf(&text, "%d,%s\n", r%2, value)
		}
		read := func(text string, opt data.Options) *data.Set {
			opt.Stdin, opt.Format = strings.NewReader(text), data.CSV
			set, err := data.Read(context.Background(), []string{"-"}, data.Examples, opt)
			if err != nil {
				t.Fatal(err)
			}
			return set
		}
		in := &inputs{set: read(text.String(), data.Options{})}
		in.fill(seed, tested)
		fill := in.set.Described().Features[0]
		got := float64(*fill.Fill)
		if in.set.Examples.Origins != nil {
			got += in.set.Examples.Origins[0].Value
		}
		if math.Abs(got-sum/n) > 1e-5 {
			t.Errorf("tested %v: filled by %v, want %v", tested, got, sum/n)
		}
		if later := read("y,x\n0,1\n1,\n", data.Options{}.ForTest(in.set)); *later.Described().Features[0].Fill != *fill.Fill {
			t.Errorf("tested %v: other data is filled by %v, want %v", tested, *later.Described().Features[0].Fill, *fill.Fill)
		}
	}
}
