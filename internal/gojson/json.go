// Package json is encoding/json under the name of github.com/goccy/go-json, for dependencies that import it.
//
// The Arrow library imports that module to print arrays as JSON, which bellows never does, and an
// eighth of the time of a first build went into compiling it. The library's own build tag
// arrow_json_stdlib does the same, but a plain `go build` has no tags. go.mod replaces the module
// by this folder, which has what the library uses and nothing else.
package json

import (
	"encoding/json"
	"io"
)

// The types are those of encoding/json.
type (
	Decoder            = json.Decoder
	Delim              = json.Delim
	Encoder            = json.Encoder
	Marshaler          = json.Marshaler
	Number             = json.Number
	RawMessage         = json.RawMessage
	UnmarshalTypeError = json.UnmarshalTypeError
	Unmarshaler        = json.Unmarshaler
)

// Marshal returns v as JSON.
func Marshal(v any) ([]byte, error) { return json.Marshal(v) }

// Unmarshal reads JSON into v, a pointer.
func Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }

// NewDecoder returns a decoder that reads from r.
func NewDecoder(r io.Reader) *Decoder { return json.NewDecoder(r) }

// NewEncoder returns an encoder that writes to w.
func NewEncoder(w io.Writer) *Encoder { return json.NewEncoder(w) }
