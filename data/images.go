package data

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"

	"bellows/data/internal/images"
	"bellows/data/internal/layout"
	"bellows/data/internal/source"
)

// imageReader reads PNG and JPEG files in folders or archives. Its units are batches of images, which workers decode.
//
// Invariants: the first image settles the size of all, before any batch is handed out. A batch belongs to the worker
// that received it until all workers have ended. Images are kept as bytes until all are there, because one image in
// colour makes all of them colour images.
type imageReader struct {
	*reader
	size    images.Size
	first   string // the image that settled the size; "" before
	batches []*imageBatch
	met     int64           // images seen
	classes map[string]bool // classes seen
}

// An imageBatch is a batch of consecutive images.
type imageBatch struct {
	piece
	files  []*images.File
	pixels []byte
	grey   []bool // of each decoded image: a pixel is one value instead of three
}

// batchFiles and batchPixels bound a batch; its last image may exceed them.
const (
	batchFiles  = 256
	batchPixels = 1 << 18
)

// findImages lists the files of inputs that are folders.
func (o *Options) findImages(ctx context.Context, ins []source.Input, kind Kind) error {
	for i, in := range ins {
		if !in.Folder {
			continue
		}
		if kind != Examples || o.Format != "" && o.Format != Images {
			return source.IsFolder(in.Name)
		}
		f, err := images.Find(ctx, in, !o.Unlabelled, o.Limits.Rows)
		if err != nil {
			return err
		}
		if o.folders == nil {
			o.folders = map[string]*images.Folder{}
		}
		o.folders[in.Path], ins[i].Size = f, f.Bytes
	}
	return nil
}

// sourceOf returns the options to open an input that may be an image.
func (o *Options) sourceOf(kind Kind) *source.Options {
	s := o.source()
	if kind == Examples && (o.Format == "" || o.Format == Images) {
		s.Takes = images.IsImage
	}
	return s
}

// isImages reports whether an input is an image or holds images in folders. head is its stream, nil for a folder.
func (o *Options) isImages(head *source.Stream, kind Kind) (bool, error) {
	if head == nil || o.Format == Images && kind == Examples {
		return true, nil
	}
	if images.IsImage(head.Head) {
		return true, nil
	}
	if !images.IsTar(head.Head) {
		return false, nil
	}
	e := &Error{File: head.In.Shown(), What: "is a tar archive", How: "unpack it and name the file inside"}
	switch {
	case kind != Examples:
		return false, e
	case o.Format != "":
		e.What += ", and --format says " + string(o.Format)
		e.How += "; of folders of images, leave out --format"
		return false, e
	}
	return true, nil
}

func newImageReader(r *reader) (*imageReader, error) {
	if opt := r.opt; opt.As == nil && !opt.Unlabelled || opt.Features == 0 {
		r.flow = nil // text labels and colours are known only when all images are there
	}
	return &imageReader{reader: r, classes: map[string]bool{}}, r.opt.forImages(r.ins[0])
}

// forImages refuses options that do not apply to images in folders.
func (o *Options) forImages(in source.Input) error {
	if o.Label != "" {
		return &Error{File: in.Shown(), What: "the label of an image is the folder that it lies in", How: "leave out --label"}
	}
	return o.forPixels(in, "images")
}

// forPixels refuses options that do not apply to arrays of numbers, which have neither lines nor names.
func (o *Options) forPixels(in source.Input, what string) error {
	for _, w := range []struct {
		given    bool
		why, how string
	}{
		{o.Weight != "", what + " have no columns, and so none of weights", "leave out --weight"},
		{o.Timed, what + " have no column of times", "leave out what asks for one, or hold out other rows"},
		{o.Separator != "" || o.Header == HeaderYes, what + " have no lines", "leave out --sep and --header"},
		{len(o.Ignore)+len(o.Categorical) > 0, what + " have no columns", "leave out --ignore and --categorical, which are for tables"},
		{o.IndexBase != "" && o.As == nil, what + " have no indices that a base could count from", "leave out --base, which is for LIBSVM"},
		{o.HashBits > 0 || len(o.Quadratic) > 0, what + " have no names to be hashed", "leave out --hash-bits and --quadratic, which are for Vowpal Wabbit text"},
		{o.Ngrams > 0, what + " have no words that follow each other", "leave out --ngrams, which is for text and Vowpal Wabbit text"},
		{o.As.Tabular(), "the model was trained on a table, whose columns have names", "give the rows in the form that training had"},
	} {
		if w.given {
			return &Error{File: in.Shown(), What: w.why, How: w.how}
		}
	}
	return nil
}

// units implements unitReader.
func (r *imageReader) units(head *source.Stream) error {
	for n, in := range r.ins {
		r.source = n
		files, end, err := r.open(n, in, head)
		if head = nil; err != nil {
			return err
		}
		err = r.input(files)
		end()
		if err != nil || r.stops() {
			return err
		}
	}
	return nil
}

// open opens the images of an input. s is its stream if it is open already.
func (r *imageReader) open(n int, in source.Input, s *source.Stream) (files images.Files, end func() error, err error) {
	if in.Folder {
		return r.opt.folders[in.Path].Open(), func() error { return nil }, nil
	}
	if s == nil {
		if s, err = source.Open(r.ctx, in, r.opt.sourceOf(Examples)); err != nil {
			return nil, nil, err
		}
	}
	if images.IsImage(s.Head) {
		return images.OpenLone(s, !r.opt.Unlabelled), s.Close, nil
	}
	if !images.IsTar(s.Head) {
		s.Close()
		what := "this is neither an image, nor a folder of images, nor a tar archive of one"
		if n > 0 {
			what += ", as " + r.ins[0].Shown() + " is"
		}
		return nil, nil, &Error{File: in.Shown(), What: what, How: "name its true format, and read inputs of different kinds in separate runs"}
	}
	return images.OpenTar(s, !r.opt.Unlabelled, r.opt.Limits.Rows), s.Close, nil
}

// input hands out the images of one input, including those before a defect.
func (r *imageReader) input(files images.Files) (err error) {
	b := &imageBatch{}
	for err == nil && !r.stops() {
		var f *images.File
		if f, err = files.Next(); err != nil {
			break
		}
		if r.first == "" {
			err = r.settleSize(f)
		}
		if err == nil {
			err = r.countImage(f)
		}
		if err != nil {
			break
		}
		if b.files = append(b.files, f); len(b.files) >= batchFiles || len(b.files)*r.size.Width*r.size.Height >= batchPixels {
			r.batch(b)
			b = &imageBatch{}
		}
	}
	if len(b.files) > 0 {
		r.batch(b)
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// batch hands out a batch.
func (r *imageReader) batch(b *imageBatch) {
	if r.flow == nil {
		r.batches = append(r.batches, b)
	}
	r.dispatch(func(*worker) { r.decode(b) }, &b.piece)
}

// countImage counts an image and its class against the limits.
func (r *imageReader) countImage(f *images.File) error {
	if r.met++; r.met > r.opt.Limits.Rows {
		return &Error{File: f.Name, What: fmt.Sprintf("there are more than %d images", r.opt.Limits.Rows), How: "raise the limit on rows, or read fewer"}
	}
	if r.opt.Unlabelled || r.classes[f.Class] {
		return nil
	}
	if r.classes[f.Class] = true; len(r.classes) > layout.ClassesMost {
		return &Error{File: f.Name, What: fmt.Sprintf("there are more than %d folders of classes", layout.ClassesMost), How: "name the folder around those of classes, or read fewer"}
	}
	if as := r.opt.As; as != nil && !as.TextLabels {
		if _, ok := classNumber(f.Class); !ok {
			return &Error{File: f.Name, What: fmt.Sprintf("its class is %q, and those of the model are numbers", f.Class), How: "call its folder by the number of its class, as training had it"}
		}
	}
	return nil
}

// settleSize takes the size of the first image as that of all, if it matches the model's.
func (r *imageReader) settleSize(f *images.File) error {
	b, err := f.Load()
	if err != nil {
		return err
	}
	size, err := images.SizeOf(f, b, r.limits())
	if err != nil {
		return err
	}
	as, pixels, features := r.opt.As, size.Width*size.Height, r.opt.Features
	switch {
	case as != nil && as.Image != nil:
		if !size.Same(*as.Image) {
			return &Error{File: f.Name, What: fmt.Sprintf("the image has %s pixels, those of the model have %s", size.Pixels(), as.Image.Pixels()), How: resizeHint(*as.Image)}
		}
		size.Channels = as.Image.Channels
	case features == 0:
		size.Channels = 0 // decided when all images are there
	case features == images.Grey*pixels || features == images.Colours*pixels:
		size.Channels = features / pixels
	default:
		return &Error{File: f.Name, What: fmt.Sprintf("the image has %s pixels, the model has %d features", size.Pixels(), features), How: "use images of the size used in training"}
	}
	r.size, r.first = size, f.Name
	return nil
}

func (r *imageReader) limits() images.Limits {
	return images.Limits{Files: r.opt.Limits.Rows, Features: r.opt.Limits.Features}
}

// resizeHint returns the hint for images of another size.
func resizeHint(to images.Size) string {
	return fmt.Sprintf("give all images one size, for example with ImageMagick: mogrify -resize '%dx%d!' FOLDER/*/*", to.Width, to.Height)
}

// decode decodes a batch, and passes it to the flow if there is one.
func (r *imageReader) decode(b *imageBatch) {
	for _, f := range b.files {
		if err := r.image(f, b); err != nil {
			b.err = r.defect(b.source, err)
			r.failed.Store(true)
			break
		}
		f.Forget()
	}
	if b.rows = len(b.grey); r.flow == nil {
		return
	}
	set, err := r.set([]*imageBatch{b}, r.size, b.rows)
	r.flow.pass(r.reader, &b.piece, set, err)
}

// image decodes one image.
func (r *imageReader) image(f *images.File, b *imageBatch) error {
	raw, err := f.Load()
	if err != nil {
		return err
	}
	size, err := images.SizeOf(f, raw, r.limits())
	if err != nil {
		return err
	}
	if !size.Same(r.size) {
		return &Error{File: f.Name, What: fmt.Sprintf("the image has %s pixels, the first, %s, has %s", size.Pixels(), r.first, r.size.Pixels()), How: resizeHint(r.size)}
	}
	if r.size.Channels == images.Grey && size.Channels != images.Grey {
		return &Error{File: f.Name, What: "the image has colours, and those that the model was trained on are grey", How: "make it grey, for example with ImageMagick: mogrify -colorspace Gray FILE"}
	}
	if b.pixels, err = images.Decode(f, raw, size, b.pixels); err != nil {
		return err
	}
	b.grey = append(b.grey, size.Channels == images.Grey)
	if f.InFolder() {
		_ = r.opt.Meter.Add(int64(len(raw))) // the caller's goroutine checks the context
	}
	return nil
}

// join implements unitReader.
func (r *imageReader) join() (*Set, error) {
	size := r.size
	if size.Channels == 0 {
		size.Channels = images.Grey
		if slices.ContainsFunc(r.batches, func(b *imageBatch) bool { return slices.Contains(b.grey, false) }) {
			size.Channels = images.Colours
		}
	}
	return r.set(r.batches, size, int(r.met))
}

// set returns the images of batches as rows.
func (r *imageReader) set(batches []*imageBatch, size images.Size, rows int) (*Set, error) {
	width := size.Values()
	e := &ExampleSet{Features: width, Label: make([]float32, rows), Dense: make([]float32, rows*width)}
	row := 0
	var classes []string // of each row
	for _, b := range batches {
		if err := r.opt.contextErr(r.ctx); err != nil {
			return nil, err
		}
		pixels := b.pixels
		for i, grey := range b.grey {
			to := e.Dense[row*width:][:width]
			n := width
			if grey && size.Channels == images.Colours {
				n /= images.Colours
				for k, v := range pixels[:n] {
					x := float32(v)
					to[3*k], to[3*k+1], to[3*k+2] = x, x, x
				}
			} else {
				for k, v := range pixels[:n] {
					to[k] = float32(v)
				}
			}
			pixels = pixels[n:]
			classes = append(classes, b.files[i].Class)
			row++
		}
		b.pixels = nil
	}
	colours := "grey"
	if size.Channels == images.Colours {
		colours = "in colours"
	}
	set := &Set{Kind: Examples, Examples: e, Detected: Detection{Format: "images of " + size.Pixels() + " pixels, " + colours, Files: len(r.ins), Rows: rows}}
	if r.opt.Unlabelled {
		set.Detected.Features = width // the classes were not looked for
	} else {
		e.setLabels(classes, r.opt.As)
		describe(&set.Detected, e)
	}
	set.Reading = &Reading{Format: Images, TextLabels: e.LabelNames != nil, Image: &size}
	return set, nil
}

// setLabels turns the class names into labels. They become numbers if all are whole numbers and the model, if there is
// one, has numbers too; otherwise text.
func (e *ExampleSet) setLabels(classes []string, as *Reading) {
	text := as != nil && as.TextLabels
	for i, name := range classes {
		y, ok := classNumber(name)
		if text = text || !ok; text {
			break
		}
		e.Label[i] = y
	}
	if !text {
		return
	}
	e.LabelNames = slices.Compact(slices.Sorted(slices.Values(classes)))
	place := NewIndex(e.LabelNames)
	for i, name := range classes {
		e.Label[i] = float32(place[name])
	}
}

// classNumber returns the whole number that a class name writes in its usual form.
func classNumber(name string) (y float32, ok bool) {
	n, err := strconv.Atoi(name)
	return float32(n), err == nil && strconv.Itoa(n) == name && n > -1<<24 && n < 1<<24
}
