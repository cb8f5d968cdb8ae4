package data

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"bellows/data/internal/roles"
)

// shownRatings returns how a text of ratings was read: user, item and rating of each row, or the error.
func shownRatings(text string, opt Options) string {
	opt.Stdin = strings.NewReader(text)
	set, err := Read(context.Background(), []string{"-"}, Ratings, opt)
	if err != nil {
		return err.Error()
	}
	var rows []string
	r := set.Ratings
	for i, v := range r.Rating {
		rows = append(rows, fmt.Sprintf("%s %s %g", r.Users[r.User[i]], r.Items[r.Item[i]], v))
	}
	return strings.Join(rows, "; ")
}

// TestColumnsOfRatings finds the user, the item and the rating in whatever order a file has them.
func TestColumnsOfRatings(t *testing.T) {
	t.Parallel()
	pairs := Options{Unlabelled: true}
	trained := Options{Unlabelled: true, As: &Reading{Format: Triples, Separator: "comma", Header: true,
		User: &Column{Name: "fan", Number: 3}, Item: &Column{Name: "film", Number: 2},
		Rating: &Column{Name: "rating", Number: 1}}}
	for _, c := range []struct {
		text string
		opt  Options
		want string
	}{
		{"rating,userId,itemId\n4,u1,i7\n", Options{}, "u1 i7 4"},
		{"timestamp,userId,movieId,rating\n99,1,2,3.5\n98,3,4,5\n", Options{}, "1 2 3.5; 3 4 5"},
		{"item,user,rating\ni1,u1,2\n", Options{}, "u1 i1 2"},
		{"\"User-ID\";\"ISBN\";\"Book-Rating\"\n\"276725\";\"034545104X\";\"0\"\n", Options{}, "276725 034545104X 0"},
		{"Stars\tReview text\tReviewer ID\tASIN\n5\tvery, very good\tA1\tB000\n", Options{}, "A1 B000 5"},
		{"user_id,item_id,rating,title,year\n1,2,3,\"a, b\",1999\r\n4,5,6,,\r\n", Options{}, "1 2 3; 4 5 6"},
		{"user_id,item_id,rating,comment\n1,2,3,not a time\n", Options{}, "1 2 3"},
		{"a,b,c\n1,2,3\n", Options{}, "1 2 3"}, // names that say nothing stand as usual
		{"3,u1,i1\n4,u2,i1\n", Options{Rating: "1"}, "u1 i1 3; u2 i1 4"},
		{"x,3,u1,y,i1\n", Options{User: "3", Item: "5", Rating: "2"}, "u1 i1 3"},
		{"mark,who,what\n3,u1,i1\n", Options{User: "who", Item: "what", Rating: "mark"}, "u1 i1 3"},
		{"mark,user,item\n3,u1,i1\n", Options{Rating: "mark"}, "u1 i1 3"},
		{"mark,user,item\n3,u1,i1\n", Options{Rating: "1"}, "u1 i1 3"},
		{"user\titem\nu1\ti1\n", pairs, "u1 i1 0"},
		{"item\tuser\ni1\tu1\n", pairs, "u1 i1 0"},
		{"user,item,timestamp\nu1,i1,5\n", pairs, "u1 i1 0"},
		{"fan,film\nu1,i1\n", trained, "u1 i1 0"},
		{"userid,movieid\nu1,i1\n", trained, "u1 i1 0"},
		{"i1,u1\n", trained, "u1 i1 0"}, // the item stood before the user
		{"2,i1,u1\n", trained, "u1 i1 2"},
		{"user,film,score\nu1,i1,2\n", Options{}, "u1 i1 2"},
		{"user,thing,score\nu1,i1,2\n", Options{},
			"stdin:1:1: the header names the user (user) and the rating (score), but not the item|name it with " +
				"--item, or by its number; the columns are user, thing, score"},
		{"asin,isbn,user,rating\na,b,c,1\n", Options{},
			"the item can be column asin or column isbn|say which: --item asin"},
		{"u1,i1,2\n", Options{Rating: "stars"}, "no column is named \"stars\""},
		{"u1,i1,2\n", Options{Rating: "4"}, "there is no column 4 for the rating"},
		{"u1,i1,2\n", Options{Rating: "2", Item: "2"}, "column 2 is named twice"},
		{"what,who\nu1,i1\n", Options{Unlabelled: true, Header: HeaderYes, As: trained.As},
			"the header does not name the user and the item"},
		{"rating,user,item\n4,u1\n", Options{},
			"the line has 2 fields, not 3|give every line the fields of the first, separated by comma"},
		{"rating,user,item\n4,u1,i1,9\n", Options{}, "the line has more than 3 fields"},
		{"rating,user,item\nfour,u1,i1\n", Options{}, "rating \"four\" is not a number"},
		{"1,2,3,4,5\n", Options{}, "the first line has 5 fields, separated by comma"},
	} {
		got := shownRatings(c.text, c.opt)
		lacks := slices.ContainsFunc(strings.Split(c.want, "|"),
			func(part string) bool { return !strings.Contains(got, part) })
		if got != c.want && (lacks || !strings.HasPrefix(got, "stdin:")) {
			t.Errorf("%q with %q %q %q:\n got %s\nwant %s", c.text, c.opt.User, c.opt.Item, c.opt.Rating, got, c.want)
		}
	}
}

// TestColumnsOfFurtherFiles: the first file says where the columns stand, and another order in a further one is
// refused.
func TestColumnsOfFurtherFiles(t *testing.T) {
	t.Parallel()
	dir := files(t, map[string]string{"a.csv": "rating,user,item\n4,u1,i1\n", "b.csv": "5,u2,i1\n",
		"c.csv": "user,item,rating\nu3,i3,1\n"})
	set, err := Read(context.Background(), []string{dir + "/a.csv", dir + "/b.csv"}, Ratings, Options{})
	if err != nil || len(set.Ratings.Users) != 2 || set.Ratings.Rating[1] != 5 {
		t.Errorf("%v, %v", set, err)
	}
	if _, err := Read(context.Background(), []string{dir + "/a.csv", dir + "/c.csv"}, Ratings, Options{}); err == nil {
		t.Error("files whose columns stand otherwise are read as one")
	}
}

// TestNamesOfColumnsAreListed: the page about formats lists every name.
func TestNamesOfColumnsAreListed(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/3-formats.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range roles.All {
		if line := "* " + r.Noun + ": " + strings.Join(r.Aliases, ", ") + "\n"; !strings.Contains(string(page), line) {
			t.Errorf("docs/3-formats.md lacks the line\n%s", line)
		}
	}
	if line := "* time: " + strings.Join(TimeColumns(), ", ") + "\n"; !strings.Contains(string(page), line) {
		t.Errorf("docs/3-formats.md lacks the line\n%s", line)
	}
}
