package images

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// blockBytes is the unit of archives. Their last two blocks are zeros.
const blockBytes = 512

// IsTar reports whether a stream with these first bytes is a tar archive of POSIX or GNU.
func IsTar(head []byte) bool {
	const at = 257
	return len(head) >= at+5 && string(head[at:at+5]) == "ustar"
}

// Tar reads the images of an archive, in its order.
//
// If the first image has one folder around it, the folders of the archive are classes. If it has more, the first of
// them is the folder around all classes. A name that begins with ./ means that there is no such folder. Names that do
// not fit are errors.
type Tar struct {
	from     *counter
	r        *tar.Reader
	shown    string
	labelled bool
	most     int64
	files    int64
	begun    bool
	root     string // the folder around the classes, "" if there is none
	// passed is the path of a file before the first image that lies in a folder and is no image. It may be skipped if
	// all classes lie in that folder.
	passed []string
}

// A counter counts the bytes that an archive has consumed.
type counter struct {
	io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

// OpenTar returns the images of an archive. If labelled is false, they may lie anywhere.
func OpenTar(s *source.Stream, labelled bool, most int64) *Tar {
	c := &counter{Reader: s}
	return &Tar{from: c, r: tar.NewReader(c), shown: s.In.Shown(), labelled: labelled, most: most}
}

// Next implements Files. Its errors are *lines.Error.
func (t *Tar) Next() (*File, error) {
	for {
		if _, err := io.Copy(io.Discard, t.r); err != nil && t.begun { // the rest of the last file
			return nil, t.explain(err)
		}
		before := t.from.n
		t.begun = true
		h, err := t.r.Next()
		if err == io.EOF {
			return nil, t.end(t.from.n - before)
		}
		if err != nil {
			return nil, t.explain(err)
		}
		f, err := t.entry(h)
		if f != nil || err != nil {
			return f, err
		}
	}
}

// name returns the name of an entry for messages.
func (t *Tar) name(of string) string {
	return t.shown + "/" + strings.TrimLeft(strings.ToValidUTF8(of, "\ufffd"), "/")
}

// entry returns the image of an entry, nil if it is none.
func (t *Tar) entry(h *tar.Header) (*File, error) {
	name, plain := strings.CutPrefix(h.Name, "./")
	parts := slices.DeleteFunc(strings.Split(strings.TrimRight(name, "/"), "/"),
		func(part string) bool { return part == "" || part == "." })
	fail := func(what, how string) (*File, error) {
		return nil, &lines.Error{File: t.name(printable(h.Name)), What: what, How: how}
	}
	const again = "make the archive again, of the folder around those of classes: tar -cf FILE.tar -C FOLDER ./"
	switch bad := badName(h.Name); {
	case bad != "":
		return fail(bad, again)
	case path.IsAbs(h.Name):
		return fail("the name begins at the root of a file system", again)
	case slices.Contains(parts, ".."):
		return fail("the name leads out of the archive", again)
	case h.Typeflag == tar.TypeDir || h.Typeflag == tar.TypeXGlobalHeader || slices.ContainsFunc(parts, hidden):
		return nil, nil
	case h.Typeflag == tar.TypeLink || h.Typeflag == tar.TypeSymlink:
		return fail("is a link, which is not followed",
			"make the archive of what links name: tar --hard-dereference -h -cf FILE.tar -C FOLDER ./")
	case h.Typeflag != tar.TypeReg || len(parts) == 0:
		return fail("is neither a file nor a folder", "leave it out of the archive")
	}
	return t.file(h, parts, plain)
}

// file returns the image of a file. It is nil for a file next to the folders of classes without the extension of an
// image.
func (t *Tar) file(h *tar.Header, parts []string, plain bool) (*File, error) {
	shown := t.name(strings.Join(parts, "/"))
	fail := func(what, how string) (*File, error) { return nil, &lines.Error{File: shown, What: what, How: how} }
	base, folders := parts[len(parts)-1], parts[:len(parts)-1]
	if !Named(base) && (len(folders) == 0 || t.files > 0 && slices.Equal(folders, t.classesFolder())) {
		return nil, nil
	}
	if !Named(base) && t.files == 0 && len(folders) == 1 && !plain && (t.passed == nil || t.passed[0] == folders[0]) {
		t.passed = parts
		return nil, nil
	}
	if t.files == 0 && len(folders) > 1 && !plain {
		t.root = folders[0]
	}
	if t.files == 0 && t.passed != nil && t.passed[0] != t.root {
		shown = t.name(strings.Join(t.passed, "/"))
		return fail("is neither a PNG nor a JPEG image", "move it away, or convert it")
	}
	if t.root != "" && t.labelled {
		if len(folders) == 0 || folders[0] != t.root {
			return fail("lies outside of "+t.root+"/, in which the first image lies",
				"make the archive again, of the folder around those of classes: tar -cf FILE.tar -C FOLDER ./")
		}
		folders = folders[1:]
	}
	switch {
	case t.labelled && len(folders) == 0:
		return nil, noClassError(shown)
	case t.labelled && len(folders[0]) > classMost:
		return fail(fmt.Sprintf("its class has a name of more than %d bytes", classMost), "call it otherwise")
	case t.files >= t.most:
		return fail(fmt.Sprintf("there are more than %d images", t.most), "raise the limit on rows, or read fewer")
	case h.Size > bytesMost:
		return nil, tooLong(shown)
	}
	t.files++
	f := &File{Name: shown}
	if len(folders) > 0 {
		f.Class = folders[0]
	}
	var b bytes.Buffer // it grows with the data
	if _, err := io.Copy(&b, t.r); err != nil {
		return nil, t.explain(err)
	}
	f.bytes = b.Bytes()
	return f, nil
}

// classesFolder returns the folder around the folders of classes.
func (t *Tar) classesFolder() []string {
	if t.root == "" {
		return nil
	}
	return []string{t.root}
}

// printable bounds and cleans an untrusted name.
func printable(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '\ufffd'
		}
		return r
	}, name)
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "") + "…"
	}
	return name
}

// end checks that an archive ends properly. last is the number of bytes read when no further file was found.
func (t *Tar) end(last int64) error {
	if last < blockBytes {
		return &lines.Error{File: t.shown, What: "the archive ends without its last two blocks",
			How: "the file is truncated; copy it again"}
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := t.from.Read(buf)
		if len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return &lines.Error{File: t.shown, What: "data follows the archive's end",
				How: "give archives that were put together as files of their own; or copy it again"}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return t.explain(err)
		}
	}
	if t.files == 0 {
		return &lines.Error{File: t.shown, What: "the archive holds no images",
			How: "give one of folders with PNG or JPEG images, a folder for each class; of other data, unpack it " +
				"and name the files inside"}
	}
	return io.EOF
}

// explain converts the error of a read.
func (t *Tar) explain(err error) error {
	if known := (*lines.Error)(nil); errors.As(err, &known) {
		return known
	}
	e := &lines.Error{File: t.shown, What: "the archive is damaged: " +
		strings.TrimPrefix(err.Error(), "archive/tar: "), How: "copy it again, or make it again", Err: err}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		e.What, e.How = "the archive ends early", "the file is truncated; copy it again"
	}
	return e
}
