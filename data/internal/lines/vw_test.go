package lines

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestHash compares with values that MurmurHash3 is published with, and names of digits with their numbers.
func TestHash(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		seed, want uint32
	}{
		{"test", 0, 0xba6bd213}, {"test", 0x9747b28c, 0x704b81dc}, {"Hello, world!", 0, 0xc0363e43},
		{"Hello, world!", 0x9747b28c, 0x24884cba},
		{"The quick brown fox jumps over the lazy dog", 0, 0x2e4ff723}, {"aaaa", 0x9747b28c, 0x5a97808a},
		{"aaa", 0x9747b28c, 0x283e0130},
		{"aa", 0x9747b28c, 0x5d211726}, {"a", 0x9747b28c, 0x7fa09ea6}, {"123", 7, 130}, {"4294967297", 0, 1},
	} {
		if got := hash([]byte(c.name), c.seed); got != c.want {
			t.Errorf("%q, %#x: %#x, not %#x", c.name, c.seed, got, c.want)
		}
	}
	if hash([]byte("12a"), 0) != murmur([]byte("12a"), 0) || Hashed("", "5", 18) != 5 || Hashed("3", "5", 18) != 8 {
		t.Error("what is a number, and what is not")
	}
}

// TestMurmurTakesAllLengths compares with the bytes of the rest put together one by one.
func TestMurmurTakesAllLengths(t *testing.T) {
	t.Parallel()
	name := []byte("abcdefghijklmnopq\xff\x80\x01")
	for n := 1; n <= len(name); n++ {
		const c1, c2 = 0xcc9e2d51, 0x1b873593
		h, k := uint32(7), uint32(0)
		for i, c := range name[:n] {
			if k |= uint32(c) << (i % 4 * 8); i%4 == 3 {
				k *= c1
				h ^= (k<<15 | k>>17) * c2
				h, k = (h<<13|h>>19)*5+0xe6546b64, 0
			}
		}
		k *= c1
		h ^= (k<<15|k>>17)*c2 ^ uint32(n)
		h = (h ^ h>>16) * 0x85ebca6b
		h = (h ^ h>>13) * 0xc2b2ae35
		if got := murmur(name[:n], 7); got != h^h>>16 {
			t.Errorf("%d bytes: %#x, not %#x", n, got, h^h>>16)
		}
	}
}

// TestAscending sorts rows of all widths, spread and in a heap, beside the library.
func TestAscending(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	var other []uint64
	for n := range 700 {
		width := 1 + rng.IntN(HashBitsMost)
		row := make([]uint64, n)
		for i := range row {
			row[i] = rng.Uint64N(1<<(1+rng.IntN(width)))<<32 | rng.Uint64N(4)
		}
		want := slices.Sorted(slices.Values(row))
		got, rest := ascending(row, other, width)
		if !slices.Equal(got, want) {
			t.Fatalf("%d of %d bits are not sorted", n, width)
		}
		other = rest
	}
}

// TestNameEnd looks at each byte behind a name, near the end of a text and far from it.
func TestNameEnd(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		ends := c <= ' ' || c == ':' || c == '|'
		for n := range 20 {
			for _, behind := range []string{"\n", "b\n", "::||   \t\t\n", "\x80\xff;{}!\x7f\n"} {
				text := []byte(strings.Repeat("}", n) + string([]byte{byte(c)}) + behind)
				want := n
				if !ends {
					want += 1 + strings.IndexAny(behind, ": |\t\n")
				}
				if got := nameEnd(text, 0); got != want {
					t.Fatalf("%q: %d, not %d", text, got, want)
				}
			}
		}
	}
}

// TestVW parses lines of all forms.
func TestVW(t *testing.T) {
	t.Parallel()
	at := func(namespace, name string) int32 { return Hashed(namespace, name, 10) }
	for _, c := range []struct {
		line  string
		label float32
		of    map[int32]float32
	}{
		{"1 |f a:2 b\n", 1, map[int32]float32{at("f", "a"): 2, at("f", "b"): 1}},
		{"-1.5 1.0 'tag| a:0.5 | 7:3\n", -1.5, map[int32]float32{at("", "a"): 0.5, 7: 3}},
		{"2 1 0 tag|ns:0.5 a:4 b |f c\r\n", 2,
			map[int32]float32{at("ns", "a"): 2, at("ns", "b"): 0.5, at("f", "c"): 1}},
		{" 3 |f a a:2 zero:0 |out x y:3|f d\n", 3, map[int32]float32{at("f", "a"): 3, at("f", "d"): 1}},
		{"0 |\n", 0, nil},
		{"1 |12 5:2\n", 1, map[int32]float32{17: 2}},
		{"1e2 |f é=ü:1e-1\n", 100, map[int32]float32{at("f", "é=ü"): 0.1}},
	} {
		var p Piece
		l := &VW{Bits: 10, Ignore: [][]byte{[]byte("out")}}
		if f := l.Parse([]byte("\n"+c.line), &p); f != nil {
			t.Errorf("%q: %+v", c.line, f)
			continue
		}
		got := map[int32]float32{}
		for i, index := range p.Index {
			got[index] = p.Value[i]
		}
		if !slices.IsSorted(p.Index) || len(got) != len(p.Index) || len(got) != len(c.of) || p.Label[0] != c.label ||
			len(p.Ends) != 1 {
			t.Errorf("%q: %+v", c.line, p)
		}
		for index, v := range c.of {
			if got[index] != v {
				t.Errorf("%q: feature %d is %g, not %g", c.line, index, got[index], v)
			}
		}
	}
}

// TestLooksVW tells lines of Vowpal Wabbit from tables whose fields a bar separates.
func TestLooksVW(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"1 |f a:1 b:2": true, "|f a b": true, "1 0.5 'tag|f a": true, "1 | a:2": true, "-1 tag| b": true,
		"1|2|3": false, "a|b|c": false, "1 | 2 | 3": false, "1,2": false, "x | a": false, "1 | a, b": false, "": false,
		"|": false,
	} {
		if LooksVW([]byte(line)) != want {
			t.Errorf("%q: %v", line, !want)
		}
	}
}

// TestPairs makes the features of pairs of namespaces from their own, by the words of the rule: the order of features
// and of namespaces of one letter as they stand, what is left out left out, and what meets added up.
func TestPairs(t *testing.T) {
	t.Parallel()
	const bits = 10
	at := func(namespace, name string) uint32 { return uint32(Hashed(namespace, name, bits)) }
	both := func(a, b uint32) int32 { return int32((a*16777619 ^ b) & (1<<bits - 1)) }
	age, rome, cat, dog, bare := at("user", "age"), at("unit", "rome"), at("words", "cat"), at("words", "dog"),
		at("", "x")
	own := map[int32]float32{int32(age): 2, int32(rome): 1, int32(cat): 1, int32(dog): 3, int32(bare): 5}
	for _, c := range []struct {
		pairs []string
		more  map[int32]float32
	}{
		{nil, nil},
		{[]string{"uw"}, map[int32]float32{both(age, cat): 2, both(age, dog): 6, both(rome, cat): 1,
			both(rome, dog): 3}},
		{[]string{"wu"}, map[int32]float32{both(cat, age): 2, both(dog, age): 6, both(cat, rome): 1,
			both(dog, rome): 3}},
		{[]string{"ww", "w "}, map[int32]float32{both(cat, cat): 1, both(cat, dog): 3, both(dog, dog): 9,
			both(cat, bare): 5, both(dog, bare): 15}},
		{[]string{"uz", "o "}, nil},
	} {
		want := map[int32]float32{}
		for _, m := range []map[int32]float32{own, c.more} {
			for j, v := range m {
				want[j] += v
			}
		}
		var p Piece
		l := &VW{Bits: bits, Ignore: [][]byte{[]byte("out")}, Pairs: c.pairs}
		line := "1 |user age:2 |words cat dog:3 |unit rome no:0 |out y | x:5\r\n"
		if f := l.Parse([]byte("\n"+line+line), &p); f != nil {
			t.Fatalf("%q: %+v", c.pairs, f)
		}
		if len(p.Ends) != 2 || int(p.Ends[1]) != 2*len(want) || !slices.IsSorted(p.Index[:len(want)]) ||
			!slices.Equal(p.Index[:len(want)], p.Index[len(want):]) {
			t.Fatalf("%q: rows end at %d with %d", c.pairs, p.Ends, p.Index)
		}
		for k, j := range p.Index {
			if p.Value[k] != want[j] {
				t.Errorf("%q: feature %d is %v, not %v", c.pairs, j, p.Value[k], want[j])
			}
		}
	}
	many := "1 |a" + strings.Repeat(" 1 2 3 4 5 6 7 8", 300) + "\n"
	for line, want := range map[string]string{many: "make more than 4194304 features",
		"1 |a x:1e30 y:1e30\n": "does not fit a 32-bit float"} {
		l := &VW{Bits: bits, Pairs: []string{"aa"}}
		if f := l.Parse([]byte("\n"+line), &Piece{}); f == nil || !strings.Contains(f.What, want) {
			t.Errorf("want a fault about %q, got %+v", want, f)
		}
	}
}

// TestGrams makes the features of two that follow each other by the words of the rule: over namespaces of one letter,
// without what is left out, of value 1 whatever theirs are; and pairs of them.
func TestGrams(t *testing.T) {
	t.Parallel()
	const bits = 10
	at := func(namespace, name string) uint32 { return uint32(Hashed(namespace, name, bits)) }
	two := func(a, b uint32) uint32 { return (a*27942141 + b) & (1<<bits - 1) }
	both := func(a, b uint32) int32 { return int32((a*16777619 ^ b) & (1<<bits - 1)) }
	new, york, cat, far, bare := at("words", "new"), at("words", "york"), at("words", "cat"), at("way", "far"),
		at("", "x")
	grams := []uint32{two(new, york), two(york, cat), two(cat, far)}
	want := map[int32]float32{int32(new): 2, int32(york): 6, int32(cat): 2, int32(far): 1, int32(bare): 5}
	for _, g := range grams {
		want[int32(g)]++
	}
	for _, a := range []struct {
		at    uint32
		value float32
	}{{new, 2}, {york, 6}, {cat, 2}, {far, 1}, {grams[0], 1}, {grams[1], 1}, {grams[2], 1}} {
		want[both(bare, a.at)] += 5 * a.value
	}
	var p Piece
	l := &VW{Bits: bits, Ignore: [][]byte{[]byte("wide")}, Grams: true, Pairs: []string{" w"}}
	line := "1 |words:2 new york:3 no:0 cat | x:5 |wide y z |way far |alone z:0\n"
	if f := l.Parse([]byte(line+line+"2 |a\n3 |a b\n"), &p); f != nil {
		t.Fatalf("%+v", f)
	}
	first := p.Ends[0]
	if len(p.Ends) != 4 || p.Ends[1] != 2*first || p.Ends[2] != 2*first || p.Ends[3] != 2*first+1 ||
		!slices.Equal(p.Index[:first], p.Index[first:2*first]) {
		t.Fatalf("rows end at %d with %d", p.Ends, p.Index)
	}
	if int(first) != len(want) || !slices.IsSorted(p.Index[:first]) {
		t.Errorf("%d features, not %d: %d", first, len(want), p.Index[:first])
	}
	for k, j := range p.Index[:first] {
		if p.Value[k] != want[j] {
			t.Errorf("feature %d is %v, not %v", j, p.Value[k], want[j])
		}
	}
}

// TestGramsAreThoseOfVowpalWabbit holds features against what vw 9.11.2 prints of the same lines with --ngram 2
// --audit.
func TestGramsAreThoseOfVowpalWabbit(t *testing.T) {
	t.Parallel()
	var p Piece
	l := &VW{Bits: 18, Grams: true}
	if f := l.Parse([]byte("1 |a x y z |b q:2 r\n1 |ab x:0.5 y:0 z |ac u\n"), &p); f != nil {
		t.Fatalf("%+v", f)
	}
	want := []map[int32]float32{
		{55432: 1, 42847: 1, 202246: 1, 230855: 1, 41705: 1, 222277: 2, 75100: 1, 133517: 1},
		{132580: 0.5, 34065: 1, 250877: 1, 149349: 1, 225738: 1},
	}
	at := int64(0)
	for r, end := range p.Ends {
		got := map[int32]float32{}
		for ; at < int64(end); at++ {
			got[p.Index[at]] = p.Value[at]
		}
		if !maps.Equal(got, want[r]) {
			t.Errorf("line %d: %v, not %v", r+1, got, want[r])
		}
	}
}
