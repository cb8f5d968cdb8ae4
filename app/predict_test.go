package app_test

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"bellows"
	"bellows/app"
)

func TestWriteLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	number := func(text []byte, row int) []byte { return strconv.AppendInt(text, int64(row), 10) }
	var other strings.Builder
	if err := app.WriteLines(&other, 3, number); err != nil || other.String() != "0\n1\n2\n" {
		t.Errorf("%q, %v, to what is not memory that grows", other.String(), err)
	}
	if err := app.WriteLines(&out, 3, number); err != nil || out.String() != "0\n1\n2\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	// A reader that has gone ends the work, not only the writing.
	from, to := io.Pipe()
	gone := errors.New("gone")
	from.CloseWithError(gone)
	last := 0
	err := app.WriteLines(to, 1<<20, func(text []byte, row int) []byte {
		last = row
		return append(text, strings.Repeat("x", 1000)...)
	})
	if !errors.Is(err, gone) || bellows.KindOf(err) != bellows.IO || last > 1000 {
		t.Errorf("after row %d: %v", last, err)
	}
}
