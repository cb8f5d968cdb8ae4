// Command cover measures how many statements of each package 300 schedules of the simulation reach, and fails below the
// floors in sim/testdata/floors.
//
//	./dev cover [--missed]
//
// Every package that the simulation plays stands in that file, with its floor, or with the reason why it has none. What only
// a planted bug does is not counted: an ordinary build does not contain it. Seeds decide the figures, no clock does: they
// are the same on every machine.
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// schedules is how many seeds are played. The floors are for that number.
const schedules = 300

func main() {
	missed := flag.Bool("missed", false, "list the lines that no schedule reaches")
	floorFile := flag.String("floors", "sim/testdata/floors", "what each room must reach")
	flag.Parse()
	if err := run(*floorFile, *missed, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "cover:", err)
		os.Exit(1)
	}
}

func run(floorFile string, missed bool, out io.Writer) error {
	text, err := os.ReadFile(floorFile)
	if err != nil {
		return err
	}
	floors, err := readFloors(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", floorFile, err)
	}
	played, err := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{end}}{{end}}", "./sim").Output()
	if err != nil {
		return fmt.Errorf("what the simulation plays: %w", err)
	}
	var breaches []string
	for _, name := range strings.Fields(string(played)) {
		room, _, _ := strings.Cut(roomOf(name), "/internal/") // which is counted as no room of its own
		if !strings.HasPrefix(room, "sim") && !floors.known(room) {
			breaches = append(breaches, fmt.Sprintf("the simulation plays %s, which %s does not list: enter its floor, or - with the reason.", room, floorFile))
		}
	}
	profile, err := play(floors)
	if err != nil {
		return err
	}
	reached, err := read(os.DirFS("."), profile)
	if err != nil {
		return err
	}
	breaches = append(breaches, printTable(out, floors, reached, missed)...)
	if len(breaches) > 0 {
		return fmt.Errorf("\n%s", strings.Join(breaches, "\n"))
	}
	return nil
}

// play runs the schedules and returns the profile of the rooms that have a floor.
func play(floors floors) (string, error) {
	scratch, err := os.MkdirTemp("", "bellows-cover")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	var rooms []string
	for room, f := range floors {
		if f.least > 0 {
			rooms = append(rooms, "./"+room)
		}
	}
	slices.Sort(rooms)
	profile := filepath.Join(scratch, "profile")
	test := exec.Command("go", "test", "-vet=off", "-count=1", "-run", "^(TestSchedules|TestSplitsRunAhead)$", "-coverpkg", strings.Join(rooms, ","),
		"-coverprofile", profile, "./sim", "-sim.schedules", strconv.Itoa(schedules))
	if said, err := test.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the schedules: %w\n%s", err, said)
	}
	text, err := os.ReadFile(profile)
	return string(text), err
}

// printTable prints a line for each room, and returns a sentence for each that is below its floor.
func printTable(out io.Writer, floors floors, reached map[string]*room, missed bool) (breaches []string) {
	fmt.Fprintf(out, "statements that %d schedules reach\n%-12s %10s %8s %8s %6s\n", schedules, "room", "statements", "reached", "percent", "floor")
	for _, name := range slices.Sorted(maps.Keys(floors)) {
		floor := floors[name].least
		if floor == 0 {
			continue
		}
		r := reached[name]
		if r == nil {
			breaches = append(breaches, fmt.Sprintf("%s has a floor, and the schedules do not play it.", name))
			continue
		}
		percent := 100 * float64(r.reached) / float64(r.statements)
		fmt.Fprintf(out, "%-12s %10d %8d %8.1f %6d\n", name, r.statements, r.reached, percent, floor)
		if percent < float64(floor) {
			breaches = append(breaches, fmt.Sprintf("%s: the schedules reach %.1f %% of its statements, less than its floor of %d %%: ./dev cover --missed lists the rest.", name, percent, floor))
		}
		if missed {
			for _, at := range r.missed {
				fmt.Fprintln(out, "  "+at)
			}
		}
	}
	return breaches
}
