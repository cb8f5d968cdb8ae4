package traffic

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocsListClassesAndRanks compares the table of docs/5-wire.md with the code.
func TestDocsListClassesAndRanks(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/5-wire.md")
	if err != nil {
		t.Fatal(err)
	}
	for c := range Class(Classes) {
		if row := fmt.Sprintf("| %d | %v | ", Default[c], c); !strings.Contains(string(text), row) {
			t.Errorf("docs/5-wire.md has no row %q", row)
		}
	}
}

// TestControlIsFirst holds what the protocol relies on: nothing has the rank of control, and what may wait has the highest ranks.
func TestControlIsFirst(t *testing.T) {
	t.Parallel()
	for c := Flushes; c < classes; c++ {
		if Default[c] <= Default[Control] {
			t.Errorf("%v leaves before control or with it", c)
		}
		if Default[c] > Default[Early] {
			t.Errorf("%v leaves after early updates", c)
		}
	}
}
