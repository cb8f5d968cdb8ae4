//go:build planted

package planted_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"bellows/internal/require"
)

// held is how lists of bugs name the tests that show one, and their room.
var held = regexp.MustCompile(`Test\w+|\x60((?:core|policy)/\w+)/\x60`)

// policySite is where a bug of a policy is planted.
var policySite = regexp.MustCompile(`planted\.On\("([^"]*)"\)`)

// TestPolicyBugsAreListed compares testdata/policy.md with the bugs that are planted in rooms which the simulation does
// not play.
func TestPolicyBugsAreListed(t *testing.T) {
	text, err := os.ReadFile("testdata/policy.md")
	require.NoError(t, err)
	listed := map[string]bool{}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		name, _, _ := strings.Cut(section, "\n")
		listed[name] = true
	}
	var files []string
	for _, room := range []string{"gauge", "cost", "choose", "choose/bound"} {
		list, err := filepath.Glob("../../policy/" + room + "/*.go")
		require.NoError(t, err)
		files = append(files, list...)
	}
	found := map[string]bool{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range policySite.FindAllStringSubmatch(string(source), -1) {
			found[m[1]] = true
		}
	}
	if !maps.Equal(listed, found) {
		t.Errorf("testdata/policy.md lists %v, and the rooms have %v", listed, found)
	}
}

// TestSurvivorsAreHeld runs the tests by which sim/testdata/survivors.md and testdata/policy.md say that a bug is held which no schedule shows: they pass, and one of them fails when it is planted.
func TestSurvivorsAreHeld(t *testing.T) {
	text, err := os.ReadFile("../../sim/testdata/survivors.md")
	require.NoError(t, err)
	policies, err := os.ReadFile("testdata/policy.md")
	require.NoError(t, err)
	text = append(text, policies...)
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
			t.Errorf("it does not say which test holds %s, and in which room", name)
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
					c := exec.Command(program, "-test.run", b.tests, "-test.v", "-test.timeout", "3m")
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
