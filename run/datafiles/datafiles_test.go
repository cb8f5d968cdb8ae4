//go:build unix

package datafiles_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"bellows/run/datafiles"
)

// folder makes a folder with files a.csv and b.csv, other names of a.csv, and a pipe.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, "a.csv"), []byte("1,2\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "b.csv"), []byte("1,2\n"), 0o600),
		os.Link(filepath.Join(dir, "a.csv"), filepath.Join(dir, "hard")),
		os.Symlink("a.csv", filepath.Join(dir, "soft")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestRepeated(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		name   string
		names  []string
		second string
	}{
		{"two files of the same bytes", []string{at("a.csv"), at("b.csv")}, ""},
		{"the same name", []string{at("a.csv"), at("b.csv"), at("a.csv")}, at("a.csv")},
		{"another way to it", []string{at("a.csv"), dir + "/../" + filepath.Base(dir) + "/a.csv"}, dir + "/../" + filepath.Base(dir) + "/a.csv"},
		{"a URI", []string{at("a.csv"), "file://" + at("a.csv")}, at("a.csv")},
		{"a symbolic link", []string{at("a.csv"), at("soft")}, at("soft")},
		{"a hard link", []string{at("hard"), at("a.csv")}, at("a.csv")},
		{"a glob and one of its files", []string{at("*.csv"), at("b.csv")}, at("b.csv")},
		{"globs that overlap", []string{at("?.csv"), at("b*")}, at("b.csv")},
		{"a folder", []string{dir, dir + "/"}, dir + "/"},
		{"objects", []string{"s3://bucket/a", "s3://bucket/b", "s3://bucket/a"}, "s3://bucket/a"},
		{"names of nothing", []string{at("none"), at("nothing")}, ""},
		{"standard input", []string{"-", "-"}, ""},
	} {
		if _, second := datafiles.Repeated(c.names); second != c.second {
			t.Errorf("%s: %q is named twice, want %q", c.name, second, c.second)
		}
	}
}

func TestCommon(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	if !datafiles.Common([]string{at("a.csv")}, []string{at("*.csv")}) || !datafiles.Common([]string{at("b.csv"), at("soft")}, []string{at("hard")}) {
		t.Error("a common file is not found")
	}
	if datafiles.Common([]string{at("a.csv")}, []string{at("b.csv"), at("pipe")}) || datafiles.Common(nil, []string{at("a.csv")}) {
		t.Error("different files have a file in common")
	}
}

func TestReadOnce(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	for want, names := range map[string][]string{
		"":          {at("a.csv"), dir, at("none"), "s3://bucket/a"},
		"-":         {at("a.csv"), "-"},
		at("pipe"):  {at("*")},
		"/dev/null": {"/dev/null"},
	} {
		if got, _ := datafiles.ReadOnce(names); got != want {
			t.Errorf("%v: %q is read once, want %q", names, got, want)
		}
	}
}
