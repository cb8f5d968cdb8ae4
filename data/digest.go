package data

import (
	"fmt"
	"slices"

	"bellows/data/internal/columnfile"
)

// Digest returns a line that is the same for two readings of the same input, and almost surely differs for other
// inputs. It holds the kind, the number of rows, and a checksum of names and of at most 65,536 values of each column,
// spread evenly. It takes a millisecond or two, however large the set is. The price: two large sets that differ in few
// rows may have the same digest.
func (s *Set) Digest() string {
	if s.digest != "" {
		return s.digest
	}
	var d columnfile.Sum
	switch {
	case s.Ratings != nil:
		r := s.Ratings
		columnfile.Add(&d, r.User)
		columnfile.Add(&d, r.Item)
		columnfile.Add(&d, r.Rating)
		d.Origin(r.Origin)
		d.Names(r.Users)
		d.Names(r.Items)
	case s.Examples != nil:
		e := s.Examples
		columnfile.Add(&d, e.Label)
		columnfile.Add(&d, e.Dense)
		columnfile.Add(&d, e.Offset)
		columnfile.Add(&d, e.Index)
		columnfile.Add(&d, e.Value)
		if e.Weight != nil {
			columnfile.Add(&d, e.Weight)
		}
		if e.written.names != nil {
			d.Names(e.written.names)
			columnfile.Add(&d, e.written.row)
		}
		d.Origin(e.LabelOrigin)
		for _, o := range e.Origins {
			d.Add(uint64(o.Feature))
			d.Origin(o.Value)
		}
		d.Names(e.LabelNames)
		d.Names(e.FeatureNames)
		d.Add(uint64(e.Features))
	case s.Documents != nil:
		columnfile.Add(&d, s.Documents.Offset)
		columnfile.Add(&d, s.Documents.Word)
		columnfile.Add(&d, s.Documents.Count)
		d.Names(s.Documents.Vocab)
	}
	return fmt.Sprintf("kind %d, %d rows, %016x", s.Kind, s.Rows(), uint64(d))
}

// Freeze computes the digest and keeps it. The columns must not change after that, until Release.
func (s *Set) Freeze() { s.digest = s.Digest() }

// SameRows reports whether two sets have the same rows in the same order. Unlike the digest, the answer does not depend
// on how each set was read.
func (s *Set) SameRows(other *Set) bool {
	switch {
	case s.Rows() != other.Rows():
		return false
	case s.Ratings != nil && other.Ratings != nil:
		p, q := s.Ratings, other.Ratings
		return slices.Equal(p.Rating, q.Rating) && slices.Equal(p.User, q.User) && slices.Equal(p.Item, q.Item) && slices.Equal(p.Users, q.Users) && slices.Equal(p.Items, q.Items)
	case s.Examples != nil && other.Examples != nil:
		p, q := s.Examples, other.Examples
		return slices.Equal(p.Label, q.Label) && slices.Equal(p.Weight, q.Weight) && slices.Equal(p.Dense, q.Dense) && slices.Equal(p.Index, q.Index) && slices.Equal(p.Value, q.Value)
	case s.Documents != nil && other.Documents != nil:
		p, q := s.Documents, other.Documents
		return slices.Equal(p.Word, q.Word) && slices.Equal(p.Count, q.Count) && slices.Equal(p.Offset, q.Offset)
	}
	return false
}
