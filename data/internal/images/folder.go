package images

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// depthMost bounds nested folders.
const depthMost = 16

// Folder holds the images of a folder, in byte order of their paths.
type Folder struct {
	Bytes int64
	Paths []string // all files and folders that decide what is read
	files []found
	named bool     // one of the files has the extension of an image
	bare  []string // folders of classes without files
	in    source.Input
}

// found is a file of a folder.
type found struct {
	rel, class string
	stamp      string // its size and modification time
}

// Find finds the images of a folder. The class of an image is the name of the top folder that it lies in, however deep.
// If labelled is false, images may lie anywhere. Links are followed. Errors are *lines.Error, or the context's.
func Find(ctx context.Context, in source.Input, labelled bool, most int64) (*Folder, error) {
	root, err := os.Stat(in.Path)
	if err != nil {
		return nil, source.OpenError(in.Shown(), err)
	}
	f := &Folder{in: in}
	w := &walk{Folder: f, ctx: ctx, labelled: labelled, most: most}
	if err := w.folder("", "", []fs.FileInfo{root}); err != nil {
		return nil, err
	}
	if !f.named {
		return nil, &lines.Error{File: in.Shown(), What: "is a folder, and holds no folders of images",
			How: "name its files, for example " + source.Below(in.Path) +
				"; or put PNG or JPEG images into a folder for each class there"}
	}
	if len(f.bare) > 0 {
		return nil, &lines.Error{File: w.shown(f.bare[0]), What: "the folder is a class, and has no images",
			How: "put some there, or remove it"}
	}
	slices.SortFunc(f.files, func(a, b found) int { return cmp.Compare(a.rel, b.rel) })
	return f, nil
}

// A walk is a search for images.
type walk struct {
	*Folder
	ctx      context.Context
	labelled bool
	most     int64
}

func (w *walk) shown(rel string) string { return filepath.Join(w.in.Shown(), rel) }

// folder searches one folder. above has the folder and the folders around it.
func (w *walk) folder(rel, class string, above []fs.FileInfo) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	at := filepath.Join(w.in.Path, rel)
	entries, err := os.ReadDir(at)
	if err != nil {
		return source.OpenError(w.shown(rel), err)
	}
	w.Paths = append(w.Paths, at)
	before := len(w.files)
	for _, e := range entries {
		if hidden(e.Name()) {
			continue
		}
		if err := w.entry(filepath.Join(rel, e.Name()), class, above); err != nil {
			return err
		}
	}
	if w.labelled && len(above) == 2 && len(w.files) == before {
		w.bare = append(w.bare, rel)
	}
	return nil
}

// entry handles a file or a folder in a folder.
func (w *walk) entry(rel, class string, above []fs.FileInfo) error {
	fail := func(what, how string) error { return &lines.Error{File: w.shown(rel), What: what, How: how} }
	if bad := badName(rel); bad != "" {
		return fail(bad, "call it otherwise")
	}
	at, top := filepath.Join(w.in.Path, rel), len(above) == 1
	info, err := os.Stat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fail("is a link to nothing", "remove it, or mend it")
	case err != nil:
		return source.OpenError(w.shown(rel), err)
	case info.IsDir():
		return w.subfolder(rel, class, append(slices.Clip(above), info))
	case !Named(rel) && top:
		return nil // such as a list of classes
	case !info.Mode().IsRegular():
		return fail("is neither a file nor a folder",
			"name the files that hold the data, or a folder of nothing but images")
	case top && w.labelled:
		return noClassError(w.shown(rel))
	case int64(len(w.files)) >= w.most:
		return fail(fmt.Sprintf("there are more than %d images", w.most), "raise the limit on rows, or read fewer")
	}
	w.named = w.named || Named(rel)
	w.Bytes += info.Size()
	w.Paths = append(w.Paths, at)
	w.files = append(w.files, found{filepath.ToSlash(rel), class,
		fmt.Sprint(info.Size(), " ", info.ModTime().UnixNano())})
	return nil
}

// subfolder searches a folder in a folder.
func (w *walk) subfolder(rel, class string, above []fs.FileInfo) error {
	fail := func(what, how string) error { return &lines.Error{File: w.shown(rel), What: what, How: how} }
	last := len(above) - 1
	switch {
	case slices.ContainsFunc(above[:last], func(other fs.FileInfo) bool { return os.SameFile(other, above[last]) }):
		return fail("is a link to a folder that it lies in", "remove it")
	case last > depthMost:
		return fail(fmt.Sprintf("there are more than %d folders around it", depthMost), "name a folder further down")
	}
	if class == "" {
		class = filepath.Base(rel)
	}
	return w.folder(rel, class, above)
}

// Open returns the images, from the first on.
func (f *Folder) Open() Files { return &reading{f, 0} }

// reading is the state of reading a folder.
type reading struct {
	*Folder
	at int
}

// Next implements Files.
func (f *reading) Next() (*File, error) {
	if f.at == len(f.files) {
		return nil, io.EOF
	}
	c := &f.files[f.at]
	f.at++
	return &File{Name: filepath.Join(f.in.Shown(), c.rel), Class: c.class, path: filepath.Join(f.in.Path, c.rel)}, nil
}

// Version identifies the images: with other names, sizes or modification times it differs.
func (f *Folder) Version() string {
	sum := sha256.New()
	for _, c := range f.files {
		io.WriteString(sum, strings.Join([]string{c.rel, c.stamp, ""}, "\x00"))
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}
