package model

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"bellows"
)

const damagedHint = "copy the folder again from where it came from, or train the model again"

// Open reads the model in dir and checks every byte of it against its manifest. A folder without a
// model is an error of kind NoInput; a damaged, truncated, swapped or foreign file is one of kind
// BadData that names the file.
func Open(dir string) (*Model, error) {
	text, marked, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	man, err := parseManifest(text)
	if err != nil {
		return nil, damaged(filepath.Join(dir, manifestFile), err)
	}
	m := &Model{
		App: man.App, Settings: man.Settings, Metrics: man.Metrics, Details: man.Details,
		Input: man.Input, Versions: man.Versions, Files: man.Files,
	}
	for _, f := range man.Files {
		if err := m.load(dir, f, marked); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// readManifest returns the manifest in force, and whether it is the marked one, see nextSuffix.
func readManifest(dir string) (text []byte, marked bool, err error) {
	for _, suffix := range []string{nextSuffix, ""} {
		name := filepath.Join(dir, manifestFile+suffix)
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if err != nil {
			return nil, false, missing(name, err)
		}
		if !info.Mode().IsRegular() || info.Size() > manifestBytesMax {
			return nil, false, damaged(name, fmt.Errorf("it is not a file of at most %d bytes", manifestBytesMax))
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, false, missing(name, err)
		}
		return text, suffix != "", nil
	}
	return nil, false, &bellows.Error{Kind: bellows.NoInput, Op: "open model", Subject: dir,
		Err:  fmt.Errorf("there is no %s in it", manifestFile),
		Hint: "name the run folder that train printed, such as runs/mf-1"}
}

// load checks one file against its entry in the manifest and adds its content to the model.
func (m *Model) load(dir string, want File, marked bool) error {
	name := filepath.Join(dir, want.Name)
	f, size, err := openFile(name, marked)
	if err != nil {
		return missing(name, err)
	}
	defer f.Close()
	switch {
	case size < want.Bytes:
		return damaged(name, fmt.Errorf("it is truncated: %d bytes of the %d that %s lists", size, want.Bytes,
			manifestFile))
	case size > want.Bytes:
		return damaged(name, fmt.Errorf("it has %d bytes where %s lists %d: it is not the file that was saved", size,
			manifestFile, want.Bytes))
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return missing(name, err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want.SHA256 {
		return damaged(name, fmt.Errorf("its checksum %.12s… is not the %.12s… that %s lists: it was changed, or "+
			"belongs to another model", got, want.SHA256, manifestFile))
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return missing(name, err)
	}
	if err := m.decode(f, want); err != nil {
		return damaged(name, err)
	}
	return nil
}

// openFile opens a file, under its marked name if a save was not tidied up. It checks the type before it opens, because
// opening a pipe of that name would block.
func openFile(name string, marked bool) (f *os.File, size int64, err error) {
	if marked {
		if _, err := os.Lstat(name + nextSuffix); err == nil {
			name += nextSuffix
		}
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errors.New("it is not a regular file")
	}
	f, err = os.Open(name)
	return f, info.Size(), err
}

func (m *Model) decode(f *os.File, want File) error {
	if want.Name == tensorsFile {
		tensors, err := readTensors(bufio.NewReaderSize(f, chunkBytes), want.Bytes)
		m.Tensors = tensors
		return err
	}
	text := make([]byte, want.Bytes)
	if _, err := io.ReadFull(f, text); err != nil {
		return err
	}
	names, err := parseNames(string(text), want.IDs, want.Quoted)
	m.IDs = append(m.IDs, IDs{File: want.Name, Names: names})
	return err
}

func damaged(name string, err error) error {
	return &bellows.Error{Kind: bellows.BadData, Op: "open model", Subject: name, Err: err, Hint: damagedHint}
}

func missing(name string, err error) error {
	kind := bellows.IO
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		kind = bellows.NoInput
	}
	hint := damagedHint
	if errors.Is(err, fs.ErrPermission) {
		hint = "change its permissions, or ask its owner"
	}
	return &bellows.Error{Kind: kind, Op: "open model", Subject: name, Err: bellows.Pathless(err), Hint: hint}
}
