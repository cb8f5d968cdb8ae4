package run

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"bellows"
	"bellows/core/coord"
	"bellows/core/store"
	"bellows/link/wire"
	"bellows/train"
)

func sample() *train.Image {
	nan := math.Float32frombits(0x7fc00123)
	tables := [][]store.Image{
		{{Values: []float32{1, -2, nan}, Slots: [][]float32{{3, 4, 5}, {}}}, {Values: []float32{}}},
		{},
		{{Keys: []bellows.Key{7, 1 << 63}, Values: []float32{5, 6}}, {Keys: []bellows.Key{9}, Values: []float32{7}}},
	}
	kept := [][]store.Image{{{Values: []float32{9}}}}
	return &train.Image{Tables: tables, Kept: kept, State: coord.State{
		Complete: []bellows.Clock{3, bellows.NoClock},
		Queue: []wire.Task{
			{Unit: bellows.Unit{Split: 1, Clock: 4, Items: bellows.Range{Begin: 5, End: 1 << 40}}, Args: []float64{0.5}},
			{},
		},
		Staleness: []wire.Staleness{{Table: 3, Clocks: 2}},
		Driver:    []float64{math.Inf(1), 7},
	}}
}

func TestImageRoundTrip(t *testing.T) {
	t.Parallel()
	im := sample()
	b := encoded(im)
	got, err := DecodeImage(b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.State, im.State) {
		t.Errorf("the state is %+v, not %+v", got.State, im.State)
	}
	if again := encoded(got); !bytes.Equal(b, again) {
		t.Errorf("the tables came back as %+v", got.Tables)
	}
	if bits := math.Float32bits(got.Tables[0][0].Values[2]); bits != 0x7fc00123 {
		t.Errorf("the bits of a value are %#x", bits)
	}
	for p, want := range []bellows.Key{1 << 63, 9} {
		if k := got.Tables[2][p].Keys; len(k) != 2-p || k[1-p] != want {
			t.Errorf("the keys of partition %d came back as %v", p, k)
		}
	}
	if got.Kept[0][0].Values[0] != 9 {
		t.Errorf("the kept tables came back as %+v", got.Kept)
	}
}

// TestImageIsRefused cuts the image at every byte and puts the largest number in every place.
func TestImageIsRefused(t *testing.T) {
	t.Parallel()
	b := encoded(sample())
	for i := range b {
		if _, err := DecodeImage(b[:i]); bellows.KindOf(err) != bellows.BadData {
			t.Fatalf("cut to %d bytes the error is %v", i, err)
		}
	}
	if _, err := DecodeImage(append(bytes.Clone(b), 0)); err == nil {
		t.Error("a byte too many was accepted")
	}
	if _, err := DecodeImage([]byte("bellowsr\x01")); err == nil {
		t.Error("another version was accepted")
	}
	first := len(imageMagic)
	for _, at := range []int{first, first + 4, first + 8} {
		bad := bytes.Clone(b)
		copy(bad[at:], []byte{255, 255, 255, 255})
		if _, err := DecodeImage(bad); err == nil {
			t.Errorf("a count of 2^32-1 at %d was accepted", at)
		}
	}
}

// TestTablesOfAnImageHaveNumbers restores the staleness of the last table that there may be, and of one more.
func TestTablesOfAnImageHaveNumbers(t *testing.T) {
	t.Parallel()
	b := encoded(&train.Image{State: coord.State{Staleness: []wire.Staleness{{Table: math.MaxUint16, Clocks: 2}}}})
	im, err := DecodeImage(b)
	if err != nil || im.State.Staleness[0] != (wire.Staleness{Table: math.MaxUint16, Clocks: 2}) {
		t.Errorf("%+v, %v", im, err)
	}
	at := bytes.Index(b, []byte{0xff, 0xff, 0, 0})
	copy(b[at:], []byte{0, 0, 1, 0})
	if _, err := DecodeImage(b); bellows.KindOf(err) != bellows.BadData {
		t.Errorf("table 65536: %v", err)
	}
}

// FuzzDecodeImage wants every accepted image to be the one that WriteImage writes.
func FuzzDecodeImage(f *testing.F) {
	f.Add(encoded(sample()))
	f.Add(encoded(&train.Image{}))
	f.Add([]byte(imageMagic + "\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, in []byte) {
		im, err := DecodeImage(in)
		if err != nil {
			return
		}
		if out := encoded(im); !bytes.Equal(in, out) {
			t.Fatalf("%q came back as %q", in, out)
		}
	})
}

// encoded is the bytes of an image.
func encoded(im *train.Image) []byte {
	var b bytes.Buffer
	if err := WriteImage(&b, im); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// TestALargeImage writes an image in many stretches, of values beside each other and of many small lists.
func TestALargeImage(t *testing.T) {
	t.Parallel()
	im := &train.Image{Tables: [][]store.Image{{{Values: make([]float32, 3*imageStretch)}}, make([]store.Image, imageStretch)}}
	for i := range im.Tables[0][0].Values {
		im.Tables[0][0].Values[i] = float32(i)
	}
	for i := range im.Tables[1] {
		im.Tables[1][i].Values = []float32{float32(-i)}
	}
	b := encoded(im)
	if n := ImageBytes(im); n != 16*imageStretch || int64(len(b)) < n {
		t.Errorf("%d bytes of values, and %d in all", n, len(b))
	}
	got, err := DecodeImage(b)
	if err != nil || !reflect.DeepEqual(got.Tables, im.Tables) {
		t.Errorf("it came back otherwise: %v", err)
	}
}
