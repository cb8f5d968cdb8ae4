// Package idx reads arrays of IDX files, the format of MNIST (the page of LeCun, Cortes and Burges).
//
// The caller's duties, in order: check a file's first bytes with HasMagic, or its name with Named; Open it within limits,
// take its rows with Batch, and call End. LabelNames returns the possible label files of images.
//
// The package refuses values that are no finite 32-bit numbers, and allocates no memory on the claim of a header.
package idx

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"

	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// types are the element types of IDX files (the MNIST page of LeCun, Cortes
// and Burges), by the third byte of the magic number.
var types = [256]struct {
	bytes int
	name  string
}{
	0x08: {1, "unsigned bytes"}, 0x09: {1, "signed bytes"}, 0x0b: {2, "16-bit integers"},
	0x0c: {4, "32-bit integers"}, 0x0d: {4, "32-bit floats"}, 0x0e: {8, "64-bit floats"},
}

// suffix matches the ends of names of IDX files, such as "-images-idx3-ubyte".
var suffix = regexp.MustCompile(`[.-]idx\d?(-u?byte)?$`)

// Named reports whether a file has the name of an IDX file.
func Named(name string) bool { return suffix.MatchString(name) }

// HasMagic reports whether a file with these first bytes is an IDX file.
func HasMagic(h []byte) bool {
	return len(h) >= 4 && h[0] == 0 && h[1] == 0 && types[h[2]].bytes > 0 && h[3] > 0 && h[3] < 8
}

// LabelNames returns the possible paths of the labels of images: the name with labels for images and idx1 for idx3,
// compressed or not.
func LabelNames(images string) []string {
	at := strings.LastIndexByte(images, os.PathSeparator) + 1
	name := strings.NewReplacer("images", "labels", "idx3", "idx1", "idx2", "idx1", "idx4", "idx1").Replace(images[at:])
	if name == images[at:] || images == "" {
		return nil
	}
	return source.PackedNames(images[:at] + name)
}

// Limits bound what a header may ask for.
type Limits struct {
	Rows     int64
	Features int // values of a row
}

// Rows reads an IDX file of rows x width values, some rows at a time.
type Rows struct {
	In    source.Input
	Dims  []int
	Width int // of a row
	from  *source.Stream
	kind  byte
	taken int // number of values read
	raw   []byte
}

// Open reads the header of a file. Its errors are *lines.Error, or the stream's.
func Open(s *source.Stream, opt Limits) (*Rows, error) {
	in := s.In
	fail := func(what, how string) (*Rows, error) {
		return nil, &lines.Error{File: in.Shown(), What: what, How: how}
	}
	if len(s.Head) == 0 {
		return fail("the file is empty", "name a file with data, or leave it out")
	}
	magic, err := header(s, 4)
	if err != nil {
		return nil, err
	}
	kind := types[magic[2]]
	switch {
	case magic[0] != 0 || magic[1] != 0:
		return fail(fmt.Sprintf("the magic number % x is not that of an IDX file, 00 00 08 03 for images", magic),
			"copy the file again, or name its true format")
	case kind.bytes == 0:
		return fail(fmt.Sprintf("the element type 0x%02x is not known", magic[2]),
			"IDX types are 08 09 0b 0c 0d 0e; copy the file again")
	case magic[3] == 0:
		return fail("the array has no dimension", "copy the file again")
	}
	r := &Rows{In: in, Width: 1, from: s, kind: magic[2]}
	return r, r.readDims(s, int(magic[3]), opt)
}

// Remaining returns the number of rows that have not been read.
func (r *Rows) Remaining() int { return r.Dims[0] - r.taken/r.Width }

// next fills values with the next values of the file.
func (r *Rows) next(values []float32) error {
	size := types[r.kind].bytes
	if len(r.raw) < len(values)*size {
		r.raw = make([]byte, len(values)*size)
	}
	want := r.raw[:len(values)*size]
	n, err := lines.ReadFull(r.from, want)
	if err == io.EOF && n < len(want) {
		return &lines.Error{File: r.In.Shown(),
			What: fmt.Sprintf("the file holds %d values, its header claims %d", r.taken+n/size, r.Dims[0]*r.Width),
			How:  "the file is truncated; copy it again"}
	}
	if err != nil && err != io.EOF {
		return err
	}
	if bad := convert(values, want, r.kind); bad >= 0 {
		return &lines.Error{File: r.In.Shown(),
			What: fmt.Sprintf("value %d is not a finite 32-bit number", r.taken+bad+1),
			How:  "replace it; missing values are not filled in"}
	}
	r.taken += len(values)
	return nil
}

// End checks that nothing follows the last row.
func (r *Rows) End() error {
	if n, err := lines.ReadFull(r.from, make([]byte, 1)); n > 0 {
		return &lines.Error{File: r.In.Shown(),
			What: fmt.Sprintf("data follows the %d values that the header claims", r.Dims[0]*r.Width),
			How:  "the header or the file is damaged; copy it again"}
	} else if err != io.EOF {
		return err
	}
	return nil
}

// header returns the next bytes of a header.
func header(s *source.Stream, bytes int) ([]byte, error) {
	raw := make([]byte, bytes)
	_, err := lines.ReadFull(s, raw)
	if err == io.EOF {
		err = &lines.Error{File: s.In.Shown(), What: "the IDX header ends early",
			How: "the file is truncated; copy it again"}
	}
	return raw, err
}

// readDims reads the sizes and bounds their product.
func (r *Rows) readDims(s *source.Stream, n int, opt Limits) error {
	raw, err := header(s, 4*n)
	if err != nil {
		return err
	}
	for i := range n {
		d := binary.BigEndian.Uint32(raw[4*i:])
		if d == 0 {
			return &lines.Error{File: r.In.Shown(), What: fmt.Sprintf("dimension %d has size 0", i+1),
				How: "sizes are 1 or more; copy the file again"}
		}
		r.Dims = append(r.Dims, int(d))
		if i == 0 {
			if int64(d) > opt.Rows {
				return &lines.Error{File: r.In.Shown(),
					What: fmt.Sprintf("the header claims %d rows, the limit is %d", d, opt.Rows),
					How:  "copy the file again, or raise the limit on rows"}
			}
			continue
		}
		if r.Width > opt.Features/int(d) {
			return &lines.Error{File: r.In.Shown(),
				What: fmt.Sprintf("the header claims more than %d values a row", opt.Features),
				How:  "copy the file again: no image is so large"}
		}
		r.Width *= int(d)
	}
	return nil
}

// batchValues is about the number of values read at a time. So memory grows with the data that is there, not with the
// header's claim.
const batchValues = 1 << 18

// Room returns a list with room for all values of the file, if the file can hold as many as its header claims: gzip
// compresses at most 1032 to 1.
func (r *Rows) Room(values []float32) []float32 {
	total, size := r.Dims[0]*r.Width, r.In.Size
	if r.from.Packing != "" {
		size *= 1032
	}
	if total > source.OutputFloor/4 || int64(total)*int64(types[r.kind].bytes) > size {
		return values
	}
	return slices.Grow(values, total)
}

// Batch appends the values of some images to x, and their labels to y, which are 0 if labels is nil. It returns the
// number of images.
func (r *Rows) Batch(x, y *[]float32, labels *Rows) (n int, err error) {
	n = min(r.Remaining(), max(1, batchValues/r.Width))
	for left := n * r.Width; left > 0 && err == nil; left -= batchValues {
		err = r.appendTo(x, min(left, batchValues))
	}
	if labels == nil {
		*y = append(*y, make([]float32, n)...)
	} else if err == nil {
		err = labels.appendTo(y, n)
	}
	return n, err
}

// appendTo appends the next n values of the file.
func (r *Rows) appendTo(to *[]float32, n int) error {
	*to = append(*to, make([]float32, n)...)
	return r.next((*to)[len(*to)-n:])
}

// byteValues are the unsigned bytes as numbers. Pixels are not scaled here.
var byteValues = func() (values [256]float32) {
	for i := range values {
		values[i] = float32(i)
	}
	return values
}()

// convert converts big-endian values and returns the position of the first that is not finite, or -1.
func convert(out []float32, raw []byte, kind byte) int {
	switch kind {
	case 0x08:
		for i, b := range raw[:len(out)] {
			out[i] = byteValues[b]
		}
		return -1
	case 0x09:
		for i, b := range raw[:len(out)] {
			out[i] = float32(int8(b))
		}
		return -1
	}
	for i := range out {
		switch kind {
		case 0x0b:
			out[i] = float32(int16(binary.BigEndian.Uint16(raw[2*i:])))
		case 0x0c:
			out[i] = float32(int32(binary.BigEndian.Uint32(raw[4*i:])))
		case 0x0d:
			out[i] = math.Float32frombits(binary.BigEndian.Uint32(raw[4*i:]))
		case 0x0e:
			out[i] = float32(math.Float64frombits(binary.BigEndian.Uint64(raw[8*i:])))
		}
		if out[i]-out[i] != 0 {
			return i
		}
	}
	return -1
}

// findLabels finds the label file of images: the named one, else the input after them, else a neighbour. used is the
// number of inputs it consumed.
func findLabels(at *source.Places, images source.Input, further []source.Input, named string) (in source.Input,
	used int, err error) {
	if named != "" {
		in, err := at.Stat(named)
		return in, 0, err
	}
	if len(further) > 0 && strings.Contains(further[0].Name, "idx1") {
		return further[0], 1, nil
	}
	if in, found := at.StatAny(LabelNames(images.Path)); found {
		return in, 0, nil
	}
	return source.Input{}, 0, &lines.Error{File: images.Shown(), What: "its labels are not found",
		How: "put them beside the images as ...labels-idx1-ubyte, or name their file with --label"}
}
