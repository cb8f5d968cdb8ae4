package wire

import (
	"bytes"
	"strings"
	"testing"

	"bellows"
)

// TestEras sends a message of an era: the header has it, and else the frame is as without. An era that the header has no room for is refused by name.
func TestEras(t *testing.T) {
	t.Parallel()
	e := Envelope{From: Address{1, Client, 0}, To: Address{2, Lane, 3}, Message: golden()["acquire"]}
	without := frame(t, e)
	e.Era = bellows.EraMost
	with := frame(t, e)
	if !bytes.Equal(with[26:28], []byte{0xff, 0xff}) || !bytes.Equal(with[:26], without[:26]) || !bytes.Equal(with[HeaderSize:], without[HeaderSize:]) {
		t.Errorf("the frame of era %d is\n%s\nwithout an era it is\n%s", e.Era, dump(with), dump(without))
	}
	if got, _ := read(t, with); got.Era != bellows.EraMost {
		t.Errorf("era %d arrives as %d", bellows.EraMost, got.Era)
	}
	e.Era++
	if err := new(Batch).Add(e); err == nil || !strings.Contains(err.Error(), "era 65536 is over the limit of 65535") {
		t.Errorf("era %d: %v", e.Era, err)
	}
}
