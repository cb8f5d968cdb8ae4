package columns

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bellows/data/internal/lines"
)

// table returns the first line of a text, and the sample below it.
func table(t *testing.T, text string) (first []lines.Field, seen []Sampled) {
	t.Helper()
	separator := ","
	if strings.Contains(text, "\t") {
		separator = "\t"
	}
	head, rows, _ := strings.Cut(text, "\n")
	first, f := lines.Fields([]byte(head), separator)
	if f != nil {
		t.Fatal(f.What)
	}
	return first, Sample(nil, []byte(rows), separator, first)
}

// settled returns the roles of the columns of a text with a header.
func settled(t *testing.T, text string, want Wanted) (*Choice, *lines.Fault) {
	t.Helper()
	first, seen := table(t, text)
	return Settle(NamesOf(first), seen, &want)
}

// TestHeaders: what is a header and what is a row, without a word of the user's.
func TestHeaders(t *testing.T) {
	t.Parallel()
	for text, header := range map[string]bool{
		"y,a\n1,2\n":                           true,
		"y,0,1\n1,2,3\n":                       true,  // the columns of a data frame without names
		"y,5.1,3\nz,4,3\n":                     false, // text labels, no header
		"5.1,3.5,setosa\n4.9,3,setosa\n":       false,
		"sepal,petal,species\n4.9,3,setosa\n":  true,
		"red,small,yes\nblue,small,no\n":       false, // small is a value of its column
		"color,size,label\nblue,small,no\n":    true,
		"p,x,p\ne,x,s\n":                       false, // two fields are the same
		"1,?\n2,3\n":                           false,
		"label,NA\n1,2\n":                      true,
		"label,1x1,1x2\n7,0,0\n":               true,
		"false,1.5\ntrue,2\n":                  false,
		"id,date,label\n1,2020-01-01,no\n":     true,
		"2020-01-01,1,no\n2020-01-02,2,yes\n":  false,
		"\"a b\",\"y\"\n1,2\n":                 true,
		"y\ta\n1\t2\n":                         true,
		"label,target,class\nno,one,knows\n\n": true,
		"y,a\n1,2\ny,a\n3,4\n":                 true,  // it stands there again
		"no,1,2\nno,3,4\nyes,1,2\n":            false, // no is a value of its column
		"no,1,2\n":                             false, // nothing is below
	} {
		first, seen := table(t, text)
		if got, f := Headed(first, seen, false); f != nil || got != header {
			t.Errorf("%q: header %v, %v", text, got, f)
		}
	}
}

// TestDoubtfulHeaders: what could be names or a row is refused, unless rows are known.
func TestDoubtfulHeaders(t *testing.T) {
	t.Parallel()
	for text, known := range map[string]bool{
		"y,5.1,x\n1,2,3\n":                 true, // names above numbers, and a number that does not count
		"y,0,1\nno,3,4\nyes,5,6\n":         false,
		"y,1,2\nno,3,4\nyes,5,6\nno,2,2\n": false,
	} {
		first, seen := table(t, text)
		if _, f := Headed(first, seen, false); f == nil || !strings.Contains(f.How, "--header yes") ||
			!strings.Contains(f.How, "--header no") {
			t.Errorf("%q: %+v", text, f)
		}
		if header, f := Headed(first, seen, true); header || (f != nil) != known {
			t.Errorf("%q, known: header %v, %+v", text, header, f)
		}
	}
	first, _ := table(t, "y,gr\xf6\xdfe\n1,2\n")
	if f := NotUTF8(first); f == nil || f.At != 2 || !strings.Contains(f.What, "column 2") {
		t.Errorf("%+v", f)
	}
}

// TestLabelColumns: a name that labels have is taken, else the first column, and that is said.
func TestLabelColumns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		label   string
		chosen  bool
		ignored int
	}{
		"id,x,label\n1,2,3\n":        {"label", false, 0},
		"y,class,x\n1,2,3\n":         {"class", false, 0},
		"id,Target,x\n1,2,3\n":       {"Target", false, 0},
		"kind,x,y\n1,2,3\n":          {"kind", true, 0},
		"x,y\n1,2\n":                 {"y", false, 0},
		"a,b\n1,2\n":                 {"a", true, 0},
		",x,label\n0,2,3\n1,2,1\n":   {"label", false, 1},
		",a,b\n0,2,3\n1,2,1\n":       {"a", true, 1},
		"label,x\nno,1\nyes,2\n":     {"label", false, 0},
		"label,x\ntrue,1\nfalse,2\n": {"label", false, 0},
	} {
		p, f := settled(t, text, Wanted{})
		if f != nil || p.Names[p.Label] != want.label || (p.Choice != "") != want.chosen ||
			len(p.Ignored) != want.ignored {
			t.Errorf("%q: %+v, %v", text, p, f)
		}
	}
	p, f := Settle(nil, make([]Sampled, 2), &Wanted{})
	if f != nil || p.Label != 0 || p.Choice == "" {
		t.Errorf("without names: %+v, %v", p, f)
	}
}

// TestSettleRefuses: each fault names the column, and what to say instead.
func TestSettleRefuses(t *testing.T) {
	t.Parallel()
	model := &Known{Header: true, Label: &Column{Name: "y", Number: 1},
		Features: []Column{{Name: "a", Number: 2}, {Name: "b", Number: 3}}}
	for _, c := range []struct {
		text      string
		want      Wanted
		what, how string
	}{
		{"y,a\n1,2\n", Wanted{Label: "price"}, `"price"`, "y, a"},
		{"y,a\n1,2\n", Wanted{Label: "3"}, "no column 3", "2 columns"},
		{"y,a\n1,2\n", Wanted{Label: "y", Ignore: []string{"1"}}, "to be ignored", "out of --ignore"},
		{"y,a\n1,2\n", Wanted{Ignore: []string{"y", "a"}}, "no column is left", "fewer"},
		{"y,a,a\n1,2,3\n", Wanted{}, `both named "a"`, "--ignore 3"},
		{"y,a\n1,2\n", Wanted{Categorical: []string{"c"}}, `"c"`, "y, a"},
		{"y,a\n1,2\n", Wanted{As: model}, `"b"`, "y, a"},
		{"y,a,b,c\n1,2,3,4\n", Wanted{As: model}, `"c"`, "--ignore c"},
		{"a,b\n2,3\n", Wanted{As: model}, `"y" is missing`, "--label"},
		{"y,a\n1,2\n", Wanted{Features: 3}, "1 feature", "same columns"},
	} {
		if _, f := settled(t, c.text, c.want); f == nil || !strings.Contains(f.What, c.what) ||
			!strings.Contains(f.How, c.how) {
			t.Errorf("%q %+v: %+v", c.text, c.want, f)
		}
	}
}

// TestColumnsOfAModelAreFound: by their names in any order, by position where there are none.
func TestColumnsOfAModelAreFound(t *testing.T) {
	t.Parallel()
	model := &Known{Header: true, Label: &Column{Name: "y", Number: 1},
		Features: []Column{{Name: "a", Number: 2}, {Name: "b", Number: 3}}}
	p, f := settled(t, "b,y,a\n3,1,2\n", Wanted{As: model})
	if f != nil || p.Label != 1 || !slices.Equal(p.Place, []int{1, -1, 0}) {
		t.Errorf("%+v, %v", p, f)
	}
	if p, f = Settle(nil, make([]Sampled, 2), &Wanted{As: model, Unlabelled: true}); f != nil || p.Label != -1 ||
		!slices.Equal(p.Place, []int{0, 1}) {
		t.Errorf("%+v, %v", p, f)
	}
}

var nan = float32(math.NaN())

// TestFillIn: missing values become the mean of their column or what a model has for it, and their places are known.
func TestFillIn(t *testing.T) {
	t.Parallel()
	given := float32(9)
	list := []Column{{Name: "a"}, {Name: "b", Fill: &given}, {Name: "c", Levels: []string{"x"}}}
	values := []float32{1, nan, 0, 3, 5, 0, nan, nan, -1}
	gaps := FillIn(values, list, nil)
	if !slices.Equal(values, []float32{1, 9, 0, 3, 5, 0, 2, 9, -1}) || !slices.Equal(gaps, []int64{1, 6, 7}) ||
		*list[0].Fill != 2 || list[2].Fill != nil {
		t.Errorf("%v, gaps %v, %+v", values, gaps, list)
	}
}

// TestEncode: a column of text becomes a feature for each of its values, in the order of the columns; gaps go with
// their values.
func TestEncode(t *testing.T) {
	t.Parallel()
	list := []Column{{Name: "c", Levels: []string{"", "x"}}, {Name: "a"}, {Number: 3, Buckets: 2}}
	s := Encode([]float32{1, 5, 0, -1, 6, 1}, list, []int64{4})
	if s.Features != 5 || s.Unknown != 1 || !slices.Equal(s.Index, []int32{1, 2, 3, 2, 4}) ||
		!slices.Equal(s.Value, []float32{1, 5, 1, 6, 1}) ||
		!slices.Equal(s.Offset, []int64{0, 3, 5}) || !slices.Equal(s.Gaps, []int64{3}) {
		t.Errorf("%+v", s)
	}
	if got, want := Names(list), []string{"c=(missing)", "c=x", "a", "column 3#0", "column 3#1"}; !slices.Equal(got,
		want) {
		t.Errorf("names %q, want %q", got, want)
	}
}

// TestMeansOfSomeRows: rows that do not count, and values that were missing, have no part in a mean; what is filled in
// is by feature. Dense rows and
// sparse ones are alike.
func TestMeansOfSomeRows(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*Rows{
		"dense": {Features: 2, Dense: []float32{1, 5, 3, 7, 8, 9}},
		"sparse": {Features: 2, Offset: []int64{0, 2, 4, 6}, Index: []int32{0, 1, 0, 1, 0, 1},
			Value: []float32{1, 5, 3, 7, 8, 9}},
	} {
		gaps := []int64{2, 4, 5}
		means := r.FeatureMeans(gaps, func(row int) bool { return row < 2 })
		if !slices.Equal(means, []float32{1, 6}) {
			t.Errorf("%s: means %v", name, means)
		}
		r.Fill(gaps, means)
		if got := r.values(); !slices.Equal(got, []float32{1, 5, 1, 7, 1, 6}) {
			t.Errorf("%s: filled %v", name, got)
		}
		if got := r.PickGaps(gaps, []int32{2, 0, 1, 1}); !slices.Equal(got, []int64{0, 1, 4, 6}) {
			t.Errorf("%s: picked %v", name, got)
		}
		r.Fill(gaps, []float32{nan, nan})
		if got := r.Gaps(); !slices.Equal(got, gaps) {
			t.Errorf("%s: gaps %v", name, got)
		}
	}
}

// TestOdd: columns of numbers that count the rows, from ten on, or are the same in all, by the names that flags take.
func TestOdd(t *testing.T) {
	t.Parallel()
	list := []Column{{Name: "id", Number: 1}, {Name: "x", Number: 2}, {Name: "same too", Number: 3},
		{Name: "text", Number: 4, Levels: []string{"a"}}}
	var values []float32
	for i := range 10 {
		values = append(values, float32(100+i), float32(i*i%7), 3, 0)
	}
	constant, counts := Odd(values, list)
	if !slices.Equal(constant, []string{"3"}) || !slices.Equal(counts, []string{"id"}) {
		t.Errorf("constant %q, counting %q", constant, counts)
	}
	if _, counts = Odd(values[:9*4], list); counts != nil {
		t.Errorf("nine rows: counting %q", counts)
	}
}

// TestFew: several whole numbers, on the average five rows of each.
func TestFew(t *testing.T) {
	t.Parallel()
	if few := []float32{1, 2, 1, 2, 1, 2, 1, 2, 1, 2}; !Few(few, 1, 0) || Few(few[:9], 1, 0) ||
		Few([]float32{1, 1, 1, 1, 1}, 1, 0) || Few(append([]float32{1.5}, few[:9]...), 1, 0) {
		t.Error("few is judged otherwise")
	}
}

// TestAdviceListsFewColumns: a message about thousands of columns names a few and counts the others; one about a few
// has a flag that can be copied.
func TestAdviceListsFewColumns(t *testing.T) {
	t.Parallel()
	var many []string
	for j := range 6667 {
		many = append(many, "c"+strconv.Itoa(3*j))
	}
	for _, c := range []struct {
		columns []string
		want    string
	}{
		{many, "6 667 columns are the same in all rows, and say nothing: c0, c3, c6 and 6 664 more; leave them " +
			"out with --ignore COLUMNS"},
		{many[:2], "2 columns are the same in all rows, and say nothing; leave them out with --ignore c0,c3"},
	} {
		got := (Detection{Constant: c.columns}).Warnings()
		if len(got) != 1 || got[0] != c.want {
			t.Errorf("%d columns: %q, want %q", len(c.columns), got, c.want)
		}
	}
	_, f := settled(t, "y,"+strings.Join(many, ",")+"\n1"+strings.Repeat(",2", len(many))+"\n",
		Wanted{Label: "y", As: &Known{Header: true, Label: &Column{Name: "y"}, Features: []Column{{Name: "c0"}}}})
	if f == nil || len(f.What+f.How) > 300 {
		t.Errorf("columns that training had not: %+v", f)
	}
}
