package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go/ast"
	"go/parser"
	"go/token"
)

// pack is a package whose tests are judged.
type pack struct {
	dir     string // slash path from the root of the tree
	name    string
	drawn   []*mutant
	sources map[string][]byte // by the file's slash path
	state   string            // of its sources and tests together
	suites  []*suite          // that judge it, once one of its mutants is not known
	apart   bool              // its tests fail with copies in its functions, as those that count what is allocated may
}

// load reads a package and puts its mutants, or those of some of its files, into the order in which they are drawn.
func load(root, dir string, only []string, seed uint64) (*pack, error) {
	dir = path.Clean(strings.TrimPrefix(filepath.ToSlash(dir), "./"))
	list := exec.Command("go", "list", "-json=Name,GoFiles,TestGoFiles,XTestGoFiles", ".")
	list.Dir, list.Env, list.Stderr = filepath.Join(root, dir), append(os.Environ(), "GOWORK=off"), os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("%s is no package that go list can read: %w", dir, err)
	}
	var files struct {
		Name                               string
		GoFiles, TestGoFiles, XTestGoFiles []string
	}
	if err := json.Unmarshal(out, &files); err != nil {
		return nil, fmt.Errorf("what go list says of %s: %w", dir, err)
	}
	p := &pack{dir: dir, name: files.Name, sources: map[string][]byte{}}
	sum := sha256.New()
	for _, name := range slices.Concat(files.GoFiles, files.TestGoFiles, files.XTestGoFiles) {
		text, err := os.ReadFile(filepath.Join(root, dir, name))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
		if slices.Contains(files.GoFiles, name) && !isGenerated(text) {
			p.sources[path.Join(dir, name)] = text
		}
	}
	p.state = fmt.Sprintf("%x", sum.Sum(nil)[:8])
	for _, name := range only {
		if p.sources[path.Join(dir, name)] == nil {
			return nil, fmt.Errorf("%s has no file %s that is written by hand and built here", dir, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.sources)) {
		if len(only) > 0 && !slices.Contains(only, path.Base(name)) {
			continue
		}
		found, err := mutants(name, p.sources[name])
		if err != nil {
			return nil, err
		}
		p.drawn = append(p.drawn, found...)
	}
	order(p.drawn, seed)
	return p, nil
}

func isGenerated(source []byte) bool {
	syntax, err := parser.ParseFile(token.NewFileSet(), "", source, parser.PackageClauseOnly|parser.ParseComments)
	return err == nil && ast.IsGenerated(syntax)
}

// order sorts mutants by a hash of seed and name. A mutant keeps its place among the others whatever becomes of them, so
// that an edit changes the draw as little as it can; a shuffle would draw others after each.
func order(list []*mutant, seed uint64) {
	place := map[*mutant]uint64{}
	for _, m := range list {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", seed, m.id()))
		place[m] = binary.BigEndian.Uint64(sum[:])
	}
	slices.SortFunc(list, func(a, b *mutant) int { return cmp.Compare(place[a], place[b]) })
}
