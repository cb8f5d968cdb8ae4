package onnxeval

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzDecode wants every graph that is accepted to be as Encode would have written it, and no input to end the process.
func FuzzDecode(f *testing.F) {
	golden, err := filepath.Glob("../../testdata/*.onnx")
	if err != nil || len(golden) == 0 {
		f.Fatalf("there are no golden files: %v", err)
	}
	for _, name := range golden {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := Decode(b)
		if err != nil {
			return
		}
		for _, n := range g.Nodes {
			if len(n.Outputs) == 0 {
				return // Encode names a node by its output
			}
		}
		again, err := Decode(g.Encode())
		if err != nil {
			t.Fatalf("what was read cannot be written and read: %v", err)
		}
		if !bytes.Equal(again.Encode(), g.Encode()) {
			t.Error("a graph is another when it is read again")
		}
		_, _ = Run(g) // it may refuse, and must come back
	})
}

// TestDecodeRefuses what is no graph of ours.
func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	good, err := os.ReadFile("../../testdata/logistic.onnx")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode(good); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"nothing": nil, "cut short": good[:len(good)/2], "text": []byte("ONNX"), "a group": {0x0b},
		"another version": append([]byte{0x08, 0x08}, good[2:]...), "more": append(bytes.Clone(good), 0xa0, 0x06, 1),
	} {
		if _, err := Decode(b); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
