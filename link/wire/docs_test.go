package wire

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"bellows/internal/require"
)

// String names the pairs as the page does.
func (w ways) String() string {
	var list []string
	names := [roles]string{"client", "lane", "controller"}
	for from := range roles {
		for to := range roles {
			if w&way(from, to) != 0 {
				list = append(list, names[from]+" to "+names[to])
			}
		}
	}
	return strings.Join(list, ", ")
}

// TestAllowed wants a header to be allowed for the pairs of roles that its kind names, and for no others.
func TestAllowed(t *testing.T) {
	t.Parallel()
	for k := range uint8(255) {
		for from := range roles {
			for to := range roles {
				h := Header{Kind: k, From: Address{Role: from}, To: Address{Role: to}}
				want := int(k) < len(kinds) && strings.Contains(kinds[k].ways.String(), ways.String(way(from, to)))
				if h.Allowed() != want {
					t.Errorf("%v: allowed is %v", h, !want)
				}
			}
		}
	}
	if (Header{Kind: kindPush, From: Address{Role: Client}, To: Address{Role: Client}}).Allowed() {
		t.Error("a push from client to client is allowed")
	}
}

// TestPage holds the page about the format to the code: its kinds, names, ways and limits, and the frame that it shows.
func TestPage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/5-wire.md")
	require.NoError(t, err)
	page := string(text)
	var want, got []string
	for k, kind := range kinds {
		if kind.name != "" {
			want = append(want, fmt.Sprintf("%d %s %s %d", k, kind.name, kind.ways, kind.limit))
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+) \| (\w+) \| ([^|]*) \| (\d+) \|$`).FindAllStringSubmatch(page, -1) {
		got = append(got, strings.Join(m[1:], " "))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the page lists\n%s\nthe code has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var cut []string
	for k, kind := range kinds {
		if inParts(uint8(k)) {
			cut = append(cut, kind.name)
		}
	}
	list := strings.Join(cut[:len(cut)-1], ", ") + " and " + cut[len(cut)-1]
	if !strings.Contains(strings.ToLower(page), fmt.Sprintf("%s may be longer than what a frame may hold, which for these five is %d bytes", list, partMax)) {
		t.Errorf("the page does not say that %s have frames of %d bytes", list, partMax)
	}
	_, shown, _ := strings.Cut(page, "```\n")
	shown, _, _ = strings.Cut(shown, "```")
	b, err := hex.DecodeString(strings.Join(strings.Fields(shown), ""))
	require.NoError(t, err)
	if !bytes.Equal(b, stored(t, "testdata/push.hex")) {
		t.Error("the push that the page shows is not the golden one")
	}
}
