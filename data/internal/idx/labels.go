package idx

import (
	"fmt"

	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// Labels reads the labels of images: those of the file that is named, or that a further input or the images' name says. used is how many of the further inputs it took. Where
// rows need none and no file of them is found, they are 0.
func Labels(at *source.Places, images *Array, further []source.Input, named string, unlabelled bool, read func(source.Input) (*Array, error)) (labels []float32, used int, err error) {
	in, used, err := FindLabels(at, images.In, further, named)
	if err != nil {
		if unlabelled {
			return make([]float32, images.Dims[0]), 0, nil
		}
		return nil, 0, err
	}
	a, err := read(in)
	if err != nil {
		return nil, 0, err
	}
	return a.Values, used, a.areLabels(images)
}

// areLabels refuses what cannot be the labels of images.
func (a *Array) areLabels(images *Array) error {
	if len(a.Dims) != 1 {
		return &lines.Error{File: a.In.Shown(), What: fmt.Sprintf("the file has %d dimensions, labels have one", len(a.Dims)), How: "name the file of labels, as in train-labels-idx1-ubyte"}
	}
	if a.Dims[0] != images.Dims[0] {
		return &lines.Error{File: a.In.Shown(), What: fmt.Sprintf("there are %d labels for %d images in %s", a.Dims[0], images.Dims[0], images.In.Shown()), How: "use the images and labels of the same set"}
	}
	return nil
}

// OpenLabels finds and opens the labels of images as Labels does; nil where rows need none and no file of them is found.
func OpenLabels(images *Rows, further []source.Input, named string, unlabelled bool, open func(source.Input) (*Rows, error)) (labels *Rows, used int, err error) {
	in, used, err := FindLabels(images.In, further, named)
	if err != nil {
		if unlabelled {
			return nil, 0, nil
		}
		return nil, 0, err
	}
	if labels, err = open(in); err != nil {
		return nil, 0, err
	}
	return labels, used, labels.areLabels(&images.Array)
}
