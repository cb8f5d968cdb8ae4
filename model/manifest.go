package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
)

const (
	tensorsFile      = "model.safetensors"
	manifestFile     = "manifest.json"
	manifestFormat   = "bellows model 2"
	manifestBefore   = "bellows model 1" // has no input
	manifestBytesMax = 256 << 20         // the names of as many columns as a line of a table holds
	filesMax         = 64
)

var (
	idFileName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}\.txt$`)
	hexSum     = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// A manifest is the content of manifest.json. Its last field is the SHA-256 of the file itself, with sixty-four zeros
// in place of the sum, so that a change of any byte is detected.
type manifest struct {
	Format   string             `json:"format"`
	App      string             `json:"app"`
	Settings map[string]string  `json:"settings"`
	Metrics  map[string]float64 `json:"metrics"`
	Details  json.RawMessage    `json:"details,omitempty"`
	Input    json.RawMessage    `json:"input,omitempty"`
	Versions map[string]string  `json:"versions"`
	Files    []File             `json:"files"`
	SHA256   string             `json:"sha256"`
}

var noSum = strings.Repeat("0", 2*sha256.Size)

// encode returns the text of the manifest with its own sum.
func (m manifest) encode() ([]byte, error) {
	m.Format, m.SHA256 = manifestFormat, noSum
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	sum := sha256.Sum256(text)
	hex.Encode(text[bytes.LastIndex(text, []byte(noSum)):], sum[:])
	return text, nil
}

// parseManifest reads and checks the text of a manifest.
func parseManifest(text []byte) (*manifest, error) {
	var head struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if head.Format != manifestFormat && head.Format != manifestBefore {
		return nil, fmt.Errorf("its format is %.40q, and this version reads %q and %q",
			head.Format, manifestFormat, manifestBefore)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	m := &manifest{}
	if err := dec.Decode(m); err != nil {
		return nil, fmt.Errorf("it is not a manifest: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("it has text after its last }")
	}
	if err := m.checkSum(text); err != nil {
		return nil, err
	}
	return m, m.checkFiles()
}

// checkSum compares the manifest's text with the sum in it.
func (m *manifest) checkSum(text []byte) error {
	at := bytes.LastIndex(text, []byte(m.SHA256))
	if !hexSum.MatchString(m.SHA256) || at < 0 {
		return errors.New("it has no checksum")
	}
	plain := bytes.Clone(text)
	copy(plain[at:], noSum)
	if sum := sha256.Sum256(plain); hex.EncodeToString(sum[:]) != m.SHA256 {
		return errors.New("it does not have the checksum that it states")
	}
	return nil
}

// checkFiles refuses lists that no Save writes, such as paths outside the folder.
func (m *manifest) checkFiles() error {
	if m.App == "" || len(m.Files) == 0 || len(m.Files) > filesMax || m.Files[0].Name != tensorsFile {
		return fmt.Errorf("it must name an application, and as its files %s and at most %d id files", tensorsFile,
			filesMax-1)
	}
	seen := map[string]bool{}
	for i, f := range m.Files {
		switch {
		case i > 0 && !idFileName.MatchString(f.Name), seen[f.Name]:
			return fmt.Errorf("it lists the file %.80q", f.Name)
		case f.Bytes < 0 || f.IDs < 0 || f.IDs > math.MaxInt32 || int64(f.IDs) > f.Bytes:
			return fmt.Errorf("it lists %s with %d bytes and %d ids", f.Name, f.Bytes, f.IDs)
		case !hexSum.MatchString(f.SHA256):
			return fmt.Errorf("it lists %s without a checksum", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}
