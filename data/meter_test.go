package data

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bellows/data/internal/source"
	"bellows/progress"
	"bellows/progress/progresstest"
)

// inputsOfAllKinds returns files that are read in different ways.
func inputsOfAllKinds(t *testing.T) map[string]struct {
	file string
	kind Kind
} {
	dir := t.TempDir()
	write := func(name string, line func(i int) string) string {
		var text strings.Builder
		for i := range 4000 {
			text.WriteString(line(i))
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(file, old, old); err != nil {
			t.Fatal(err)
		}
		return file
	}
	return map[string]struct {
		file string
		kind Kind
	}{
		"ratings": {write("r.tsv", func(i int) string { return fmt.Sprintf("u%d\ti%d\t%d\n", i%50, i%70, i%5+1) }),
			Ratings},
		"dense": {write("d.csv", func(i int) string { return fmt.Sprintf("%d,%d,%d\n", i%3, i%7, i%11) }), Examples},
		"sparse": {write("s.svm", func(i int) string { return fmt.Sprintf("%d 1:%d 5:%d\n", i%3, i%7, i%11) }),
			Examples},
		"text": {write("t.txt", func(i int) string {
			return fmt.Sprintf("word%d other%d third%d\n", i%17, i%19,
				i%23)
		}), Documents},
	}
}

// TestAReadIsTold: all bytes of a file are counted, from the first stretch on, and as many when its columns come from
// the cache.
func TestAReadIsTold(t *testing.T) {
	t.Parallel()
	for name, in := range inputsOfAllKinds(t) {
		info, err := os.Stat(in.file)
		if err != nil {
			t.Fatal(err)
		}
		m := progress.New(t.Context())
		s, err := source.Open(t.Context(), source.Input{Name: in.file, Path: in.file, Size: info.Size()},
			&source.Options{Meter: m})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, s); err != nil {
			t.Fatal(err)
		}
		if done := m.Read().Done; done != info.Size() {
			t.Errorf("%s: %d of %d bytes", name, done, info.Size())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		opt := Options{Cache: t.TempDir(), Meter: m, blockBytes: 1 << 10}
		parts := map[bool]string{}
		for _, cached := range []bool{false, true} {
			set, err := Read(t.Context(), []string{in.file}, in.kind, opt)
			if err != nil {
				t.Fatal(err)
			}
			if set.Detected.FromCache != cached {
				t.Errorf("%s: from the cache %v", name, set.Detected.FromCache)
			}
			r := m.Read()
			parts[cached] = r.Doing
			if r.Total == 0 || r.Done < r.Total/2 || r.Done > 2*r.Total {
				t.Errorf("%s: at the end it is at %+v", name, r)
			}
			if err := set.Close(); err != nil {
				t.Error(err)
			}
		}
		if parts[false] != "storing columns for the next time" ||
			parts[true] != "opening the stored columns of "+filepath.Base(in.file) {
			t.Errorf("%s: it ends with %v", name, parts)
		}
	}
}

// TestAReadEndsAtAnyPoint ends a read at each look at its context: it gives that error, no set, and leaves nothing in
// the cache.
func TestAReadEndsAtAnyPoint(t *testing.T) {
	t.Parallel()
	const workers = 2
	for _, in := range inputsOfAllKinds(t) {
		progresstest.EndsAnywhere(t, 8+4*workers, func(ctx context.Context) error {
			opt := Options{Cache: t.TempDir(), Workers: workers, Meter: progress.New(ctx), blockBytes: 1 << 10}
			set, err := Read(ctx, []string{in.file}, in.kind, opt)
			if (set == nil) == (err == nil) {
				t.Fatalf("%s: a set is there: %v, and an error: %v", in.file, set != nil, err)
			}
			if left, found := filepath.Glob(filepath.Join(opt.Cache, "*.part-*")); found != nil || len(left) > 0 {
				t.Errorf("%s left %v, %v", in.file, left, found)
			}
			if set != nil {
				err = set.Close()
			}
			return err
		})
	}
}

// endless is a standard input on which nothing comes.
type endless struct{ until chan struct{} }

func (e endless) Read([]byte) (int, error) {
	<-e.until
	return 0, io.EOF
}

// TestAReadThatWaitsCanBeLeft: whoever waits for standard input is let go when the context ends.
func TestAReadThatWaitsCanBeLeft(t *testing.T) {
	t.Parallel()
	in := endless{make(chan struct{})}
	defer close(in.until)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := Read(ctx, []string{"-"}, Ratings, Options{Stdin: in})
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
