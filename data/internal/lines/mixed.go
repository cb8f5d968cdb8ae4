package lines

// A Use is the role of a column in a Mixed table.
type Use struct {
	Kind   Kind
	Place  int     // where the row has the value: for UseNumber and UseText
	Levels *Levels // for UseText, and for UseLabel if labels are text
	Origin float64 // for UseNumber and UseLabel: what the value is counted from
}

// Kind is the kind of a column.
type Kind uint8

// The kinds of columns.
const (
	UseNumber Kind = iota
	UseText
	UseLabel
	UseNone // left out
)

// Mixed parses rows of a table with columns of text, with columns that are left out, or with columns in another order
// than in the rows. It is slower than CSV, which parses all other tables.
type Mixed struct {
	CSV
	Width int // number of values of a row
	Uses  []Use
	Times *Times // the column of times; nil: not wanted

	Weighs bool // the column at Weight, which is UseNone, has the weights of rows
	Weight int
}

// Parse appends the rows of a block.
func (l *Mixed) Parse(text []byte, p *Piece) *Fault {
	for i := 0; i < len(text); {
		i = skipBlanks(text, i, l.Separator)
		if next, ok := blankEnd(text, i); ok {
			i = next
			continue
		}
		next, f := l.row(text, i, p)
		if f != nil {
			return f
		}
		i = next
	}
	return nil
}

// row parses the line that starts at i and returns the position after it.
func (l *Mixed) row(text []byte, i int, p *Piece) (int, *Fault) {
	start, separator := i, l.Separator
	from, label := len(p.Value), float32(0)
	if l.Weighs {
		weight, next, f := l.readWeight(text, i)
		switch {
		case f != nil:
			return 0, f
		case next > 0:
			p.Weightless++
			return next, nil
		}
		p.weigh(weight)
	}
	for range l.Width {
		p.Value = append(p.Value, 0)
	}
	values := p.Value[from:]
	for column := 0; ; column++ {
		if text[i] == ' ' {
			i = skipBlanks(text, i, separator)
		}
		if l.Times != nil && column == l.Times.At {
			at, _, f := l.Times.cell(text, i, string(separator))
			if f != nil {
				return 0, f
			}
			p.Time = append(p.Time, at)
		}
		u := &l.Uses[column]
		value, end, f := l.cell(text, i, column, u, p)
		if f != nil {
			return 0, f
		}
		switch u.Kind {
		case UseNumber, UseText:
			values[u.Place] = value
		case UseLabel:
			if label = value; u.Levels == nil {
				l.Numerals.Note(text, i, end, p)
			}
		}
		next, ended, f := l.after(text, start, end, column)
		if f != nil {
			return 0, f
		}
		if i = next; ended {
			p.Label = append(p.Label, label)
			return i, nil
		}
	}
}

// after returns the position after the separator or newline that ends a field, and whether that ends the row, which
// began at start.
func (l *CSV) after(text []byte, start, i, column int) (next int, ended bool, f *Fault) {
	if l.Separator == ' ' {
		i = skipBlanks(text, i, l.Separator)
	}
	if crlf(text, i) {
		i++
	}
	switch last := column == l.Columns-1; {
	case text[i] == '\n' && !last:
		return 0, false, l.fewFields(text, start, i, column+1)
	case text[i] == '\n':
		return i + 1, true, nil
	case last:
		return 0, false, l.extraField(text, i)
	case l.Separator == ' ':
		return i, false, nil
	}
	return i + 1, false, nil
}

// cell parses the field at i. end is the position of the separator or newline after it.
func (l *Mixed) cell(text []byte, i, column int, u *Use, p *Piece) (value float32, end int, f *Fault) {
	if u.Origin != 0 {
		return l.shifted(text, i, column, u.Origin, p)
	}
	if u.Levels == nil && u.Kind != UseNone {
		value, end = ordinary(text, i)
		if end < 0 || text[end] != l.Separator && text[end] != '\n' && !crlf(text, end) || l.Missing.Numeric() {
			return l.slowField(text, i, column, p)
		}
		return value, end, nil
	}
	field, end, f := cutField(text, i, string(l.Separator))
	if f != nil || u.Kind == UseNone {
		return 0, end, f
	}
	at := i
	if text[i] == '"' {
		at++
	}
	if u.Kind == UseLabel && l.Missing.Text(field) {
		return 0, 0, l.missingLabel(at, field, column)
	}
	value, ok := u.Levels.Number(field)
	if !ok {
		return 0, 0, unprintable(at, len(field), "value "+Quote(field)+l.place(column), field)
	}
	return value, end, nil
}
