package model

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// needsQuotes reports whether a name would break the format of one name per line.
func needsQuotes(names []string) bool {
	return slices.ContainsFunc(names, func(s string) bool { return strings.ContainsAny(s, "\n\r") })
}

// writeNames writes one name per line, as a Go string literal if quoted.
func writeNames(w io.Writer, names []string, quoted bool) error {
	b := bufio.NewWriterSize(w, chunkBytes)
	for _, name := range names {
		if quoted {
			name = strconv.Quote(name)
		}
		b.WriteString(name)
		b.WriteByte('\n')
	}
	return b.Flush()
}

// parseNames reads the output of writeNames. count is the expected number of names.
func parseNames(text string, count int, quoted bool) ([]string, error) {
	if n := strings.Count(text, "\n"); n != count || len(text) > 0 && text[len(text)-1] != '\n' {
		return nil, fmt.Errorf("it has %d lines for %d ids", n, count)
	}
	names := make([]string, 0, count)
	for line := range strings.Lines(text) {
		name := line[:len(line)-1]
		if quoted {
			plain, err := strconv.Unquote(name)
			if err != nil {
				return nil, fmt.Errorf("line %d is not a quoted name", len(names)+1)
			}
			name = plain
		}
		names = append(names, name)
	}
	return names, nil
}
