package idx

import (
	"fmt"

	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// checkLabels returns an error if r cannot be the labels of images.
func (r *Rows) checkLabels(images *Rows) error {
	if len(r.Dims) != 1 {
		return &lines.Error{File: r.In.Shown(),
			What: fmt.Sprintf("the file has %d dimensions, labels have one", len(r.Dims)),
			How:  "name the file of labels, as in train-labels-idx1-ubyte"}
	}
	if r.Dims[0] != images.Dims[0] {
		return &lines.Error{File: r.In.Shown(),
			What: fmt.Sprintf("there are %d labels for %d images in %s", r.Dims[0], images.Dims[0], images.In.Shown()),
			How:  "use the images and labels of the same set"}
	}
	return nil
}

// OpenLabels opens the labels of images: the named file, else a further input or one found by the images' name. used is
// the number of further inputs it consumed. If unlabelled is set and no file is found, labels is nil.
func OpenLabels(places *source.Places, images *Rows, further []source.Input, named string, unlabelled bool,
	open func(source.Input) (*Rows, error)) (labels *Rows, used int, err error) {
	in, used, err := findLabels(places, images.In, further, named)
	if err != nil {
		if unlabelled {
			return nil, 0, nil
		}
		return nil, 0, err
	}
	if labels, err = open(in); err != nil {
		return nil, 0, err
	}
	return labels, used, labels.checkLabels(images)
}

// Check refuses images that are none, or whose width differs from earlier images or from the features of a model (0:
// any), and more rows than most.
func (r *Rows) Check(width, rows, features int, most int64) error {
	fail := func(what, how string) error { return &lines.Error{File: r.In.Shown(), What: what, How: how} }
	switch {
	case len(r.Dims) < 2:
		return fail("the file has one dimension, as labels have",
			"name the images; their labels are found by name, or named by the label option")
	case width > 0 && r.Width != width:
		return fail(fmt.Sprintf("the images have %d values, those before have %d", r.Width, width),
			"read files of one image size together")
	case features > 0 && r.Width != features:
		return fail(fmt.Sprintf("the images have %d values, the model has %d features", r.Width, features),
			"use images of the size used in training")
	case int64(rows+r.Dims[0]) > most:
		return fail(fmt.Sprintf("there are more than %d rows", most), "raise the limit on rows, or read fewer files")
	}
	return nil
}
