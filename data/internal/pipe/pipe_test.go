package pipe

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// TestAPipeGivesWhatItIsGiven reads through a pipe in gulps of all sizes, up to an error that is no end.
func TestAPipeGivesWhatItIsGiven(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", 100_000)
	broken := errors.New("broken")
	p := New(t.Context(), func() (io.ReadCloser, error) {
		return io.NopCloser(io.MultiReader(strings.NewReader(text), &failingReader{broken})), nil
	})
	got, err := io.ReadAll(p)
	if string(got) != text || !errors.Is(err, broken) {
		t.Errorf("%d bytes of %d, %v", len(got), len(text), err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	p = New(t.Context(), func() (io.ReadCloser, error) { return nil, broken })
	if _, err := p.Read(make([]byte, 1)); !errors.Is(err, broken) {
		t.Errorf("it opens with %v", err)
	}
}

type failingReader struct{ err error }

func (f *failingReader) Read([]byte) (int, error) { return 0, f.err }
