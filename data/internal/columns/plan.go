package columns

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bellows/data/internal/lines"
	"bellows/data/internal/missing"
	"bellows/data/internal/roles"
)

// A Choice assigns a role to each column of a table.
//
// Invariant: Features and Place agree, and depend only on the sample of the first file, neither on the number of
// workers nor on the size of blocks (TestColumnsDoNotDependOnBlocks).
//
// Rejected: columns settled after the whole input has been seen. One word near the end would force numbers to be parsed
// again as text, or all rows to be kept as text. Instead that word is an error with its place and both remedies.
type Choice struct {
	Names      []string // of all columns, from the header; nil without one
	Count      int      // number of columns
	Label      int      // the label's column, -1 for none
	Time       int      // the column of times, -1: not wanted
	Weight     int      // the column of weights, -1: all rows have the same weight
	TextLabels bool
	Features   []Column // in the order of a row's values
	Place      []int    // the feature of each column of the file; -1 for the label and for columns left out
	Folders    []Folder // the features that no column of the file has
	Ignored    []Column
	Choice     string  // how the label's column was chosen, for the screen; "" if the user named it
	Origin     float64 // subtracted from the labels
	LabelLoss  float64 // like Column.Loss
	Fresh      bool    // the columns are not just those of a model
	want       *Wanted
}

// Wanted holds the options and the model that decide the roles of columns.
type Wanted struct {
	Label               string // by name or number, like the lists; "" leaves it open
	Ignore, Categorical []string
	Unlabelled          bool   // rows need no label
	Features            int    // number of features of a model that does not describe its columns; 0 for any
	As                  *Known // nil for training data
	FolderKeys          []FolderKey
	Rule                *missing.Rule // which values are missing
	Timed, TimeKept     bool          // a column of times is wanted, and stays a feature
	Time                string        // that column, by name or number; "" finds it by its name
	Weight              string        // the column of weights, by name or number; "" is the model's, if it has one
}

// Known describes the columns of a model's data.
type Known struct {
	Header, TextLabels bool
	Label, Weight      *Column
	Features, Ignored  []Column
	Origin             float64 // subtracted from the labels
	Grow               bool    // new columns and values of text are accepted, and numbered after the known ones
}

// columns returns the columns of the model's table.
func (k *Known) columns() []Column {
	list := slices.Concat(k.Features, k.Ignored)
	for _, c := range []*Column{k.Label, k.Weight} {
		if c != nil {
			list = append(list, *c)
		}
	}
	return list
}

// NamedIn reports whether a line has the name of one of the model's columns.
func (k *Known) NamedIn(fields []lines.Field) bool {
	if !k.Header {
		return false
	}
	for _, c := range k.columns() {
		if slices.ContainsFunc(fields, func(f lines.Field) bool { return c.Name != "" && string(f.Text) == c.Name }) {
			return true
		}
	}
	return false
}

// Settle assigns the roles of columns. names is nil without a header. seen has the samples of all columns. A fault
// refers to the whole first line.
func Settle(names []string, seen []Sampled, want *Wanted) (*Choice, *lines.Fault) {
	p := &Choice{Names: names, Count: len(seen), Place: make([]int, len(seen)), Time: -1, Weight: -1, want: want}
	ignored, f := p.positions(want.Ignore)
	if f == nil && want.Timed {
		ignored, f = p.putTimeAside(ignored)
	}
	if f == nil && want.Weight != "" {
		ignored, f = p.putWeightAside(ignored)
	}
	switch {
	case f != nil:
	case want.As != nil:
		f = p.match(seen, ignored)
	default:
		f = p.choose(seen, ignored)
	}
	return p, f
}

// settle decides whether a column of training data is text, and what its values are counted from.
func (c *Column) settle(seen *Sampled, text bool) {
	if c.Open = seen.Text() || text; !c.Open {
		c.Origin, c.Loss = seen.values.Choose()
	}
}

// column returns the column at position i, from 0.
func (p *Choice) column(i int) Column {
	c := Column{Number: i + 1}
	if p.Names != nil {
		c.Name = p.Names[i]
	}
	return c
}

// width checks the number of features against a model that does not describe its columns.
func (p *Choice) width() *lines.Fault {
	if n := len(p.Features); p.want.Features > 0 && n != p.want.Features {
		return &lines.Fault{What: fmt.Sprintf("the first row has %s, the model has %d", lines.Plural(n, "feature"),
			p.want.Features),
			How: "give the same columns as in training, the label among them"}
	}
	return nil
}

// NamesOf returns the names in a header.
func NamesOf(fields []lines.Field) []string {
	names := make([]string, len(fields))
	for i, field := range fields {
		names[i] = strings.ToValidUTF8(string(field.Text), "\ufffd")
	}
	return names
}

// positions returns the positions of columns that an option lists by name or number. Partitions have no position.
func (p *Choice) positions(list []string) ([]int, *lines.Fault) {
	var at []int
	for _, name := range list {
		if p.folderKey(name) != nil {
			continue
		}
		i, f := p.find(name)
		if f != nil {
			return nil, f
		}
		at = append(at, i)
	}
	return at, nil
}

// find returns the position of a column by its name or its number from 1.
func (p *Choice) find(name string) (int, *lines.Fault) {
	if i := slices.Index(p.Names, name); i >= 0 {
		return i, nil
	}
	n, err := strconv.Atoi(name)
	if err == nil && n >= 1 && n <= p.Count {
		return n - 1, nil
	}
	f := &lines.Fault{}
	switch {
	case err == nil:
		f.What, f.How = fmt.Sprintf("there is no column %d", n),
			fmt.Sprintf("the first line has %s", lines.Plural(p.Count, "column"))
	case p.Names == nil:
		f.What = fmt.Sprintf("no column is named %s: the first line is a row", lines.Quote([]byte(name)))
		f.How = fmt.Sprintf("name it by its number, 1 to %d, or say with --header yes that the first line names "+
			"the columns", p.Count)
	default:
		f.What = fmt.Sprintf("no column is named %s", lines.Quote([]byte(name)))
		f.How = "the first line has: " + JoinNames(p.Names) + "; a number from 1 also names a column"
	}
	return 0, f
}

// choose assigns the roles of columns of training data.
func (p *Choice) choose(seen []Sampled, ignored []int) *lines.Fault {
	texts, f := p.positions(p.want.Categorical)
	if f != nil {
		return f
	}
	for i, name := range p.Names {
		if name == "" && !slices.Contains(ignored, i) { // the number of a row, as data frames write it
			ignored = append(ignored, i)
		} else if other := slices.Index(p.Names, name); name != "" && other < i && !slices.Contains(ignored, i) &&
			!slices.Contains(ignored, other) {
			return &lines.Fault{What: fmt.Sprintf("columns %d and %d are both named %s", other+1, i+1,
				lines.Quote([]byte(name))),
				How: fmt.Sprintf("name them apart, or leave one out with --ignore %d", i+1)}
		}
	}
	if f := p.chooseLabel(ignored); f != nil {
		return f
	}
	if p.Label >= 0 {
		if p.TextLabels = seen[p.Label].Text() || slices.Contains(texts, p.Label); !p.TextLabels {
			p.Origin, p.LabelLoss = seen[p.Label].values.Choose()
		}
	}
	for i := range p.Count {
		c := p.column(i)
		switch {
		case i == p.Label, i == p.Weight:
			p.Place[i] = -1
			continue
		case slices.Contains(ignored, i):
			p.Place[i] = -1
			p.Ignored = append(p.Ignored, c)
			continue
		}
		c.settle(&seen[i], slices.Contains(texts, i))
		p.Place[i] = len(p.Features)
		p.Features = append(p.Features, c)
	}
	if f := p.chooseFolders(); f != nil {
		return f
	}
	return p.width()
}

// putTimeAside finds the column of times and adds it to the ignored ones, unless it is also wanted as a feature.
func (p *Choice) putTimeAside(ignored []int) ([]int, *lines.Fault) {
	f := p.chooseTime()
	if f != nil {
		return nil, f
	}
	texts, f := p.positions(p.want.Categorical)
	if !p.want.TimeKept && !slices.Contains(texts, p.Time) && !slices.Contains(ignored, p.Time) {
		ignored = append(ignored, p.Time)
	}
	return ignored, f
}

// putWeightAside finds the column of weights and adds it to the columns that are neither label nor feature. Rows to
// predict do not use it, and there it is left out.
func (p *Choice) putWeightAside(ignored []int) ([]int, *lines.Fault) {
	at, f := p.find(p.want.Weight)
	if f != nil {
		return nil, f
	}
	texts, f := p.positions(p.want.Categorical)
	switch {
	case f != nil:
	case at == p.Time:
		f = &lines.Fault{What: "one column cannot hold both weights and times",
			How: "name another column with --weight or --time"}
	case slices.Contains(ignored, at):
		f = &lines.Fault{What: "the column of weights is to be ignored",
			How: "leave it out of --ignore, or leave out --weight"}
	case slices.Contains(texts, at):
		f = &lines.Fault{What: "the column of weights is to be text", How: "leave it out of --categorical"}
	case !p.want.Unlabelled:
		p.Weight = at
	}
	return append(ignored, at), f
}

// chooseTime finds the column of times: the one that the option names, or the only one with a usual name for times.
func (p *Choice) chooseTime() (f *lines.Fault) {
	if p.want.Time != "" {
		p.Time, f = p.find(p.want.Time)
		return f
	}
	var named []int
	for i, name := range p.Names {
		if slices.Contains(roles.TimeNames, roles.PlainName(name)) {
			named = append(named, i)
		}
	}
	switch {
	case len(named) == 1:
		p.Time = named[0]
		return nil
	case len(named) > 1:
		return &lines.Fault{What: fmt.Sprintf("the time can be column %s or column %s", p.Names[named[0]],
			p.Names[named[1]]),
			How: "say which: --time " + p.option(named[0])}
	case p.Names == nil:
		return &lines.Fault{What: "no column is known to hold the time of the rows, by which some are to be held " +
			"out: the first line is a row",
			How: fmt.Sprintf("say with --time which column it is, by its number, 1 to %d", p.Count)}
	}
	return &lines.Fault{What: "the header names no time of the rows, by which some are to be held out",
		How: "name its column with --time, or by its number; the columns are " + JoinNames(p.Names)}
}

// labelTitles are the usual names of a label's column, the most certain first. Next to x and other columns, y may be a
// coordinate.
var labelTitles = []string{"label", "target", "class", "y"}

// chooseLabel finds the label's column: the one that the option names, else one with a usual name for labels, else the
// first.
func (p *Choice) chooseLabel(ignored []int) (f *lines.Fault) {
	p.Label, p.Fresh = -1, true
	if p.want.Label != "" {
		switch p.Label, f = p.find(p.want.Label); {
		case f != nil:
		case p.Label == p.Time:
			f = &lines.Fault{What: "one column cannot hold both labels and times",
				How: "name another column with --time"}
		case p.Label == p.Weight:
			f = &lines.Fault{What: "one column cannot hold both labels and weights",
				How: "name another column with --weight or --label"}
		case slices.Contains(ignored, p.Label):
			f = &lines.Fault{What: "the label's column is to be ignored", How: "leave it out of --ignore"}
		}
		return f
	}
	if p.want.Unlabelled && p.want.Features == p.Count-len(ignored) {
		return nil
	}
	for _, title := range labelTitles {
		for i, name := range p.Names {
			coordinate := title == "y" && p.Count > 2 &&
				slices.ContainsFunc(p.Names, func(other string) bool { return strings.EqualFold(other, "x") })
			if strings.EqualFold(name, title) && !coordinate && !slices.Contains(ignored, i) {
				p.Label = i
				return nil
			}
		}
	}
	for i := range p.Count {
		if !slices.Contains(ignored, i) {
			p.Label = i
			p.Choice = "the first column"
			return nil
		}
	}
	return &lines.Fault{What: "no column is left", How: "ignore fewer columns"}
}

// match finds the columns of the model's data: by name, in any order, if both have a header, else by position.
func (p *Choice) match(seen []Sampled, ignored []int) *lines.Fault {
	as := p.want.As
	p.Features = as.Features
	for i := range p.Place {
		p.Place[i] = -1
	}
	p.Label = -1
	by := p.matchPlaces
	if p.Names != nil && as.Header {
		by = p.matchNames
	}
	extra, f := by(ignored)
	if f == nil && as.Grow {
		f = p.grow(extra, seen)
	}
	if p.TextLabels = p.Label >= 0 && (as.TextLabels || seen[p.Label].Text() &&
		!seen[p.Label].onlyTruths()); !p.TextLabels {
		p.Origin = as.Origin
	}
	return f
}

// matchNames matches columns by name.
func (p *Choice) matchNames(ignored []int) (extra []int, f *lines.Fault) {
	as := p.want.As
	label, f := p.matchLabel()
	if f != nil {
		return nil, f
	}
	found := make([]bool, len(as.Features))
	for i, name := range p.Names {
		feature := slices.IndexFunc(as.Features, func(c Column) bool { return c.Name == name })
		switch {
		case i == p.Weight:
		case slices.Contains(ignored, i):
			p.Ignored = append(p.Ignored, p.column(i))
		case i == label:
		case feature >= 0 && found[feature]:
			return nil, &lines.Fault{What: fmt.Sprintf("two columns are named %s", lines.Quote([]byte(name))),
				How: "leave one of them out with --ignore and its number"}
		case feature >= 0:
			found[feature], p.Place[i] = true, feature
		case p.weighs(i):
		case name == "", slices.ContainsFunc(as.Ignored, func(c Column) bool { return c.Name == name }),
			as.Label != nil && as.Label.Name == name:
			p.Ignored = append(p.Ignored, p.column(i))
		default:
			extra = append(extra, i)
		}
	}
	lacking, f := p.knownFolders(found)
	switch {
	case f != nil:
		return nil, f
	case p.Time >= 0 && slices.Contains(lacking, p.Names[p.Time]):
		return nil, &lines.Fault{What: fmt.Sprintf("the model was trained on %s, which is now the column of times",
			columnsNamed(p.Names[p.Time:p.Time+1])),
			How: "keep it as a feature with --time-feature"}
	case len(lacking) > 0:
		return nil, &lines.Fault{What: fmt.Sprintf("the model was trained on %s, and there is no such column",
			columnsNamed(lacking)),
			How: "the first line has: " + JoinNames(p.Names) + "; give the columns that training had, in any order"}
	case len(extra) > 0 && !as.Grow:
		var names []string
		for _, i := range extra {
			names = append(names, p.option(i))
		}
		_, flag := ignoreFlag(names)
		return nil, &lines.Fault{What: fmt.Sprintf("the model was trained without %s", columnsNamed(names)),
			How: "leave out what it does not know with " + flag}
	}
	return extra, nil
}

// weighs reports whether a column has the weights, by the name that it had in the model's data. It notes the column if
// the rows use weights.
func (p *Choice) weighs(i int) bool {
	as := p.want.As
	if as.Weight == nil || p.Names[i] != as.Weight.Name {
		return false
	}
	if p.Weight < 0 && !p.want.Unlabelled {
		p.Weight = i
	} else {
		p.Ignored = append(p.Ignored, p.column(i))
	}
	return true
}

// grow adds what the model does not know: columns, which become features after the known ones, and values of its
// columns of text. New columns get the numbers that they have here.
func (p *Choice) grow(extra []int, seen []Sampled) *lines.Fault {
	texts, f := p.positions(p.want.Categorical)
	if f != nil {
		return f
	}
	p.Features, p.Fresh = slices.Clone(p.Features), true
	for j := range p.Features {
		p.Features[j].Open = p.Features[j].Levels != nil &&
			!slices.ContainsFunc(p.Folders, func(f Folder) bool { return f.Place == j })
	}
	for _, i := range extra {
		c := p.column(i)
		if slices.ContainsFunc(p.Features, func(other Column) bool { return other.Name == c.Name }) {
			return &lines.Fault{What: fmt.Sprintf("two columns are named %s", lines.Quote([]byte(c.Name))),
				How: "leave one of them out with --ignore and its number"}
		}
		c.settle(&seen[i], slices.Contains(texts, i))
		p.Place[i] = len(p.Features)
		p.Features = append(p.Features, c)
	}
	for i, at := range p.Place {
		if at >= 0 {
			p.Features[at].Number = i + 1
		}
	}
	return nil
}

// matchLabel returns the position of the label, -1 if there is none. Rows to predict need no label, and theirs is not
// read.
func (p *Choice) matchLabel() (at int, f *lines.Fault) {
	as := p.want.As
	at = -1
	switch {
	case p.want.Label != "":
		if at, f = p.find(p.want.Label); f != nil {
			return -1, f
		}
	case as.Label != nil:
		at = slices.Index(p.Names, as.Label.Name)
	}
	if p.want.Unlabelled {
		return at, nil
	}
	if at < 0 {
		return -1, &lines.Fault{What: fmt.Sprintf("the label's column %s is missing",
			lines.Quote([]byte(as.Label.Name))),
			How: "the first line has: " + JoinNames(p.Names) + "; give the labels, or name their column with --label"}
	}
	p.Label = at
	return at, nil
}

// matchPlaces matches columns by position, if this file or the training data has no header.
func (p *Choice) matchPlaces(ignored []int) (extra []int, f *lines.Fault) {
	as := p.want.As
	var rest []int // positions in the file that are not ignored here
	for i := range p.Count {
		switch {
		case i == p.Weight:
		case slices.Contains(ignored, i):
			p.Ignored = append(p.Ignored, p.column(i))
		default:
			rest = append(rest, i)
		}
	}
	known := *as
	if p.Weight >= 0 { // the option names it, wherever the model had it
		known.Weight = nil
	}
	order, features := p.withoutFolders(known.columns()), p.withoutFolders(as.Features)
	slices.SortFunc(order, func(a, b Column) int { return a.Number - b.Number })
	switch {
	case len(rest) == len(order):
	case p.want.Unlabelled && len(rest) == len(features):
		order = features
	default:
		how := "give the columns that training had, in their order; leave out others with --ignore and their numbers"
		if p.want.Unlabelled {
			how = "give the columns that training had, in their order, with or without the label; leave out " +
				"others with --ignore and their numbers"
		}
		return nil, &lines.Fault{What: fmt.Sprintf(
			"rows have %s, those of the training data had %d, the label among them", lines.Plural(len(rest), "column"),
			len(order)), How: how}
	}
	for k, c := range order {
		if j := slices.IndexFunc(as.Features, func(f Column) bool { return f.Number == c.Number }); j >= 0 {
			p.Place[rest[k]] = j
		} else if as.Label != nil && as.Label.Number == c.Number && !p.want.Unlabelled {
			p.Label = rest[k]
		} else if known.Weight != nil && known.Weight.Number == c.Number && !p.want.Unlabelled {
			p.Weight = rest[k]
		}
	}
	found := make([]bool, len(as.Features))
	for j, c := range as.Features {
		found[j] = !c.Folder || p.folderKey(c.Name) == nil
	}
	_, f = p.knownFolders(found)
	return nil, f
}

// columnsNamed names one column or several in a message.
func columnsNamed(names []string) string {
	if len(names) == 1 {
		return "the column " + lines.Quote([]byte(names[0]))
	}
	return "the columns " + JoinNames(names)
}

// option returns a column as a flag takes it.
func (p *Choice) option(i int) string {
	if p.Names != nil && lines.IsPlain(p.Names[i]) {
		return p.Names[i]
	}
	return strconv.Itoa(i + 1)
}

// Plain reports whether all columns are numbers in the order of the rows, and the label, if there is one, is a number.
func (p *Choice) Plain() bool {
	next := 0
	for i, at := range p.Place {
		if i == p.Label {
			continue
		}
		if at != next || p.Features[at].Text() {
			return false
		}
		next++
	}
	return !p.TextLabels && next == len(p.Features) && p.Origin == 0 &&
		!slices.ContainsFunc(p.Features, func(c Column) bool { return c.Origin != 0 })
}

// JoinNames joins the first few names of a list.
func JoinNames(names []string) string {
	var b strings.Builder
	for i, name := range names {
		if i == 8 {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strings.Trim(lines.Quote([]byte(name)), `"`))
	}
	return b.String()
}

// Repeated reports whether the first line of a further file is a header as well: the same one, or one with a word above
// a column of numbers.
func (p *Choice) Repeated(fields []lines.Field) bool {
	if slices.Equal(p.Names, NamesOf(fields)) {
		return true
	}
	words := false
	for i, field := range fields {
		switch of := sortOf(nil, field.Text); {
		case of == numberField:
			return false
		case i >= p.Count, of != wordField:
		case i == p.Label:
			words = words || !p.TextLabels
		default:
			at := p.Place[i]
			words = words || at >= 0 && !p.Features[at].Text()
		}
	}
	return words
}
