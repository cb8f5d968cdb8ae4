//go:build planted

package sim

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bellows/core/planted"
)

var mutantSeedsFlag = flag.Int("sim.mutants", 10000, "how many seeds may be played to detect a planted bug")

// detection is the first schedule that shows a planted bug.
type detection struct {
	bug    string
	result Result
	found  bool
	shown  int // of the schedules played with the one that shows it
	played int
}

// TestPlanted plants each bug in turn and counts those that no schedule shows (promises, "Mutation score").
// Each of those must be explained in testdata/survivors.md.
func TestPlanted(t *testing.T) {
	defer planted.Plant("")
	var table strings.Builder
	fmt.Fprintf(&table, "%-28s %6s %9s  %s\n", "bug", "seed", "shown by", "what caught it")
	var first []uint64
	killed, survivors := 0, explained(t)
	bugs := plantedBugs(t)
	for _, b := range bugs {
		seeds := *mutantSeedsFlag
		if slices.Contains(survivors, b) { // it is known why no schedule shows it: how long it is sought proves nothing
			seeds /= 5
		}
		d := detect(b, seeds)
		if !d.found {
			fmt.Fprintf(&table, "%-28s %6s %9s  survives %d seeds\n", b, "-", "-", seeds)
			if !slices.Contains(survivors, b) {
				t.Errorf("%s survives %d seeds and testdata/survivors.md does not say why", b, seeds)
			}
			continue
		}
		killed++
		first = append(first, d.result.Seed)
		fmt.Fprintf(&table, "%-28s %6d %3d of %2d  %.100s\n", b, d.result.Seed, d.shown, d.played, d.result.Violation)
	}
	slices.Sort(first)
	t.Logf("%d of %d planted bugs detected, the median at seed %d\n%s", killed, len(bugs), first[len(first)/2], table.String())
	if 10*killed < 9*len(bugs) {
		t.Errorf("%d of %d planted bugs detected; at least 90 %% must be", killed, len(bugs))
	}
}

// detect plays seeds with a bug planted, until one shows it: few at a time, since half of the bugs are shown by the first.
func detect(b string, seeds int) detection {
	planted.Plant(b)
	defer planted.Plant("")
	for seed, batch := 1, 10; seed <= seeds; seed, batch = seed+batch, min(2*batch, 50) {
		d := detection{bug: b}
		for _, r := range play(uint64(seed), batch) {
			d.played++
			if r.Violation == "" {
				continue
			}
			if d.shown++; !d.found {
				d.found, d.result = true, r
			}
		}
		if d.found {
			return d
		}
	}
	return detection{bug: b}
}

// plantedSite is where a bug is planted: a literal name, so that the source is the list.
var plantedSite = regexp.MustCompile(`planted\.On\(([^)]*)\)`)

// plantedBugs are the bugs that the tree's source names, in order of their names.
func plantedBugs(t *testing.T) (names []string) {
	tree := os.DirFS("..")
	err := fs.WalkDir(tree, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "core/planted/") {
			return err
		}
		text, err := fs.ReadFile(tree, path)
		for _, site := range plantedSite.FindAllSubmatch(text, -1) {
			name, ok := strings.CutPrefix(string(site[1]), `"`)
			if name, ok = strings.CutSuffix(name, `"`); !ok || !plantedName.MatchString(name) {
				t.Errorf("%s: planted.On(%s): a planted bug is named by a literal in kebab-case", path, site[1])
			}
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var plantedName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// explained are the bugs that testdata/survivors.md has a heading for.
func explained(t *testing.T) (names []string) {
	text, err := os.ReadFile("testdata/survivors.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

// TestNothingPlanted sees that the build with planted bugs shows none while none is planted.
func TestNothingPlanted(t *testing.T) {
	for _, r := range play(1, 100) {
		if r.Violation != "" {
			complain(t, r)
		}
	}
}
