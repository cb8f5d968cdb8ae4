package data

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"os"

	"github.com/apache/arrow-go/v18/arrow"
)

// exactCase is different values that a float does not tell apart, or that a spelling may merge.
type exactCase struct {
	name    string
	values  []string // in the order of labels
	kind    arrow.DataType
	words   bool // they are text
	quoted  bool // JSON has no such numbers
	refused bool // labels of such numbers are refused by name
}

var exactCases = []exactCase{
	{name: "24 bits", values: []string{"16777216", "16777217", "16777218"}, kind: arrow.PrimitiveTypes.Int64},
	{name: "32 bits unsigned", values: []string{"4294967293", "4294967294", "4294967295"},
		kind: arrow.PrimitiveTypes.Uint32},
	{name: "53 bits", values: []string{"9007199254740991", "9007199254740992", "9007199254740993"},
		kind: arrow.PrimitiveTypes.Int64},
	{name: "63 bits", values: []string{"-9223372036854775808", "-9223372036854775807", "9223372036854775806",
		"9223372036854775807"}, kind: arrow.PrimitiveTypes.Int64},
	{name: "64 bits", values: []string{"5", "18446744073709551613", "18446744073709551614", "18446744073709551615"},
		kind: arrow.PrimitiveTypes.Uint64},
	{name: "decimals", values: []string{"-12345678901234567890.5", "12345678901234567890.5", "12345678901234567890.6"},
		kind: &arrow.Decimal128Type{Precision: 38, Scale: 1}},
	{name: "38 digits", values: []string{"-99999999999999999999999999999999999999", "0",
		"99999999999999999999999999999999999998", "99999999999999999999999999999999999999"},
		kind: &arrow.Decimal128Type{Precision: 38}},
	{name: "76 digits", values: []string{"1" + strings.Repeat("0", 74) + "1", "1" + strings.Repeat("0", 74) + "2"},
		kind: &arrow.Decimal256Type{Precision: 76}, refused: true},
	{name: "fractions", values: []string{"1", "1.00000001", "1.00000002"}, kind: arrow.PrimitiveTypes.Float64},
	{name: "whole floats", values: []string{"1000000", "9007199254740991", "9007199254740992"},
		kind: arrow.PrimitiveTypes.Float64},
	{name: "codes", values: []string{"001234", "01234", "1234"}, kind: arrow.BinaryTypes.String, quoted: true},
	{name: "numbers in text", values: []string{"12345678901234567890.25", "12345678901234567890.5"},
		kind: arrow.BinaryTypes.String, quoted: true},
	{name: "words", values: []string{"16777217th", "east", "west"}, kind: arrow.BinaryTypes.String, words: true,
		quoted: true},
}

// exactForms write rows of a value and a feature, which is the value's place, or of an id, an item and a rating.
var exactForms = []struct {
	name string
	row  func(c exactCase, value string, place int) string // nil: columns with types
	text bool                                              // labels may be words
}{
	{"a.csv", func(_ exactCase, v string, place int) string { return fmt.Sprintf("%s,%d,3\n", v, place) }, true},
	{"a.tsv", func(_ exactCase, v string, place int) string { return fmt.Sprintf("%s\t%d\t3\n", v, place) }, true},
	{"a.svm", func(_ exactCase, v string, place int) string { return fmt.Sprintf("%s 1:1 %d:1\n", v, place+2) }, true},
	{"a.libfm", func(_ exactCase, v string, place int) string { return fmt.Sprintf("%s 0:1 %d:1\n", v, place+2) },
		false},
	{"a.vw", func(_ exactCase, v string, place int) string { return fmt.Sprintf("%s |f a b%d\n", v, place) }, false},
	{"a.jsonl", func(c exactCase, v string, place int) string {
		if c.quoted {
			v = `"` + v + `"`
		}
		return fmt.Sprintf("{\"v\":%s,\"p\":%d,\"q\":3}\n", v, place)
	}, true},
	{"a.parquet", nil, true},
	{"a.arrow", nil, true},
}

// exactRows is the number of rows of a file: several of each value, which first occur in the order of the values.
const exactRows = 60

// write writes the values in a form, and returns the file.
func (c exactCase) write(t *testing.T, form int) string {
	t.Helper()
	f := exactForms[form]
	var text strings.Builder
	if f.row == nil {
		for r := range exactRows {
			fmt.Fprintf(&text, `%c{"v":%q,"p":%d,"q":3}`, "[,"[min(r, 1)], c.values[r%len(c.values)], r%len(c.values))
		}
		s := arrow.NewSchema([]arrow.Field{field("v", c.kind), field("p", arrow.PrimitiveTypes.Int64),
			field("q", arrow.PrimitiveTypes.Int64)}, nil)
		as := asParquet
		if strings.HasSuffix(f.name, ".arrow") {
			as = asArrow
		}
		return written(t, f.name, as(t, s, framed(t, s, text.String()+"]")))
	}
	switch f.name {
	case "a.csv":
		text.WriteString("v,p,q\n")
	case "a.tsv":
		text.WriteString("v\tp\tq\n")
	}
	for r := range exactRows {
		text.WriteString(f.row(c, c.values[r%len(c.values)], r%len(c.values)))
	}
	return written(t, f.name, []byte(text.String()))
}

// checkLabels holds labels against the values that were written: their spelling, their order, and the class of each
// row.
func (c exactCase) checkLabels(t *testing.T, e *ExampleSet, first int) {
	t.Helper()
	if got := e.Labels(100); !slices.Equal(got, c.values) {
		t.Errorf("labels are %q, want %q", got, c.values)
	}
	index := NewIndex(c.values)
	for r, class := range e.Number(func(label string) int32 { return index[label] }, -1) {
		if int(class) != (first+r)%len(c.values) {
			t.Fatalf("row %d has the class %d", first+r, class)
		}
	}
}

// TestLabelsAreExact: labels keep their digits in every format, through any blocks, the cache, selections and streams;
// what does not fit is refused by name.
func TestLabelsAreExact(t *testing.T) {
	t.Parallel()
	for _, c := range exactCases {
		for form, f := range exactForms {
			t.Run(c.name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				path, opt := c.write(t, form), Options{}
				if strings.Contains(c.name, "digits") || f.row == nil || strings.HasSuffix(f.name, "l") ||
					strings.HasSuffix(f.name, "sv") {
					opt.Label = "v"
				}
				if strings.HasSuffix(f.name, ".svm") || strings.HasSuffix(f.name, ".libfm") ||
					strings.HasSuffix(f.name, ".vw") {
					opt.Label = ""
				}
				set, err := Read(context.Background(), []string{path}, Examples, opt)
				if c.refused || c.words && !f.text {
					if err == nil || !strings.Contains(err.Error(), c.values[0][:9]) ||
						!strings.Contains(err.Error(), "32-bit float") && !c.words {
						t.Errorf("it is read, or refused by %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				c.checkLabels(t, set.Examples, 0)
				c.checkLabels(t, set.Select(HeldRows(1, exactRows, 100)).Examples, 0)
				for _, v := range variants()[1:] {
					v.Label = opt.Label
					again := mustRead(t, path, Examples, v)
					if c.checkLabels(t, again.Examples, 0); again.Digest() != set.Digest() {
						t.Errorf("blocks of %d bytes give another digest", v.blockBytes)
					}
				}
				c.checkStored(t, path, opt, set)
				c.checkStream(t, path, opt.ForTest(set))
			})
		}
	}
}

// checkStored reads by way of the cache.
func (c exactCase) checkStored(t *testing.T, path string, opt Options, set *Set) {
	t.Helper()
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	opt.Cache = filepath.Join(t.TempDir(), "cache")
	for range 2 {
		stored := mustRead(t, path, Examples, opt)
		if c.checkLabels(t, stored.Examples, 0); stored.Digest() != set.Digest() {
			t.Error("the cache gives another digest")
		}
	}
}

// checkStream reads in blocks, as a model's data are.
func (c exactCase) checkStream(t *testing.T, path string, opt Options) {
	t.Helper()
	opt.blockBytes, opt.Workers = 200, 2
	found, err := Stream(context.Background(), []string{path}, Examples, opt, func(b *Block) error {
		if err := b.Turn(); err != nil {
			return err
		}
		index := NewIndex(c.values)
		for r, class := range b.Set.Examples.Number(func(label string) int32 { return index[label] }, -1) {
			if int(class) != (int(b.Row)+r)%len(c.values) {
				return fmt.Errorf("row %d has the class %d", int(b.Row)+r, class)
			}
		}
		return nil
	})
	whole := !slices.ContainsFunc(c.values, func(v string) bool { return strings.Contains(v, ".") })
	if err != nil || whole && found.Classes != len(c.values) {
		t.Errorf("the stream has %d classes: %v", found.Classes, err)
	}
}

// TestIDsAndCategoriesAreExact: ids of users and items, and categories, are the text of what the data has.
func TestIDsAndCategoriesAreExact(t *testing.T) {
	t.Parallel()
	for _, c := range exactCases {
		for form, f := range exactForms {
			if strings.HasSuffix(f.name, ".svm") || strings.HasSuffix(f.name, ".libfm") ||
				strings.HasSuffix(f.name, ".vw") {
				continue
			}
			t.Run(c.name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				path := c.write(t, form)
				ids := mustRead(t, path, Ratings, Options{User: "v", Item: "p", Rating: "q"}).Ratings
				if !slices.Equal(ids.Users, c.values) || int(ids.User[len(c.values)-1]) != len(c.values)-1 {
					t.Errorf("users are %q", ids.Users)
				}
				items := mustRead(t, path, Ratings,
					Options{User: "p", Item: "v", Rating: "q", blockBytes: 64, Workers: 3}).Ratings
				if !slices.Equal(items.Items, c.values) {
					t.Errorf("items are %q", items.Items)
				}
				var want []string
				for _, v := range c.values {
					want = append(want, "v="+v)
				}
				slices.Sort(want)
				table := mustRead(t, path, Examples,
					Options{Label: "q", Ignore: []string{"p"}, Categorical: []string{"v"}}).Examples
				if !slices.Equal(table.FeatureNames, want) {
					t.Errorf("categories are %q", table.FeatureNames)
				}
			})
		}
	}
}

// TestEqualNumbersAreOneLabel: it is written as it is first; codes with zeros before them are told apart; labels beyond
// counting are no classes, and never the same.
func TestEqualNumbersAreOneLabel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rows, want []string
	}{
		{[]string{"+1", "1", "-1", "1.0", "-1.00"}, []string{"-1", "+1"}},
		{[]string{"1.0", "+1", "2", "2.0", "1"}, []string{"1.0", "2"}},
		{[]string{"1", "+1", "0", "-0", "0.0"}, []string{"0", "1"}},
		{[]string{"1e3", "1000", "999", "1000.0"}, []string{"999", "1e3"}},
		{[]string{"16777217.0", "16777217", "16777216", "+16777217"}, []string{"16777216", "16777217.0"}},
		{[]string{"2.50", "2.5", "10", "9"}, []string{"2.50", "9", "10"}},
		{[]string{"01234", "1234", "2", "1234"}, []string{"2", "01234", "1234"}},
		{[]string{"1", "1.0", "01", "+1"}, []string{"+1", "01", "1", "1.0"}},
		{[]string{"3", "3", "3.0"}, []string{"3"}},
	} {
		for name, row := range map[string]string{"csv": "%s,%d\n", "libsvm": "%s 1:%d\n", "vw": "%s |f a:%d\n"} {
			var text strings.Builder
			if name == "csv" {
				text.WriteString("y,x\n")
			}
			for range 20 {
				for i, label := range c.rows {
					fmt.Fprintf(&text, row, label, i)
				}
			}
			for _, opt := range variants() {
				opt.Format = Format(name)
				if got := readText(t, text.String(), Examples, opt).Examples.Labels(9); !slices.Equal(got, c.want) {
					t.Errorf("%s: %q are the labels %q, want %q", name, c.rows, got, c.want)
				}
			}
		}
	}
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "%d 1:1\n", 1_000_000_000_000+i)
	}
	for _, opt := range variants()[1:] {
		set := readText(t, text.String(), Examples, opt)
		if e := set.Examples; e.Labels(4096) != nil || set.Detected.Classes != 0 ||
			e.Number(func(string) int32 { return 0 }, -1)[0] != -1 {
			t.Errorf("20,000 labels of 13 digits are %d classes", set.Detected.Classes)
		}
	}
}

// TestWideFeatureNamesAreRefused: an index or a name of more than 32 bits would become another one.
func TestWideFeatureNamesAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"4294967296", "4294967297", "9007199254740993", "18446744073709551617",
		"00004294967297"} {
		for format, text := range map[Format]string{LIBSVM: "1 1:1 %s:2\n", LibFM: "1 1:1 %s:2\n",
			VW: "1 |f 1:1 %s:2\n", LDAC: "2 1:1 %s:2\n"} {
			kind := Examples
			if format == LDAC {
				kind = Documents
			}
			path := written(t, "a.txt", fmt.Appendf(nil, text, name))
			if _, err := Read(context.Background(), []string{path}, kind, Options{Format: format}); err == nil ||
				!strings.Contains(err.Error(), name) {
				t.Errorf("%s: %s gives %v", format, name, err)
			}
		}
	}
	if set := readText(t, "1 |f 4294967295:1 n4294967297:1\n0 |f 007:1\n", Examples,
		Options{Format: VW}); set.Rows() != 2 {
		t.Errorf("%d rows", set.Rows())
	}
	path := written(t, "a.vw", []byte("1 |4294967297 a:1\n"))
	if _, err := Read(context.Background(), []string{path}, Examples, Options{}); err == nil ||
		!strings.Contains(err.Error(), "namespace 4294967297") {
		t.Errorf("a namespace gives %v", err)
	}
}
