package lines

import (
	"bytes"
	"fmt"
	"io"
)

// Blocks cuts a stream into blocks of whole lines. Every block ends in a newline, which parsers rely on; Blocks adds
// one after a last line that lacks it.
type Blocks struct {
	From    io.Reader // its errors are io.EOF or *Error
	File    string    // in messages
	LineMax int       // bytes of a line
	carry   []byte    // start of the line that the next block begins with
	done    bool
}

// Next fills buf, growing it for a longer line, and returns the block in it, which is empty at the end of the stream.
// Text before a read error is lost: a damaged stream is refused as a whole.
func (l *Blocks) Next(buf []byte) ([]byte, error) {
	buf = append(buf[:0], l.carry...)
	l.carry = l.carry[:0]
	for !l.done {
		if len(buf) == cap(buf) {
			if len(buf) > l.LineMax {
				return buf, l.tooLong(buf)
			}
			grown := make([]byte, len(buf), min(2*cap(buf), l.LineMax+1))
			copy(grown, buf)
			buf = grown
		}
		from := len(buf)
		n, err := ReadFull(l.From, buf[from:cap(buf)])
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

// ReadFull reads until p is full. At the end of the stream it returns io.EOF with the number of bytes before it.
func ReadFull(r io.Reader, p []byte) (int, error) {
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

func (l *Blocks) tooLong(line []byte) error {
	return Locate(l.File, line, &Fault{
		What: fmt.Sprintf("the line is longer than %d bytes", l.LineMax),
		How:  "end each row with a newline; is this a text file?",
	})
}
