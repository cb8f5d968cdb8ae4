package bellows_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var (
	linkTarget = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	heading    = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	fenced     = regexp.MustCompile("(?ms)^```.*?^```")
	quoted     = regexp.MustCompile("`([^`\n]+)`")
	treePath   = regexp.MustCompile(`^(\.?[a-zA-Z0-9_-]+/[a-zA-Z0-9_./-]*(/|\.[a-z]+)|\.?[a-z0-9_-]+/|[a-zA-Z0-9_]+\.go)$`)
	choreCall  = regexp.MustCompile(`\./dev ([a-z][a-z-]*)`)
	choreLine  = regexp.MustCompile(`(?m)^  ([a-z][a-z0-9-]*)  `)
	slugDrop   = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestDocsHold reads every page and refuses links, paths, pictures and chores that do not exist.
func TestDocsHold(t *testing.T) {
	t.Parallel()
	for _, breach := range docBreaches(t, os.DirFS(".")) {
		t.Error(breach)
	}
}

// docBreaches returns one sentence for each claim of a page that the tree does not bear out.
func docBreaches(t *testing.T, tree fs.FS) (out []string) {
	t.Helper()
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && outside(tree, name):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		switch path.Ext(name) {
		case ".md":
			out = append(out, pageBreaches(tree, name)...)
		case ".svg":
			out = append(out, svgBreaches(tree, name)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return append(out, indexBreaches(tree)...)
}

func pageBreaches(tree fs.FS, name string) (out []string) {
	text := read(tree, name)
	prose := fenced.ReplaceAllString(text, "")
	for _, m := range linkTarget.FindAllStringSubmatch(prose, -1) {
		if why := brokenLink(tree, name, m[1]+m[2]); why != "" {
			out = append(out, fmt.Sprintf("%s: the link to %s leads nowhere: %s.", name, m[1]+m[2], why))
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(prose, -1) {
		if treePath.MatchString(m[1]) && !exists(tree, m[1]) && !exists(tree, path.Join(path.Dir(name), m[1])) {
			out = append(out, fmt.Sprintf("%s: names %s, which is not in the tree.", name, m[1]))
		}
	}
	chores := choreLine.FindAllStringSubmatch(read(tree, "dev"), -1)
	for _, m := range choreCall.FindAllStringSubmatch(text, -1) {
		if m[1] != "help" && !slices.ContainsFunc(chores, func(c []string) bool { return c[1] == m[1] }) {
			out = append(out, fmt.Sprintf("%s: names ./dev %s, which ./dev help does not list.", name, m[1]))
		}
	}
	return out
}

// brokenLink says why a relative link of a page leads nowhere. Links to the web are not followed.
func brokenLink(tree fs.FS, page, target string) string {
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return ""
	}
	file, anchor, _ := strings.Cut(target, "#")
	to := page
	if file != "" {
		to = path.Join(path.Dir(page), file)
	}
	if !exists(tree, to) {
		return "there is no " + to
	}
	if anchor != "" && !slices.Contains(anchors(read(tree, to)), anchor) {
		return "no heading of " + to + " has that anchor"
	}
	return ""
}

// anchors are the names that a page's headings get when it is shown.
func anchors(text string) (out []string) {
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		slug := slugDrop.ReplaceAllString(strings.ToLower(strings.TrimSpace(m[1])), "")
		out = append(out, strings.ReplaceAll(slug, " ", "-"))
	}
	return out
}

// svgBreaches wants a picture to be well-formed and to carry colours for dark pages too.
func svgBreaches(tree fs.FS, name string) (out []string) {
	text := read(tree, name)
	dec := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return append(out, fmt.Sprintf("%s: does not parse: %v.", name, err))
		}
	}
	if !strings.Contains(text, "prefers-color-scheme: dark") {
		out = append(out, fmt.Sprintf("%s: has no colours for a dark page.", name))
	}
	return out
}

// indexBreaches wants every page of docs in the index of its folder.
func indexBreaches(tree fs.FS) (out []string) {
	for _, dir := range []string{"docs", "docs/decisions"} {
		pages, err := fs.Glob(tree, dir+"/*.md")
		if err != nil {
			return append(out, err.Error())
		}
		index := read(tree, dir+"/README.md")
		for _, p := range pages {
			if base := path.Base(p); base != "README.md" && !strings.Contains(index, "("+base+")") {
				out = append(out, fmt.Sprintf("%s: is not in the index %s/README.md.", p, dir))
			}
		}
	}
	return out
}

func read(tree fs.FS, name string) string {
	text, err := fs.ReadFile(tree, name)
	if err != nil {
		return ""
	}
	return string(text)
}

func exists(tree fs.FS, name string) bool {
	_, err := fs.Stat(tree, path.Clean(strings.TrimSuffix(name, "/")))
	return err == nil
}

// TestDocsRefuse plants one wrong claim at a time.
func TestDocsRefuse(t *testing.T) {
	t.Parallel()
	const svg = `<svg xmlns="http://www.w3.org/2000/svg"><style>@media (prefers-color-scheme: dark) { }</style></svg>`
	sound := map[string]string{
		"dev":                      "  test             everything\n",
		"README.md":                "# Top\n\n[docs](docs/README.md) `./dev test` `docs/a.md` ![p](docs/p.svg)\n",
		"docs/README.md":           "# Docs\n\n[a](a.md) [b](a.md#two-words-here) [up](../README.md#top)\n",
		"docs/a.md":                "# A\n\n## Two words, here\n\n```\n[not a link](nowhere)\n```\n",
		"docs/p.svg":               svg,
		"docs/decisions/README.md": "# Decisions\n",
	}
	if got := docBreaches(t, mapFS(sound)); len(got) > 0 {
		t.Errorf("refused sound pages: %q", got)
	}
	for _, c := range []struct{ file, text, want string }{
		{"docs/a.md", "# A\n\n[x](gone.md)\n", "docs/a.md: the link to gone.md leads nowhere: there is no docs/gone.md"},
		{"docs/a.md", "# A\n", "no heading of docs/a.md has that anchor"},
		{"docs/a.md", "## Two words here\n`server/gone.go`\n", "docs/a.md: names server/gone.go"},
		{"docs/a.md", "## Two words here\n./dev dance\n", "docs/a.md: names ./dev dance"},
		{"docs/new.md", "# New\n", "docs/new.md: is not in the index docs/README.md"},
		{"docs/decisions/0001-x.md", "# X\n", "docs/decisions/0001-x.md: is not in the index"},
		{"docs/p.svg", "<svg>", "docs/p.svg: does not parse"},
		{"docs/p.svg", "<svg></svg>", "docs/p.svg: has no colours for a dark page"},
		{"README.md", `# Top` + "\n" + `<img src="docs/q.svg">`, "README.md: the link to docs/q.svg leads nowhere"},
	} {
		files := fstest.MapFS{}
		for name, f := range mapFS(sound) {
			files[name] = f
		}
		files[c.file] = &fstest.MapFile{Data: []byte(c.text)}
		if got := docBreaches(t, files); !mentions(got, c.want) {
			t.Errorf("%s: want a sentence with %q, got %q", c.file, c.want, got)
		}
	}
}
