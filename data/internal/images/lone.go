package images

import (
	"errors"
	"io"
	"path"
	"path/filepath"
	"strings"

	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// IsImage reports whether a stream with these first bytes is a supported image.
func IsImage(head []byte) bool {
	return strings.HasPrefix(string(head), pngMagic) || strings.HasPrefix(string(head), jpegMagic)
}

// OpenLone returns the single image of a stream. The folder that it lies in names its class; if labelled is true there
// must be one.
func OpenLone(s *source.Stream, labelled bool) Files { return &lone{s, labelled} }

// lone is a stream with one image. from is nil once it was read.
type lone struct {
	from     *source.Stream
	labelled bool
}

// Next implements Files.
func (l *lone) Next() (*File, error) {
	if l.from == nil {
		return nil, io.EOF
	}
	s := l.from
	l.from = nil
	f := &File{Name: s.In.Shown(), Class: path.Base(path.Dir(filepath.ToSlash(s.In.Name)))}
	if f.Class == "." || f.Class == ".." || f.Class == "/" {
		f.Class = ""
	}
	if l.labelled && f.Class == "" {
		return nil, noClassError(f.Name)
	}
	b, err := io.ReadAll(io.LimitReader(s, bytesMost+1))
	var known *lines.Error
	switch {
	case errors.As(err, &known):
		return nil, err
	case err != nil:
		return nil, &lines.Error{File: f.Name, What: "cannot be read: " + err.Error(), How: "copy it again", Err: err}
	case len(b) > bytesMost:
		return nil, tooLong(f.Name)
	}
	f.bytes = b
	return f, nil
}
