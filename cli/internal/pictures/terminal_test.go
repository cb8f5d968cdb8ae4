//go:build linux

package main

import (
	"strings"
	"testing"
	"time"
)

// TestTheTerminalRemembers plays a prompt, a line that changes and a line that stays.
func TestTheTerminalRemembers(t *testing.T) {
	t.Parallel()
	term := newTerminal(20)
	say := func(at time.Duration, text string) {
		t.Helper()
		term.at = at
		for _, r := range text {
			if err := term.take(r); err != nil {
				t.Fatal(err)
			}
		}
	}
	term.prompt("bellows <x>")
	say(1*time.Second, "\r\x1b[Kreading 10 %")
	say(2*time.Second, "\r\x1b[Kreading 90 %")
	say(3*time.Second, "\r\x1b[K")
	say(4*time.Second, "done\r\n")
	picture := term.svg()
	for _, want := range []string{
		`class="t p" style="animation:on 1ms 0.00s both" x="18" y="48" textLength="104">$ bellows &lt;x&gt;</text>`,
		`class="t gone" style="animation:show 1.00s 1.00s" x="18" y="67" textLength="96">reading 10 %</text>`,
		`style="animation:show 1.00s 2.00s" x="18" y="67" textLength="96">reading 90 %</text>`,
		`style="animation:on 1ms 4.00s both" x="18" y="67" textLength="32">done</text>`,
		"prefers-color-scheme: dark", "prefers-reduced-motion: reduce",
	} {
		if !strings.Contains(picture, want) {
			t.Errorf("the picture lacks %s in\n%s", want, picture)
		}
	}
	if n := strings.Count(picture, "<text"); n != 4 {
		t.Errorf("%d contents are drawn, not 4", n)
	}
	for _, text := range []string{"\x1b[2J", "\a"} {
		term := newTerminal(20)
		var err error
		for _, r := range text {
			if err == nil {
				err = term.take(r)
			}
		}
		if err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}
