package main

import (
	"testing"

	"bellows/cli/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m, "kmeans", main) }

// TestScripts runs the program as its users do.
func TestScripts(t *testing.T) {
	t.Parallel()
	clitest.Run(t, "kmeans", "testdata/script")
}
