package onnxeval

import (
	"fmt"
	"math"

	"bellows/app/export/internal/onnx"
)

// Run computes a graph's outputs, by name. Sums are float64, rounded to float32 after each operator.
func Run(g *onnx.Graph, inputs ...onnx.Tensor) (out map[string]onnx.Tensor, err error) {
	defer func() { // an index beyond a shape, in a graph that makes no sense
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("the graph cannot be computed: %v", r)
		}
	}()
	known := map[string]onnx.Tensor{}
	for _, t := range append(g.Constants[:len(g.Constants):len(g.Constants)], inputs...) {
		known[t.Name] = t
	}
	for _, n := range g.Nodes {
		var args []onnx.Tensor
		for _, name := range n.Inputs {
			t, there := known[name]
			if !there {
				return nil, fmt.Errorf("%s takes %q, which nothing has made", n.Op, name)
			}
			args = append(args, t)
		}
		t, err := compute(n, args)
		if err != nil {
			return nil, err
		}
		t.Name = n.Outputs[0]
		known[t.Name] = t
	}
	out = map[string]onnx.Tensor{}
	for _, v := range g.Outputs {
		t, there := known[v.Name]
		if !there || t.Type() != v.Type || len(t.Shape) != 1+len(v.Rest) {
			return nil, fmt.Errorf("the output %q is of type %d and shape %v, and should be of type %d and %v", v.Name, t.Type(), t.Shape, v.Type, v.Rest)
		}
		for i, d := range v.Rest {
			if t.Shape[1+i] != d {
				return nil, fmt.Errorf("the output %q has the shape %v", v.Name, t.Shape)
			}
		}
		out[v.Name] = t
	}
	return out, nil
}

func compute(n onnx.Node, args []onnx.Tensor) (onnx.Tensor, error) {
	switch n.Op {
	case "Gemm":
		return gemm(args[0], args[1], args[2], n.Ints["transB"] == 1)
	case "Mul":
		return both(args[0], args[1], func(a, b float64) float64 { return a * b })
	case "Sub":
		return doubles(args[0], args[1], func(a, b float64) float64 { return a - b })
	case "Cast":
		return cast(args[0], onnx.Type(n.Ints["to"]))
	case "Add":
		if args[0].Doubles != nil {
			return doubles(args[0], args[1], func(a, b float64) float64 { return a + b })
		}
		return both(args[0], args[1], func(a, b float64) float64 { return a + b })
	case "Max":
		out := onnx.Tensor{Shape: args[0].Shape}
		for _, v := range args[0].Ints {
			out.Ints = append(out.Ints, max(v, args[1].Ints[0]))
		}
		return out, nil
	case "Sigmoid":
		out := onnx.Tensor{Shape: args[0].Shape}
		for _, v := range args[0].Floats {
			out.Floats = append(out.Floats, float32(1/(1+math.Exp(-float64(v)))))
		}
		return out, nil
	case "Softmax":
		return softmax(args[0]), nil
	case "ArgMax":
		return argMax(args[0]), nil
	case "ReduceSum":
		out := onnx.Tensor{Shape: args[0].Shape[:1]}
		for row := range rows(args[0]) {
			sum := 0.0
			for _, v := range row {
				sum += float64(v)
			}
			out.Floats = append(out.Floats, float32(sum))
		}
		return out, nil
	case "Gather":
		return gather(args[0], args[1])
	}
	return onnx.Tensor{}, fmt.Errorf("there is no operator %s", n.Op)
}

// rows yields the rows of a matrix.
func rows(t onnx.Tensor) func(yield func([]float32) bool) {
	return func(yield func([]float32) bool) {
		for r := range t.Shape[0] {
			if !yield(t.Floats[r*t.Shape[1] : (r+1)*t.Shape[1]]) {
				return
			}
		}
	}
}

func gemm(a, b, c onnx.Tensor, transposed bool) (onnx.Tensor, error) {
	if !transposed || a.Shape[1] != b.Shape[1] || len(c.Floats) != b.Shape[0] {
		return onnx.Tensor{}, fmt.Errorf("gemm of %v, %v and %v", a.Shape, b.Shape, c.Shape)
	}
	out := onnx.Tensor{Shape: []int{a.Shape[0], b.Shape[0]}}
	for x := range rows(a) {
		at := 0
		for w := range rows(b) {
			sum := float64(c.Floats[at])
			for j, v := range w {
				sum += float64(v) * float64(x[j])
			}
			out.Floats = append(out.Floats, float32(sum))
			at++
		}
	}
	return out, nil
}

// both computes a function of two tensors of one shape, of a tensor and one number, or of a column and a row.
func both(a, b onnx.Tensor, f func(a, b float64) float64) (onnx.Tensor, error) {
	out := onnx.Tensor{Shape: a.Shape}
	switch {
	case len(a.Floats) == len(b.Floats) && len(a.Shape) == len(b.Shape):
		for i, v := range a.Floats {
			out.Floats = append(out.Floats, float32(f(float64(v), float64(b.Floats[i]))))
		}
	case len(b.Floats) == 1:
		for _, v := range a.Floats {
			out.Floats = append(out.Floats, float32(f(float64(v), float64(b.Floats[0]))))
		}
	case len(a.Shape) == 2 && a.Shape[1] == 1 && b.Shape[0] == 1:
		out.Shape = []int{a.Shape[0], b.Shape[1]}
		for _, v := range a.Floats {
			for _, w := range b.Floats {
				out.Floats = append(out.Floats, float32(f(float64(v), float64(w))))
			}
		}
	default:
		return out, fmt.Errorf("shapes %v and %v do not go together", a.Shape, b.Shape)
	}
	return out, nil
}

// doubles computes a function of each row of a tensor of float64 and another that is as long as a row, or is one number.
func doubles(a, b onnx.Tensor, f func(a, b float64) float64) (onnx.Tensor, error) {
	if n := len(b.Doubles); n == 0 || len(a.Doubles)%n != 0 || n > 1 && n != a.Shape[len(a.Shape)-1] {
		return onnx.Tensor{}, fmt.Errorf("shapes %v and %v do not go together", a.Shape, b.Shape)
	}
	out := onnx.Tensor{Shape: a.Shape}
	for i, v := range a.Doubles {
		out.Doubles = append(out.Doubles, f(v, b.Doubles[i%len(b.Doubles)]))
	}
	return out, nil
}

// cast rounds float64 to float32, or widens it.
func cast(t onnx.Tensor, to onnx.Type) (onnx.Tensor, error) {
	out := onnx.Tensor{Shape: t.Shape}
	switch {
	case to == onnx.Float && t.Doubles != nil:
		for _, v := range t.Doubles {
			out.Floats = append(out.Floats, float32(v))
		}
	case to == onnx.Double && t.Floats != nil:
		for _, v := range t.Floats {
			out.Doubles = append(out.Doubles, float64(v))
		}
	default:
		return out, fmt.Errorf("no cast of type %d to %d", t.Type(), to)
	}
	return out, nil
}

func softmax(t onnx.Tensor) onnx.Tensor {
	out := onnx.Tensor{Shape: t.Shape}
	for row := range rows(t) {
		top, sum := math.Inf(-1), 0.0
		for _, v := range row {
			top = max(top, float64(v))
		}
		for _, v := range row {
			sum += math.Exp(float64(v) - top)
		}
		for _, v := range row {
			out.Floats = append(out.Floats, float32(math.Exp(float64(v)-top)/sum))
		}
	}
	return out
}

func argMax(t onnx.Tensor) onnx.Tensor {
	out := onnx.Tensor{Shape: t.Shape[:1]}
	for row := range rows(t) {
		best := 0
		for i, v := range row {
			if v > row[best] {
				best = i
			}
		}
		out.Ints = append(out.Ints, int64(best))
	}
	return out
}

// gather takes rows of a table, or values of a list. A number below 0 counts from behind.
func gather(t, at onnx.Tensor) (onnx.Tensor, error) {
	out := onnx.Tensor{Shape: append(append([]int(nil), at.Shape...), t.Shape[1:]...)}
	for _, i := range at.Ints {
		if i < 0 {
			i += int64(t.Shape[0])
		}
		if i < 0 || i >= int64(t.Shape[0]) {
			return out, fmt.Errorf("there is no row %d of %d", i, t.Shape[0])
		}
		switch {
		case t.Strings != nil:
			out.Strings = append(out.Strings, t.Strings[i])
		case len(t.Shape) == 1:
			out.Floats = append(out.Floats, t.Floats[i])
		default:
			out.Floats = append(out.Floats, t.Floats[int(i)*t.Shape[1]:][:t.Shape[1]]...)
		}
	}
	return out, nil
}
