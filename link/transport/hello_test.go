package transport

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

var someHello = Hello{Lowest: 1, Highest: 3, Token: Token{1, 2, 3, 0xff}, Node: 513, Number: 4, Era: 0x201}

// TestGreetingIsPinned holds the layout to its bytes: a program of another release must be able to read it for ever.
func TestGreetingIsPinned(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]*Refusal{
		"42454c4c4f57530a010003000102040001 0203ff000000000000000000000000 00000102 13c9da23":                 nil,
		"42454c4c4f57530a010003000102040000 000000000000000000000000000000 02050102 395f436e 6e6f20c2" + "a0": {Reason: WrongToken, Sentence: "no \u00a0"},
	} {
		want = strings.ReplaceAll(want, " ", "")
		if got := fmt.Sprintf("%x", appendGreeting(nil, someHello, r)); got != want {
			t.Errorf("%+v became\n%s, not\n%s", r, got, want)
		}
	}
}

func TestParseGreetingRefuses(t *testing.T) {
	t.Parallel()
	good := appendGreeting(nil, someHello, nil)
	for i := range greetingSize {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if g, err := parseGreeting(bad); !errors.Is(err, errStranger) {
			t.Errorf("byte %d damaged: %+v, %v", i, g, err)
		}
	}
	for name, c := range map[string]struct {
		hello   Hello
		refusal *Refusal
		want    string
	}{
		"versions from zero":    {Hello{Highest: 1}, nil, "no range"},
		"versions upside down":  {Hello{Lowest: 3, Highest: 2}, nil, "no range"},
		"an unknown reason":     {someHello, &Refusal{Reason: reasons, Sentence: "x"}, "unknown"},
		"a welcome and its why": {someHello, &Refusal{Sentence: "x"}, "welcomes"},
	} {
		if g, err := parseGreeting(appendGreeting(nil, c.hello, c.refusal)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, %v", name, g, err)
		}
	}
}

func TestVersionsMeet(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, c, d, want uint16 }{
		{1, 1, 1, 1, 1}, {1, 3, 2, 5, 3}, {2, 5, 1, 3, 3}, {1, 9, 4, 4, 4}, {1, 2, 3, 4, 0}, {3, 4, 1, 2, 0},
	} {
		a, b := Hello{Lowest: c.a, Highest: c.b}, Hello{Lowest: c.c, Highest: c.d}
		if got := a.Version(b); got != c.want {
			t.Errorf("%d-%d and %d-%d settle on %d, not %d", c.a, c.b, c.c, c.d, got, c.want)
		}
	}
}

func TestTokensDoNotPrint(t *testing.T) {
	t.Parallel()
	h := Hello{Token: Token([]byte("0123456789abcdef"))}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%d", "%q"} {
		for _, what := range []any{h, h.Token, Config{Self: h}} {
			s := fmt.Sprintf(verb, what)
			if strings.Contains(s, "234") || strings.Contains(s, "50 51") || strings.Contains(s, "333435") || strings.Contains(s, "0x33") {
				t.Errorf("%s prints %s", verb, s)
			}
		}
	}
}

// FuzzGreeting parses any bytes: what is accepted is what its own encoding says, and a sentence is safe to print.
func FuzzGreeting(f *testing.F) {
	f.Add(appendGreeting(nil, someHello, nil))
	f.Add(appendGreeting(nil, someHello, &Refusal{Reason: WrongVersion, Sentence: "node 1 speaks protocol version 9"}))
	f.Add(appendGreeting(nil, someHello, &Refusal{Reason: Unexpected, Sentence: strings.Repeat("é", 100) + "\x1b[2J\xff"}))
	f.Add([]byte("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := hear(bytes.NewReader(b))
		refusal := (*Refusal)(nil)
		switch {
		case errors.As(err, &refusal):
			s := refusal.Sentence
			if !utf8.ValidString(s) || strings.ContainsAny(s, "\x1b\n\r\x00") || refusal.Reason == Welcome || refusal.Reason >= reasons {
				t.Fatalf("%+v", refusal)
			}
		case err == nil:
			if again := appendGreeting(nil, h, nil); !bytes.Equal(again[:34], b[:34]) {
				t.Fatalf("%x became %x", b[:greetingSize], again)
			}
		case h != Hello{}:
			t.Fatalf("%+v beside %v", h, err)
		}
	})
}
