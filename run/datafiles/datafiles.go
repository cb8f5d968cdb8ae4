// Package datafiles checks the names of data files before anything is read: can each be read more than once, and is one
// named twice?
//
// It looks at the files of this machine alone. A name that stands for none, such as that of an object in a bucket, is
// compared by its text.
package datafiles

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Stdin is the name of standard input.
const Stdin = "-"

// Expand returns the paths that the names stand for, the files of one glob in order.
func Expand(names []string) (paths []string) {
	for _, name := range names {
		name = strings.TrimPrefix(name, "file://")
		found, err := filepath.Glob(name)
		if err != nil || len(found) == 0 {
			found = []string{name}
		}
		slices.Sort(found)
		paths = append(paths, found...)
	}
	return paths
}

// ReadOnce returns the first name that can be read only once, and what it is: standard input, a pipe, a device. Several
// processes that read it would each get a part of it, or wait for each other. Without one the name is empty.
func ReadOnce(names []string) (name, what string) {
	for _, path := range Expand(names) {
		if path == Stdin {
			return path, "standard input"
		}
		info, err := os.Stat(path)
		switch {
		case err != nil || info.IsDir() || info.Mode().IsRegular():
		case info.Mode()&fs.ModeNamedPipe != 0:
			return path, "the pipe " + path
		default:
			return path, path + ", which is no regular file,"
		}
	}
	return "", ""
}

// Repeated returns two of the names that stand for the same file, in their order; empty without such names.
func Repeated(names []string) (first, second string) {
	seen := look(Expand(names))
	for i, f := range seen {
		for _, before := range seen[:i] {
			if f.same(before) {
				return before.path, f.path
			}
		}
	}
	return "", ""
}

// Common reports whether two lists of names have a file in common.
func Common(names, others []string) bool {
	list := look(Expand(others))
	return slices.ContainsFunc(look(Expand(names)), func(f file) bool { return slices.ContainsFunc(list, f.same) })
}

// file is a path and what is there; nil: nothing on this machine.
type file struct {
	path string
	info fs.FileInfo
}

func look(paths []string) []file {
	list := make([]file, len(paths))
	for i, path := range paths {
		list[i].path = path
		if info, err := os.Stat(path); err == nil && path != Stdin {
			list[i].info = info
		}
	}
	return list
}

// same reports whether two paths lead to the same file. Standard input, which can be named once, is refused by its reader.
func (f file) same(o file) bool {
	if f.info != nil && o.info != nil {
		return os.SameFile(f.info, o.info)
	}
	return f.info == nil && o.info == nil && f.path != Stdin && f.path == o.path
}
