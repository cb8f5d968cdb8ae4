package transport

import (
	"errors"
	"fmt"
	"io"
)

// The handshake has three greetings, so that each side has judged the other before a frame leaves:
//
//	dialler -> listener: who I am
//	listener -> dialler: who I am, and whether you are welcome
//	dialler -> listener: who I am, and whether you are welcome

// Greet shakes hands from the dialling side and returns the other side's Hello, without its token. The caller bounds the
// time of rw. An error is a *Refusal, or what rw or the peer's greeting failed with; then the stream is of no use.
func (c *Config) Greet(rw io.ReadWriter) (Hello, error) {
	if _, err := rw.Write(appendGreeting(nil, c.Self, nil)); err != nil {
		return Hello{}, err
	}
	peer, err := hear(rw)
	if err != nil {
		return Hello{}, err
	}
	return peer.bare(), c.answer(rw, peer)
}

// Answer works like Greet, for the listening side.
func (c *Config) Answer(rw io.ReadWriter) (Hello, error) {
	peer, err := hear(rw)
	if err != nil {
		return Hello{}, err
	}
	repeating := *c
	repeating.Self.Number, repeating.Self.Of = peer.Number, peer.Of
	if err := repeating.answer(rw, peer); err != nil {
		return Hello{}, err
	}
	again, err := hear(rw)
	if err != nil {
		return Hello{}, err
	}
	if again != peer {
		return Hello{}, fmt.Errorf("node %d changed its greeting during the handshake", peer.Node)
	}
	return peer.bare(), nil
}

// hear reads a greeting, and fails with the peer's refusal if it is one.
func hear(r io.Reader) (Hello, error) {
	var b [greetingSize]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return Hello{}, mid(err)
	}
	g, err := parseGreeting(b[:])
	if err != nil || g.reason == Welcome {
		return g.hello, err
	}
	sentence := make([]byte, g.sentence)
	if _, err := io.ReadFull(r, sentence); err != nil {
		return Hello{}, mid(err)
	}
	return Hello{}, &Refusal{Reason: g.reason, Peer: g.hello, ByPeer: true, Sentence: clip(string(sentence))}
}

// answer judges the peer and tells it.
func (c *Config) answer(w io.Writer, peer Hello) error {
	refusal := c.judge(peer)
	_, err := w.Write(appendGreeting(nil, c.Self, refusal))
	if refusal != nil {
		return refusal
	}
	return err
}

// mid returns err, or io.ErrUnexpectedEOF for an end where more bytes were due.
func mid(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
