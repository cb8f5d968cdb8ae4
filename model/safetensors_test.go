package model

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"testing"

	"bellows"
)

// stream returns a safetensors file of that header and that many bytes of data.
func stream(header string, dataBytes int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, dataBytes)...)
}

func TestReadTensorsRefuses(t *testing.T) {
	t.Parallel()
	a := `"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}`
	for _, c := range []struct {
		name, header string
		data         int
		want         string
	}{
		{"hole", `{` + a + `,"b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}}`, 16,
			`"b" starts at 12 of the data, not at 8`},
		{"overlap", `{` + a + `,"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}`, 8,
			`"b" starts at 4 of the data, not at 8`},
		{"twice", `{` + a + `,` + a + `}`, 8, `"a" is there twice`},
		{"too much data", `{` + a + `}`, 12, "take 8 bytes, and the file has 12"},
		{"too little data", `{` + a + `}`, 4, "take 8 bytes, and the file has 4"},
		{"shape and offsets", `{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, 8, "has data_offsets [0 8]"},
		{"offsets back", `{"a":{"dtype":"F32","shape":[0],"data_offsets":[8,0]}}`, 8, "has data_offsets [8 0]"},
		{"negative", `{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,-4]}}`, 0, "impossible shape [-1]"},
		{"overflow", `{"a":{"dtype":"F32","shape":[2147483647,2147483647,2147483647],"data_offsets":[0,8]}}`, 8,
			"impossible shape"},
		{"huge", `{"a":{"dtype":"F32","shape":[2147483647,1000],"data_offsets":[0,8589934588000]}}`, 8,
			"take 8589934588000 bytes"},
		{"dtype", `{"a":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}}`, 8,
			`dtype "BF16"; F32, I32, U64 and U8 are read`},
		{"keys of four bytes", `{"a":{"dtype":"U64","shape":[2],"data_offsets":[0,8]}}`, 8, "has data_offsets [0 8]"},
		{"unknown field", `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"code":"x"}}`, 8,
			`unknown field "code"`},
		{"no offsets", `{"a":{"dtype":"F32","shape":[2]}}`, 8, "lacks its dtype, shape or data_offsets"},
		{"three offsets", `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,9]}}`, 8,
			"lacks its dtype, shape or data_offsets"},
		{"no name", `{"":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8, "cannot be the name"},
		{"metadata", `{"__metadata__":{"a":1}}`, 0, "__metadata__ is not text"},
		{"array", `[1]`, 0, "does not start with {"},
		{"after", `{} {}`, 0, "has text after its last }"},
		{"cut", `{"a":`, 0, `tensor "a"`},
		{"empty", ``, 0, "does not start with {"},
		{"dimensions", `{"a":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}}`, 4,
			"9 dimensions, more than 8"},
	} {
		b := stream(c.header, c.data)
		_, err := readTensors(bytes.NewReader(b), int64(len(b)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, and should say %q", c.name, err, c.want)
		}
	}
}

func TestReadTensorsBoundsTheHeader(t *testing.T) {
	t.Parallel()
	for _, claimed := range []uint64{9, headerBytesMax + 1, 1 << 63, 1<<64 - 1} {
		b := binary.LittleEndian.AppendUint64(nil, claimed)
		_, err := readTensors(io.MultiReader(bytes.NewReader(b), strings.NewReader("{}      ")), 16)
		if err == nil || !strings.Contains(err.Error(), "in a file of 16") {
			t.Errorf("a header of %d bytes: the error is %v", claimed, err)
		}
	}
	if _, err := readTensors(strings.NewReader("1234567"), 7); err == nil {
		t.Error("seven bytes were taken for a file")
	}
}

// TestForeignWriters reads what other writers of the format produce: metadata, any order, padding.
func TestForeignWriters(t *testing.T) {
	t.Parallel()
	header := `{"__metadata__":{"format":"pt"},"b":{"data_offsets":[4,8],"shape":[1],"dtype":"I32"},` +
		`"a":{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}   `
	b := stream(header, 8)
	b[len(b)-4] = 42
	tensors, err := readTensors(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if len(tensors) != 2 || tensors[0].Name != "a" || len(tensors[0].Floats) != 1 || tensors[1].Counts[0] != 42 {
		t.Errorf("the tensors are %+v", tensors)
	}
}

// TestKeysComeBack writes a sparse table, with more keys than are read at once.
func TestKeysComeBack(t *testing.T) {
	t.Parallel()
	keys := make([]bellows.Key, chunkBytes/keyBytes+3)
	for i := range keys {
		keys[i] = bellows.Key(i) << 40
	}
	keys[len(keys)-1] = 1<<64 - 1
	var b bytes.Buffer
	if err := writeTensors(&b, []Tensor{{Name: "keys", Shape: []int{len(keys)}, Keys: keys},
		{Name: "none", Shape: []int{0}, Keys: []bellows.Key{}}}); err != nil {
		t.Fatal(err)
	}
	tensors, err := readTensors(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range tensors {
		if want := map[string][]bellows.Key{"keys": keys, "none": {}}[got.Name]; !slices.Equal(got.Keys, want) ||
			got.Keys == nil {
			t.Errorf("tensor %s has %d keys, not %d", got.Name, len(got.Keys), len(want))
		}
	}
	both := []Tensor{{Name: "a", Shape: []int{1}, Keys: keys[:1], Counts: []int32{1}}}
	if err := writeTensors(&b, both); err == nil {
		t.Error("a tensor of keys and counts was written")
	}
}

// TestDataIsAligned keeps the data mappable.
func TestDataIsAligned(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "ab", "abc", "abcd", "abcde", "abcdef", "abcdefg", "abcdefgh"} {
		var b bytes.Buffer
		if err := writeTensors(&b, []Tensor{{Name: name, Shape: []int{1}, Floats: []float32{1}}}); err != nil {
			t.Fatal(err)
		}
		if at := b.Len() - 4; at%8 != 0 {
			t.Errorf("the data of a tensor called %s starts at byte %d", name, at)
		}
	}
}

// FuzzReadTensors wants what is accepted to be written and read again as the same bytes of data.
func FuzzReadTensors(f *testing.F) {
	var b bytes.Buffer
	if err := writeTensors(&b, sample().Tensors); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(stream(`{}`, 0))
	f.Add(stream(`{"a":{"dtype":"U64","shape":[2],"data_offsets":[0,16]}}`, 16))
	f.Add(stream(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"I32","shape":[],"data_offsets":[8,12]}}`, 12))
	f.Add(stream(`{"a":{"dtype":"F32","shape":[2147483647,4],"data_offsets":[0,34359738352]}}`, 4))
	f.Fuzz(func(t *testing.T, in []byte) {
		tensors, err := readTensors(bytes.NewReader(in), int64(len(in)))
		if err != nil {
			return
		}
		var out, twice bytes.Buffer
		if err := writeTensors(&out, tensors); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := readTensors(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		if err := writeTensors(&twice, again); err != nil || !bytes.Equal(out.Bytes(), twice.Bytes()) {
			t.Fatalf("two writes differ: %v", err)
		}
	})
}
