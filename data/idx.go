package data

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strings"

	"bellows/data/internal/lines"
)

// idxTypes are the element types of IDX files (the MNIST page of LeCun, Cortes
// and Burges), by the third byte of the magic number.
var idxTypes = [256]struct {
	bytes int
	name  string
}{
	0x08: {1, "unsigned bytes"}, 0x09: {1, "signed bytes"}, 0x0b: {2, "16-bit integers"},
	0x0c: {4, "32-bit integers"}, 0x0d: {4, "32-bit floats"}, 0x0e: {8, "64-bit floats"},
}

// idxSuffix is how names of IDX files end, as "-images-idx3-ubyte".
var idxSuffix = regexp.MustCompile(`[.-]idx\d?(-u?byte)?$`)

func idxName(name string) bool { return idxSuffix.MatchString(name) }

// idxArray is one IDX file: rows x width values.
type idxArray struct {
	in     input
	dims   []int
	width  int
	values []float32
}

// readIDX reads images and their labels. The label file is the one that
// Options.Label names, or an input with one dimension behind its images, or
// the neighbour whose name says labels-idx1 for images-idx3.
func readIDX(ctx context.Context, ins []input, head *stream, kind Kind, opt *Options) (*Set, error) {
	if kind == Ratings {
		head.close()
		return nil, &Error{File: ins[0].shown(), What: "IDX files hold examples, not ratings", How: "name a file of user, item, rating; or train an app for examples"}
	}
	set := &Set{Kind: Examples, Examples: &ExampleSet{Dense: []float32{}}}
	e := set.Examples
	files := 0
	for n := 0; n < len(ins); n++ {
		images, err := readArray(ctx, ins[n], head, opt)
		head = nil
		if err != nil {
			return nil, err
		}
		if err := checkImages(images, e, opt); err != nil {
			return nil, err
		}
		labels, used, err := labelsFor(ctx, images, ins[n+1:], opt)
		if err != nil {
			return nil, err
		}
		n += used
		files += 2
		e.Features = images.width
		e.Label = append(e.Label, labels...)
		if len(e.Dense) == 0 {
			e.Dense = images.values
		} else {
			e.Dense = append(e.Dense, images.values...)
		}
	}
	set.Detected = Detection{Format: IDX.shown(), Files: files, Rows: e.Rows()}
	set.Detected.describe(e)
	set.Reading = &Reading{Format: IDX, FormatGiven: opt.Format != ""}
	return set, nil
}

func checkImages(a *idxArray, e *ExampleSet, opt *Options) error {
	fail := func(what, how string) error { return &Error{File: a.in.shown(), What: what, How: how} }
	switch {
	case len(a.dims) < 2:
		return fail("the file has one dimension, as labels have", "name the images; their labels are found by name, or named by the label option")
	case e.Features > 0 && a.width != e.Features:
		return fail(fmt.Sprintf("the images have %d values, those before have %d", a.width, e.Features), "read files of one image size together")
	case opt.Features > 0 && a.width != opt.Features:
		return fail(fmt.Sprintf("the images have %d values, the model has %d features", a.width, opt.Features), "use images of the size used in training")
	case int64(e.Rows()+a.dims[0]) > opt.Limits.Rows:
		return fail(fmt.Sprintf("there are more than %d rows", opt.Limits.Rows), "raise the limit on rows, or read fewer files")
	}
	return nil
}

// labelsFor reads the labels of images; used is how many of the further inputs
// it took.
func labelsFor(ctx context.Context, images *idxArray, further []input, opt *Options) (labels []float32, used int, err error) {
	in, used, err := findLabels(images.in, further, opt)
	if err != nil {
		if opt.Unlabelled {
			return make([]float32, images.dims[0]), 0, nil
		}
		return nil, 0, err
	}
	a, err := readArray(ctx, in, nil, opt)
	if err != nil {
		return nil, 0, err
	}
	if len(a.dims) != 1 {
		return nil, 0, &Error{File: in.shown(), What: fmt.Sprintf("the file has %d dimensions, labels have one", len(a.dims)), How: "name the file of labels, as in train-labels-idx1-ubyte"}
	}
	if a.dims[0] != images.dims[0] {
		return nil, 0, &Error{File: in.shown(), What: fmt.Sprintf("there are %d labels for %d images in %s", a.dims[0], images.dims[0], images.in.shown()), How: "use the images and labels of the same set"}
	}
	return a.values, used, nil
}

// findLabels finds the file of labels that belongs to images.
func findLabels(images input, further []input, opt *Options) (in input, used int, err error) {
	if opt.Label != "" {
		in, err := stat(opt.Label)
		return in, 0, err
	}
	if len(further) > 0 && strings.Contains(further[0].name, "idx1") {
		return further[0], 1, nil
	}
	if in, found := statAny(labelNames(images.path)); found {
		return in, 0, nil
	}
	return input{}, 0, &Error{File: images.shown(), What: "its labels are not found", How: "put them beside the images as ...labels-idx1-ubyte, or name their file with --label"}
}

// labelNames are the places where the labels of images may be: the name with
// labels for images and idx1 for idx3, packed or not.
func labelNames(images string) []string {
	at := strings.LastIndexByte(images, os.PathSeparator) + 1
	name := strings.NewReplacer("images", "labels", "idx3", "idx1", "idx2", "idx1", "idx4", "idx1").Replace(images[at:])
	if name == images[at:] || images == "" {
		return nil
	}
	return packings(images[:at] + name)
}

// readArray reads one IDX file; s is its stream when it is open already.
func readArray(ctx context.Context, in input, s *stream, opt *Options) (*idxArray, error) {
	if s == nil {
		var err error
		if s, err = openStream(ctx, in, opt); err != nil {
			return nil, err
		}
	}
	defer s.close()
	fail := func(what, how string) (*idxArray, error) {
		return nil, &Error{File: in.shown(), What: what, How: how}
	}
	if len(s.head) == 0 {
		return fail("the file is empty", "name a file with data, or leave it out")
	}
	magic, err := s.header(4)
	if err != nil {
		return nil, err
	}
	kind := idxTypes[magic[2]]
	switch {
	case magic[0] != 0 || magic[1] != 0:
		return fail(fmt.Sprintf("the magic number % x is not that of an IDX file, 00 00 08 03 for images", magic), "copy the file again, or name its true format")
	case kind.bytes == 0:
		return fail(fmt.Sprintf("the element type 0x%02x is not known", magic[2]), "IDX types are 08 09 0b 0c 0d 0e; copy the file again")
	case magic[3] == 0:
		return fail("the array has no dimension", "copy the file again")
	}
	a := &idxArray{in: in, width: 1}
	if err := a.readDims(s, int(magic[3]), opt); err != nil {
		return nil, err
	}
	return a, a.readValues(ctx, s, magic[2])
}

// header is the next bytes of a header.
func (s *stream) header(bytes int) ([]byte, error) {
	raw := make([]byte, bytes)
	_, err := lines.ReadFull(s, raw)
	if err == io.EOF {
		err = &Error{File: s.in.shown(), What: "the IDX header ends early", How: "the file is truncated; copy it again"}
	}
	return raw, err
}

// readDims reads the sizes and bounds their product.
func (a *idxArray) readDims(s *stream, n int, opt *Options) error {
	raw, err := s.header(4 * n)
	if err != nil {
		return err
	}
	for i := range n {
		d := binary.BigEndian.Uint32(raw[4*i:])
		if d == 0 {
			return &Error{File: a.in.shown(), What: fmt.Sprintf("dimension %d has size 0", i+1), How: "sizes are 1 or more; copy the file again"}
		}
		a.dims = append(a.dims, int(d))
		if i == 0 {
			if int64(d) > opt.Limits.Rows {
				return &Error{File: a.in.shown(), What: fmt.Sprintf("the header claims %d rows, the limit is %d", d, opt.Limits.Rows), How: "copy the file again, or raise the limit on rows"}
			}
			continue
		}
		if a.width > opt.Limits.Features/int(d) {
			return &Error{File: a.in.shown(), What: fmt.Sprintf("the header claims more than %d values a row", opt.Limits.Features), How: "copy the file again: no image is so large"}
		}
		a.width *= int(d)
	}
	return nil
}

// idxStep is how many values are read at a time: memory follows the data that
// is there, not the header's word.
const idxStep = 1 << 20

// readValues reads all values as float32 and checks that nothing follows.
func (a *idxArray) readValues(ctx context.Context, s *stream, kind byte) error {
	total, size := a.dims[0]*a.width, idxTypes[kind].bytes
	raw := make([]byte, min(total, idxStep)*size)
	if total <= outputFloor/4 && a.plausible(int64(total)*int64(size), s.packing != "") {
		a.values = make([]float32, 0, total)
	}
	for len(a.values) < total {
		if err := ctx.Err(); err != nil {
			return err
		}
		want := raw[:min(total-len(a.values), idxStep)*size]
		n, err := lines.ReadFull(s, want)
		if err == io.EOF && n < len(want) {
			return &Error{File: a.in.shown(),
				What: fmt.Sprintf("the file holds %d values, its header claims %d", len(a.values)+n/size, total),
				How:  "the file is truncated; copy it again"}
		}
		if err != nil && err != io.EOF {
			return err
		}
		at := len(a.values)
		a.grow(at+len(want)/size, total)
		if bad := convertIDX(a.values[at:], want, kind); bad >= 0 {
			return &Error{File: a.in.shown(), What: fmt.Sprintf("value %d is not a finite 32-bit number", at+bad+1), How: "replace it; missing values are not filled in"}
		}
	}
	if n, err := lines.ReadFull(s, raw[:1]); n > 0 {
		return &Error{File: a.in.shown(), What: fmt.Sprintf("data follows the %d values that the header claims", total), How: "the header or the file is damaged; copy it again"}
	} else if err != io.EOF {
		return err
	}
	return nil
}

// plausible reports whether a file of this size can hold the bytes that its
// header claims: gzip packs at most 1032 to 1.
func (a *idxArray) plausible(bytes int64, packed bool) bool {
	if packed {
		return bytes <= a.in.size*1032
	}
	return bytes <= a.in.size
}

// grow lengthens the values to n of total, at most doubling what is there.
func (a *idxArray) grow(n, total int) {
	if n > cap(a.values) {
		grown := make([]float32, len(a.values), min(total, max(n, 2*cap(a.values))))
		copy(grown, a.values)
		a.values = grown
	}
	a.values = a.values[:n]
}

// byteValues are the unsigned bytes as numbers: pixels are not scaled here.
var byteValues = func() (values [256]float32) {
	for i := range values {
		values[i] = float32(i)
	}
	return values
}()

// convertIDX converts big-endian values and returns the position of the first
// that is not finite, or -1.
func convertIDX(out []float32, raw []byte, kind byte) int {
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
