package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"bellows/port/registry"
	"bellows/port/registry/internal/keyspace"
)

// A log is a line of text, the entries at one revision (a snapshot), and the changes since, each as a record:
//
//	length of the body    4 bytes, little endian
//	CRC-32C of the body   4
//	CRC-32C of these 8    4
//	body                  kind (1 byte), revision, lease and length of the key (varints), key, value
//
// The snapshot has a put for each entry, and ends with a record of kind base that has its revision. Each record after it has the next revision.
// The head has its own checksum so that a reader that finds a wrong record can search for records after it (see replay).
const magic = "bellows registry 1\n"

type kind byte

const (
	put     kind = iota + 1 // set an entry
	remove                  // delete a key
	end                     // a lease is over: delete its keys
	restart                 // all leases are over: delete their keys
	base                    // the snapshot is complete
)

// record is a change, or an entry of a snapshot.
type record struct {
	kind     kind
	revision registry.Revision
	lease    registry.LeaseID
	key      string
	value    []byte
}

const (
	headBytes  = 12
	varintMost = 10
	bodyMost   = 1 + 3*varintMost + 512 + registry.ValueBytesMost // registry.CheckKey allows keys of 512 bytes
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode appends the record to a log.
func (r *record) encode(to []byte) []byte {
	start := len(to)
	to = append(to, make([]byte, headBytes)...)
	to = append(to, byte(r.kind))
	to = binary.AppendUvarint(to, uint64(r.revision))
	to = binary.AppendUvarint(to, uint64(r.lease))
	to = binary.AppendUvarint(to, uint64(len(r.key)))
	to = append(to, r.key...)
	to = append(to, r.value...)
	head, body := to[start:start+headBytes], to[start+headBytes:]
	binary.LittleEndian.PutUint32(head, uint32(len(body)))
	binary.LittleEndian.PutUint32(head[4:], crc32.Checksum(body, castagnoli))
	binary.LittleEndian.PutUint32(head[8:], crc32.Checksum(head[:8], castagnoli))
	return to
}

var (
	errShort    = errors.New("the file ends within a record")
	errChecksum = errors.New("checksum mismatch")
	errForm     = errors.New("invalid record")
)

// decode returns the first record of a log and its length there.
func decode(text []byte) (r record, n int, err error) {
	if len(text) < headBytes {
		return r, 0, errShort
	}
	if crc32.Checksum(text[:8], castagnoli) != binary.LittleEndian.Uint32(text[8:]) {
		return r, 0, errChecksum
	}
	length := binary.LittleEndian.Uint32(text)
	if length < 1 || length > bodyMost {
		return r, 0, errForm
	}
	if uint64(len(text)-headBytes) < uint64(length) {
		return r, 0, errShort
	}
	n = headBytes + int(length)
	body := text[headBytes:n:n]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(text[4:]) {
		return r, 0, errChecksum
	}
	r.kind, body = kind(body[0]), body[1:]
	var field [3]uint64
	for i := range field {
		v, used := binary.Uvarint(body)
		if used <= 0 || v > 1<<62 {
			return r, 0, errForm
		}
		field[i], body = v, body[used:]
	}
	if field[2] > uint64(len(body)) {
		return r, 0, errForm
	}
	r.revision, r.lease, r.key, r.value = registry.Revision(field[0]), registry.LeaseID(field[1]), string(body[:field[2]]), bytes.Clone(body[field[2]:])
	return r, n, r.check()
}

// check returns an error for what encode has never written.
func (r *record) check() error {
	bare := r.key == "" && len(r.value) == 0
	ok := false
	switch r.kind {
	case put:
		ok = registry.CheckPut(r.key, r.value, nil) == nil
	case remove:
		ok = registry.CheckKey(r.key) == nil && r.lease == 0 && len(r.value) == 0
	case end:
		ok = r.lease != 0 && bare
	case restart, base:
		ok = r.lease == 0 && bare
	}
	if !ok {
		return errForm
	}
	return nil
}

// snapshot returns a log that has the entries of a space at its latest revision, and no changes.
func snapshot(entries []registry.Entry, at registry.Revision) []byte {
	text := []byte(magic)
	for _, e := range entries {
		r := record{put, e.Revision, e.Lease, e.Key, e.Value}
		text = r.encode(text)
	}
	last := record{kind: base, revision: at}
	return last.encode(text)
}

// damaged is the error of a log that is not as it was written, at a byte.
type damaged struct {
	at  int
	why error
}

func (d *damaged) Error() string { return fmt.Sprintf("damaged at byte %d: %v", d.at, d.why) }

// replay returns the state that a log describes, and how much of it is good.
//
// Each record is written and synced before the next one, so that a crash can leave only the last record incomplete. That record was not acknowledged, and is left out. Damage
// elsewhere is an error of type damaged. Bytes after a torn record are fewer than a record has, and contain no valid record; otherwise it is damage. The snapshot was complete before the file got its
// name, so that no part of it can be torn.
func replay(text []byte) (space *keyspace.Space, good int, err error) {
	if len(text) < len(magic) || string(text[:len(magic)]) != magic {
		return nil, 0, &damaged{0, errors.New("it does not begin as a registry")}
	}
	good = len(magic)
	var entries []registry.Entry
	for space == nil {
		r, n, err := decode(text[good:])
		switch {
		case err != nil:
			return nil, 0, &damaged{good, err}
		case r.kind == base:
			space = keyspace.New(r.revision, historyMost, historyBytes)
		case r.kind != put:
			return nil, 0, &damaged{good, errForm}
		default:
			entries = append(entries, registry.Entry{Key: r.key, Value: r.value, Revision: r.revision, Lease: r.lease})
		}
		good += n
	}
	for _, e := range entries {
		if e.Revision < 1 || e.Revision > space.Revision() || space.Contains(e.Key) {
			return nil, 0, &damaged{len(magic), errForm}
		}
		space.Restore(e)
	}
	for good < len(text) {
		r, n, err := decode(text[good:])
		switch {
		case err != nil && isTorn(text[good:], space.Revision()):
			return space, good, nil
		case err != nil:
			return nil, 0, &damaged{good, err}
		}
		before := space.Revision()
		if apply(space, &r); r.revision != before+1 || space.Revision() != r.revision {
			return nil, 0, &damaged{good, fmt.Errorf("the record of revision %d changes nothing after revision %d", r.revision, before)}
		}
		good += n
	}
	return space, good, nil
}

// isTorn reports whether the rest of a log can be the incomplete record after revision at.
func isTorn(rest []byte, at registry.Revision) bool {
	if len(rest) > headBytes+bodyMost {
		return false
	}
	for i := 1; i < len(rest); i++ {
		if r, _, err := decode(rest[i:]); err == nil && r.revision > at {
			return false
		}
	}
	return true
}

// apply makes a change that is on disk.
func apply(space *keyspace.Space, r *record) {
	switch r.kind {
	case put:
		space.Put(r.key, r.value, r.lease)
	case remove:
		if space.Contains(r.key) {
			space.Remove(r.key)
		}
	case end:
		space.Remove(space.Attached(func(id registry.LeaseID) bool { return id == r.lease })...)
	case restart:
		space.Remove(space.Attached(func(registry.LeaseID) bool { return true })...)
	}
}
