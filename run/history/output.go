package history

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"bellows"
)

// A Line is one line that a process of a run has written.
type Line struct {
	Time time.Time `json:"time"`
	Node string    `json:"node"`
	Text string    `json:"line"`
}

// ReadOutput returns the lines in the file run.OutputFile, and no lines without that file. It leaves out a last line that is being written.
func ReadOutput(name string) (list []Line, err error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, bellows.Errorf(bellows.NoInput, "read lines of", name, "%w", bellows.Pathless(err))
	}
	number := 0
	for row := range strings.Lines(string(text)) {
		number++
		if !strings.HasSuffix(row, "\n") {
			break
		}
		stamp, rest, _ := strings.Cut(strings.TrimSuffix(row, "\n"), " ")
		node, words, ok := strings.Cut(rest, " ")
		at, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil || !ok || !strings.HasPrefix(node, "node-") {
			return nil, &bellows.Error{Kind: bellows.BadData, Op: "read lines of", Subject: fmt.Sprintf("%s:%d", name, number),
				Err: errors.New("it does not begin with a time and a node"), Hint: "copy the file again from where it came from"}
		}
		list = append(list, Line{at, node, words})
	}
	return list, nil
}
