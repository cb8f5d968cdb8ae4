package main

import (
	"testing"

	"bellows/app/mlr"
	"bellows/cli"
	"bellows/cli/clitest"
)

func TestMain(m *testing.M) {
	clitest.Main(m, "kmeans", main, clitest.Program{Name: "softmax", Main: func() { cli.Main(mlr.New()) }})
}

// TestScripts runs the program as its users do.
func TestScripts(t *testing.T) {
	t.Parallel()
	clitest.Run(t, "kmeans", "testdata/script")
}
