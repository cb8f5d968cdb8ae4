package data

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"bellows/data/internal/images"
	"bellows/data/internal/layout"
	"bellows/data/internal/source"
)

// imageReader reads PNG and JPEG files in folders or archives: one goroutine, the caller's, finds them in their order and hands out batches, workers decode
// these.
//
// Invariants: the size that all have is settled by the first, before any batch is handed out; a batch belongs to the worker that was handed it until all have
// ended. Batches are handed out in order, and the first failure stops that, so that the first error in the order of the images is known. Images are kept as bytes
// until all are there, since one with colours makes all of them such.
type imageReader struct {
	ctx     context.Context
	opt     *Options
	ins     []source.Input
	flow    *flow // nil: all are joined
	size    images.Size
	first   string // which image has settled it; "" before
	open    []*imageBatch
	jobs    chan *imageBatch
	failed  atomic.Bool
	handed  int
	given   int64           // images that were handed out
	rows    int64           // and those that were met
	classes map[string]bool // that have been met
}

// imageBatch is images that stand one behind the other.
type imageBatch struct {
	number int
	row    int64 // images before it
	files  []*images.File
	pixels []byte
	grey   []bool // of those that were decoded: a pixel is one value, and not three
	err    error  // of the one behind those
}

// batchFiles and batchPixels bound a batch, but for its last image.
const (
	batchFiles  = 256
	batchPixels = 1 << 18
)

// findImages looks for the files of inputs that are folders.
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

// sourceOf is how an input is opened that may be an image.
func (o *Options) sourceOf(kind Kind) *source.Options {
	s := o.source()
	if kind == Examples && (o.Format == "" || o.Format == Images) {
		s.Takes = images.IsImage
	}
	return s
}

// isImages says whether an input is an image, or holds images in folders; head is its stream, nil of a folder.
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

// parseImages reads inputs of images; head is the first, open, nil of a folder.
func parseImages(ctx context.Context, ins []source.Input, head *source.Stream, opt *Options, f *flow) (*Set, error) {
	if opt.As == nil && !opt.Unlabelled || opt.Features == 0 {
		f = nil // labels that are text, and colours, are known when all are there
	}
	r := &imageReader{ctx: ctx, opt: opt, ins: ins, flow: f, jobs: make(chan *imageBatch), classes: map[string]bool{}}
	if e := opt.forImages(ins[0]); e != nil {
		if head != nil {
			head.Close()
		}
		return nil, e
	}
	var all sync.WaitGroup
	for range opt.Workers {
		all.Go(func() {
			for b := range r.jobs {
				r.decode(b)
			}
		})
	}
	err := r.inputs(head)
	close(r.jobs)
	all.Wait()
	if ended := opt.ended(ctx); ended != nil {
		return nil, ended
	}
	if f != nil {
		if first := f.out.Err(); first != nil {
			return nil, first
		}
		return nil, err
	}
	for _, b := range r.open {
		if b.err != nil {
			return nil, b.err
		}
	}
	if err != nil {
		return nil, err
	}
	return r.joined()
}

// forImages refuses options that mean nothing for images in folders.
func (o *Options) forImages(in source.Input) error {
	if o.Label != "" {
		return &Error{File: in.Shown(), What: "the label of an image is the folder that it lies in", How: "leave out --label"}
	}
	return o.forPixels(in, "images")
}

// forPixels refuses options that mean nothing for what holds arrays of numbers and neither lines nor names.
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

// inputs hands out the images of all inputs.
func (r *imageReader) inputs(head *source.Stream) error {
	for n, in := range r.ins {
		files, end, err := r.files(n, in, head)
		if head = nil; err != nil {
			return err
		}
		err = r.input(files)
		end()
		if err != nil {
			return err
		}
	}
	return nil
}

// files is the images of an input; s is its stream where it is open already.
func (r *imageReader) files(n int, in source.Input, s *source.Stream) (files images.Files, end func() error, err error) {
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

// input hands out the images of one input. Those before a defect are handed out.
func (r *imageReader) input(files images.Files) (err error) {
	b := &imageBatch{}
	for err == nil {
		var f *images.File
		if f, err = files.Next(); err != nil {
			break
		}
		if r.first == "" {
			err = r.settle(f)
		}
		if err == nil {
			err = r.counts(f)
		}
		if err != nil {
			break
		}
		if b.files = append(b.files, f); len(b.files) >= batchFiles || len(b.files)*r.size.Width*r.size.Height >= batchPixels {
			err = r.hand(b)
			b = &imageBatch{}
		}
	}
	if len(b.files) > 0 && (err == io.EOF || r.first != "") {
		if failed := r.hand(b); failed != nil {
			return failed
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// counts counts an image and its class against the limits.
func (r *imageReader) counts(f *images.File) error {
	if r.rows++; r.rows > r.opt.Limits.Rows {
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

// hand hands out a batch.
func (r *imageReader) hand(b *imageBatch) error {
	if err := r.opt.ended(r.ctx); err != nil {
		return err
	}
	if r.failed.Load() {
		return errImages
	}
	b.number, b.row = r.handed, r.given
	r.given += int64(len(b.files))
	if r.handed++; r.flow == nil {
		r.open = append(r.open, b)
	}
	r.jobs <- b
	return nil
}

// errImages is why nothing is handed out any more; whoever asks is told the batch's.
var errImages = fmt.Errorf("an image cannot be read")

// settle makes the size of the first image that of all, if it is the model's.
func (r *imageReader) settle(f *images.File) error {
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
			return &Error{File: f.Name, What: fmt.Sprintf("the image has %s pixels, those of the model have %s", size.Pixels(), as.Image.Pixels()), How: resize(*as.Image)}
		}
		size.Channels = as.Image.Channels
	case features == 0:
		size.Channels = 0 // it turns out
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

// resize is how images get a size.
func resize(to images.Size) string {
	return fmt.Sprintf("give all images one size, for example with ImageMagick: mogrify -resize '%dx%d!' FOLDER/*/*", to.Width, to.Height)
}

// decode decodes a batch, and gives it to the flow, if there is one.
func (r *imageReader) decode(b *imageBatch) {
	for _, f := range b.files {
		if b.err = r.image(f, b); b.err != nil {
			r.failed.Store(true)
			break
		}
		f.Forget()
	}
	if r.flow == nil {
		return
	}
	err := b.err
	if n := len(b.grey); n > 0 {
		set, failed := r.set([]*imageBatch{b}, r.size, n)
		if failed == nil {
			block := &Block{Set: set, Row: b.row, number: b.number, out: r.flow.out}
			if failed = r.flow.take(block); failed == nil && block.Turn() == nil {
				r.flow.detected(set)
			}
		}
		if failed != nil {
			r.failed.Store(true)
			err = failed
		}
	}
	r.flow.out.End(b.number, err)
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
		return &Error{File: f.Name, What: fmt.Sprintf("the image has %s pixels, the first, %s, has %s", size.Pixels(), r.first, r.size.Pixels()), How: resize(r.size)}
	}
	if r.size.Channels == images.Grey && size.Channels != images.Grey {
		return &Error{File: f.Name, What: "the image has colours, and those that the model was trained on are grey", How: "make it grey, for example with ImageMagick: mogrify -colorspace Gray FILE"}
	}
	if b.pixels, err = images.Decode(f, raw, size, b.pixels); err != nil {
		return err
	}
	b.grey = append(b.grey, size.Channels == images.Grey)
	if f.InFolder() {
		_ = r.opt.Meter.Add(int64(len(raw))) // whoever hands out asks the context
	}
	return nil
}

// joined is the set of all batches.
func (r *imageReader) joined() (*Set, error) {
	size := r.size
	if size.Channels == 0 {
		size.Channels = images.Grey
		for _, b := range r.open {
			if slices.Contains(b.grey, false) {
				size.Channels = images.Colours
				break
			}
		}
	}
	return r.set(r.open, size, int(r.rows))
}

// set is the images of batches as rows.
func (r *imageReader) set(batches []*imageBatch, size images.Size, rows int) (*Set, error) {
	width := size.Values()
	e := &ExampleSet{Features: width, Label: make([]float32, rows), Dense: make([]float32, rows*width)}
	row := 0
	var classes []string // of rows
	for _, b := range batches {
		if err := r.opt.ended(r.ctx); err != nil {
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
		set.Detected.Features = width // nobody has looked for classes
	} else {
		e.label(classes, r.opt.As)
		describe(&set.Detected, e)
	}
	set.Reading = &Reading{Format: Images, TextLabels: e.LabelNames != nil, Image: &size}
	return set, nil
}

// label makes the names of classes labels: numbers where all are whole ones, and the model's are, if there is one; else text.
func (e *ExampleSet) label(classes []string, as *Reading) {
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

// classNumber is the whole number that a name is, written as numbers are.
func classNumber(name string) (y float32, ok bool) {
	n, err := strconv.Atoi(name)
	return float32(n), err == nil && strconv.Itoa(n) == name && n > -1<<24 && n < 1<<24
}
