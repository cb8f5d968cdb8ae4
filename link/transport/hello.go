package transport

import (
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"

	"bellows"
)

// Versions of the protocol that this release speaks: the handshake settles on the highest that both sides know.
const (
	VersionLowest  = 1
	VersionHighest = 1
)

// Token is the secret of a job: 16 random bytes. It prints as nothing, so that logs cannot give it away.
type Token [16]byte

// Format implements fmt.Formatter for every verb, so that no log shows a token.
func (Token) Format(f fmt.State, _ rune) { io.WriteString(f, "(secret)") }

// Hello is what each side of a new connection sends about itself.
type Hello struct {
	Lowest, Highest uint16 // versions of the protocol that it speaks
	Token           Token
	Era             bellows.Era // of the job, up to wire's limit: a rollback begins another, with other processes
	Node            bellows.NodeID
	Number          uint8 // of this connection within its pair of nodes, from 0: the dialling side's choice, which the other repeats
	Of              uint8 // how many connections the pair has, as the dialling side says; 0: one
}

// Version returns the version that two sides agree on: the highest that both speak; 0: none.
func (h Hello) Version(o Hello) uint16 {
	if v := min(h.Highest, o.Highest); v >= max(h.Lowest, o.Lowest) {
		return v
	}
	return 0
}

// versions says which versions a side speaks.
func (h Hello) versions() string {
	if h.Lowest == h.Highest {
		return fmt.Sprintf("protocol version %d", h.Lowest)
	}
	return fmt.Sprintf("protocol versions %d to %d", h.Lowest, h.Highest)
}

// Reason is why a connection was refused.
type Reason uint8

// The reasons, as they travel.
const (
	Welcome      Reason = iota // not refused
	WrongVersion               // no version of the protocol is common to both sides
	WrongToken                 // the peer belongs to another job, or to none
	Unexpected                 // Config.Admit did not want this node
	StaleEra                   // the peer is of another era of the job: usually an earlier one, before a rollback
	reasons
)

// Refusal is the error of a handshake that one side ended. Both sides print the same sentence.
type Refusal struct {
	Reason   Reason
	Peer     Hello  // without its token
	ByPeer   bool   // whether the other side refused
	Sentence string // at most 255 bytes, printable
}

func (r *Refusal) Error() string { return r.Sentence }

// judge says why self turns peer away, or nil.
func (c *Config) judge(peer Hello) *Refusal {
	self := c.Self
	refuse := func(why Reason, format string, args ...any) *Refusal {
		return &Refusal{Reason: why, Peer: peer.bare(), Sentence: clip(fmt.Sprintf(format, args...))}
	}
	if self.Version(peer) == 0 {
		return refuse(WrongVersion, "node %d speaks %s, but node %d speaks %s: run the same release on both",
			peer.Node, peer.versions(), self.Node, self.versions())
	}
	if subtle.ConstantTimeCompare(self.Token[:], peer.Token[:]) == 0 {
		return refuse(WrongToken, "node %d has not the token of node %d: they are of different jobs", peer.Node, self.Node)
	}
	if self.Era != peer.Era {
		return refuse(StaleEra, "node %d is of era %d of the job, but node %d of era %d: what is left of an era that a rollback has ended is not heard",
			peer.Node, peer.Era, self.Node, self.Era)
	}
	if c.Admit == nil {
		return nil
	}
	if err := c.Admit(peer.bare()); err != nil {
		return refuse(Unexpected, "node %d is not expected by node %d: %v", peer.Node, self.Node, err)
	}
	return nil
}

// bare returns the Hello without its token.
func (h Hello) bare() Hello {
	h.Token = Token{}
	return h
}

// A greeting is what travels, three times in each handshake: a Hello, and what its sender thinks of the other side's.
// This layout never changes, as it comes before the version is known. All numbers are little-endian:
//
//	 0  8 magic "BELLOWS\n"
//	 8  2 lowest version        10  2 highest version
//	12  2 node                  14  1 number of the connection
//	                            15  1 how many the pair has; 0: one
//	16 16 token; zero when refusing, so that asking does not reveal it
//	32  1 reason; 0 is welcome  33  1 bytes of sentence that follow
//	34  2 era of the job
//	36  4 CRC32C of the 36 bytes before
//	40    the sentence, UTF-8
type greeting struct {
	hello    Hello
	reason   Reason
	sentence int // bytes that follow
}

const (
	greetingSize  = 40
	greetingMagic = "BELLOWS\n"
	sentenceMax   = 255
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendGreeting adds h, and the refusal r if there is one.
func appendGreeting(b []byte, h Hello, r *Refusal) []byte {
	reason, sentence := Welcome, ""
	if r != nil {
		reason, sentence = r.Reason, r.Sentence
		h.Token = Token{}
	}
	start := len(b)
	b = append(b, greetingMagic...)
	b = binary.LittleEndian.AppendUint16(b, h.Lowest)
	b = binary.LittleEndian.AppendUint16(b, h.Highest)
	b = binary.LittleEndian.AppendUint16(b, uint16(h.Node))
	b = append(b, h.Number, h.Of)
	b = append(b, h.Token[:]...)
	b = append(b, byte(reason), byte(len(sentence)))
	b = binary.LittleEndian.AppendUint16(b, uint16(h.Era))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
	return append(b, sentence...)
}

// clip makes a sentence safe for a terminal, and cuts it to what a greeting holds.
func clip(s string) string { return bellows.Printable(strings.ReplaceAll(s, "\n", "?"), sentenceMax) }

// errStranger is the error for a peer of another protocol, errSealed for one that speaks TLS where it is not expected.
// Neither gets an answer.
var (
	errStranger = errors.New("its first bytes are not a bellows greeting: another program, or a damaged stream")
	errSealed   = errors.New("it speaks TLS, and this side does not: it takes this for another host, or runs another release")
)

// sealedMark is how a connection of TLS begins.
const sealedMark = "\x16\x03"

// parseGreeting reads the greetingSize bytes of b.
func parseGreeting(b []byte) (greeting, error) {
	if string(b[:2]) == sealedMark {
		return greeting{}, errSealed
	}
	if string(b[:8]) != greetingMagic || binary.LittleEndian.Uint32(b[36:]) != crc32.Checksum(b[:36], castagnoli) {
		return greeting{}, errStranger
	}
	g := greeting{
		hello: Hello{
			Lowest:  binary.LittleEndian.Uint16(b[8:]),
			Highest: binary.LittleEndian.Uint16(b[10:]),
			Node:    bellows.NodeID(binary.LittleEndian.Uint16(b[12:])),
			Number:  b[14],
			Of:      b[15],
			Token:   Token(b[16:32]),
			Era:     bellows.Era(binary.LittleEndian.Uint16(b[34:])),
		},
		reason:   Reason(b[32]),
		sentence: int(b[33]),
	}
	switch {
	case g.hello.Lowest == 0 || g.hello.Lowest > g.hello.Highest:
		return greeting{}, fmt.Errorf("its greeting offers versions %d to %d, which is no range", g.hello.Lowest, g.hello.Highest)
	case g.hello.Of > 0 && g.hello.Number >= g.hello.Of:
		return greeting{}, fmt.Errorf("its greeting is for connection %d of %d, counted from 0", g.hello.Number, g.hello.Of)
	case g.reason >= reasons:
		return greeting{}, fmt.Errorf("its greeting refuses for reason %d, which is unknown", g.reason)
	case g.reason == Welcome && g.sentence > 0:
		return greeting{}, errors.New("its greeting welcomes and yet gives a reason to refuse")
	}
	return g, nil
}
