package model

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"unsafe"

	"bellows"
)

// The safetensors format (huggingface/safetensors, README "Format"): eight bytes with the length N of the header,
// little-endian; N bytes of JSON, an object from each tensor's name to its dtype, shape and data_offsets; then the
// data, row-major and little-endian, without holes.
//
// The limits bound what a header may ask for before any of it is trusted.
const (
	headerBytesMax = 8 << 20
	tensorsMax     = 1 << 12
	dimensionsMax  = 8
	nameBytesMax   = 1 << 10
	valueBytes     = 4 // F32 and I32 alike
	keyBytes       = 8 // U64
	byteBytes      = 1 // U8
	chunkBytes     = 1 << 18
)

// An entry describes one tensor in the header.
type entry struct {
	name    string
	DType   string   `json:"dtype"`
	Shape   []int    `json:"shape"`
	Offsets [2]int64 `json:"data_offsets"`
}

// layout returns the header's entries for the tensors, in their order, checked.
func layout(tensors []Tensor) ([]entry, error) {
	if len(tensors) > tensorsMax {
		return nil, fmt.Errorf("%d tensors, more than %d", len(tensors), tensorsMax)
	}
	entries := make([]entry, 0, len(tensors))
	seen := map[string]bool{}
	var at int64
	for i := range tensors {
		t := &tensors[i]
		e := entry{name: t.Name, DType: t.DType(), Shape: t.Shape}
		n := len(t.Floats) + len(t.Counts) + len(t.Keys) + len(t.Bytes)
		if e.Shape == nil {
			e.Shape = []int{}
		}
		values, err := e.values()
		switch {
		case err != nil:
			return nil, err
		case seen[t.Name]:
			return nil, fmt.Errorf("tensor %q is there twice", t.Name)
		case t.kinds() > 1:
			return nil, fmt.Errorf("tensor %q has two of floats, counts, keys and bytes", t.Name)
		case values != int64(n):
			return nil, fmt.Errorf("tensor %q of shape %v has %d values, not %d", t.Name, t.Shape, n, values)
		}
		seen[t.Name] = true
		e.Offsets = [2]int64{at, at + values*e.bytes()}
		at = e.Offsets[1]
		entries = append(entries, e)
	}
	return entries, nil
}

// bytes returns the size of a value.
func (e *entry) bytes() int64 {
	switch e.DType {
	case "U64":
		return keyBytes
	case "U8":
		return byteBytes
	}
	return valueBytes
}

// values checks the entry's name and shape, and returns the number of values in the shape.
func (e *entry) values() (int64, error) {
	if e.name == "" || len(e.name) > nameBytesMax || e.name == "__metadata__" {
		return 0, fmt.Errorf("%.40q cannot be the name of a tensor", e.name)
	}
	if len(e.Shape) > dimensionsMax {
		return 0, fmt.Errorf("tensor %q has %d dimensions, more than %d", e.name, len(e.Shape), dimensionsMax)
	}
	n := int64(1)
	for _, d := range e.Shape {
		if d < 0 || d > math.MaxInt32 || n > math.MaxInt64/keyBytes/max(1, int64(d)) {
			return 0, fmt.Errorf("tensor %q has the impossible shape %v", e.name, e.Shape)
		}
		n *= int64(d)
	}
	return n, nil
}

// writeTensors writes the tensors in the safetensors format. The header is padded with spaces so that the data starts
// at a multiple of eight bytes and can be mapped.
func writeTensors(w io.Writer, tensors []Tensor) error {
	entries, err := layout(tensors)
	if err != nil {
		return err
	}
	header := []byte{'{'}
	for i, e := range entries {
		name, err := json.Marshal(e.name)
		if err != nil {
			return err
		}
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if i > 0 {
			header = append(header, ',')
		}
		header = append(append(append(header, name...), ':'), line...)
	}
	header = append(header, '}')
	for len(header)%8 != 0 {
		header = append(header, ' ')
	}
	if _, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))); err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return err
	}
	for i := range tensors {
		for b := range slices.Chunk(tensors[i].bytes(), chunkBytes) { // in pieces, so that a meter shows progress
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// bytesOf returns the memory of values in the format's byte order: every machine that bellows is built for is
// little-endian.
func bytesOf[T float32 | int32 | bellows.Key](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), len(values)*int(unsafe.Sizeof(values[0])))
}

// readTensors reads a safetensors stream of size bytes. It allocates no memory for data before the offsets of all
// tensors are known to cover exactly the bytes of the file.
func readTensors(r io.Reader, size int64) ([]Tensor, error) {
	var length [8]byte
	if size < int64(len(length)) {
		return nil, fmt.Errorf("%d bytes are too few for a header", size)
	}
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, fmt.Errorf("the header's length: %w", err)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > headerBytesMax || int64(n) > size-8 {
		return nil, fmt.Errorf("a header of %d bytes in a file of %d", n, size)
	}
	header := make([]byte, n)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, fmt.Errorf("the header: %w", err)
	}
	entries, err := parseHeader(header)
	if err != nil {
		return nil, err
	}
	if err := covers(entries, size-8-int64(n)); err != nil {
		return nil, err
	}
	return readValues(r, entries)
}

// parseHeader reads the header token by token, because package json would accept a repeated name.
func parseHeader(header []byte) ([]entry, error) {
	if len(header) == 0 || header[0] != '{' {
		return nil, errors.New("the header does not start with {")
	}
	dec := json.NewDecoder(bytes.NewReader(header))
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("the header is not JSON: %w", err)
	}
	var entries []entry
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("the header is not JSON: %w", err)
		}
		name, _ := key.(string)
		if seen[name] {
			return nil, fmt.Errorf("tensor %.40q is there twice", name)
		}
		seen[name] = true
		if name == "__metadata__" {
			var ignored map[string]string
			if err := dec.Decode(&ignored); err != nil {
				return nil, fmt.Errorf("__metadata__ is not text: %w", err)
			}
			continue
		}
		e, err := parseEntry(dec, name)
		if err != nil {
			return nil, err
		}
		if entries = append(entries, e); len(entries) > tensorsMax {
			return nil, fmt.Errorf("more than %d tensors", tensorsMax)
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("the header is not JSON: %w", err)
	}
	if rest := bytes.TrimRight(header[dec.InputOffset():], " "); len(rest) > 0 {
		return nil, errors.New("the header has text after its last }")
	}
	return entries, nil
}

// parseEntry reads one tensor's description. Every field must be present.
func parseEntry(dec *json.Decoder, name string) (entry, error) {
	var fields struct {
		DType   *string  `json:"dtype"`
		Shape   *[]int   `json:"shape"`
		Offsets *[]int64 `json:"data_offsets"`
	}
	var raw json.RawMessage
	if err := dec.Decode(&raw); err != nil {
		return entry{}, fmt.Errorf("tensor %.40q: %w", name, err)
	}
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&fields); err != nil {
		return entry{}, fmt.Errorf("tensor %.40q: %w", name, err)
	}
	if fields.DType == nil || fields.Shape == nil || fields.Offsets == nil || len(*fields.Offsets) != 2 {
		return entry{}, fmt.Errorf("tensor %.40q lacks its dtype, shape or data_offsets", name)
	}
	e := entry{name: name, DType: *fields.DType, Shape: *fields.Shape, Offsets: [2]int64(*fields.Offsets)}
	values, err := e.values()
	switch {
	case err != nil:
		return e, err
	case !slices.Contains([]string{"F32", "I32", "U64", "U8"}, e.DType):
		return e, fmt.Errorf("tensor %q has dtype %.20q; F32, I32, U64 and U8 are read", name, e.DType)
	case e.Offsets[0] < 0 || e.Offsets[1] < e.Offsets[0] || e.Offsets[1]-e.Offsets[0] != values*e.bytes():
		return e, fmt.Errorf("tensor %q of shape %v has data_offsets %v", name, e.Shape, e.Offsets)
	}
	return e, nil
}

// covers sorts the entries by offset and reports the first overlap or hole in dataBytes of data.
func covers(entries []entry, dataBytes int64) error {
	slices.SortStableFunc(entries, func(a, b entry) int {
		return slices.Compare(a.Offsets[:], b.Offsets[:])
	})
	var at int64
	for _, e := range entries {
		if e.Offsets[0] != at {
			return fmt.Errorf("tensor %q starts at %d of the data, not at %d", e.name, e.Offsets[0], at)
		}
		at = e.Offsets[1]
	}
	if at != dataBytes {
		return fmt.Errorf("the tensors take %d bytes, and the file has %d for them", at, dataBytes)
	}
	return nil
}

func readValues(r io.Reader, entries []entry) ([]Tensor, error) {
	tensors := make([]Tensor, len(entries))
	for i, e := range entries {
		t, n := Tensor{Name: e.name, Shape: e.Shape}, (e.Offsets[1]-e.Offsets[0])/e.bytes()
		switch e.DType {
		case "I32":
			t.Counts = make([]int32, n)
		case "U64":
			t.Keys = make([]bellows.Key, n)
		case "U8":
			t.Bytes = make([]byte, n)
		default:
			t.Floats = make([]float32, n)
		}
		if _, err := io.ReadFull(r, t.bytes()); err != nil {
			return nil, fmt.Errorf("the data of tensor %q: %w", e.name, err)
		}
		tensors[i] = t
	}
	return tensors, nil
}

// kinds returns how many of the tensor's fields have values: one, or none for an empty tensor.
func (t *Tensor) kinds() int {
	n := 0
	for _, there := range []bool{t.Floats != nil, t.Counts != nil, t.Keys != nil, t.Bytes != nil} {
		if there {
			n++
		}
	}
	return n
}

// bytes returns the memory of the tensor's values.
func (t *Tensor) bytes() []byte {
	switch {
	case t.Keys != nil:
		return bytesOf(t.Keys)
	case t.Bytes != nil:
		return t.Bytes
	case t.Counts != nil:
		return bytesOf(t.Counts)
	}
	return bytesOf(t.Floats)
}
