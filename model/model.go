// Package model reads and writes saved models: named tensors, the ids of their rows, and how they were made. A model is
// numbers and text; no code is ever loaded from one.
//
// The caller's duties, in order:
//
//  1. Fill in a Model. Every tensor has a name, a shape, and values for exactly that shape.
//  2. Save writes it into a folder, completely or not at all: a model that was there before stays
//     until the new one is on the disk to its last byte.
//  3. Open reads it back. Damaged, truncated, swapped and foreign files are refused by name.
//
// A folder holds model.safetensors (the tensors, in the format of that name), one text file per
// list of ids, and manifest.json (everything else, with the size and SHA-256 of every file, and of
// itself). Other files in the folder are left alone.
//
// The package refuses to repair: a folder that does not agree with its manifest is not a model. It
// takes memory for a file only after its size on the disk agrees with what the file claims.
package model

import (
	"encoding/json"
	"fmt"
	"math"

	"bellows"
)

// A Tensor is one named array of a model, row-major. Exactly one of Floats, Counts, Keys and Bytes is set. A tensor
// without values may leave all nil and is stored as floats. A sparse table is two tensors: its keys, ascending, and its
// rows in their order.
type Tensor struct {
	Name   string
	Shape  []int
	Floats []float32
	Counts []int32
	Keys   []bellows.Key
	Bytes  []byte
}

// DType returns the type of the tensor's values, by its name in safetensors: F32, I32, U64 or U8.
func (t *Tensor) DType() string {
	switch {
	case t.Keys != nil:
		return "U64"
	case t.Bytes != nil:
		return "U8"
	case t.Counts != nil:
		return "I32"
	}
	return "F32"
}

// IDs is a list of names for the indices of a tensor's dimension: line i of File names index i.
type IDs struct {
	File  string // "users.txt", "items.txt", "labels.txt", "vocab.txt": lower case, digits and _
	Names []string
}

// A File is one file of a saved model, as its manifest lists it.
type File struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // 64 hexadecimal digits
	// IDs is the number of names in the file. Quoted files hold each name as a Go string literal,
	// because one of them has a line end in it. Both are zero for tensors.
	IDs    int  `json:"ids,omitempty"`
	Quoted bool `json:"quoted,omitempty"`
}

// A Model is one trained model in memory.
type Model struct {
	App      string
	Settings map[string]string // resolved hyperparameters
	Metrics  map[string]float64
	// Details is for the application alone: scaling of inputs, kinds of labels. It is stored in the manifest as it is.
	Details json.RawMessage
	// Input describes how the training data was read, as package data writes it. predict and eval read new data by it.
	// It is stored in the manifest as it is. Models made without a file, and models of versions before format 2, have
	// none.
	Input json.RawMessage
	// Versions says what made the model: "bellows", "go", "kernels". Open fills it in; Save writes the caller's values.
	Versions map[string]string
	Tensors  []Tensor
	IDs      []IDs
	// Files are the files that the model was read from. Open fills them in, Save ignores them.
	Files []File
}

// Tensor returns the tensor of that name, or nil.
func (m *Model) Tensor(name string) *Tensor {
	for i := range m.Tensors {
		if m.Tensors[i].Name == name {
			return &m.Tensors[i]
		}
	}
	return nil
}

// Names returns the id list stored under that file name, or nil.
func (m *Model) Names(file string) []string {
	for _, ids := range m.IDs {
		if ids.File == file {
			return ids.Names
		}
	}
	return nil
}

// validate returns the first reason why the model cannot be written.
func (m *Model) validate() error {
	if m.App == "" {
		return fmt.Errorf("it names no application")
	}
	if len(m.Details) > 0 && !json.Valid(m.Details) {
		return fmt.Errorf("its details are not JSON")
	}
	if len(m.Input) > 0 && !json.Valid(m.Input) {
		return fmt.Errorf("its input is not JSON")
	}
	seen := map[string]bool{tensorsFile: true, manifestFile: true}
	for _, ids := range m.IDs {
		if !idFileName.MatchString(ids.File) || seen[ids.File] {
			return fmt.Errorf("%q cannot be the name of an id file, or is there twice", ids.File)
		}
		seen[ids.File] = true
	}
	_, err := layout(m.Tensors)
	return err
}

// finite returns the metrics that are numbers, which JSON can hold.
func finite(metrics map[string]float64) map[string]float64 {
	out := make(map[string]float64, len(metrics))
	for name, v := range metrics {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out[name] = v
		}
	}
	return out
}
