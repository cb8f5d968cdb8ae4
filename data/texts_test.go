package data

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestTextsAreRead wants of each format what Read gives of a file with that text, also where several are read at once.
func TestTextsAreRead(t *testing.T) {
	t.Parallel()
	for _, c := range streams {
		if c.promised { // as many rows as its head says
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			opt := c.opt.ForTest(readText(t, c.train, c.kind, c.opt))
			opt.Unlabelled = c.unlabelled
			texts, err := NewTexts(c.kind, opt)
			if err != nil {
				t.Fatal(err)
			}
			var all sync.WaitGroup
			for some := range 4 {
				all.Go(func() {
					text := c.head
					for i := range 3 + some {
						text += c.row(i)
					}
					text = strings.TrimSuffix(text, "\n")
					set, err := texts.Read("body", []byte(text))
					if err != nil {
						t.Error(err)
						return
					}
					// the next text must leave the set as it is
					if _, err := texts.Read("next", []byte(c.head+c.row(2)+c.row(1)+c.row(0))); err != nil {
						t.Error(err)
					}
					o := opt
					o.Stdin = strings.NewReader(text)
					want, err := Read(context.Background(), []string{"-"}, c.kind, o)
					if err != nil {
						t.Error(err)
						return
					}
					if got, want := rowsInWords(set), rowsInWords(want); !slices.Equal(got, want) {
						t.Errorf("%q, not %q", got, want)
					}
				})
			}
			all.Wait()
			bad := c.head + c.row(0) + "\x00 , nonsense:::, {\n"
			o := opt
			o.Stdin = strings.NewReader(bad)
			_, want := Read(context.Background(), []string{"-"}, c.kind, o)
			if _, err := texts.Read("body", []byte(bad)); err == nil ||
				err.Error() != strings.Replace(fmt.Sprint(want), "stdin:", "body:", 1) {
				t.Errorf("%v\nnot\n%v", err, want)
			}
		})
	}
}

// TestTextsThatNeedOthers refuses them: what a missing value becomes, or a value of text, is not found out from a
// request.
func TestTextsThatNeedOthers(t *testing.T) {
	t.Parallel()
	for text, opt := range map[string]Options{"1,2\n1,\n": {Features: 1}, "1,red\n2,blue\n": {}} {
		texts, err := NewTexts(Examples, opt)
		if err != nil {
			t.Fatal(err)
		}
		if set, err := texts.Read("body", []byte(text)); err == nil || !strings.Contains(err.Error(), "body: ") {
			t.Errorf("%q: %v, %v", text, set, err)
		}
	}
}
