package mem_test

import (
	"errors"
	"testing"

	"bellows"
	"bellows/internal/require"
	"bellows/port/blob"
	"bellows/port/blob/blobtest"
	"bellows/port/blob/mem"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(*testing.T) blob.Store { return mem.New("test") })
}

func TestOpenByURI(t *testing.T) {
	t.Parallel()
	s, err := blob.Schemes{"mem": mem.Open}.Open(t.Context(), "mem://a/b")
	if err != nil || s.URI("c") != "mem://a/b/c" {
		t.Error(s, err)
	}
}

func TestAFullStoreTakesNoMore(t *testing.T) {
	t.Parallel()
	s := mem.New("test")
	s.Most = 10
	put := func(name string, n int) error {
		w, err := s.Create(t.Context(), name)
		if err == nil {
			_, err = w.Write(make([]byte, n))
		}
		return errors.Join(err, w.Publish())
	}
	require.NoError(t, errors.Join(put("a", 6), put("b", 4), put("a", 6)))
	if err := put("b", 5); !errors.Is(err, blob.ErrFull) || bellows.KindOf(err) != bellows.CannotWrite {
		t.Errorf("a full store says %v", err)
	}
	if info, err := s.Stat(t.Context(), "b"); err != nil || info.Bytes != 4 {
		t.Errorf("b is %+v: %v", info, err)
	}
}

func TestStepsFail(t *testing.T) {
	t.Parallel()
	want, fails := errors.New("it fails"), ""
	s := mem.New("test")
	s.Fail = func(op, name string) error {
		if op == fails {
			return want
		}
		return nil
	}
	use := func() error {
		w, err := s.Create(t.Context(), "a")
		if err != nil {
			return err
		}
		_, wrote := w.Write([]byte("a"))
		if err := errors.Join(wrote, w.Publish()); err != nil {
			return err
		}
		r, err := s.Open(t.Context(), "a")
		if err != nil {
			return err
		}
		_, read := r.ReadAt(make([]byte, 1), 0)
		_, seen := s.Stat(t.Context(), "a")
		for _, err := range s.List(t.Context(), "") {
			read = errors.Join(read, err)
		}
		return errors.Join(read, seen, s.Delete(t.Context(), "a"))
	}
	for _, op := range []string{"create", "write", "publish", "open", "read", "stat", "list", "delete"} {
		if fails = op; !errors.Is(use(), want) {
			t.Errorf("%s does not fail", op)
		}
	}
	if fails = ""; use() != nil {
		t.Error("it fails without a reason")
	}
}
