// Package export writes saved models in the formats of other programs: npz for NumPy, the text of LIBLINEAR and of
// LIBMF, and ONNX.
//
// The caller's duties, in order:
//
//  1. Open the model by its application, which checks its parts against each other.
//  2. Formats returns the formats that can hold the model.
//  3. New makes the parts of the file and returns what its reader must know (Notes); Write writes it, the same bytes each time.
//
// An exported model predicts what `predict` does: scaling of inputs and labels is already in the weights, and the
// centers of models of older versions are moved into the bias here. Parts that a format cannot express are refused, or
// described in a note if the numbers stay right.
//
// The package reads tensors by their names, which docs/3-formats.md fixes, as any other program would. It does not know
// how a model was trained.
package export

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"bellows"
	"bellows/model"
)

// The names of the formats.
const (
	NPZ       = "npz"
	LIBLINEAR = "liblinear"
	LIBMF     = "libmf"
	ONNX      = "onnx"
)

// All is the names of the formats, each of them also the ending of its files.
var All = []string{NPZ, LIBLINEAR, LIBMF, ONNX}

// Formats returns what a model can be written as: npz always, since all models are tensors; the others where they can
// say what the model does.
func Formats(m *model.Model) []string {
	switch m.App {
	case mfName:
		return []string{NPZ, LIBMF, ONNX}
	case linearName, mlrName:
		return []string{NPZ, LIBLINEAR, ONNX}
	}
	return []string{NPZ}
}

// ByName returns the format that a file's name ends in, or nothing.
func ByName(file string) string {
	if ending := strings.TrimPrefix(strings.ToLower(filepath.Ext(file)), "."); slices.Contains(All, ending) {
		return ending
	}
	return ""
}

// File is a model in another format, ready to be written.
type File struct {
	Format string
	// Notes are sentences of what a reader of the file must know, such as which number stands for which label.
	Notes []string
	write func(w io.Writer) error
}

// Write writes the file. Its errors are those of w.
func (f *File) Write(w io.Writer) error { return f.write(w) }

// New makes the file of a model in a format of Formats. A part of the model that the format cannot hold is an error of
// kind bellows.Refused; a model with inconsistent parts one of kind bellows.BadData.
func New(m *model.Model, format string) (*File, error) {
	if !slices.Contains(Formats(m), format) {
		return nil, refused(format, "a model of %s has no form of it", m.App).Hinted("--format takes " + listOf(Formats(m)) + " of this model")
	}
	switch format {
	case LIBLINEAR:
		return newLinearText(m)
	case LIBMF:
		return newLIBMF(m)
	case ONNX:
		return newONNX(m)
	}
	return newNPZ(m)
}

// listOf formats names: "npz", or "npz, libmf or onnx".
func listOf(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

func refused(format, why string, args ...any) *bellows.Error {
	return bellows.Errorf(bellows.Refused, "export", format, why, args...)
}
