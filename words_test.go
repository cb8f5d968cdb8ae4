package bellows_test

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// strayWord is a declaration in a room that the table of words does not name for the word, and why it may stay.
type strayWord struct{ word, room, why string }

// strayWords are the exceptions: the same thing, where it is used. One that the code no longer needs is a failure too, so that the list stays true.
var strayWords = []strayWord{
	{"commit", "core/gate", "by which commit something can be seen is what progress is asked"},
	{"driver", "sim/internal/driver", "the drivers of the simulation's jobs"},
	{"epoch", "run/board", "an epoch has come"},
	{"executor", "app/lda", "the application's executors"},
	{"executor", "app/mlr", "the application's executors"},
	{"plan", "sim/internal/schedule", "faults and commands of a schedule that is played: the plan of a simulation, not of a cluster"},
	{"report", "train", "a node's report has what its runner has counted"},
	{"record", "port/registry/file", "a change in the log of a registry"},
	{"rule", "data/internal/missing", "which fields of an input stand for a missing value"},
}

// wordRow is a line of the table of words: the words, and where they are declared.
var wordRow = regexp.MustCompile("(?m)^\\| ([a-z, ]+) \\| .* \\| ((?:`[\\w./]+`(?:, )?)+) \\|$")

// TestWordsMeanOneThing holds "each word means one thing" against the declarations of the tree.
func TestWordsMeanOneThing(t *testing.T) {
	t.Parallel()
	for _, breach := range wordBreaches(t, os.DirFS("."), strayWords) {
		t.Error(breach)
	}
}

// wordBreaches returns the declarations of words in rooms that the table does not name. Types and packages called by a
// word declare it, and so do functions and methods, unless they are about the thing itself: what has the thing's type
// in its signature, or is a type with the thing in it, says the same. Rooms aside, which nothing imports, may call
// things what they like.
func wordBreaches(t *testing.T, fsys fs.FS, stray []strayWord) (out []string) {
	tr, err := load(fsys, house{rooms: rooms, edges: edges})
	if err != nil {
		t.Fatal(err)
	}
	where := map[string][]string{}
	for _, row := range wordRow.FindAllStringSubmatch(read(fsys, storyPage), -1) {
		for word := range strings.SplitSeq(row[1], ", ") {
			for place := range strings.SplitSeq(strings.ReplaceAll(row[2], "`", ""), ", ") {
				where[word] = append(where[word], path.Dir(place+"."))
			}
		}
	}
	if len(where) == 0 {
		return []string{storyPage + " has no table of words: " + wordRow.String()}
	}
	used := map[strayWord]bool{}
	for _, p := range tr.packs {
		for _, d := range p.declarations() {
			rooms, isWord := where[strings.ToLower(d.name)]
			if !isWord || d.same || p.room.floor == aside || slices.Contains(rooms, p.dir) {
				continue
			}
			i := slices.IndexFunc(stray, func(s strayWord) bool { return s.word == strings.ToLower(d.name) && s.room == p.dir })
			if i < 0 {
				out = append(out, fmt.Sprintf("%s declares %s, a word of %s: call it something else, or name the room there.", d.at, d.name, strings.Join(rooms, ", ")))
				continue
			}
			used[stray[i]] = true
		}
	}
	for _, s := range stray {
		if s.why == "" || !used[s] {
			out = append(out, fmt.Sprintf("the exception of %s in %s has no reason or is not needed.", s.word, s.room))
		}
	}
	return out
}

// declaration is a name that a package declares; same says that it is about what the name means elsewhere.
type declaration struct {
	at, name string
	same     bool
}

// declarations returns the package's own name and its types, functions and methods.
func (p *pack) declarations() (out []declaration) {
	for _, f := range p.files {
		if f.test || f.generated {
			continue
		}
		if f.syntax.Name.Name == path.Base(p.dir) && len(out) == 0 {
			out = append(out, declaration{at: p.dir, name: f.syntax.Name.Name})
		}
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				out = append(out, declaration{f.name, d.Name.Name, namesType(d.Type, d.Name.Name)})
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok {
						out = append(out, declaration{f.name, s.Name.Name, wrapsOwnName(s)})
					}
				}
			}
		}
	}
	return out
}

// namesType reports whether a type is named after a word in an expression: the word, or one that begins with it.
func namesType(n ast.Node, word string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && ast.IsExported(id.Name) && strings.HasPrefix(strings.ToLower(id.Name), strings.ToLower(word))
		return !found
	})
	return found
}

// wrapsOwnName reports whether a type is another by the same name, or embeds one.
func wrapsOwnName(s *ast.TypeSpec) bool {
	x, ok := s.Type.(*ast.StructType)
	if !ok {
		return namesType(s.Type, s.Name.Name)
	}
	return slices.ContainsFunc(x.Fields.List, func(f *ast.Field) bool { return f.Names == nil && namesType(f.Type, s.Name.Name) })
}

// TestWordsAreRefused declares words elsewhere.
func TestWordsAreRefused(t *testing.T) {
	t.Parallel()
	page := "| word | meaning | in the code |\n|---|---|---|\n| lease | a partition for a while | `gate/`, `words.go` |\n| record, commit | a number | `core/coord/` |\n"
	tree := map[string]string{
		storyPage:           page,
		"words.go":          "package bellows\n\ntype Lease int\n",
		"gate/a.go":         "// Package gate admits.\npackage gate\n\ntype lease struct{}\n",
		"core/client/a.go":  "package client\n\ntype Lease = bellows.Lease\n\nfunc record(r *wire.Record) {}\n\nfunc commit() {}\n",
		"core/server/a.go":  "package server\n\ntype t struct{}\n\nfunc (t) Lease() bellows.Lease\n\nfunc (t) lease() bool\n",
		"core/coord/rec.go": "package coord\n\ntype Record struct{}\n",
		"bench/a/a.go":      "package a\n\ntype lease struct{}\n",
		"core/lease/a.go":   "package lease\n",
	}
	stray := []strayWord{{"commit", "core/client", "it is"}, {"record", "core/client", "it is not needed"}}
	got := wordBreaches(t, mapFS(tree), stray)
	for i, want := range []string{"core/lease declares lease", "core/server/a.go declares lease, a word of gate, .:", "the exception of record in core/client"} {
		if i >= len(got) || !strings.Contains(got[i], want) {
			t.Errorf("%q, not %q at %d", got, want, i)
		}
	}
	if len(got) != 3 {
		t.Errorf("%d breaches, not 3: %q", len(got), got)
	}
}
