package columnfile

import (
	"hash/crc32"
	"os"
)

// A Mapping is a read-only file in memory: mapped if the system supports it, else read.
type Mapping struct {
	Bytes []byte
	unmap func() error
}

// Map maps a whole file. Mapped files must be replaced by renaming, never written in place.
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

// Idle lets the system reclaim the memory until the bytes are read again, from its page cache or from the file.
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

// Checksum returns the CRC-32C of a file's bytes.
func Checksum(file []byte) uint32 { return crc32.Checksum(file, castagnoli) }

// Update returns the checksum of the bytes of sum followed by more bytes. The checksum of no bytes is 0.
func Update(sum uint32, more []byte) uint32 { return crc32.Update(sum, castagnoli, more) }

// A Writer counts the bytes written through it and computes their checksum.
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
