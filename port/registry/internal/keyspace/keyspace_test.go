package keyspace

import (
	"errors"
	"testing"

	"bellows/port/registry"
)

// TestHistoryIsForgottenByBytes puts large values: the space remembers as many changes as its limit of bytes allows, and whole revisions only.
func TestHistoryIsForgottenByBytes(t *testing.T) {
	t.Parallel()
	s := New(10, 100, 3*(entryBytes+101))
	for range 5 {
		s.Put("k", make([]byte, 100), 0)
	}
	if _, err := s.Since("", 11); !errors.Is(err, registry.ErrBehind) {
		t.Errorf("the second change is remembered: %v", err)
	}
	if list, err := s.Since("", 12); err != nil || len(list) != 3 || list[0].Revision != 13 {
		t.Errorf("remembered are %+v, %v", list, err)
	}
	s.Put("l", nil, 0)
	before := s.Remove("k", "l")
	s.HistoryMost = 2
	s.Put("m", nil, 0)
	if _, err := s.Since("", before-1); !errors.Is(err, registry.ErrBehind) {
		t.Errorf("half of a revision is remembered: %v", err)
	}
	if s.Bytes() != entryBytes+1 || s.SizeAfter("m", []byte("xy")) != entryBytes+3 {
		t.Errorf("it has %d bytes", s.Bytes())
	}
}
