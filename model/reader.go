package model

import (
	"encoding/json"
	"math"

	"bellows"
)

// Reader takes what an application needs out of a model, and keeps the first thing that does not fit. The files of a folder
// agree with its manifest once they are open, but another version or another program may have written them all.
//
// The order of calls: Model.Reader, then what is needed, then Err. What does not fit is nil until then.
type Reader struct {
	*Model
	err error
}

// Any stands for a size of one or more that only the tensor says.
const Any = -1

// Reader reads the model as one of the application of that name.
func (m *Model) Reader(app string) *Reader {
	r := &Reader{Model: m}
	if m.App != app {
		_ = r.Refuse("it was made by %q and is no model of %s", m.App, app)
	}
	return r
}

// Refuse notes what does not fit, unless something was found before, and returns Err.
func (r *Reader) Refuse(format string, args ...any) error {
	if r.err == nil {
		r.err = bellows.Errorf(bellows.BadData, "open model", r.App, format, args...).
			Hinted("its files do not belong together; take them from one run, or train again")
	}
	return r.err
}

// Err is nil, or the first thing that did not fit, an error of kind bellows.BadData.
func (r *Reader) Err() error { return r.err }

// Floats is the values of a tensor of float32 of exactly that shape, all of them finite.
func (r *Reader) Floats(name string, shape ...int) []float32 {
	values := r.fitting(name, "F32", shape).Floats
	for _, v := range values {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			_ = r.Refuse("tensor %s holds %v", name, v)
			return nil
		}
	}
	return values
}

// Counts is the values of a tensor of int32 of exactly that shape.
func (r *Reader) Counts(name string, shape ...int) []int32 {
	return r.fitting(name, "I32", shape).Counts
}

// Bytes is the values of a tensor of bytes, or nil where the model has none of that name.
func (r *Reader) Bytes(name string) []byte {
	if r.Tensor(name) == nil {
		return nil
	}
	return r.fitting(name, "U8", []int{Any}).Bytes
}

// fitting is the tensor of that name, or an empty one if it does not fit.
func (r *Reader) fitting(name, dtype string, shape []int) *Tensor {
	t := r.Tensor(name)
	if t == nil {
		_ = r.Refuse("tensor %s is missing", name)
		return &Tensor{}
	}
	values, fits := 1, t.DType() == dtype && len(t.Shape) == len(shape)
	for i := 0; fits && i < len(shape); i++ {
		values *= t.Shape[i]
		fits = t.Shape[i] == shape[i] || t.Shape[i] > 0 && shape[i] == Any
	}
	if !fits || len(t.Floats)+len(t.Counts)+len(t.Bytes) != values {
		_ = r.Refuse("tensor %s is %s of shape %v with %d values; the rest needs %s of shape %v, where %d is any size",
			name, t.DType(), t.Shape, len(t.Floats)+len(t.Counts)+len(t.Bytes), dtype, shape, Any)
		return &Tensor{}
	}
	return t
}

// ReadDetails decodes the model's details, which are JSON.
func (r *Reader) ReadDetails(into any) {
	if err := json.Unmarshal(r.Details, into); err != nil {
		_ = r.Refuse("its details are not those of %s: %v", r.App, err)
	}
}
