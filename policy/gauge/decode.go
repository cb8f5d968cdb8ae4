package gauge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
)

// An object of Figures is decoded by the names in the tags of its fields. encoding/json would forget which element of a
// list is wrong, would take a name twice, and would not miss a field.

// Bounds of what is parsed, so that a text takes no more memory or time than figures of the largest job.
const (
	depthMost  = 8 // of lists and objects in each other
	valuesMost = 1 << 20
	fieldsMost = 32 // of an object
)

// value is JSON that was parsed: nil, bool, json.Number, string, []value, or fields.
type value any

// fields are those of an object, in their order.
type fields struct {
	names  []string
	values []value
}

// fault is an error in a field.
type fault struct {
	path string // from the outermost object: "nodes[2].in"
	err  error
}

func (f *fault) Error() string {
	if f.path == "" {
		return f.err.Error()
	}
	return fmt.Sprintf("%.200s: %v", strings.TrimPrefix(f.path, "."), f.err)
}

func (f *fault) Unwrap() error { return f.err }

// within returns an error, with where the field is inside of another one before its path.
func within(field string, err error) error {
	var f *fault
	if errors.As(err, &f) {
		return &fault{field + f.path, f.err}
	}
	return &fault{field, err}
}

func element(i int) string { return fmt.Sprintf("[%d]", i) }

// parser reads values, and counts them.
type parser struct {
	*json.Decoder
	values int
}

// parse reads one value with nothing after it.
func parse(text []byte) (value, error) {
	d := &parser{Decoder: json.NewDecoder(bytes.NewReader(text))}
	d.UseNumber()
	v, err := d.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is text after the object; remove it")
	}
	return v, nil
}

// next returns the next token.
func (d *parser) next() (json.Token, error) {
	t, err := d.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("it is no JSON at byte %d: %w", d.InputOffset(), err)
	}
	return t, nil
}

// value reads a value of any kind.
func (d *parser) value(depth int) (value, error) {
	t, err := d.next()
	if err != nil {
		return nil, err
	}
	d.values++
	delim, nested := t.(json.Delim)
	switch {
	case d.values > valuesMost:
		return nil, fmt.Errorf("there are more than %d values", valuesMost)
	case nested && depth == depthMost:
		return nil, fmt.Errorf("lists and objects are more than %d deep", depthMost)
	case nested && delim == '[':
		return d.list(depth)
	case nested:
		return d.object(depth)
	}
	return t, nil
}

func (d *parser) list(depth int) (value, error) {
	list := []value{}
	for d.More() {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, within(element(len(list)), err)
		}
		list = append(list, v)
	}
	_, err := d.next()
	return list, err
}

func (d *parser) object(depth int) (value, error) {
	var o fields
	for d.More() {
		t, err := d.next()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string) // the decoder refuses another name
		switch {
		case len(o.names) == fieldsMost:
			return nil, fmt.Errorf("an object has more than %d fields", fieldsMost)
		case slices.Contains(o.names, name):
			return nil, within("."+name, errors.New("the field is there twice; remove one"))
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, within("."+name, err)
		}
		o.names, o.values = append(o.names, name), append(o.values, v)
	}
	_, err := d.next()
	return o, err
}

// kindOf names what was found where something else must be.
func kindOf(v value) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case json.Number:
		return v.String()
	case string:
		return fmt.Sprintf("%.40q", v)
	case bool:
		return fmt.Sprint(v)
	case fields:
		return "an object"
	}
	return "a list"
}

// decode sets a variable to what was parsed, or returns what is wrong with which field.
func decode(v value, to reflect.Value) error {
	wrong := func(want string) error { return fmt.Errorf("it is %s; write %s", kindOf(v), want) }
	if to.Type() == reflect.TypeFor[Interval]() {
		return decodeInterval(v, to.Addr().Interface().(*Interval))
	}
	switch to.Kind() {
	case reflect.Pointer:
		to.Set(reflect.New(to.Type().Elem()))
		return decode(v, to.Elem())
	case reflect.Struct:
		o, ok := v.(fields)
		if !ok {
			return wrong("an object")
		}
		return decodeStruct(o, to)
	case reflect.Slice:
		list, ok := v.([]value)
		if !ok {
			return wrong("a list")
		}
		to.Set(reflect.MakeSlice(to.Type(), len(list), len(list)))
		for i := range list {
			if err := decode(list[i], to.Index(i)); err != nil {
				return within(element(i), err)
			}
		}
	case reflect.String:
		s, ok := v.(string)
		if !ok {
			return wrong("a text in quotation marks")
		}
		to.SetString(s)
	case reflect.Bool:
		b, ok := v.(bool)
		if !ok {
			return wrong("true or false")
		}
		to.SetBool(b)
	case reflect.Float64:
		f, ok := number(v)
		if !ok {
			return wrong("a number")
		}
		to.SetFloat(f)
	default: // whole numbers
		f, ok := number(v)
		if !ok || f != math.Trunc(f) || f < 0 || f >= 1<<53 || to.CanUint() && to.OverflowUint(uint64(f)) {
			return wrong("a whole number from 0")
		}
		if to.CanUint() {
			to.SetUint(uint64(f))
		} else {
			to.SetInt(int64(f))
		}
	}
	return nil
}

// number returns a finite number.
func number(v value) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// decodeStruct sets the fields of a struct. A field is required unless its tag has omitempty.
func decodeStruct(o fields, to reflect.Value) error {
	var known []string
	for i := range to.NumField() {
		name, options, _ := strings.Cut(to.Type().Field(i).Tag.Get("json"), ",")
		known = append(known, name)
		at := slices.Index(o.names, name)
		if at < 0 {
			if options != "omitempty" {
				return within("."+name, errors.New("the field is missing; add it"))
			}
			continue
		}
		if err := decode(o.values[at], to.Field(i)); err != nil {
			return within("."+name, err)
		}
	}
	for _, name := range o.names {
		if !slices.Contains(known, name) {
			known := strings.Join(known, ", ")
			return within("."+name, fmt.Errorf("there is no such field; remove it, or write one of %s", known))
		}
	}
	return nil
}

// bounds is an interval as an object of JSON has it.
type bounds struct {
	Value float64  `json:"value"`
	Low   float64  `json:"low"`
	High  *float64 `json:"high,omitempty"` // nil: there is none
}

// decodeInterval takes a number, which is exact, or an object with bounds.
func decodeInterval(v value, to *Interval) error {
	if f, ok := number(v); ok {
		*to = Exactly(f)
		return nil
	}
	o, ok := v.(fields)
	if !ok {
		const example = `{"value": 2, "low": 1, "high": 3}, without high if there is no upper bound`
		return fmt.Errorf("it is %s; write a number, or %s", kindOf(v), example)
	}
	var b bounds
	if err := decodeStruct(o, reflect.ValueOf(&b).Elem()); err != nil {
		return err
	}
	*to = Interval{b.Value, b.Low, math.Inf(1)}
	if b.High != nil {
		to.High = *b.High
	}
	return nil
}

// MarshalJSON writes a number for an exact figure, and otherwise an object. An upper bound of +Inf is left out.
func (v Interval) MarshalJSON() ([]byte, error) {
	if v == Exactly(v.Value) {
		return json.Marshal(v.Value)
	}
	b := bounds{Value: v.Value, Low: v.Low}
	if !math.IsInf(v.High, 1) {
		b.High = &v.High
	}
	return json.Marshal(b)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *Interval) UnmarshalJSON(text []byte) error {
	parsed, err := parse(text)
	if err != nil {
		return err
	}
	return decodeInterval(parsed, v)
}
