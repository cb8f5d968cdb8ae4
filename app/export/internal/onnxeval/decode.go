// Package onnxeval reads ONNX graphs and computes them by one plain loop for each operator, so that tests can check
// exported models. The runtime that people use is held against them by `./dev onnx`.
//
// The order of calls: Decode, then Run with a tensor for each input.
//
// It knows the operators that package onnx writes and refuses all others.
package onnxeval

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"bellows/app/export/internal/onnx"

	"google.golang.org/protobuf/encoding/protowire"
)

// fields calls f with each field of a message: a varint as number, or bytes. Other wire types are refused.
func fields(b []byte, f func(field protowire.Number, number uint64, part []byte) error) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errors.New("a tag is malformed")
		}
		b = b[n:]
		var number uint64
		var part []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			part, n = protowire.ConsumeBytes(b)
		default:
			return fmt.Errorf("field %d has wire type %d", field, kind)
		}
		if n < 0 {
			return fmt.Errorf("field %d is cut short", field)
		}
		b = b[n:]
		if err := f(field, number, part); err != nil {
			return err
		}
	}
	return nil
}

// Decode reverses Graph.Encode. Unknown content is an error, so that nothing in a file is overlooked.
func Decode(b []byte) (*onnx.Graph, error) {
	g := &onnx.Graph{}
	version, opset := uint64(0), uint64(0)
	err := fields(b, func(field protowire.Number, number uint64, part []byte) error {
		switch field {
		case 1:
			version = number
		case 2:
			g.Producer = string(part)
		case 3:
			g.Version = string(part)
		case 7:
			return graph(g, part)
		case 8:
			return fields(part, func(field protowire.Number, number uint64, _ []byte) error {
				if field != 2 {
					return errors.New("it imports another domain than the core")
				}
				opset = number
				return nil
			})
		case 14:
			var about [2]string
			g.About = append(g.About, about)
			return fields(part, func(field protowire.Number, _ uint64, part []byte) error {
				if field != 1 && field != 2 {
					return unknown("metadata", field)
				}
				g.About[len(g.About)-1][field-1] = string(part)
				return nil
			})
		default:
			return unknown("the model", field)
		}
		return nil
	})
	if err == nil && (version != onnx.IRVersion || opset != onnx.Opset) {
		err = fmt.Errorf("versions %d and %d are not %d and %d", version, opset, onnx.IRVersion, onnx.Opset)
	}
	return g, err
}

func unknown(of string, field protowire.Number) error {
	return fmt.Errorf("field %d of %s is not known", field, of)
}

func graph(g *onnx.Graph, b []byte) error {
	return fields(b, func(field protowire.Number, _ uint64, part []byte) (err error) {
		switch field {
		case 1:
			n := onnx.Node{}
			err = node(&n, part)
			g.Nodes = append(g.Nodes, n)
		case 2:
			g.Name = string(part)
		case 5:
			t := onnx.Tensor{}
			err = tensor(&t, part)
			g.Constants = append(g.Constants, t)
		case 10:
			g.Doc = string(part)
		case 11, 12:
			v := onnx.Value{}
			err = value(&v, part)
			if field == 11 {
				g.Inputs = append(g.Inputs, v)
			} else {
				g.Outputs = append(g.Outputs, v)
			}
		default:
			return unknown("a graph", field)
		}
		return err
	})
}

func node(n *onnx.Node, b []byte) error {
	return fields(b, func(field protowire.Number, _ uint64, part []byte) error {
		switch field {
		case 1:
			n.Inputs = append(n.Inputs, string(part))
		case 2:
			n.Outputs = append(n.Outputs, string(part))
		case 3: // its name, which says nothing
		case 4:
			n.Op = string(part)
		case 5:
			name, v := "", int64(0)
			err := fields(part, func(field protowire.Number, number uint64, part []byte) error {
				switch {
				case field == 1:
					name = string(part)
				case field == 3:
					v = int64(number)
				case field != 20 || number != 2:
					return unknown("an attribute", field)
				}
				return nil
			})
			if n.Ints == nil {
				n.Ints = map[string]int64{}
			}
			n.Ints[name] = v
			return err
		default:
			return unknown("a node", field)
		}
		return nil
	})
}

func tensor(t *onnx.Tensor, b []byte) error {
	kind, raw, count := onnx.Float, []byte(nil), uint64(1)
	err := fields(b, func(field protowire.Number, number uint64, part []byte) error {
		switch field {
		case 1:
			if number > math.MaxInt32 || number > 0 && count > math.MaxInt32/number {
				return fmt.Errorf("a dimension of %d", number)
			}
			count *= number
			t.Shape = append(t.Shape, int(number))
		case 2:
			kind = onnx.Type(number)
		case 6:
			t.Strings = append(t.Strings, string(part))
		case 8:
			t.Name = string(part)
		case 9:
			raw = part
		default:
			return unknown("a tensor", field)
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch kind {
	case onnx.Float:
		for ; len(raw) >= 4; raw = raw[4:] {
			t.Floats = append(t.Floats, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
		}
	case onnx.Double:
		for ; len(raw) >= 8; raw = raw[8:] {
			t.Doubles = append(t.Doubles, math.Float64frombits(binary.LittleEndian.Uint64(raw)))
		}
	case onnx.Int64:
		for ; len(raw) >= 8; raw = raw[8:] {
			t.Ints = append(t.Ints, int64(binary.LittleEndian.Uint64(raw)))
		}
	}
	if n := len(t.Floats) + len(t.Doubles) + len(t.Ints) + len(t.Strings); uint64(n) != count || len(raw) > 0 || n > 0 && t.Type() != kind {
		return fmt.Errorf("tensor %q of type %d and shape %v has %d values", t.Name, kind, t.Shape, n)
	}
	return nil
}

func value(v *onnx.Value, b []byte) error {
	dims := 0
	dim := func(_ protowire.Number, number uint64, part []byte) error {
		if dims++; (dims == 1) != (string(part) == onnx.Rows) {
			return errors.New("the first dimension alone is free")
		}
		if dims > 1 {
			v.Rest = append(v.Rest, int(number))
		}
		return nil
	}
	shape := func(_ protowire.Number, _ uint64, part []byte) error { return fields(part, dim) }
	kind := func(field protowire.Number, number uint64, part []byte) error {
		if field == 1 {
			v.Type = onnx.Type(number)
			return nil
		}
		return fields(part, shape)
	}
	return fields(b, func(field protowire.Number, _ uint64, part []byte) error {
		switch field {
		case 1:
			v.Name = string(part)
		case 2:
			return fields(part, func(_ protowire.Number, _ uint64, part []byte) error { return fields(part, kind) })
		case 3:
			v.Doc = string(part)
		default:
			return unknown("a value", field)
		}
		return nil
	})
}
