//go:build planted

package sim

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bellows/core/planted"
	"bellows/sim/internal/grid"
)

var mutantSeedsFlag = flag.Int("sim.mutants", 1000, "how many seeds may be played to detect a planted bug that the seed on record does not show")

var afreshFlag = flag.Bool("sim.afresh", false, "seek each planted bug from the first seed on, among 10,000")

var survivorsFlag = flag.Uint64("sim.survivors", 0, "seek each planted bug of testdata/survivors.md in 200 schedules from this seed on; 0: only in the one on record")

var recordFlag = flag.Bool("sim.record", false, "record the seeds that show planted bugs in testdata/detections")

var bugsFlag = flag.String("sim.bugs", "", "a regular expression: only planted bugs whose names match are played")

// detection is the first schedule that shows a planted bug.
type detection struct {
	bug    string
	result Result
	found  bool
	shown  int // of the schedules played with the one that shows it
	played int
}

// TestPlanted plants each bug in turn and counts those that no schedule shows: nine in ten must be shown, and testdata/survivors.md
// must say why the others are not. A bug is first sought where testdata/detections says that it was found last, and then among 1,000 seeds;
// afresh, among ten times as many from the first one on. Bugs of testdata/survivors.md are sought further only on request.
func TestPlanted(t *testing.T) {
	defer planted.Plant("")
	var table strings.Builder
	fmt.Fprintf(&table, "%-28s %6s %9s  %s\n", "bug", "seed", "shown by", "what caught it")
	var shownBy []uint64
	found := map[string]uint64{}
	quiet := quietBits(t)
	killed, survivors, known := 0, explained(t), detections(t)
	bugs := plantedBugs(t)
	if some := regexp.MustCompile(*bugsFlag); *bugsFlag != "" {
		bugs = slices.DeleteFunc(bugs, func(b string) bool { return !some.MatchString(b) })
	}
	for _, b := range bugs {
		first, seeds, survives := uint64(1), *mutantSeedsFlag, slices.Contains(survivors, b)
		if *afreshFlag {
			seeds *= 10
		}
		switch { // it is known why no schedule shows a survivor: its tests are run by core/planted
		case survives && *survivorsFlag > 0:
			first, seeds = *survivorsFlag, 200
		case survives && *afreshFlag:
			seeds /= 5
		case survives:
			seeds = 0
		}
		d := detect(b, first, seeds, known[b], !survives, quiet)
		if !d.found {
			fmt.Fprintf(&table, "%-28s %6s %9s  survives %d seeds\n", b, "-", "-", seeds)
			if !survives {
				t.Errorf("%s survives %d seeds and testdata/survivors.md does not say why", b, seeds)
			}
			continue
		}
		found[b] = d.result.Seed
		killed++
		shownBy = append(shownBy, d.result.Seed)
		fmt.Fprintf(&table, "%-28s %6d %3d of %2d  %.100s\n", b, d.result.Seed, d.shown, d.played, d.result.Violation)
	}
	slices.Sort(shownBy)
	median := uint64(0)
	if len(shownBy) > 0 {
		median = shownBy[len(shownBy)/2]
	}
	t.Logf("%d of %d planted bugs detected, the median at seed %d\n%s", killed, len(bugs), median, table.String())
	if *bugsFlag == "" {
		judgeRecovery(t, bugs, found)
	}
	if 10*killed < 9*len(bugs) {
		t.Errorf("%d of %d planted bugs detected; at least 90 %% must be", killed, len(bugs))
	}
	if *recordFlag && *bugsFlag == "" {
		record(t, found)
	}
}

// judgeRecovery says how many of the bugs concern recovery, by what from, and how many of these schedules show: testdata/recovery has them by name. At least 30 there must be,
// and of them as many shown as the floor says.
func judgeRecovery(t *testing.T, bugs []string, found map[string]uint64) {
	text, err := os.ReadFile("testdata/recovery")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	all, shown := map[string]bool{}, 0
	for line := range strings.Lines(string(text)) {
		from, list, named := strings.Cut(line, ":")
		if strings.HasPrefix(line, "#") || !named {
			continue
		}
		some := 0
		for _, b := range strings.Fields(list) {
			if all[b] || !slices.Contains(bugs, b) {
				t.Errorf("testdata/recovery: %s is planted nowhere, or named twice", b)
			}
			all[b] = true
			if found[b] != 0 {
				some++
			}
		}
		shown += some
		fmt.Fprintf(&table, "%-28s %3d of %2d\n", from, some, len(strings.Fields(list)))
	}
	t.Logf("%d of %d planted bugs of recovery detected (%d %%)\n%s", shown, len(all), 100*shown/max(len(all), 1), table.String())
	if len(all) < 30 || 100*shown < recoveryFloor*len(all) {
		t.Errorf("%d of %d planted bugs of recovery detected; at least 30 there must be, and %d %% detected", shown, len(all), recoveryFloor)
	}
}

// recoveryFloor is how many of a hundred planted bugs of recovery schedules show at least.
const recoveryFloor = 85

// detect plays seeds with a bug planted, until one shows it: the known one, unless it is 0, and then seeds from first
// on, few at a time, since the first ones show half of the bugs. deaths: if no seed shows the bug, it also searches the
// grid of deaths, one death of each cell. quiet has the final tables of quiet jobs.
func detect(b string, first uint64, seeds int, known uint64, deaths bool, quiet map[uint64]uint64) detection {
	planted.Plant(b)
	defer planted.Plant("")
	if known != 0 {
		if r := again(known, quiet); r.Violation != "" {
			return detection{bug: b, result: r, found: true, shown: 1, played: 1}
		}
	}
	for tried, batch := 0, 10; tried < seeds; tried, batch = tried+batch, min(2*batch, 50) {
		d := detection{bug: b}
		for _, r := range play(first+uint64(tried), batch) {
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
	if !deaths {
		return detection{bug: b}
	}
	d := detection{bug: b}
	list := make([]Result, len(grid.Cells()))
	each(len(list), func(i int) { // what only a death at its moment shows
		if grid.Cells()[i].Cannot() == "" {
			list[i] = again(cellSeeds+uint64(i)<<24+7919*uint64(i), quiet) // as TestEveryDeath plays it first
		}
	})
	for _, r := range list {
		if d.played++; r.Violation == "" {
			continue
		}
		if d.shown++; !d.found {
			d.found, d.result = true, r
		}
	}
	return d
}

// cellSeeds is the number of the first death of the grid that is played as a schedule is, by one number: of each cell, in its order, there are as many as a cell has seeds.
const cellSeeds = 1 << 41

// again plays the schedule of a seed, or a death.
func again(seed uint64, quiet map[uint64]uint64) Result {
	if seed < cellSeeds {
		return Run(seed, nil)
	}
	c := grid.Cells()[(seed-cellSeeds)>>24]
	v := newDirected(c, seed&(1<<24-1), nil).play()
	r := Result{Seed: seed, Violation: v.violation}
	if r.Violation == "" && v.struck {
		r.Violation = strings.Join(v.cost(c, quiet), "; ")
	}
	return r
}

// detectionsFile has a line for each planted bug that a schedule showed: its name and the seed. It is a hint, no more: a
// protocol change deals the schedules anew, and a bug that its seed no longer shows is sought from the first one on.
const detectionsFile = "testdata/detections"

func detections(t *testing.T) map[string]uint64 {
	known := map[string]uint64{}
	if *afreshFlag {
		return known
	}
	text, err := os.ReadFile(detectionsFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var bug string
		var seed uint64
		if _, err := fmt.Sscan(line, &bug, &seed); err != nil {
			t.Fatalf("%s: %q: %v", detectionsFile, line, err)
		}
		known[bug] = seed
	}
	return known
}

func record(t *testing.T, found map[string]uint64) {
	var text strings.Builder
	for _, bug := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintln(&text, bug, found[bug])
	}
	if err := os.WriteFile(detectionsFile, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// plantedSite is where a bug is planted: a literal name, so that the source is the list.
var plantedSite = regexp.MustCompile(`planted\.On\(([^)]*)\)`)

// unplayed are the rooms that no schedule plays. core/planted/testdata/policy.md lists their bugs, each with its test.
var unplayed = regexp.MustCompile(`^policy/(gauge|cost|choose)/`)

// plantedBugs returns the bugs that the tree's source names, in order of their names.
func plantedBugs(t *testing.T) (names []string) {
	eachSource(t, "..", func(path string, text []byte) {
		if strings.HasPrefix(path, "core/planted/") || unplayed.MatchString(path) {
			return
		}
		for _, site := range plantedSite.FindAllSubmatch(text, -1) {
			name, ok := strings.CutPrefix(string(site[1]), `"`)
			if name, ok = strings.CutSuffix(name, `"`); !ok || !kebab.MatchString(name) {
				t.Errorf("%s: planted.On(%s): a planted bug is named by a literal in kebab-case", path, site[1])
			}
			names = append(names, name)
		}
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// explained returns the bugs that testdata/survivors.md has a heading for.
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

// TestPlantsNothingByDefault sees that the build with planted bugs shows none while none is planted.
func TestPlantsNothingByDefault(t *testing.T) {
	for _, r := range play(1, 100) {
		if r.Violation != "" {
			complain(t, r)
		}
	}
}
