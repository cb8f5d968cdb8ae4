package inputs

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// class is a list of different values of one kind, which a reader that rounds or merges would not tell apart.
type class struct {
	name   string
	values []string
	kind   arrow.DataType // in files with columns
	words  bool           // the values are no numbers
	quoted bool           // JSON has no such numbers
	blank  bool           // some values have blanks, commas, quotes or colons
}

// column returns a column of one of the values for each row.
func (c class) column(name string, which []int) *column {
	out := &column{name: name, kind: c.kind, quoted: c.quoted}
	for _, w := range which {
		out.cells = append(out.cells, c.values[w])
	}
	return out
}

// count returns n values that count up from a number, with what follows the digits.
func count(n int, from string, step int64) (out []string) {
	x, _ := new(big.Int).SetString(from, 10)
	for i := range n {
		out = append(out, new(big.Int).Add(x, big.NewInt(step*int64(i))).String())
	}
	return out
}

// suffixed returns the values with an end.
func suffixed(values []string, end string) (out []string) {
	for _, v := range values {
		out = append(out, v+end)
	}
	return out
}

// numberClass draws n different numbers.
func (in *input) numberClass(n int) class {
	near := func(base string) string {
		x, _ := new(big.Int).SetString(base, 10)
		return x.Add(x, big.NewInt(in.rand.Int64N(1000))).String()
	}
	switch in.rand.IntN(11) {
	case 0:
		return class{name: "24 bits", values: count(n, near("16777216"), 1), kind: pick[arrow.DataType](in, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Float64)}
	case 1:
		return class{name: "32 bits", values: count(n, "4294967295", -1), kind: pick[arrow.DataType](in, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64)}
	case 2:
		return class{name: "53 bits", values: count(n, "9007199254740991", 1), kind: arrow.PrimitiveTypes.Int64}
	case 3:
		return class{name: "63 bits", values: count(n, "9223372036854775807", -1), kind: pick[arrow.DataType](in, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64)}
	case 4:
		return class{name: "63 bits negative", values: count(n, "-9223372036854775808", 1), kind: arrow.PrimitiveTypes.Int64}
	case 5:
		return class{name: "64 bits", values: count(n, "18446744073709551615", -1), kind: arrow.PrimitiveTypes.Uint64}
	case 6:
		return class{name: "negative", values: count(n, "-"+near("123456780"), 1), kind: pick[arrow.DataType](in, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Float64)}
	case 7:
		return class{name: "decimals", values: suffixed(count(n, near("12345678901234567000"), 1), pick(in, ".25", ".50", ".07")), kind: &arrow.Decimal128Type{Precision: 38, Scale: 2}}
	case 8:
		return class{name: "38 digits", values: count(n, near("98765432109876543210987654321098765000"), -1), kind: &arrow.Decimal128Type{Precision: 38}}
	case 9:
		return class{name: "fractions", values: fractions(n), kind: pick[arrow.DataType](in, arrow.PrimitiveTypes.Float64, &arrow.Decimal128Type{Precision: 18, Scale: 9})}
	}
	return class{name: "small", values: count(n, "1", 1), kind: pick[arrow.DataType](in, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64)}
}

// fractions returns n numbers that differ in the ninth decimal.
func fractions(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("1.%09d", i*2+1))
	}
	return out
}

// wordClass draws n different texts. All are words where numbers among them would make the column one of numbers.
func (in *input) wordClass(n int) class {
	c := class{quoted: true, words: true}
	switch in.rand.IntN(4) {
	case 0:
		c.name, c.values = "words", []string{"ost", "west", "Süd", "北", "nord", "Ost", "mid-west", "o'hara"}
	case 1:
		c.name, c.blank, c.values = "words with signs", true, []string{"a, b", "a; b", `say "a"`, "a b", "a:b", "a|b", "a,b", "a  b"}
	case 2:
		c.name, c.values = "hashes", []string{"9f1e5", "9f1e6", "ab12e4", "0x1F", "0x1f", "16777217th", "16777216th", "e5"}
	default:
		c.name, c.values = "missing words", []string{"NA", "None", "null", "NaN", "west", "N/A", `\N`, "?"}
	}
	c.values = c.values[:min(n, len(c.values))]
	return c
}

// codeClass draws n different texts of digits. Some are equal as numbers.
func (in *input) codeClass(n int) class {
	c := class{quoted: true}
	switch in.rand.IntN(3) {
	case 0:
		c.name, c.values = "codes", []string{"01234", "1234", "001234", "0042", "42", "7", "007", "70"}
	case 1:
		c.name, c.values = "long codes", []string{"0016777217", "16777217", "16777216", "0016777216", "00016777217", "5", "05", "16777218"}
	default:
		c.name, c.values = "spelled numbers", []string{"1", "1.0", "1e0", "+1", "100", "1e2", "1E2", "2"}
	}
	c.values = c.values[:min(n, len(c.values))]
	return c
}

// number returns the exact value of a decimal number.
func number(text string) *big.Rat {
	x, ok := new(big.Rat).SetString(text)
	if !ok {
		panic(fmt.Sprintf("%q is no number", text))
	}
	return x
}

// spelled returns the different labels of cells as a model is to list them, and the one of each cell: equal numbers are one, as it is first spelled.
func spelled(cells []string, words bool) (list, of []string) {
	first := map[string]string{}
	for _, cell := range cells {
		key := cell
		if !words {
			key = number(cell).RatString()
		}
		if _, there := first[key]; !there {
			first[key] = cell
			list = append(list, cell)
		}
		of = append(of, first[key])
	}
	slices.SortFunc(list, func(a, b string) int {
		if words {
			return cmp.Compare(a, b)
		}
		return number(a).Cmp(number(b))
	})
	return list, of
}

// sorted returns the values sorted, each once.
func sorted(values []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(values)))
}

// same records a finding unless both lists are equal.
func (in *input) same(what string, got, want []string) bool {
	if slices.Equal(got, want) {
		return true
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			g, w := "nothing", "nothing"
			if i < len(got) {
				g = got[i]
			}
			if i < len(want) {
				w = want[i]
			}
			in.wrong("%s: %d values, want %d; number %d is %q, want %q", what, len(got), len(want), i+1, g, w)
			break
		}
	}
	return false
}

// deal returns which of n values each row has: all in turn at first, then by chance.
func (in *input) deal(rows, n int) (out []int) {
	for r := range rows {
		if r < 2*n {
			out = append(out, r%n)
		} else {
			out = append(out, in.rand.IntN(n))
		}
	}
	if in.one(4) { // some values only come late
		in.describe("in order")
		slices.Sort(out)
	}
	return out
}

// noise returns a column of decimals of three digits between -1 and 1.
func (in *input) noise(name string, rows int) *column {
	c := &column{name: name, kind: arrow.PrimitiveTypes.Float64}
	for range rows {
		c.cells = append(c.cells, thousandths(in.rand.Int64N(2001)-1000))
	}
	return c
}

// thousandths returns n/1000 as a decimal.
func thousandths(n int64) string { return big.NewRat(n, 1000).FloatString(3) }

// indicators returns a column of ones and zeros for each of n values: whether a row has it.
func indicators(which []int, n int) (out table) {
	for v := range n {
		c := &column{name: fmt.Sprintf("h%d", v), kind: arrow.PrimitiveTypes.Int64}
		for _, w := range which {
			if w == v {
				c.cells = append(c.cells, "1")
			} else {
				c.cells = append(c.cells, "0")
			}
		}
		out = append(out, c)
	}
	return out
}

// allowed returns the forms that can hold the values as labels.
func (c class) allowed(forms []string) (out []string) {
	for _, f := range forms {
		base := strings.TrimSuffix(f, ".gz")
		if c.blank && base == "svm" || c.words && (base == "libfm" || base == "vw") {
			continue
		}
		out = append(out, f)
	}
	return out
}
