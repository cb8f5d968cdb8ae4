// Package images reads images, PNG or JPEG, that lie in folders named by their classes, or in a tar archive of such folders.
//
// The caller's duties, in order:
//
//  1. Find what a folder holds, or ask IsTar of a stream's first bytes and OpenTar; take one File after the other from Next.
//  2. Load each file, by any goroutine; look at SizeOf what came, and hold it against the size that is wanted; only then Decode it.
//
// Bounds come before trust: a header is read before its image is decoded, and what it claims is bounded. What an archive holds is never written anywhere, and
// its names are only looked at.
//
// The package refuses to guess and to leave out: images in no folder have no class, files in folders of classes that are no images are errors, links in
// archives and links to a folder above them, too. Only hidden files are passed over, and beside the folders of classes those that are not called as images are.
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

// pathMost bounds the path of an image below its folder or in its archive, classMost its folder's name.
const (
	pathMost  = 4096
	classMost = 255
)

// File is one image, not decoded.
type File struct {
	Name  string // as people are told
	Class string // the folder that names it, "" where it is in none
	bytes []byte // of an archive
	path  string // in a folder
}

// Files are images in their order.
type Files interface {
	// Next is the next of them, io.EOF behind the last.
	Next() (*File, error)
}

// Load is what the file holds.
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
		return nil, &lines.Error{File: f.Name, What: "cannot be read: " + err.Error(), How: "check the disk that it lies on", Err: err}
	}
	if len(b) > bytesMost {
		return nil, tooLong(f.Name)
	}
	return b, nil
}

// InFolder says whether it is read where it lies, and not with an archive.
func (f *File) InFolder() bool { return f.path != "" }

// Forget lets what the file holds go.
func (f *File) Forget() { f.bytes = nil }

func tooLong(name string) error {
	return &lines.Error{File: name, What: fmt.Sprintf("the file has more than %d MiB, which no image to train on needs", bytesMost>>20), How: "make it smaller, or move it away if it is no image"}
}

// Named reports whether a file is called as images are.
func Named(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".pgm":
		return true
	}
	return false
}

// hidden reports whether a file or a folder is one that file managers and archivers leave behind.
func hidden(base string) bool {
	return strings.HasPrefix(base, ".") || base == "__MACOSX" || base == "Thumbs.db" || base == "desktop.ini"
}

// badName is what is wrong with a name below a folder or in an archive; "" where nothing is.
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

// homeless is the error of an image that no folder gives a class.
func homeless(name string) error {
	return &lines.Error{File: name, What: "the image lies in no folder, which would name its class", How: "put it into a folder that is called like its class"}
}
