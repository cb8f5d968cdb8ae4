package main

import (
	"testing"

	"bellows/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, "bellows", main) }

// TestScripts runs the command lines of testdata/script, one file per verb.
func TestScripts(t *testing.T) {
	t.Parallel()
	clitest.Run(t, "bellows", "testdata/script")
}
