package data

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// shownTimes returns the times of the rows of a text, and how it was read, or the error.
func shownTimes(kind Kind, text string, opt Options) string {
	opt.Stdin, opt.Timed = strings.NewReader(text), true
	set, err := Read(context.Background(), []string{"-"}, kind, opt)
	if err != nil {
		return err.Error()
	}
	said := set.Detected.Time
	if set.Detected.Dates {
		said += " dates"
	}
	if e := set.Examples; e != nil {
		said += fmt.Sprintf(" %d features", e.Features)
	} else {
		said += fmt.Sprintf(" rating %g", set.Ratings.Rating[0])
	}
	return fmt.Sprint(said, " ", set.Time)
}

// TestTimesAreFound finds the column that says when rows are from, keeps it out of the features, and refuses what is no
// time.
func TestTimesAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind Kind
		text string
		opt  Options
		want string
	}{
		{Ratings, "u\ti\t3\t88\nu\tj\t4\t-7\n", Options{}, "column 4 rating 3 [88 -7]"},
		{Ratings, "88,u,i,3\n", Options{User: "2", Item: "3", Rating: "4"}, "column 1 rating 3 [88]"},
		{Ratings, "88,u,i,3\n", Options{Time: "1"}, "column 1 rating 3 [88]"},
		{Ratings, "u,i,88\n", Options{Time: "3", Unlabelled: true}, "column 3 rating 0 [88]"},
		{Ratings, "user,item,date\nu,i,1970-01-02\n", Options{Unlabelled: true}, `"date" dates rating 0 [86400]`},
		{Ratings, "When Rated,userId,itemId,stars\n1970-01-01T00:01Z,u,i,2\n\n\"1970-01-01 00:00:00.5\",u,i,2\n",
			Options{Time: "When Rated"}, `"When Rated" dates rating 2 [60 0.5]`},
		{Ratings, "user,item,rating,date\r\n \r\n\r\nu,i,2,1970-01-02\r\n", Options{}, `"date" dates rating 2 [86400]`},
		{Ratings, "user,item,rating,date\n", Options{}, "stdin: there are no rows"},
		{Ratings, "user,item,rating,unixReviewTime\nu,i,2,9e3\n", Options{}, `"unixReviewTime" rating 2 [9000]`},
		{Ratings, "user::item::rating::ts\nu::i::2::7\n", Options{}, `"ts" rating 2 [7]`},
		{Examples, "ts,a,y\n5,1,0\n4,2,1\n", Options{}, `"ts" 1 features [5 4]`},
		{Examples, "ts,a,y\n5,1,0\n4,2,1\n", Options{TimeKept: true}, `"ts" 2 features [5 4]`},
		{Examples, "ts,a,y\n5,1,0\n4,2,1\n", Options{Categorical: []string{"ts"}}, `"ts" 3 features [5 4]`},
		{Examples, "ts,a,y\n5,1,0\n4,2,1\n", Options{Ignore: []string{"a", "1"}, Time: "a"},
			"stdin: there are labels but no features"},
		{Examples, "day,word,y\n1970-01-01,cat,0\n1970-01-03,dog,1\n", Options{Time: "day"},
			`"day" dates 2 features [0 172800]`},
		{Examples, "1,7,5\n0,8,4\n", Options{Time: "3"}, "column 3 1 features [5 4]"},
		{Ratings, "u,i,3\n", Options{}, "stdin:1:1: no column is known to hold the time|say with --time"},
		{Ratings, "user,item,rating,note\nu,i,3,4\n", Options{},
			"stdin:1:1: the header names no time|the columns are user, item, rating, note"},
		{Ratings, "user,item,rating,ts,date\nu,i,3,4,5\n", Options{},
			"stdin:1:21: the time can be column ts or column date|--time ts"},
		{Ratings, "u,i,3,4\n", Options{Time: "5"}, "there is no column 5 for the time"},
		{Ratings, "u,i,3,4\n", Options{Time: "2", Item: "2"}, "column 2 is named twice|--time"},
		{Ratings, "u,i,3,4\nu,i,3,soon\n", Options{}, `stdin:2:7: time "soon" of column 4 is neither|--holdout last`},
		{Ratings, "user,item,rating,ts\nu,i,3,2024-02-30\n", Options{},
			`stdin:2:7: time "2024-02-30" of column "ts" is neither`},
		{Ratings, "user,item,rating,ts\nu,i,3,2024-02-29\nu,j,3,7\n", Options{},
			`stdin:3:7: time "7" of column "ts" is a number, and the first row has a date|all rows dates`},
		{Examples, "ts,a,y\n5,1,0\n,2,1\n", Options{}, `stdin:3:1: the time of column "ts" is missing`},
		{Examples, "ts,a,y\n5,1,0\nx,2,1\n", Options{TimeKept: true}, `stdin:3:1: time "x" of column "ts" is neither`},
		{Examples, "ts,date,y\n5,1,0\n", Options{}, "the time can be column ts or column date"},
		{Examples, "a,b,y\n5,1,0\n", Options{}, "the header names no time|the columns are a, b, y"},
		{Examples, "5,1,0\n4,2,1\n", Options{}, "no column is known to hold the time|by its number, 1 to 3"},
		{Examples, "ts,a,y\n5,1,0\n", Options{Label: "ts"}, "one column cannot hold both labels and times|--time"},
		{Examples, "1 1:2\n", Options{}, "lines of LIBSVM have no column of times|--holdout last"},
	} {
		got := shownTimes(c.kind, c.text, c.opt)
		lacks := slices.ContainsFunc(strings.Split(c.want, "|"),
			func(part string) bool { return !strings.Contains(got, part) })
		if got != c.want && (lacks || !strings.HasPrefix(got, "stdin:")) {
			t.Errorf("%q with %+v:\n got %s\nwant %s", c.text, c.opt, got, c.want)
		}
	}
}

// TestTimesOfManyBlocks: times keep the order of the rows through blocks, further files and the cache, and rows without
// them are stored apart.
func TestTimesOfManyBlocks(t *testing.T) {
	t.Parallel()
	for kind, header := range map[Kind]string{Ratings: "user,item,rating,ts\n", Examples: "a,b,y,ts\n"} {
		dir := t.TempDir()
		row, want := 0, []float64{}
		for _, name := range []string{"a.csv", "b.csv"} {
			text := header
			for range 300 {
				at := float64(row*7919%1000) / 8
				text += fmt.Sprintf("%d,%d,%d,%g\n", row%7, row%5, row%2, at)
				row, want = row+1, append(want, at)
			}
			settle(t, writeFile(t, filepath.Join(dir, name), []byte(text)), time.Hour)
		}
		opt := Options{Timed: true, Cache: filepath.Join(dir, "cache"), blockBytes: 100, Workers: 3}
		fresh, stored := mustRead(t, filepath.Join(dir, "*.csv"), kind, opt),
			mustRead(t, filepath.Join(dir, "*.csv"), kind, opt)
		if fresh.Detected.FromCache || !stored.Detected.FromCache {
			t.Errorf("%s: %+v then %+v", kind, fresh.Detected, stored.Detected)
		}
		if !slices.Equal(fresh.Time, want) || !slices.Equal(stored.Time, want) || stored.Detected.Time != `"ts"` {
			t.Errorf("%s: %d times, stored %d, of %d rows", kind, len(fresh.Time), len(stored.Time), row)
		}
		opt.Timed = false
		if s := mustRead(t, filepath.Join(dir, "*.csv"), kind, opt); s.Time != nil || s.Detected.FromCache {
			t.Errorf("%s: times that nobody asked for", kind)
		}
	}
}
