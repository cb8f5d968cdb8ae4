package wire

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"bellows"
	"bellows/core/tally"
	"bellows/internal/require"
	"bellows/link/traffic"
)

// TestKindsMakeTheirOwn wants the table to make, for every number, messages that have it, anew and again.
func TestKindsMakeTheirOwn(t *testing.T) {
	t.Parallel()
	for k, kind := range kinds {
		if kind.name == "" {
			continue
		}
		for range 3 {
			m := kind.make()
			if m.kind() != uint8(k) || (Envelope{Message: m}).Kind() != uint8(k) {
				t.Errorf("kind %d, %s, makes %T of kind %d", k, kind.name, m, m.kind())
			}
			Free(m)
		}
	}
	for _, m := range []Message{nil, foreign{}} {
		if k := (Envelope{Message: m}).Kind(); k != 0 {
			t.Errorf("%T is of kind %d", m, k)
		}
	}
}

// stays are fields that do not travel, with what does in their place.
var stays = []struct{ field, instead string }{
	{"Failed.Err", "its kind, as Failed.Kind"},
	{"Push.Done.Flush", "the push's"},
	{"Push.Done.Clock", "the push's"},
	{"Push.Done.Pairs", "the push's"},
}

// staying reports whether a field is one of those, or in one.
func staying(name string) bool {
	name = strings.ReplaceAll(name, "[]", "")
	for _, s := range stays {
		if name == s.field || strings.HasPrefix(name, s.field+".") {
			return true
		}
	}
	return false
}

// TestEveryFieldTravels changes the golden messages one number, text or flag at a time. Every field of every kind must be in one
// of them, change the frame when it is changed, and arrive as it was changed, or be named above.
func TestEveryFieldTravels(t *testing.T) {
	t.Parallel()
	travels := map[string]bool{}
	for _, m := range golden() {
		before := frame(t, Envelope{Message: m})
		v := reflect.ValueOf(m).Elem()
		eachField(v.Type().Name(), v, func(name string) {
			if after, ok := trip(t, m); ok && !bytes.Equal(after, before) && !staying(name) {
				travels[name] = true
			}
		})
	}
	for _, kind := range kinds {
		if kind.name == "" {
			continue
		}
		of := reflect.TypeOf(kind.make()).Elem()
		listFields(of.Name(), of, func(name string) {
			if !travels[name] && !staying(name) {
				t.Errorf("%s does not travel, or stands in no golden message", name)
			}
		})
	}
}

// trip returns a message's frame. Where it can be read, the message must arrive as it is.
func trip(t *testing.T, m Message) (f []byte, ok bool) {
	t.Helper()
	var b Batch
	if b.Add(Envelope{Message: m}) != nil {
		return nil, false
	}
	f = joined(t, &b)
	h := header(t, f)
	e, err := Decode(h, alignedCopy(f[HeaderSize:]))
	if err != nil {
		return nil, false // it must not be so: the other change will be
	}
	failed, isFailed := m.(*Failed)
	if d := differ(m, e.Message); d != "" && !staying(d) && !(isFailed && failed.Err != nil) {
		t.Errorf("%s arrived as something else", d)
	}
	return f, true
}

// listFields names all fields of a type that hold something themselves.
func listFields(name string, of reflect.Type, yield func(name string)) {
	switch of.Kind() {
	case reflect.Struct:
		for i := range of.NumField() {
			if f := of.Field(i); f.IsExported() {
				listFields(name+"."+f.Name, f.Type, yield)
			}
		}
	case reflect.Slice, reflect.Array, reflect.Pointer:
		listFields(name, of.Elem(), yield)
	default:
		yield(name)
	}
}

// eachField changes what a value holds, one thing at a time, asks what that does, and changes it back.
func eachField(name string, v reflect.Value, ask func(name string)) {
	try := func(to any) {
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		v.Set(reflect.ValueOf(to).Convert(v.Type()))
		ask(name)
		v.Set(old)
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				eachField(name+"."+f.Name, v.Field(i), ask)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			eachField(name, v.Index(i), ask)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			eachField(name, v.Elem(), ask)
		}
	case reflect.Bool:
		try(!v.Bool())
	case reflect.String:
		try(v.String() + "x")
	case reflect.Float32, reflect.Float64:
		try(v.Float() + 1)
	case reflect.Interface:
		try(errors.New("it was changed"))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		try(v.Int() + 1)
		try(v.Int() - 1)
	default:
		try(v.Uint() + 1)
		try(v.Uint() - 1)
	}
}

// TestEveryKindHasAClass: raw frames are most of the bytes, and none of them is control.
func TestEveryKindHasAClass(t *testing.T) {
	t.Parallel()
	for k, kind := range kinds {
		class := Header{Kind: uint8(k)}.Class()
		if kind.name != "" && (class == tally.Control) != (uint8(k) >= firstControl) {
			t.Errorf("frames of kind %s count as %v", kind.name, class)
		}
	}
}

// TestBatchesCountTheirFrames by class and with their headers, until they are reset.
func TestBatchesCountTheirFrames(t *testing.T) {
	t.Parallel()
	var b Batch
	for range 2 {
		var want tally.Traffic
		for _, m := range newSampler(3).messages() {
			before := b.Len()
			require.NoError(t, b.Add(Envelope{Message: m}))
			f := frame(t, Envelope{Message: m})
			h := header(t, f)
			want.Count(h.Class(), b.Len()-before)
		}
		if err := b.Add(Envelope{Message: nil}); err == nil {
			t.Fatal("nothing was encoded")
		}
		if got := *b.Traffic(); got != want || got.Total().Bytes != int64(b.Len()) {
			t.Errorf("counted %v of %d bytes, want %v", got, b.Len(), want)
		}
		b.Reset()
		if *b.Traffic() != (tally.Traffic{}) {
			t.Error("a batch that was reset counts what it sent before")
		}
	}
}

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

// TestControllerMessagesHaveTheirTerm checks that the envelope returns the term of every controller message with a
// field for it, so that a receiver that knows a newer controller can refuse it.
func TestControllerMessagesHaveTheirTerm(t *testing.T) {
	t.Parallel()
	found := 0
	for _, k := range kinds {
		if k.make == nil || k.ways&(controllerToClient|controllerToLane) == 0 {
			continue
		}
		m := k.make()
		term := reflect.ValueOf(m).Elem().FieldByName("Term")
		if !term.IsValid() {
			continue
		}
		found++
		term.SetUint(7)
		if got := (Envelope{Message: m}).Term(); got != bellows.Term(7) {
			t.Errorf("a %s of term 7 shows term %d", k.name, got)
		}
	}
	if found == 0 {
		t.Error("no kind has a term")
	}
}

// TestEveryPairOfRolesIsAWay wants a separate way for each pair.
func TestEveryPairOfRolesIsAWay(t *testing.T) {
	t.Parallel()
	seen := ways(0)
	for from := range roles {
		for to := range roles {
			if w := way(from, to); w == 0 || seen&w != 0 {
				t.Errorf("the way from role %d to role %d is another's, or none", from, to)
			}
			seen |= way(from, to)
		}
	}
	if seen&clientToClient == 0 || clientToClient&(clientToLane|laneToClient|laneToLane) != 0 {
		t.Error("clients have no way to each other")
	}
}

// TestKindsHaveTheirTrafficClass: what becomes of a flush is ordered like the flush, and no kind of an actor is in a class by accident.
func TestKindsHaveTheirTrafficClass(t *testing.T) {
	t.Parallel()
	for k, kind := range kinds {
		if control := kind.waits == traffic.Control; kind.name != "" && kind.ways != 0 && control && uint8(k) < firstControl {
			t.Errorf("%s has arrays, and is control", kind.name)
		}
	}
	for _, c := range []struct {
		kind uint8
		want traffic.Class
	}{{kindPush, traffic.Flushes}, {kindCommitted, traffic.Flushes}, {kindPull, traffic.Pulls}, {kindRows, traffic.Rows}, {kindPiece, traffic.Migration}, {kindCollected, traffic.Migration}} {
		if got := kinds[c.kind].waits; got != c.want {
			t.Errorf("%s is of the class %v, not %v", kinds[c.kind].name, got, c.want)
		}
	}
}
