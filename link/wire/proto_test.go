package wire

import (
	"bytes"
	"encoding/binary"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bellows"
	"bellows/core/audit"
	"bellows/core/tally"
	"bellows/internal/require"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// schema reads control.proto, as far as that file goes: messages and enums at the top, fields of scalars,
// of those messages and of that enum.
func schema(t *testing.T) protoreflect.FileDescriptor {
	t.Helper()
	text, err := os.ReadFile("control.proto")
	require.NoError(t, err)
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("control.proto"), Syntax: proto.String("proto3"), Package: proto.String("bellows.wire")}
	block := regexp.MustCompile(`(?ms)^(message|enum) (\w+) \{\n(.*?)^\}`)
	enums := map[string]bool{}
	for _, m := range block.FindAllStringSubmatch(string(text), -1) {
		enums[m[2]] = m[1] == "enum"
	}
	for _, m := range block.FindAllStringSubmatch(string(text), -1) {
		if m[1] == "enum" {
			file.EnumType = append(file.EnumType, enum(m[2], m[3]))
		} else {
			file.MessageType = append(file.MessageType, message(m[2], m[3], enums))
		}
	}
	d, err := protodesc.NewFile(file, nil)
	require.NoError(t, err)
	return d
}

func enum(name, body string) *descriptorpb.EnumDescriptorProto {
	e := &descriptorpb.EnumDescriptorProto{Name: &name}
	for _, v := range regexp.MustCompile(`(\w+) = (\d+);`).FindAllStringSubmatch(body, -1) {
		e.Value = append(e.Value, &descriptorpb.EnumValueDescriptorProto{Name: &v[1], Number: number(v[2])})
	}
	return e
}

func message(name, body string, enums map[string]bool) *descriptorpb.DescriptorProto {
	m := &descriptorpb.DescriptorProto{Name: &name}
	for _, v := range regexp.MustCompile(`(repeated )?(\w+) (\w+) = (\d+);`).FindAllStringSubmatch(body, -1) {
		f := &descriptorpb.FieldDescriptorProto{Name: &v[3], Number: number(v[4]), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
		if v[1] != "" {
			f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		isEnum, named := enums[v[2]]
		switch {
		case isEnum:
			f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_TYPE_ENUM.Enum(), proto.String(".bellows.wire."+v[2])
		case named:
			f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum(), proto.String(".bellows.wire."+v[2])
		default:
			f.Type = descriptorpb.FieldDescriptorProto_Type(descriptorpb.FieldDescriptorProto_Type_value["TYPE_"+strings.ToUpper(v[2])]).Enum()
		}
		m.Field = append(m.Field, f)
	}
	return m
}

func number(s string) *int32 {
	n := int32(0)
	for _, c := range s {
		n = 10*n + c - '0'
	}
	return &n
}

// TestProto holds the codec of control messages against the protobuf library and control.proto: what we
// write, it reads without anything unknown and writes as the same bytes; what it writes, unpacked and with fields
// that we do not know, we read as the same message.
func TestProto(t *testing.T) {
	t.Parallel()
	d := schema(t)
	for seed := range uint64(50) {
		for _, m := range newSampler(seed).messages() {
			f := frame(t, Envelope{Message: m})
			if f[5] < firstControl {
				continue
			}
			name := reflect.TypeOf(m).Elem().Name()
			theirs := dynamicpb.NewMessage(d.Messages().ByName(protoreflect.Name(name)))
			if err := proto.Unmarshal(f[HeaderSize:], theirs); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if u := unknown(theirs); len(u) > 0 {
				t.Fatalf("%s: control.proto does not know %x", name, u)
			}
			b, err := proto.MarshalOptions{Deterministic: true}.Marshal(theirs)
			require.NoError(t, err)
			if !bytes.Equal(b, f[HeaderSize:]) {
				t.Fatalf("%s: we write %x, protobuf %x", name, f[HeaderSize:], b)
			}
			h, _ := ParseHeader(f)
			b = append(b, 0xf2, 0x3f, 2, 7, 7) // field 1022, two bytes
			b = append(b, 0xfb, 0x3f, 0x08, 1, 0xfc, 0x3f)
			e, err := Decode(sealed(h, b), alignedCopy(b))
			if err != nil {
				t.Fatalf("%s with unknown fields: %v", name, err)
			}
			if d := differ(m, e.Message); d != "" {
				t.Fatal(d)
			}
		}
	}
}

// unknown returns what a message or one within it holds besides its fields.
func unknown(m protoreflect.Message) (u []byte) {
	u = append(u, m.GetUnknown()...)
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Kind() != protoreflect.MessageKind {
			return true
		}
		if !f.IsList() {
			u = append(u, unknown(v.Message())...)
			return true
		}
		for i := range v.List().Len() {
			u = append(u, unknown(v.List().Get(i).Message())...)
		}
		return true
	})
	return u
}

// TestProtoForms wants the other forms that a field may take: numbers of a list one by one, and a message in
// pieces that merge.
func TestProtoForms(t *testing.T) {
	t.Parallel()
	one := []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f}
	task := append([]byte{0x0a, 2, 8, 5, 0x11}, one...)
	task = append(task, 0x0a, 2, 0x20, 9, 0x11)
	task = append(task, one...)
	var numbers []byte
	for x := range uint64(5) {
		numbers = binary.LittleEndian.AppendUint64(numbers, x+1)
	}
	for _, c := range []struct {
		payload []byte
		want    Message
	}{
		{[]byte{0x18, 2, 0x18, 3, 0x1a, 2, 4, 5}, &End{Gone: []bellows.NodeID{2, 3, 4, 5}}},
		{slices.Concat([]byte{0x2a, 16}, numbers[:16], []byte{0x29}, numbers[16:24], []byte{0x2a, 16}, numbers[24:]), &Closed{Counts: Counts{Ledgers: []audit.Ledger{{Sent: 1, Taken: 2, Dropped: 3, Yielded: 4, Written: 5}}}}},
		{[]byte{0x20, 7, 0x22, 1, 8}, &Closed{Counts: Counts{Staleness: [tally.StalenessBins]int64{7, 8}}}},
		{append([]byte{0x12, byte(len(task))}, task...), func() Message {
			d := &Dispatch{}
			d.Append(bellows.Unit{Split: 5, Items: bellows.Range{End: 9}}, []float64{1, 1})
			return d
		}()},
		{[]byte{0x0d, 1, 2, 3, 4, 0x08, 6}, &Dispatch{Commit: 6}}, // field 1 of another type is passed over
	} {
		h := Header{}
		h.Kind = frame(t, Envelope{Message: c.want})[5]
		e, err := Decode(sealed(h, c.payload), alignedCopy(c.payload))
		if err != nil {
			t.Errorf("%x: %v", c.payload, err)
			continue
		}
		if d := differ(c.want, e.Message); d != "" {
			t.Errorf("%x: %s", c.payload, d)
		}
	}
}
