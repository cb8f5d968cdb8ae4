package bellows_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// TestOtherSystems type-checks the command, from source, for the systems that most contributors do not work on. It finds in seconds what is missing
// there or has another type. Compiling the command with its dependencies finds the same, but takes minutes per system if nothing was compiled
// before; ./dev build does that, and ./dev soak runs it.
func TestOtherSystems(t *testing.T) {
	t.Parallel()
	for _, system := range []string{"linux/arm64", "darwin/arm64"} {
		goos, goarch, _ := strings.Cut(system, "/")
		t.Run(goos+"-"+goarch, func(t *testing.T) {
			t.Parallel()
			for _, err := range typeCheck(t, goos, goarch, "./cmd/bellows") {
				t.Error(err)
			}
		})
	}
}

// listed is a package as go list prints it.
type listed struct {
	Dir, ImportPath string
	Standard        bool
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct {
		Main      bool
		GoVersion string
	}
}

// typeCheck type-checks a package and its dependencies for another system and returns the errors in packages of this module. It checks the bodies
// of functions in those packages only.
func typeCheck(t *testing.T, goos, goarch, pkg string) (errs []error) {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=Dir,ImportPath,Standard,GoFiles,ImportMap,Module", pkg)
	list.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	done := map[string]*types.Package{"unsafe": types.Unsafe}
	for d := json.NewDecoder(bytes.NewReader(out)); ; { // dependencies come before what needs them
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return errs
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		ours := p.Module != nil && p.Module.Main
		config := types.Config{
			IgnoreFuncBodies: !ours,
			FakeImportC:      true,
			Sizes:            types.SizesFor("gc", goarch),
			Importer:         imports{done, p.ImportMap},
			Error: func(err error) {
				if ours {
					errs = append(errs, err)
				}
			},
		}
		if p.Module != nil && p.Module.GoVersion != "" {
			config.GoVersion = "go" + p.Module.GoVersion
		}
		files, err := parseAll(fset, &p, ours)
		if err != nil {
			t.Fatal(err)
		}
		done[p.ImportPath], _ = config.Check(p.ImportPath, fset, files, nil) // config.Error has the errors
	}
}

// parseAll parses the files of a package on all cores.
func parseAll(fset *token.FileSet, p *listed, ours bool) ([]*ast.File, error) {
	files, errs := make([]*ast.File, len(p.GoFiles)), make([]error, len(p.GoFiles))
	var group sync.WaitGroup
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, name := range p.GoFiles {
		group.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			files[i], errs[i] = parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		})
	}
	group.Wait()
	return files, errors.Join(errs...)
}

// imports finds packages among those that were checked before.
type imports struct {
	done   map[string]*types.Package
	mapped map[string]string
}

// Import implements types.Importer.
func (i imports) Import(path string) (*types.Package, error) {
	if to, ok := i.mapped[path]; ok {
		path = to
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("package %s was not listed before the package that imports it", path)
}
