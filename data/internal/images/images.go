// Package images reads PNG and JPEG images from folders named after their classes, or from a tar archive of such
// folders.
//
// The caller's duties, in order:
//
//  1. Find the images of a folder, or check a stream's first bytes with IsTar and call OpenTar; take one File after
//     another from Next.
//  2. Load each file, on any goroutine; compare its SizeOf with the wanted size; only then Decode it.
//
// Bounds come before trust: a header is read and bounded before its image is decoded. Content of an archive is never
// written anywhere, and its names are only inspected.
//
// The package does not guess. An image outside the class folders has no class. A file in a class folder that is not an
// image is an error, and so is a link in an archive, and a link to a folder above itself. Only hidden files are
// skipped, and files next to the class folders without the extension of an image.
package images

import (
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// Limits bound what is read.
type Limits struct {
	Files    int64
	Features int // values of one image
}

// bytesMost bounds the file of one image.
const bytesMost = 64 << 20

// pathMost bounds the path of an image below its folder or in its archive, classMost the name of its folder.
const (
	pathMost  = 4096
	classMost = 255
)

// A File is one image, not decoded.
type File struct {
	Name  string // the name in messages
	Class string // the folder that names its class, "" if it is in none
	bytes []byte // for a file of an archive
	path  string // for a file in a folder
}

// Files are images in their order.
type Files interface {
	// Next returns the next image, or io.EOF after the last.
	Next() (*File, error)
}

// Load returns the content of the file.
func (f *File) Load() ([]byte, error) {
	if f.path == "" {
		return f.bytes, nil
	}
	at, err := os.Open(f.path)
	if err != nil {
		return nil, source.OpenError(f.Name, err)
	}
	defer at.Close()
	b, err := io.ReadAll(io.LimitReader(at, bytesMost+1))
	if err != nil {
		return nil, &lines.Error{File: f.Name, What: "cannot be read: " + err.Error(),
			How: "check the disk that it lies on", Err: err}
	}
	if len(b) > bytesMost {
		return nil, tooLong(f.Name)
	}
	return b, nil
}

// InFolder reports whether the file is read from a folder instead of an archive.
func (f *File) InFolder() bool { return f.path != "" }

// Forget releases the content of the file.
func (f *File) Forget() { f.bytes = nil }

func tooLong(name string) error {
	return &lines.Error{File: name, What: fmt.Sprintf("the file has more than %d MiB, which no image to train on needs",
		bytesMost>>20), How: "make it smaller, or move it away if it is no image"}
}

// Named reports whether a file has the extension of an image.
func Named(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm":
		return true
	}
	return false
}

// hidden reports whether the name of a file or a folder begins with a dot, or is one that file managers and archivers
// leave.
func hidden(base string) bool {
	return strings.HasPrefix(base, ".") || base == "__MACOSX" || base == "Thumbs.db" || base == "desktop.ini"
}

// badName returns what is wrong with a name below a folder or in an archive, "" if nothing is.
func badName(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "the name is not UTF-8 text"
	case strings.IndexFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0:
		return "the name has control characters"
	case len(name) > pathMost:
		return fmt.Sprintf("the name has more than %d bytes", pathMost)
	}
	return ""
}

// noClassError returns the error for an image whose class no folder names.
func noClassError(name string) error {
	return &lines.Error{File: name, What: "the image lies in no folder, which would name its class",
		How: "put it into a folder that is called like its class"}
}
