package export

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"bellows"
	"bellows/model"
)

// paddedMost bounds an array of names, which NumPy pads to the longest: four bytes for each character.
const paddedMost = 4 << 30

// array is one member of an archive.
type array struct {
	name  string
	dtype string // as the header of npy says it
	shape []int
	write func(w *bufio.Writer) error
}

// newNPZ makes an archive as numpy.savez does: a member NAME.npy of format 1.0 for each tensor and each list of ids, and `about`, JSON text of the rest of
// the manifest. Nothing in it is pickled.
func newNPZ(m *model.Model) (*File, error) {
	var arrays []array
	for i := range m.Tensors {
		arrays = append(arrays, tensorArray(&m.Tensors[i]))
	}
	for _, ids := range m.IDs {
		a, err := namesArray(strings.TrimSuffix(ids.File, ".txt"), ids.Names, []int{len(ids.Names)})
		if err != nil {
			return nil, err
		}
		arrays = append(arrays, a)
	}
	about, err := json.Marshal(struct {
		App      string             `json:"app"`
		Settings map[string]string  `json:"settings"`
		Metrics  map[string]float64 `json:"metrics"`
		Details  json.RawMessage    `json:"details,omitempty"`
		Input    json.RawMessage    `json:"input,omitempty"`
		Versions map[string]string  `json:"versions"`
	}{m.App, m.Settings, m.Metrics, m.Details, m.Input, m.Versions})
	if err != nil {
		return nil, bellows.Errorf(bellows.Bug, "export", NPZ, "%w", err)
	}
	last, err := namesArray("about", []string{string(about)}, nil)
	if err != nil {
		return nil, err
	}
	arrays = append(arrays, last)
	seen := map[string]bool{}
	for _, a := range arrays {
		if seen[a.name] || strings.ContainsAny(a.name, "/\\\x00") {
			return nil, refused(NPZ, "the tensor %q cannot be a member of an archive, or is there twice", a.name).Hinted("read " + "model.safetensors instead")
		}
		seen[a.name] = true
	}
	notes, err := originNotes(m)
	return &File{Format: NPZ, Notes: notes, write: func(w io.Writer) error { return writeArchive(w, arrays) }}, err
}

func tensorArray(t *model.Tensor) array {
	types := map[string]string{"F32": "<f4", "I32": "<i4", "U64": "<u8", "U8": "|u1"}
	return array{t.Name, types[t.DType()], t.Shape, func(w *bufio.Writer) error {
		var err error
		switch {
		case t.Keys != nil:
			err = binary.Write(w, binary.LittleEndian, t.Keys)
		case t.Bytes != nil:
			_, err = w.Write(t.Bytes)
		case t.Counts != nil:
			err = pieces(w, t.Counts)
		default:
			err = pieces(w, t.Floats)
		}
		return err
	}}
}

// pieces writes numbers a piece at a time, so that no copy of all of them is made.
func pieces[T float32 | int32](w io.Writer, values []T) error {
	for some := range slices.Chunk(values, 1<<14) {
		if err := binary.Write(w, binary.LittleEndian, some); err != nil {
			return err
		}
	}
	return nil
}

// namesArray returns text as NumPy has it: code points of four bytes, padded with zeros.
func namesArray(name string, names []string, shape []int) (array, error) {
	width := 1 // NumPy has no text without room for a character
	for i, s := range names {
		if !utf8.ValidString(s) || strings.HasSuffix(s, "\x00") {
			return array{}, refused(NPZ, "line %d of %s, %.40q, is no text of NumPy: it is not UTF-8, or ends with a zero byte", i+1, name, s).Hinted("read model.safetensors and " + name + ".txt instead")
		}
		width = max(width, utf8.RuneCountInString(s))
	}
	if int64(width)*int64(len(names)) > paddedMost/4 {
		return array{}, refused(NPZ, "the longest of the %d names of %s has %d characters, and NumPy pads all to the longest: more than %d GiB", len(names), name, width, paddedMost>>30).
			Hinted("read model.safetensors and " + name + ".txt instead")
	}
	return array{name, fmt.Sprintf("<U%d", width), shape, func(w *bufio.Writer) error {
		line := make([]byte, 4*width)
		for _, s := range names {
			clear(line)
			at := 0
			for _, c := range s {
				binary.LittleEndian.PutUint32(line[at:], uint32(c))
				at += 4
			}
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	}}, nil
}

func writeArchive(w io.Writer, arrays []array) error {
	z := zip.NewWriter(w)
	for _, a := range arrays {
		member, err := z.CreateHeader(&zip.FileHeader{Name: a.name + ".npy", Method: zip.Store})
		if err != nil {
			return err
		}
		b := bufio.NewWriterSize(member, 1<<16)
		if _, err := b.Write(header(a)); err != nil {
			return err
		}
		if err := a.write(b); err != nil {
			return err
		}
		if err := b.Flush(); err != nil {
			return err
		}
	}
	return z.Close()
}

// header returns that of npy 1.0: a magic number, the version, and the length of a Python literal that describes the
// array, padded so that the data begin at a multiple of 64.
func header(a array) []byte {
	shape := "("
	for _, n := range a.shape {
		shape += fmt.Sprintf("%d, ", n)
	}
	if shape = strings.TrimSuffix(shape, " "); len(a.shape) > 1 {
		shape = strings.TrimSuffix(shape, ",")
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s), }", a.dtype, shape)
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n"
	head := append([]byte("\x93NUMPY\x01\x00"), 0, 0)
	binary.LittleEndian.PutUint16(head[8:], uint16(len(text)))
	return append(head, text...)
}
