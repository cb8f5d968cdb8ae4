package data

import (
	"bytes"
	"fmt"
	"io"

	"bellows/data/internal/lines"
)

// blockBytes is how much text one worker parses at a time: small enough for
// its cache and for sharing out small files, large enough to make the
// hand-over negligible.
const blockBytes = 256 << 10

// lineBlocks cuts a stream into blocks of whole lines. Every block ends in a
// newline, which parsers rely on; one is added behind a last line without it.
type lineBlocks struct {
	s       *stream
	lineMax int
	carry   []byte // start of the line that the next block begins with
	done    bool
}

// next fills buf, growing it for a longer line, and returns the block in it
// (empty at the end of the stream). Text before a read error is lost: a
// stream that is damaged is refused as a whole.
func (l *lineBlocks) next(buf []byte) ([]byte, error) {
	buf = append(buf[:0], l.carry...)
	l.carry = l.carry[:0]
	for !l.done {
		if len(buf) == cap(buf) {
			if len(buf) > l.lineMax {
				return buf, l.tooLong(buf)
			}
			grown := make([]byte, len(buf), min(2*cap(buf), l.lineMax+1))
			copy(grown, buf)
			buf = grown
		}
		from := len(buf)
		n, err := readFull(l.s, buf[from:cap(buf)])
		buf = buf[:from+n]
		if err == io.EOF {
			l.done = true
			break
		}
		if err != nil {
			return buf[:0], err
		}
		if end := bytes.LastIndexByte(buf[from:], '\n'); end >= 0 {
			l.carry = append(l.carry, buf[from+end+1:]...)
			return buf[:from+end+1], nil
		}
	}
	if len(buf) > 0 && buf[len(buf)-1] != '\n' {
		buf = append(buf, '\n')
	}
	return buf, nil
}

// readFull reads until p is full; io.EOF comes with the bytes before it.
func readFull(r io.Reader, p []byte) (int, error) {
	n := 0
	for n < len(p) {
		m, err := r.Read(p[n:])
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

func (l *lineBlocks) tooLong(line []byte) error {
	return locate(l.s.in.shown(), line, &lines.Fault{
		What: fmt.Sprintf("the line is longer than %d bytes", l.lineMax),
		How:  "end each row with a newline; is this a text file?",
	})
}
