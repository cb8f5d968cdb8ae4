package columnfile

import (
	"hash/crc32"
	"os"
)

// Mapping is a file in memory, read-only: mapped where the system can do it,
// read elsewhere.
type Mapping struct {
	Bytes []byte
	unmap func() error
}

// Map maps a whole file. Files that are mapped must be replaced by renaming,
// never written in place.
func Map(path string) (*Mapping, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return mapFile(f, info.Size())
}

// Idle lets the system take the memory back until the bytes are read again, which then come from its cache of the file, or the file itself.
func (m *Mapping) Idle() {
	if m.unmap != nil {
		idle(m.Bytes)
	}
}

// Close releases the memory.
func (m *Mapping) Close() error {
	m.Bytes = nil
	if m.unmap == nil {
		return nil
	}
	unmap := m.unmap
	m.unmap = nil
	return unmap()
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum is the CRC-32C of a file's bytes.
func Checksum(file []byte) uint32 { return crc32.Checksum(file, castagnoli) }

// Update is the checksum of what sum is of, followed by more bytes; 0 is the sum of none.
func Update(sum uint32, more []byte) uint32 { return crc32.Update(sum, castagnoli, more) }

// Writer counts and sums what is written through it.
type Writer struct {
	File  *os.File
	Bytes int64
	Sum   uint32
}

// Write implements io.Writer.
func (w *Writer) Write(p []byte) (int, error) {
	n, err := w.File.Write(p)
	w.Bytes += int64(n)
	w.Sum = crc32.Update(w.Sum, castagnoli, p[:n])
	return n, err
}
