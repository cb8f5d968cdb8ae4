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
	if len(a.Dims) != 1 {
		return nil, 0, &lines.Error{File: in.Shown(), What: fmt.Sprintf("the file has %d dimensions, labels have one", len(a.Dims)), How: "name the file of labels, as in train-labels-idx1-ubyte"}
	}
	if a.Dims[0] != images.Dims[0] {
		return nil, 0, &lines.Error{File: in.Shown(), What: fmt.Sprintf("there are %d labels for %d images in %s", a.Dims[0], images.Dims[0], images.In.Shown()), How: "use the images and labels of the same set"}
	}
	return a.Values, used, nil
}
