package main

import (
	"os"
	"strings"
	"testing"
)

// TestAPlainCopyIsOfProcesses copies between processes of this machine, without namespaces.
func TestAPlainCopyIsOfProcesses(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := plan{first: 3, last: 1, program: program, link: "1gbit"}
	if took, err := p.copy(1 << 20); err != nil || !(took > 0) {
		t.Errorf("%v s: %v", took, err)
	}
	p.program = "/nonexistent"
	if _, err := p.copy(1 << 20); err == nil {
		t.Error("processes that cannot be started copy")
	}
}

// TestInvalidLinkIsRefused asks for a bandwidth that tc does not know; without the right to make namespaces, the error
// says that.
func TestInvalidLinkIsRefused(t *testing.T) {
	t.Parallel()
	err := within("much", 1)
	if err == nil || !strings.Contains(err.Error(), "tbf rate much") && !strings.Contains(err.Error(), "no network namespace can be made") {
		t.Errorf("links of a rate that is none: %v", err)
	}
}
