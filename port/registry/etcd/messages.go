package etcd

import (
	"errors"

	"bellows/port/registry"

	"google.golang.org/protobuf/encoding/protowire"
)

// The messages of etcd's API that a registry needs, as far as it needs them: names and numbers of fields are those of
// etcdserverpb/rpc.proto and mvccpb/kv.proto of etcd 3.4 and later.

// errMessage is returned if a member has sent something that is not a message of its API.
var errMessage = errors.New("a member of etcd has sent a message that cannot be read")

// keyValue is mvccpb.KeyValue.
type keyValue struct {
	key         string
	value       []byte
	modRevision int64
	lease       int64
}

// event is mvccpb.Event.
type event struct {
	keyValue
	gone bool
}

// rangeResponse is etcdserverpb.RangeResponse.
type rangeResponse struct {
	revision int64
	entries  []keyValue
}

// txnResponse is etcdserverpb.TxnResponse.
type txnResponse struct {
	revision  int64
	succeeded bool
}

// leaseResponse is LeaseGrantResponse, LeaseKeepAliveResponse or LeaseRevokeResponse, which share their numbers.
type leaseResponse struct {
	id      int64
	seconds int64 // 0 in LeaseKeepAlive: unknown lease
}

// watchResponse is etcdserverpb.WatchResponse.
type watchResponse struct {
	cancelled bool
	compacted int64 // the oldest revision from which changes are known, where the watch is cancelled for that; else 0
	events    []event
}

// prefixEnd returns the first key after all keys that begin with a prefix. The prefix must end with a byte below 255.
func prefixEnd(prefix string) string {
	last := len(prefix) - 1
	return prefix[:last] + string(rune(prefix[last]+1))
}

func rangeRequest(key, end string, limit int64) []byte {
	b := appendText(nil, 1, key)
	if end != "" {
		b = appendText(b, 2, end)
	}
	return appendNumber(b, 3, limit)
}

// putOperation returns a RequestOp.
func putOperation(key string, value []byte, lease int64) []byte {
	put := appendText(nil, 1, key)
	put = appendBytes(put, 2, value)
	return appendBytes(nil, 2, appendNumber(put, 3, lease))
}

// deleteOperation returns a RequestOp.
func deleteOperation(key string) []byte { return appendBytes(nil, 3, appendText(nil, 1, key)) }

// txnRequest asks for one operation where all conditions hold. The last change of a key that does not exist has revision 0.
func txnRequest(prefix string, where []registry.Is, operation []byte) (b []byte) {
	const equal, modRevision = 0, 2
	for _, is := range where {
		c := appendNumber(nil, 1, equal)
		c = appendNumber(c, 2, modRevision)
		c = appendText(c, 3, prefix+is.Key)
		b = appendBytes(b, 1, appendNumber(c, 6, int64(is.Revision)))
	}
	return appendBytes(b, 2, operation)
}

func grantRequest(seconds int64) []byte { return appendNumber(nil, 1, seconds) }

// leaseRequest returns a LeaseKeepAliveRequest or a LeaseRevokeRequest, which are alike.
func leaseRequest(id int64) []byte { return appendNumber(nil, 1, id) }

// watchRequest returns a WatchRequest that creates a watch.
func watchRequest(key, end string, from int64) []byte {
	create := appendText(nil, 1, key)
	create = appendText(create, 2, end)
	return appendBytes(nil, 1, appendNumber(create, 3, from))
}

func readRange(b []byte) (r rangeResponse, err error) {
	err = eachField(b, func(f field) error {
		switch f.number {
		case 1:
			return readHeader(f.bytes, &r.revision)
		case 2:
			kv, err := readKeyValue(f.bytes)
			r.entries = append(r.entries, kv)
			return err
		}
		return nil
	})
	return r, err
}

func readTxn(b []byte) (r txnResponse, err error) {
	err = eachField(b, func(f field) error {
		switch f.number {
		case 1:
			return readHeader(f.bytes, &r.revision)
		case 2:
			r.succeeded = f.value != 0
		}
		return nil
	})
	return r, err
}

func readLease(b []byte) (r leaseResponse, err error) {
	err = eachField(b, func(f field) error {
		switch f.number {
		case 2:
			r.id = f.value
		case 3:
			r.seconds = f.value
		}
		return nil
	})
	return r, err
}

func readWatch(b []byte) (r watchResponse, err error) {
	err = eachField(b, func(f field) error {
		switch f.number {
		case 4:
			r.cancelled = f.value != 0
		case 5:
			r.compacted = f.value
		case 11:
			e, err := readEvent(f.bytes)
			r.events = append(r.events, e)
			return err
		}
		return nil
	})
	return r, err
}

func readEvent(b []byte) (e event, err error) {
	err = eachField(b, func(f field) (err error) {
		switch f.number {
		case 1:
			e.gone = f.value != 0
		case 2:
			e.keyValue, err = readKeyValue(f.bytes)
		}
		return err
	})
	return e, err
}

func readKeyValue(b []byte) (kv keyValue, err error) {
	err = eachField(b, func(f field) error {
		switch f.number {
		case 1:
			kv.key = string(f.bytes)
		case 3:
			kv.modRevision = f.value
		case 5:
			kv.value = f.bytes
		case 6:
			kv.lease = f.value
		}
		return nil
	})
	return kv, err
}

func readHeader(b []byte, revision *int64) error {
	return eachField(b, func(f field) error {
		if f.number == 3 {
			*revision = f.value
		}
		return nil
	})
}

// field is a field of a message: a number, or the bytes of a text or of another message.
type field struct {
	number protowire.Number
	value  int64
	bytes  []byte // part of the message
}

// eachField shows the fields of a message in their order. It skips fields of other types, which no message here has.
func eachField(b []byte, show func(field) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errMessage
		}
		b = b[n:]
		f := field{number: number}
		switch kind {
		case protowire.VarintType:
			v, size := protowire.ConsumeVarint(b)
			f.value, n = int64(v), size
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			f.number, n = 0, protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return errMessage
		}
		b = b[n:]
		if err := show(f); err != nil {
			return err
		}
	}
	return nil
}

func appendText(b []byte, number protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), text)
}

func appendBytes(b []byte, number protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), value)
}

func appendNumber(b []byte, number protowire.Number, value int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(value))
}
