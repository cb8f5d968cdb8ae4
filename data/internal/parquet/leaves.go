package parquet

import (
	"errors"
	"fmt"
	"strings"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// A Meaning is what the schema says of a column's values beyond their physical type.
type Meaning int

// The meanings.
const (
	Plain Meaning = iota
	Unsigned
	Decimals
	Day
	Instant
	Clock
	Half
	Opaque // bytes that are neither numbers nor text
)

// digitsMost bounds the digits of decimals.
const digitsMost = 1000

// widthMost bounds the bytes of values of a fixed length.
const widthMost = 1 << 16

// deepMost bounds how deep nodes and structs lie in each other.
const deepMost = 64

// A Leaf is a column of a file, as its schema has it.
type Leaf struct {
	Name    string // of the nodes from the root, joined by dots
	Odd     string // why it cannot be read, such as "holds lists"; "" where it can
	Kind    format.Type
	Means   Meaning
	Unit    int64 // instants in a second
	Scale   int   // of decimals, else 0
	width   int   // bytes of a value; 0 if they differ
	present byte  // the definition level of a value that is there; 0 if none can be missing
}

// leavesOf returns the columns of a schema, which lists the nodes of a tree, each before its children.
func leavesOf(schema []format.SchemaElement) (leaves []Leaf, err error) {
	if len(schema) == 0 {
		return nil, errors.New("its schema is empty")
	}
	w := schemaWalk{left: schema[1:]}
	for range schema[0].NumChildren.V {
		if err := w.node("", 0, false, 0); err != nil {
			return nil, err
		}
	}
	if len(w.left) > 0 {
		return nil, errors.New("its schema has nodes that belong to none")
	}
	return w.leaves, nil
}

type schemaWalk struct {
	left   []format.SchemaElement
	leaves []Leaf
}

// node takes a node and what is below it.
func (w *schemaWalk) node(above string, levels int, repeated bool, deep int) error {
	if len(w.left) == 0 || deep > deepMost {
		return errors.New("its schema is damaged: a node has more children than there are, or is nested too deeply")
	}
	e := &w.left[0]
	w.left = w.left[1:]
	name := above + strings.ToValidUTF8(e.Name, "\ufffd")
	switch e.RepetitionType.V {
	case format.Optional:
		levels++
	case format.Repeated:
		levels++
		repeated = true
	}
	if e.Type.Valid {
		l := Leaf{Name: name, Kind: e.Type.V, present: byte(levels)}
		if err := l.describe(e); err != nil {
			return fmt.Errorf("its schema is damaged: column %s %w", name, err)
		}
		if repeated {
			l.Odd = "holds lists"
		}
		w.leaves = append(w.leaves, l)
		return nil
	}
	for range e.NumChildren.V {
		if err := w.node(name+".", levels, repeated, deep+1); err != nil {
			return err
		}
	}
	return nil
}

// describe takes the type of values, and why the column cannot be read.
func (l *Leaf) describe(e *format.SchemaElement) error {
	widths := [...]int{format.Boolean: 1, format.Int32: 4, format.Int64: 8, format.Int96: 12, format.Float: 4, format.Double: 8, format.ByteArray: 0, format.FixedLenByteArray: int(e.TypeLength.V)}
	if l.Kind < 0 || int(l.Kind) >= len(widths) {
		return fmt.Errorf("has the type %d, which is not known", l.Kind)
	}
	l.width = widths[l.Kind]
	if fixed := l.Kind == format.FixedLenByteArray; fixed && (l.width <= 0 || l.width > widthMost) {
		return fmt.Errorf("has values of %d bytes", l.width)
	}
	if err := l.annotate(e); err != nil {
		return err
	}
	fits := true
	switch l.Means {
	case Unsigned:
		fits = l.Kind == format.Int32 || l.Kind == format.Int64
	case Decimals:
		fits = l.Kind != format.Boolean && l.Kind != format.Int96 && l.Kind != format.Float && l.Kind != format.Double
	case Day:
		fits = l.Kind == format.Int32
	case Instant:
		fits = l.Kind == format.Int64
	case Half:
		fits = l.Kind == format.FixedLenByteArray && l.width == 2
	case Clock:
		l.Odd = "holds times of day"
	case Plain:
		if l.Kind == format.FixedLenByteArray {
			l.Means = Opaque
		}
	}
	if l.Means == Opaque {
		l.Odd = "holds bytes that are neither numbers nor text"
	}
	if !fits {
		return fmt.Errorf("has the type %s with an annotation of another", l.Kind)
	}
	return nil
}

// annotate takes what the schema says of values: the logical type, or the older converted type of files without one.
func (l *Leaf) annotate(e *format.SchemaElement) error {
	switch t := e.LogicalType.Value.(type) {
	case *format.IntType:
		if !t.IsSigned {
			l.Means = Unsigned
		}
		return nil
	case *format.DecimalType:
		return l.decimal(t.Scale, t.Precision)
	case *format.DateType:
		l.Means = Day
		return nil
	case *format.TimeType:
		l.Means = Clock
		return nil
	case *format.UUIDType:
		l.Means = Opaque
		return nil
	case *format.Float16Type:
		l.Means = Half
		return nil
	case *format.TimestampType:
		if t.Unit.Value == nil {
			return errors.New("has instants without a unit")
		}
		l.Means, l.Unit = Instant, int64(1e9/t.Unit.Value.Duration())
		return nil
	case nil:
	default:
		return nil
	}
	if !e.ConvertedType.Valid {
		return nil
	}
	switch e.ConvertedType.V {
	case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
		l.Means = Unsigned
	case deprecated.Decimal:
		return l.decimal(e.Scale.V, e.Precision.V)
	case deprecated.Date:
		l.Means = Day
	case deprecated.TimeMillis, deprecated.TimeMicros:
		l.Means = Clock
	case deprecated.TimestampMillis:
		l.Means, l.Unit = Instant, 1e3
	case deprecated.TimestampMicros:
		l.Means, l.Unit = Instant, 1e6
	case deprecated.Interval:
		l.Means = Opaque
	}
	return nil
}

func (l *Leaf) decimal(scale, precision int32) error {
	if scale < 0 || scale > precision || precision > digitsMost {
		return fmt.Errorf("has decimals of %d digits, %d of them after the point", precision, scale)
	}
	l.Means, l.Scale = Decimals, int(scale)
	return nil
}
