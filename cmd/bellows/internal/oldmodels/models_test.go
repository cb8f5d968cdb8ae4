package oldmodels

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bellows/app/lda"
	"bellows/app/linear"
	"bellows/app/mf"
	"bellows/app/mlr"
	"bellows/cli"
	"bellows/cli/clitest"
)

func TestMain(m *testing.M) {
	clitest.Main(m, "bellows", func() { cli.Main(mf.New(), mlr.New(), lda.New(), linear.New()) })
}

// TestModelsOfOlderVersions runs the script of each folder of models, which names every model of it.
func TestModelsOfOlderVersions(t *testing.T) {
	t.Parallel()
	models, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	made, err := filepath.Glob("testdata/*/*/manifest.json")
	if err != nil || len(made) == 0 {
		t.Fatalf("there are no models: %v", err)
	}
	for _, manifest := range made {
		dir, name := filepath.Split(filepath.Dir(manifest))
		script := filepath.Join("testdata/check", filepath.Base(dir)+".txtar")
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, verb := range []string{"model show", "predict", "eval"} {
			if call := " " + verb + " " + name; !strings.Contains(string(text), call+" ") && !strings.Contains(string(text), call+"\n") {
				t.Errorf("%s does not call%s", script, call)
			}
		}
	}
	clitest.Run(t, "bellows", "testdata/check", "MODELS="+models)
}
