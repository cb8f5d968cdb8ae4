//go:build planted

package planted_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bellows/internal/require"
)

// held is how sim/testdata/survivors.md names the tests that show a bug, and their room.
var held = regexp.MustCompile(`Test\w+|\x60(core/\w+)/\x60`)

// TestSurvivorsAreHeld runs the tests by which sim/testdata/survivors.md says that a bug is held which no schedule shows: they pass, and one of them fails when it is planted.
func TestSurvivorsAreHeld(t *testing.T) {
	text, err := os.ReadFile("../../sim/testdata/survivors.md")
	require.NoError(t, err)
	type bug struct{ name, tests string }
	rooms := map[string][]bug{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		name, why, _ := strings.Cut(section, "\n")
		room, tests := "", []string{}
		for _, m := range held.FindAllStringSubmatch(why, -1) {
			if m[1] == "" {
				tests = append(tests, m[0])
			} else {
				room = m[1]
			}
		}
		if room == "" || len(tests) == 0 {
			t.Errorf("sim/testdata/survivors.md: it does not say which test holds %s, and in which room", name)
			continue
		}
		rooms[room] = append(rooms[room], bug{name, "^(" + strings.Join(tests, "|") + ")$"})
	}
	for room, bugs := range rooms {
		t.Run(room, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "tests")
			if out, err := exec.Command("go", "test", "-c", "-tags", "planted", "-vet=off", "-o", program, "bellows/"+room).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, b := range bugs {
				for _, planted := range []string{"", b.name} {
					c := exec.Command(program, "-test.run", b.tests, "-test.v", "-test.timeout", "1m")
					c.Dir, c.Env = filepath.Join("..", "..", room), append(os.Environ(), "BELLOWS_PLANTED="+planted)
					out, err := c.CombinedOutput()
					if ran := strings.Contains(string(out), "=== RUN"); !ran || (err != nil) != (planted != "") {
						t.Errorf("%q is planted, to be held by %s: %v, ran %v", planted, b.tests, err, ran)
					}
				}
			}
		})
	}
}
