package demo

import (
	"hash/fnv"
	"math"
	"testing"

	"bellows/data"
)

// sum returns a hash of the values, which must be the same on every machine.
func sum(columns ...[]float32) uint64 {
	h := fnv.New64a()
	for _, c := range columns {
		for _, v := range c {
			b := math.Float32bits(v)
			h.Write([]byte{byte(b), byte(b >> 8), byte(b >> 16), byte(b >> 24)})
		}
	}
	return h.Sum64()
}

func TestRatings(t *testing.T) {
	t.Parallel()
	set, err := Make(data.Ratings, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := set.Detected.String(), "100 000 ratings, 943 × 1 682, generated"; got != want {
		t.Errorf("detected %q, not %q", got, want)
	}
	r := set.Ratings
	seen, next := map[[2]int32]bool{}, [2]int32{}
	var mean, square float64
	for i := range r.Rows() {
		pair := [2]int32{r.User[i], r.Item[i]}
		if seen[pair] {
			t.Fatalf("pair %v is there twice", pair)
		}
		seen[pair] = true
		for k, id := range pair {
			if id > next[k] {
				t.Fatalf("id %d came before %d: ids are numbered by first appearance", id, next[k])
			}
			if id == next[k] {
				next[k]++
			}
		}
		v := float64(r.Rating[i])
		if v < 1 || v > 5 || v != math.Trunc(v) {
			t.Fatalf("rating %v", v)
		}
		mean += v / ratings
		square += v * v / ratings
	}
	if next != [2]int32{users, items} {
		t.Errorf("%d users and %d items occur", next[0], next[1])
	}
	if deviation := math.Sqrt(square - mean*mean); mean < 3 || mean > 4 || deviation < 0.9 || deviation > 1.3 {
		t.Errorf("mean %.3f, deviation %.3f", mean, deviation)
	}
	if got := sum(r.Rating); got != goldenRatings {
		t.Errorf("the ratings of seed 1 have the hash %#x, not %#x", got, uint64(goldenRatings))
	}
}

func TestExamples(t *testing.T) {
	t.Parallel()
	set, err := Make(data.Examples, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := set.Detected.String(), "20 000 rows × 64 features, 10 classes, generated"; got != want {
		t.Errorf("detected %q, not %q", got, want)
	}
	e := set.Examples
	if n := len(e.Classes(classes)); n != classes || len(e.Dense) != rows*features {
		t.Errorf("%d classes, %d values", n, len(e.Dense))
	}
	count := map[float32]int{}
	for _, y := range e.Label {
		count[y]++
	}
	for y, n := range count {
		if n < rows/classes/3 {
			t.Errorf("class %v has %d rows", y, n)
		}
	}
	if got := sum(e.Label, e.Dense); got != goldenExamples {
		t.Errorf("the examples of seed 1 have the hash %#x, not %#x", got, uint64(goldenExamples))
	}
}

func TestSeedsDiffer(t *testing.T) {
	t.Parallel()
	for _, kind := range []data.Kind{data.Ratings, data.Examples, data.Documents} {
		values := func(seed uint64) uint64 {
			set, err := Make(kind, seed)
			if err != nil {
				t.Fatal(err)
			}
			if kind == data.Ratings {
				return sum(set.Ratings.Rating)
			}
			if kind == data.Documents {
				return uint64(set.Documents.Tokens())
			}
			return sum(set.Examples.Label)
		}
		if values(1) == values(2) {
			t.Errorf("%v: two seeds give one set", kind)
		}
	}
	if _, err := Make(0, 1); err == nil {
		t.Error("a demo of nothing was made")
	}
}

const (
	goldenRatings  = 0x73e3e67f6aa24aa5
	goldenExamples = 0x59418df9f1538aa2
)

func TestDocuments(t *testing.T) {
	t.Parallel()
	set, err := Make(data.Documents, 1)
	if err != nil {
		t.Fatal(err)
	}
	d := set.Documents
	if got, want := set.Detected.String(), "2 000 documents × 2 000 words, 119 382 tokens, generated"; got != want {
		t.Errorf("detected %q, not %q", got, want)
	}
	values := make([]float32, len(d.Word))
	for i := range d.Rows() {
		word, count := d.Doc(i)
		for j, w := range word {
			if int(w) >= words || j > 0 && w <= word[j-1] || count[j] < 1 {
				t.Fatalf("document %d: words %v, counts %v", i, word, count)
			}
		}
	}
	for i, w := range d.Word {
		values[i] = float32(w)*1000 + float32(d.Count[i])
	}
	if got := sum(values); got != goldenDocuments {
		t.Errorf("the documents of seed 1 have the hash %#x, not %#x", got, uint64(goldenDocuments))
	}
}

const goldenDocuments = 0xb5adcafc2c46ba5

// TestCustomers: the columns that say something differ between those who cancel and those who stay, and the others do
// not.
func TestCustomers(t *testing.T) {
	t.Parallel()
	set, err := Named(data.Examples, Customers, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := set.Detected.String(), "20 000 rows × 24 features, 2 classes, generated"; got != want {
		t.Errorf("detected %q, not %q", got, want)
	}
	e, cancel := set.Examples, 0.0
	for _, y := range e.Label {
		cancel += float64(y) / customers
	}
	if cancel < 0.2 || cancel > 0.5 || len(e.FeatureNames) != e.Features {
		t.Errorf("%.2f of the customers cancel; %d names", cancel, len(e.FeatureNames))
	}
	for j, c := range columns {
		between := 0.0
		for r, y := range e.Label {
			if v := float64(e.Dense[r*e.Features+j]); y == 1 {
				between += v / (cancel * customers)
			} else {
				between -= v / ((1 - cancel) * customers)
			}
		}
		if between *= 1 / c.deviation; math.Abs(between) > 0.05 != (c.weight != 0) || between*c.weight < 0 {
			t.Errorf("%s, of the weight %v, differs by %.3f deviations", c.name, c.weight, between)
		}
	}
	if got := sum(e.Label, e.Dense); got != goldenCustomers {
		t.Errorf("the customers of seed 1 have the hash %#x, not %#x", got, uint64(goldenCustomers))
	}
	for name, kind := range map[string]data.Kind{"clients": data.Examples, Customers: data.Ratings} {
		if _, err := Named(kind, name, 1); err == nil {
			t.Errorf("a demo %s of %v was made", name, kind)
		}
	}
}

const goldenCustomers = 0x87d0b4640bfbfd80
