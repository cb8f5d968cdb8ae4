package predictions

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"bellows"
	"bellows/app"
)

// Objects turns lines of predictions into JSON lines: an application predicts in one form, that of people. The numbers are those of the lines, digit
// for digit, so that nothing is lost and nothing allocated.
type Objects struct {
	fields app.Fields
	open   string            // what stands before the first of the named fields
	keys   [][]byte          // of fields with names, as JSON, with a colon behind
	order  []int             // of them, by name
	words  map[string][]byte // labels as JSON
	cells  [][]byte          // of the line
	named  []cell
	out    []byte
}

// cell is a field that names itself.
type cell struct{ name, value []byte }

// NewObjects returns a formatter of lines with such fields after the prediction. It is not safe for concurrent use.
func NewObjects(fields app.Fields) Objects {
	o := Objects{fields: fields, open: `,"` + fields.Of + `":{`, words: map[string][]byte{}}
	for i, name := range fields.Names {
		o.keys, o.order = append(o.keys, append(quoted(name), ':')), append(o.order, i)
		o.words[name] = value([]byte(name))
	}
	slices.SortFunc(o.order, func(a, b int) int { return cmp.Compare(fields.Names[a], fields.Names[b]) })
	return o
}

// quoted returns text as JSON.
func quoted(text string) []byte {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // no text fails
	}
	return b
}

// value returns a field as JSON: a number where it is one, else text.
func value(field []byte) []byte {
	if isNumber(field) {
		return field
	}
	return quoted(string(field))
}

// isNumber reports whether a field is a number as JSON has them, and a finite one.
func isNumber(b []byte) bool {
	digits := func() bool {
		n := 0
		for n < len(b) && b[n]-'0' <= 9 {
			n++
		}
		b = b[n:]
		return n > 0
	}
	all := b
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	if len(b) > 1 && b[0] == '0' && b[1]-'0' <= 9 || !digits() {
		return false
	}
	if len(b) > 0 && b[0] == '.' {
		if b = b[1:]; !digits() {
			return false
		}
	}
	far := len(all) > 300
	if len(b) > 0 && b[0]|0x20 == 'e' {
		if b = b[1:]; len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		if far = far || len(b) > 2; !digits() {
			return false
		}
	}
	if len(b) > 0 || !far {
		return len(b) == 0
	}
	v, err := strconv.ParseFloat(string(all), 64)
	return err == nil && !math.IsInf(v, 0)
}

// Append returns the lines as JSON, the first of them that of the row behind so many. It is good until the next call.
func (o *Objects) Append(text []byte, before int64) ([]byte, error) {
	o.out = o.out[:0]
	for row := before + 1; len(text) > 0; row++ {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		o.out = strconv.AppendInt(append(o.out, `{"row":`...), row, 10)
		o.out = append(o.out, `,"prediction":`...)
		if err := o.line(line, row); err != nil {
			return nil, err
		}
		o.out = append(o.out, "}\n"...)
		text = rest
	}
	return o.out, nil
}

func (o *Objects) line(line []byte, row int64) error {
	o.cells = o.cells[:0]
	for {
		field, rest, more := bytes.Cut(line, []byte{'\t'})
		o.cells = append(o.cells, field)
		if !more {
			break
		}
		line = rest
	}
	if o.fields.Of == "" && len(o.cells) > 1 {
		o.out = append(o.out, '[')
		for i, field := range o.cells {
			if i > 0 {
				o.out = append(o.out, ',')
			}
			o.value(field)
		}
		o.out = append(o.out, ']')
		return nil
	}
	o.value(o.cells[0])
	if len(o.cells) == 1 {
		return nil
	}
	o.out = append(o.out, o.open...)
	if o.fields.Names == nil {
		if err := o.selfNamed(row); err != nil {
			return err
		}
	} else if err := o.inOrder(row); err != nil {
		return err
	}
	o.out = append(o.out, '}')
	return nil
}

func (o *Objects) value(field []byte) {
	if word, known := o.words[string(field)]; known {
		o.out = append(o.out, word...)
	} else {
		o.out = append(o.out, value(field)...)
	}
}

// inOrder appends the fields after the first by their names.
func (o *Objects) inOrder(row int64) error {
	if len(o.cells)-1 != len(o.keys) {
		return bellows.Errorf(bellows.Bug, "write predictions", "", "row %d has %d %s for %d names", row, len(o.cells)-1, o.fields.Of, len(o.keys))
	}
	for i, k := range o.order {
		if i > 0 {
			o.out = append(o.out, ',')
		}
		o.out = append(o.out, o.keys[k]...)
		if err := o.number(o.cells[k+1], row); err != nil {
			return err
		}
	}
	return nil
}

// selfNamed appends fields that name themselves: name:value.
func (o *Objects) selfNamed(row int64) error {
	o.named = o.named[:0]
	for _, field := range o.cells[1:] {
		at := max(bytes.LastIndexByte(field, ':'), 0)
		if at == 0 {
			return bellows.Errorf(bellows.Bug, "write predictions", "", "row %d: %q is not one of %s", row, field, o.fields.Of)
		}
		o.named = append(o.named, cell{field[:at], field[at+1:]})
	}
	slices.SortFunc(o.named, func(a, b cell) int { return bytes.Compare(a.name, b.name) })
	for i, c := range o.named {
		if i > 0 {
			o.out = append(o.out, ',')
		}
		if isNumber(c.name) { // it needs no escape
			o.out = append(append(append(o.out, '"'), c.name...), '"')
		} else {
			o.out = append(o.out, quoted(string(c.name))...)
		}
		o.out = append(o.out, ':')
		if err := o.number(c.value, row); err != nil {
			return err
		}
	}
	return nil
}

// number appends a number. A value that is no number is a bug of the application, and one that is not finite a bug of a
// model.
func (o *Objects) number(field []byte, row int64) error {
	if isNumber(field) {
		o.out = append(o.out, field...)
		return nil
	}
	if _, err := strconv.ParseFloat(string(field), 64); err == nil {
		return bellows.Errorf(bellows.BadData, "write predictions", "", "of row %d the model says %s, which JSON cannot say", row, field).Hinted("leave out --json to see it; train the model again, on data without values that are so large")
	}
	return bellows.Errorf(bellows.Bug, "write predictions", "", "row %d: %q is not one of %s", row, field, o.fields.Of)
}
