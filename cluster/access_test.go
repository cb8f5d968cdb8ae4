package cluster

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"bellows/link/secure"
)

// TestTheTableOfCallsIsDrawn as it is in the documentation, in its order.
func TestTheTableOfCallsIsDrawn(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/9-local-cluster.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| call |")
	for _, role := range secure.Roles {
		fmt.Fprintf(&want, " %s |", role)
	}
	want.WriteString("\n|---|" + strings.Repeat("---|", len(secure.Roles)) + "\n")
	for _, c := range Calls {
		name := "`" + c.Pattern + "`"
		if c.Pattern == Meet {
			name = Meet
		}
		fmt.Fprintf(&want, "| %s |", name)
		for _, role := range secure.Roles {
			yes := ""
			if RoleAllows(role, c.Pattern) {
				yes = " yes"
			}
			fmt.Fprintf(&want, "%s |", yes)
		}
		want.WriteString("\n")
	}
	if !strings.Contains(string(page), "\n"+want.String()+"\n") {
		t.Errorf("docs/9-local-cluster.md has not the table of calls:\n%s", want.String())
	}
	if RoleAllows(secure.Manager, Calls[0].Pattern) || RoleAllows(secure.User, "GET /v1/none") {
		t.Error("what is not in the table is let pass")
	}
}
