package app

import (
	"bufio"
	"bytes"
	"io"

	"bellows"
	"bellows/data"
)

// Stranger is a Predictor that counts what in data its model does not know.
type Stranger interface {
	// Unknown has counts by what they are of, in the plural: {"users": 3, "items": 0}. labelled says whether the rows have what is predicted.
	Unknown(set *data.Set, labelled bool) map[string]int64
}

// Acquainted is a Stranger that has names for some of what it counts, each of which counts once however often the data have it: users, items. Where
// data come in parts, those counts of the parts say nothing of the whole.
type Acquainted interface {
	Stranger
	// EachUnknown calls f with what is unknown, as Unknown calls it, and its name. A name may come again.
	EachUnknown(set *data.Set, f func(what, name string))
}

// WriteLines writes predictions, a line for each row in order; line appends that of a row. Errors are of kind bellows.IO.
func WriteLines(out io.Writer, rows int, line func(text []byte, row int) []byte) (err error) {
	var text []byte
	if memory, ok := out.(*bytes.Buffer); ok { // a question of a few rows costs less than a buffer before it
		for row := range rows {
			text = append(line(text[:0], row), '\n')
			memory.Write(text)
		}
		return nil
	}
	w := bufio.NewWriterSize(out, 1<<16)
	for row := 0; row < rows && err == nil; row++ {
		text = append(line(text[:0], row), '\n')
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return bellows.Errorf(bellows.IO, "write predictions", "", "%w", err)
	}
	return nil
}

// Fields describes a line of predictions after its first field, which is the prediction.
type Fields struct {
	Of    string   // what they are, in JSON the name of an object: "probabilities"
	Names []string // of each; nil where each field names itself, as name:value
}

// Named is a Predictor whose lines have more than a prediction: numbers that have names.
type Named interface {
	Fields() Fields
}
