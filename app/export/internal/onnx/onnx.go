// Package onnx encodes graphs of the Open Neural Network Exchange format, for app/export. It writes the messages of
// onnx.proto, by the tags and varints of protobuf, as far as our models need them.
//
// The caller's duties, in order: fill in a Graph of operators of version Opset and no other domain; Encode it.
//
// Versions are old on purpose: any runtime of the last years loads the file. The package does not check that a graph
// makes sense; a runtime does.
package onnx

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The versions of what is written: ONNX 1.7 and later read them.
const (
	IRVersion = 7
	Opset     = 13
)

// BytesMost is the limit of a protobuf message, 2 GiB, less room for everything except the tensors.
const BytesMost = 2<<30 - 1<<20

// Type is the type of a tensor's values, by its number in the format.
type Type int64

// The types of values.
const (
	Float  Type = 1 // float32
	Int64  Type = 7
	String Type = 8
	Double Type = 11 // float64
)

// Tensor is a constant of a graph, row-major. One of Floats, Doubles, Ints and Strings is set.
type Tensor struct {
	Name    string
	Shape   []int
	Floats  []float32
	Doubles []float64
	Ints    []int64
	Strings []string
}

// Type returns that of the tensor's values.
func (t *Tensor) Type() Type {
	switch {
	case t.Ints != nil:
		return Int64
	case t.Strings != nil:
		return String
	case t.Doubles != nil:
		return Double
	}
	return Float
}

// Value is an input or an output of a graph. Its first dimension is the number of rows, which is free.
type Value struct {
	Name string
	Type Type
	Rest []int // dimensions after the first
	Doc  string
}

// Node is one call of an operator.
type Node struct {
	Op              string
	Inputs, Outputs []string
	Ints            map[string]int64 // attributes, all whole numbers
}

// Graph is a model.
type Graph struct {
	Name, Doc       string
	Producer        string
	Version         string // of the producer
	Nodes           []Node // each after its inputs
	Inputs, Outputs []Value
	Constants       []Tensor
	About           [][2]string // names and texts for readers of the file
}

// Rows names the free dimension.
const Rows = "rows"

func text(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func number(b []byte, field protowire.Number, n int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(n))
}

func message(b []byte, field protowire.Number, part []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), part)
}

// Encode returns the graph as a ModelProto, the same bytes each time.
func (g *Graph) Encode() []byte {
	b := number(nil, 1, IRVersion)
	b = text(text(b, 2, g.Producer), 3, g.Version)
	b = message(b, 7, g.graph())
	b = message(b, 8, number(nil, 2, Opset))
	for _, about := range g.About {
		b = message(b, 14, text(text(nil, 1, about[0]), 2, about[1]))
	}
	return b
}

func (g *Graph) graph() (b []byte) {
	for i := range g.Nodes {
		b = message(b, 1, g.Nodes[i].encode())
	}
	b = text(b, 2, g.Name)
	for i := range g.Constants {
		b = message(b, 5, g.Constants[i].encode())
	}
	b = text(b, 10, g.Doc)
	for i := range g.Inputs {
		b = message(b, 11, g.Inputs[i].encode())
	}
	for i := range g.Outputs {
		b = message(b, 12, g.Outputs[i].encode())
	}
	return b
}

// attributes are those of operators that are used, in the order in which they are written.
var attributes = []string{"axis", "keepdims", "to", "transB"}

func (n *Node) encode() (b []byte) {
	for _, s := range n.Inputs {
		b = text(b, 1, s)
	}
	for _, s := range n.Outputs {
		b = text(b, 2, s)
	}
	b = text(text(b, 3, n.Outputs[0]), 4, n.Op)
	const isInt = 2
	for _, name := range attributes {
		if v, given := n.Ints[name]; given {
			b = message(b, 5, number(number(text(nil, 1, name), 3, v), 20, isInt))
		}
	}
	return b
}

func (t *Tensor) encode() (b []byte) {
	for _, d := range t.Shape {
		b = number(b, 1, int64(d))
	}
	b = number(b, 2, int64(t.Type()))
	if t.Type() == String {
		for _, s := range t.Strings {
			b = message(b, 6, []byte(s)) // an empty one counts
		}
		return text(b, 8, t.Name)
	}
	b = text(b, 8, t.Name)
	raw := make([]byte, 0, 4*len(t.Floats)+8*len(t.Ints))
	for _, v := range t.Floats {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	for _, v := range t.Doubles {
		raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
	}
	for _, v := range t.Ints {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))
	}
	return message(b, 9, raw)
}

func (v *Value) encode() []byte {
	shape := message(nil, 1, text(nil, 2, Rows))
	for _, d := range v.Rest {
		shape = message(shape, 1, number(nil, 1, int64(d)))
	}
	kind := message(number(nil, 1, int64(v.Type)), 2, shape)
	return text(message(text(nil, 1, v.Name), 2, message(nil, 1, kind)), 3, v.Doc)
}
