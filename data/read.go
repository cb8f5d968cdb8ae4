package data

import (
	"bufio"
	"context"
	"os"
	"strconv"
	"strings"
)

// Read reads the inputs, in order, as one set of the given kind. An input is a
// path, a glob (its files sorted by name) or "-" for standard input. Bad data
// is an *Error; a cancelled context ends the read with its error.
func Read(ctx context.Context, inputs []string, kind Kind, opt Options) (*Set, error) {
	s := &Set{Kind: kind}
	users, items := map[string]int32{}, map[string]int32{}
	if kind == Ratings {
		s.Ratings = &RatingSet{}
	} else {
		s.Examples = &ExampleSet{Offset: []int64{0}, IndexBase: 1}
	}
	for _, path := range inputs {
		f, err := os.Open(path)
		if err != nil {
			return nil, &Error{File: path, What: "cannot be opened: " + err.Error(), Err: err}
		}
		lines := bufio.NewScanner(f)
		for n := 1; lines.Scan() && err == nil && ctx.Err() == nil; n++ {
			fields := strings.Fields(lines.Text())
			if kind == Ratings {
				err = s.addRating(fields, users, items)
			} else {
				err = s.addExample(fields)
			}
			if err != nil {
				err = &Error{File: path, Line: n, What: err.Error(), Err: err}
			}
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	if s.Examples != nil {
		s.Detected = Detection{Format: "LIBSVM", IndexBase: 1, Rows: s.Rows(), Features: s.Examples.Features}
	} else {
		s.Detected = Detection{Format: "triples", Rows: s.Rows(), Users: len(users), Items: len(items)}
	}
	return s, ctx.Err()
}

func (s *Set) addRating(fields []string, users, items map[string]int32) error {
	if len(fields) < 3 {
		return strconv.ErrSyntax
	}
	y, err := strconv.ParseFloat(fields[2], 32)
	r := s.Ratings
	r.User = append(r.User, intern(fields[0], users, &r.Users))
	r.Item = append(r.Item, intern(fields[1], items, &r.Items))
	r.Rating = append(r.Rating, float32(y))
	return err
}

func intern(id string, known map[string]int32, ids *[]string) int32 {
	at, ok := known[id]
	if !ok {
		at = int32(len(*ids))
		known[id] = at
		*ids = append(*ids, id)
	}
	return at
}

func (s *Set) addExample(fields []string) error {
	if len(fields) == 0 {
		return nil
	}
	e := s.Examples
	y, err := strconv.ParseFloat(fields[0], 32)
	if err != nil {
		return err
	}
	e.Label = append(e.Label, float32(y))
	for _, field := range fields[1:] {
		index, value, _ := strings.Cut(field, ":")
		i, err := strconv.ParseUint(index, 10, 31)
		if err != nil {
			return err
		}
		v, err := strconv.ParseFloat(value, 32)
		if err != nil {
			return err
		}
		e.Index = append(e.Index, int32(i)-1)
		e.Value = append(e.Value, float32(v))
		e.Features = max(e.Features, int(i))
	}
	e.Offset = append(e.Offset, int64(len(e.Index)))
	return nil
}

func joinSplits(s *Set) *Set { return s.splits[0] }
