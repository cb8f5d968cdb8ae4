package wire

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"bellows"
)

// TestTextOfPeersIsPrintable decodes what a peer sends that does not clean its sentences, in every kind that has one.
func TestTextOfPeersIsPrintable(t *testing.T) {
	t.Parallel()
	const evil, want = "\x1b[2Jall is well\r\nbellows: done \u202e", "?[2Jall is well?\n  bellows: done ?"
	var refused Batch
	refused.flush(bellows.FlushID{Client: 1, Seq: 2})
	refused.u8(0)
	refused.zeros(3)
	for _, c := range []struct {
		m     Message
		field protowire.Number // 0: what follows is the text
		text  func(m Message) string
	}{
		{&Notice{}, 1, func(m Message) string { return m.(*Notice).Sentence }},
		{&Collected{}, 1, func(m Message) string { return m.(*Collected).Reason }},
		{&Complaint{}, 2, func(m Message) string { return m.(*Complaint).Reason }},
		{&Failed{}, 2, func(m Message) string { return m.(*Failed).Reason }},
		{&End{}, 2, func(m Message) string { return m.(*End).Reason }},
		{&Refused{}, 0, func(m Message) string { return m.(*Refused).Reason }},
	} {
		for said, want := range map[string]string{evil: want, strings.Repeat("a", reasonMax+1): strings.Repeat("a", reasonMax)} {
			payload := append(append([]byte{}, refused.scratch...), said...)
			if c.field > 0 {
				payload = protowire.AppendString(protowire.AppendTag(nil, c.field, protowire.BytesType), said)
			}
			if err := decodeInto(c.m, payload); err != nil {
				t.Errorf("%T: %v", c.m, err)
			}
			if got := c.text(c.m); got != want {
				t.Errorf("%T says %.80q of %d bytes, not %.80q", c.m, got, len(got), want)
			}
		}
	}
}
