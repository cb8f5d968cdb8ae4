// Package model is what training leaves behind: named tensors, the ids that give their rows a
// meaning, and how they were made. A model is numbers and text; no code is ever loaded from one.
//
// Save writes a run folder (model.safetensors, manifest.json, one id file per list) whole or not at
// all; Open refuses a folder whose checksums do not agree, naming the file.
package model

import "encoding/json"

// Tensor is one named array of a model, row-major. Exactly one of Floats and Counts is set.
type Tensor struct {
	Name   string
	Shape  []int
	Floats []float32
	Counts []int32
}

// IDs is a list of names that a tensor's dimension refers to: line i of File names index i.
type IDs struct {
	File  string // "users.txt", "items.txt", "labels.txt", "vocab.txt"
	Names []string
}

// Model is one trained model in memory.
type Model struct {
	App      string
	Settings map[string]string // resolved hyperparameters
	Metrics  map[string]float64
	// Details is what only the application reads: scaling of inputs, kinds of labels. It is stored
	// in the manifest as it is.
	Details json.RawMessage
	Tensors []Tensor
	IDs     []IDs
}

// Tensor is the tensor of that name, or nil.
func (m *Model) Tensor(name string) *Tensor {
	for i := range m.Tensors {
		if m.Tensors[i].Name == name {
			return &m.Tensors[i]
		}
	}
	return nil
}

// Names is the id list stored under that file name, or nil.
func (m *Model) Names(file string) []string {
	for _, ids := range m.IDs {
		if ids.File == file {
			return ids.Names
		}
	}
	return nil
}
