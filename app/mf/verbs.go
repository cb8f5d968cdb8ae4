package mf

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"bellows"
	"bellows/app"
	"bellows/app/mf/internal/toplist"
	"bellows/data"
	"bellows/vec"
)

// Names of flags.
const (
	userFlag    = "user"
	ratingsFlag = "ratings"
	seenFlag    = "seen"
	itemFlag    = "item"
)

// Verbs implements app.Asker.
func (application) Verbs() []app.Verb {
	return []app.Verb{
		{
			Name: "recommend", Short: "List the unseen items that a user would rate highest",
			Long: "Items that the user has seen are left out: those in the training data, or those in the file of --seen. --ratings " +
				"describes a user that the model does not know.",
			Example: "--user u17 --top 5",
			Flags: []app.Flag{
				{Name: userFlag, Value: "USER", Usage: "a USER of the training data", Many: true},
				{Name: ratingsFlag, Value: "RATINGS", Usage: "RATINGS of a new user: item=4.5,other=2, or a file"},
				{Name: seenFlag, Value: "FILE", Usage: "leave out the items that users have in this FILE"},
				app.Top(),
			},
			Columns: []string{"user", "rank", "item", "score"},
			Answer:  recommend,
		},
		{
			Name: "similar", Short: "List the items or words that are most similar to one",
			Example: "--item i42 --top 5",
			Flags:   []app.Flag{{Name: itemFlag, Value: "ITEM", Usage: "an ITEM of the training data"}, app.Top()},
			Columns: []string{"rank", "name", "similarity"},
			Answer:  similar,
		},
	}
}

// recommend answers the verb of that name.
func recommend(q *app.Question) ([][]any, error) {
	users, ratings := q.Flags[userFlag], q.Flag(ratingsFlag)
	if (len(users) == 0) == (ratings == "") {
		return nil, bellows.Errorf(bellows.Usage, "recommend", "", "no user is given").
			Hinted("give --user USER of the training data, or --ratings item=4.5,other=2 of a new user")
	}
	most, err := q.Top()
	if err != nil {
		return nil, err
	}
	d, err := open(q.Model)
	if err != nil {
		return nil, err
	}
	if ratings != "" {
		return d.recommendNew(q, ratings, most)
	}
	known, err := d.places(users)
	if err != nil {
		return nil, err
	}
	without, err := d.excluded(q, users, known)
	if err != nil {
		return nil, err
	}
	var rows [][]any
	for k, user := range known {
		of := taste{d.uf[int(user)*d.rank:][:d.rank], d.ub[user]}
		rows = d.list(rows, users[k], d.best(of, most, without[k]))
	}
	return rows, nil
}

// places returns the numbers of users by their names. Those that the model does not know are named.
func (d *predictor) places(users []string) ([]int32, error) {
	known := make([]int32, len(users))
	var missing []string
	for k, name := range users {
		known[k] = int32(slices.Index(d.known.Users, name))
		if known[k] < 0 {
			missing = append(missing, strconv.Quote(name))
		}
	}
	if missing != nil {
		return nil, bellows.Errorf(bellows.BadData, "recommend", "", "the model does not know the user %s", strings.Join(missing, ", ")).
			Hinted("its users are in users.txt of its folder; for a new user give --ratings item=4.5,other=2")
	}
	return known, nil
}

// excluded returns the items that are not to be recommended to each of the users, ascending.
func (d *predictor) excluded(q *app.Question, users []string, known []int32) ([][]int32, error) {
	out := make([][]int32, len(known))
	if file := q.Flag(seenFlag); file != "" {
		return d.withoutFile(q, file, users)
	}
	if d.seen == nil {
		q.Note("the model does not keep what users have seen, so nothing is left out; --seen FILE leaves out what a file has")
	}
	for k, user := range known {
		out[k] = d.seen.Lookup(user)
	}
	return out, nil
}

// withoutFile returns what users have in a file of users and items.
func (d *predictor) withoutFile(q *app.Question, file string, users []string) ([][]int32, error) {
	set, err := q.Read(file, data.Ratings)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	_, items := set.Ratings.IndicesIn(&d.known)
	out := make([][]int32, len(users))
	strange := 0
	for r, u := range set.Ratings.User {
		if items[r] < 0 {
			strange++
			continue
		}
		for k, name := range users {
			if set.Ratings.Users[u] == name {
				out[k] = append(out[k], items[r])
			}
		}
	}
	for _, list := range out {
		slices.Sort(list)
	}
	if strange > 0 {
		q.Note("%s: %d of %d rows have an item that the model does not know", file, strange, set.Rows())
	}
	return out, nil
}

// list appends the rows of one user's answer.
func (d *predictor) list(rows [][]any, user string, best []toplist.Scored) [][]any {
	for k, s := range best {
		rows = append(rows, []any{user, k + 1, d.known.Items[s.Item], app.Number(d.folding.Origin, s.Score)})
	}
	return rows
}

// recommendNew serves a user that the model does not know: it leaves out the items of the ratings, and those of a file.
func (d *predictor) recommendNew(q *app.Question, text string, most int) ([][]any, error) {
	if d.folding == (details{}) {
		return nil, bellows.Errorf(bellows.BadData, "recommend", "", "the model does not say how strong L2 was").
			Hinted("train it again with this version, then new users can be given factors")
	}
	list, err := d.readGiven(q, text)
	if err != nil {
		return nil, err
	}
	var without []int32
	if file := q.Flag(seenFlag); file != "" {
		set, err := q.Read(file, data.Ratings)
		if err != nil {
			return nil, err
		}
		defer set.Close()
		_, without = set.Ratings.IndicesIn(&d.known)
	}
	for _, g := range list {
		without = append(without, g.item)
	}
	slices.Sort(without)
	return d.list(nil, "", d.best(d.fold(list), most, without)), nil
}

// readGiven reads ratings from a list or a file. Items that the model does not know are named and left out.
func (d *predictor) readGiven(q *app.Question, text string) ([]given, error) {
	lines, subject := strings.Split(text, ","), "--"+ratingsFlag
	cut := func(line string) (item, rating string, ok bool) {
		at := strings.LastIndexByte(line, '=')
		return line[:max(at, 0)], line[at+1:], at > 0
	}
	file, err := q.Open(text)
	switch {
	case err == nil:
		defer file.Close()
		lines, subject, cut = nil, text, cutRating
		scan := bufio.NewScanner(file)
		for scan.Scan() {
			lines = append(lines, scan.Text())
		}
		if err := scan.Err(); err != nil {
			return nil, bellows.Errorf(bellows.IO, "read", text, "%w", err)
		}
	case errors.Is(err, fs.ErrNotExist) && !strings.Contains(text, "=") && !d.implicit:
		return nil, bellows.Errorf(bellows.NoInput, "read", subject, "%q is no rating, and no file of that name exists", text).
			Hinted("write item=4.5,other=2, or name a file of lines of item and rating")
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if d.implicit {
		cut = bareOr(cut)
	}
	place := make(map[string]int32, len(d.known.Items))
	for i, item := range d.known.Items {
		place[item] = int32(i)
	}
	var list []given
	var strange []string
	for n, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		item, number, ok := cut(line)
		rating, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if !ok || err != nil || math.IsNaN(rating) || math.Abs(rating) > math.MaxFloat32 {
			return nil, bellows.Errorf(bellows.BadData, "read", fmt.Sprintf("%s:%d", subject, n+1), "%q is not an item and a rating", line).
				Hinted("write item=4.5,other=2, or a file of lines of item and rating, separated by a tab, a comma or a blank")
		}
		if i, ok := place[item]; ok && d.learned(int(i)) {
			list = append(list, given{i, float32(rating - d.folding.Origin)})
		} else {
			strange = append(strange, strconv.Quote(item))
		}
	}
	switch {
	case len(list) == 0:
		return nil, bellows.Errorf(bellows.BadData, "read", subject, "none of the items is known to the model: %s", app.FirstNames(strange)).
			Hinted("its items are in items.txt of its folder")
	case len(strange) > 0:
		q.Note("%d of %d items are not known to the model: %s", len(strange), len(strange)+len(list), app.FirstNames(strange))
	}
	return list, nil
}

// bareOr also takes a line without a rating, for an item that a user had.
func bareOr(cut func(string) (item, rating string, ok bool)) func(string) (item, rating string, ok bool) {
	return func(line string) (item, rating string, ok bool) {
		if item, rating, ok = cut(line); ok {
			return item, rating, ok
		}
		return strings.TrimSpace(line), "1", true
	}
}

// cutRating cuts a line of a file at its last separator.
func cutRating(line string) (item, rating string, ok bool) {
	line = strings.TrimSpace(line)
	at := strings.LastIndexAny(line, "\t,; ")
	return strings.Trim(line[:max(at, 0)], "\t,; "), line[at+1:], at > 0
}

// similar answers the verb of that name: items by the cosine of their factors.
func similar(q *app.Question) ([][]any, error) {
	most, err := q.Top()
	if err != nil {
		return nil, err
	}
	want := q.Flag(itemFlag)
	if want == "" {
		return nil, bellows.Errorf(bellows.Usage, "similar", "", "it must be told to what").Hinted("give --item ITEM of the training data")
	}
	d, err := open(q.Model)
	if err != nil {
		return nil, err
	}
	of := slices.Index(d.known.Items, want)
	if of < 0 || !(vec.AbsMax(d.item(of)) > 0) {
		return nil, bellows.Errorf(bellows.BadData, "similar", "", "the model does not know the item %q", want).
			Hinted("its items are in items.txt of its folder")
	}
	length := func(i int) float32 { return float32(math.Sqrt(float64(vec.SumSquares(d.item(i))))) }
	t, own := toplist.Top{Most: most}, length(of)
	for i := range d.qb {
		if other := length(i); i != of && other > 0 {
			t.Offer(toplist.Scored{Item: int32(i), Score: vec.Dot(d.item(of), d.item(i)) / own / other})
		}
	}
	var rows [][]any
	for k, s := range t.Sorted() {
		rows = append(rows, []any{k + 1, d.known.Items[s.Item], s.Score})
	}
	return rows, nil
}
