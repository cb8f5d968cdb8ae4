package model

import (
	"encoding/json"
	"math"

	"bellows"
)

// A Reader extracts what an application needs from a model, and keeps the first error. The files of an open folder
// agree with its manifest, but another version or another program may have written all of them.
//
// The order of calls: Model.Reader; then Floats, Counts, Bytes and ReadDetails; then Err. A call that fails returns
// nil. Later calls may still return values: use none of them before Err returns nil.
type Reader struct {
	*Model
	err error
}

// Any stands for a size of one or more that the tensor decides.
const Any = -1

// Reader returns a reader of the model as one of the named application.
func (m *Model) Reader(app string) *Reader {
	r := &Reader{Model: m}
	if m.App != app {
		_ = r.Refuse("it was made by %q and is no model of %s", m.App, app)
	}
	return r
}

// Refuse notes an error, unless there was one before, and returns Err.
func (r *Reader) Refuse(format string, args ...any) error {
	if r.err == nil {
		r.err = bellows.Errorf(bellows.BadData, "open model", r.App, format, args...).
			Hinted("its files do not belong together; take them from one run, or train again")
	}
	return r.err
}

// Err returns nil, or the first error, of kind bellows.BadData.
func (r *Reader) Err() error { return r.err }

// Floats returns the values of a float32 tensor of exactly that shape, all of them finite.
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

// Counts returns the values of an int32 tensor of exactly that shape.
func (r *Reader) Counts(name string, shape ...int) []int32 {
	return r.fitting(name, "I32", shape).Counts
}

// Bytes returns the values of a tensor of bytes, or nil if the model has none of that name.
func (r *Reader) Bytes(name string) []byte {
	if r.Tensor(name) == nil {
		return nil
	}
	return r.fitting(name, "U8", []int{Any}).Bytes
}

// fitting returns the tensor of that name, or an empty one if its type or shape differs.
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
