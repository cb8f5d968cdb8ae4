package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"bellows/sim/internal/planting"
)

// floor is what one room must reach.
type floor struct {
	least int    // percent; 0: nothing
	why   string // it has none
}

type floors map[string]floor

func (f floors) known(room string) bool { _, ok := f[room]; return ok }

// readFloors reads lines of "room percent", or "room - reason". Empty lines and those that begin with # are for people.
func readFloors(text string) (floors, error) {
	all := floors{}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		if name == "" || name == "#" {
			continue
		}
		if all.known(name) {
			return nil, fmt.Errorf("%s stands there twice", name)
		}
		if why, ok := strings.CutPrefix(rest, "- "); ok {
			all[name] = floor{why: why}
			continue
		}
		least, err := strconv.Atoi(rest)
		if err != nil || least < 1 || least > 100 {
			return nil, fmt.Errorf("%q is neither a percentage nor - with a reason", strings.TrimSpace(line))
		}
		all[name] = floor{least: least}
	}
	return all, nil
}

// roomOf returns the folder of a package or file of this module.
func roomOf(name string) string {
	if _, dir, ok := strings.Cut(name, "/"); ok {
		return dir
	}
	return "."
}

// room is what the schedules reached of one package.
type room struct {
	statements, reached int
	missed              []string // file:line of what was not
}

// span is a part of a file, from a place to another, as line and column.
type span struct{ from, to [2]int }

func (s span) holds(at [2]int) bool {
	return slices.Compare(s.from[:], at[:]) <= 0 && slices.Compare(at[:], s.to[:]) < 0
}

// read sums up a profile by rooms, without what only planted bugs do.
func read(tree fs.FS, profile string) (map[string]*room, error) {
	rooms, planted := map[string]*room{}, map[string][]span{}
	for lines := bufio.NewScanner(strings.NewReader(profile)); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "mode:") {
			continue
		}
		name, rest, _ := strings.Cut(lines.Text(), ":")
		var b span
		var statements, times int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.from[0], &b.from[1], &b.to[0], &b.to[1], &statements, &times); err != nil {
			return nil, fmt.Errorf("the profile's line %q: %w", lines.Text(), err)
		}
		file := roomOf(name)
		spans, ok := planted[file]
		if !ok {
			var err error
			if spans, err = plantedSpans(tree, file); err != nil {
				return nil, err
			}
			planted[file] = spans
		}
		if slices.ContainsFunc(spans, func(s span) bool { return s.holds(b.from) }) {
			continue
		}
		dir := path.Dir(file)
		r := rooms[dir]
		if r == nil {
			r = &room{}
			rooms[dir] = r
		}
		r.statements += statements
		if times > 0 {
			r.reached += statements
		} else if statements > 0 {
			r.missed = append(r.missed, fmt.Sprintf("%s:%d", file, b.from[0]))
		}
	}
	for _, r := range rooms {
		slices.SortFunc(r.missed, byPlace)
	}
	return rooms, nil
}

// byPlace puts lines of a file in the order of their numbers.
func byPlace(a, b string) int {
	fileA, lineA, _ := strings.Cut(a, ":")
	fileB, lineB, _ := strings.Cut(b, ":")
	return cmp.Or(cmp.Compare(fileA, fileB), cmp.Compare(len(lineA), len(lineB)), cmp.Compare(lineA, lineB))
}

// plantedSpans returns the bodies of conditions that need a planted bug.
func plantedSpans(tree fs.FS, file string) (out []span, err error) {
	text, err := fs.ReadFile(tree, file)
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, errors.Join(errors.New(file), err)
	}
	place := func(p token.Pos) [2]int {
		at := set.Position(p)
		return [2]int{at.Line, at.Column}
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		if x, ok := n.(*ast.IfStmt); ok && planting.Needed(x.Cond) {
			out = append(out, span{place(x.Body.Pos()), place(x.Body.End())})
		}
		return true
	})
	return out, nil
}
