package bellows_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// floorRoom is a room in the table of floors.
var floorRoom = regexp.MustCompile("`([a-z0-9/]+)/`")

// TestFloorsAreDrawn compares the table of floors in docs/1 with rooms: every room is in the row of its floor, by its
// name or by a folder above it on the same floor, and nothing else is.
func TestFloorsAreDrawn(t *testing.T) {
	t.Parallel()
	for _, breach := range floorBreachesOf(read(os.DirFS("."), storyPage), rooms) {
		t.Error(breach)
	}
}

func floorBreachesOf(page string, rooms []room) (out []string) {
	drawn := map[string]int{}
	_, table, _ := strings.Cut(page, "| floor | rooms |")
	table, _, _ = strings.Cut(table, "\n\n")
	last := 0
	for _, line := range strings.Split(table, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.HasPrefix(line, "|--") {
			continue
		}
		if head := strings.TrimSpace(cells[1]); strings.HasPrefix(head, "aside") {
			last = aside
		} else if head != "" {
			if _, err := fmt.Sscanf(head, "%d", &last); err != nil {
				continue
			}
		}
		for _, m := range floorRoom.FindAllStringSubmatch(cells[2], -1) {
			drawn[m[1]] = last
		}
	}
	stands := map[string]bool{}
	for _, r := range rooms {
		path := strings.TrimSuffix(r.path, "/...")
		if path == "." {
			continue
		}
		at, found := path, false
		for {
			if floor, ok := drawn[at]; ok && floor == r.floor {
				found, stands[at] = true, true
				break
			}
			cut := strings.LastIndex(at, "/")
			if cut < 0 {
				break
			}
			at = at[:cut]
		}
		if !found {
			out = append(out, fmt.Sprintf("%s: the table of floors has no %s/ on floor %d", storyPage, path, r.floor))
		}
	}
	for path, floor := range drawn {
		if !stands[path] {
			out = append(out, fmt.Sprintf("%s: the table of floors has %s/ on floor %d, which is not there", storyPage, path, floor))
		}
	}
	slices.Sort(out)
	return out
}

// TestFloorsAreRefused draws what is not so.
func TestFloorsAreRefused(t *testing.T) {
	t.Parallel()
	const head = "| floor | rooms | may |\n|---|---|---|\n"
	house := []room{{path: "."}, {path: "vec", floor: 0}, {path: "gate", floor: 2}, {path: "gate/deep", floor: 2}, {path: "bench/...", floor: aside}}
	for page, want := range map[string]string{
		head + "| 0 words | `vec/` | a |\n| 2 rules | `gate/` | b |\n| aside | `bench/` | c |\n\n":                  "",
		head + "| 0 words | `vec/` `gate/` | a |\n| aside | `bench/` | c |\n\n":                                     "has no gate/ on floor 2",
		head + "| 0 words | `vec/` | a |\n| 2 rules | `gate/` `lease/` | b |\n| aside | `bench/` | c |\n\n":         "has lease/ on floor 2, which is not there",
		head + "| 0 words | `vec/` | a |\n| 2 rules | `gate/` | b |\n\n| aside | `bench/` | c |\n":                  "has no bench/ on floor 11",
		head + "| 0 words | `vec/` | a |\n| | `gate/` | b |\n| aside | `bench/` | c |\n\nmore `vec/` in the text\n": "has no gate/ on floor 2",
	} {
		got := strings.Join(floorBreachesOf(page, house), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %q, not %q", page, got, want)
		}
	}
}
