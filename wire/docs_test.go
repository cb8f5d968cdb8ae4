package wire

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestPage holds the page about the format to the code: its kinds, names and limits, and the frame that it shows.
func TestPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/5-wire.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	var want, got []string
	for k, kind := range kinds {
		if kind.name != "" {
			want = append(want, fmt.Sprintf("%d %s %d", k, kind.name, kind.limit))
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \| (\w+) \| [^|]* \| (\d+) \|$`).FindAllStringSubmatch(page, -1) {
		got = append(got, strings.Join(m[1:], " "))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the page lists\n%s\nthe code has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	_, shown, _ := strings.Cut(page, "```\n")
	shown, _, _ = strings.Cut(shown, "```")
	b, err := hex.DecodeString(strings.Join(strings.Fields(shown), ""))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, stored(t, "testdata/push.hex")) {
		t.Error("the push that the page shows is not the golden one")
	}
}
