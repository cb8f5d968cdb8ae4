package data_test

import (
	"context"
	"fmt"
	"strings"

	"bellows/data"
)

// Ratings from standard input, which here is a string. Nothing is said of their format.
func ExampleRead() {
	in := strings.NewReader("ann::dune::5\nbob::dune::3.5\nann::solaris::4\n")
	set, err := data.Read(context.Background(), []string{"-"}, data.Ratings, data.Options{Stdin: in})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer set.Close()
	r := set.Ratings
	for i := range set.Rows() {
		fmt.Println(r.Users[r.User[i]], r.Items[r.Item[i]], r.Rating[i])
	}
	// Output:
	// ann dune 5
	// bob dune 3.5
	// ann solaris 4
}

// A line that does not fit is an error with its place, and the whole read fails.
func ExampleRead_refused() {
	in := strings.NewReader("ann,dune,5\nbob,dune,good\n")
	_, err := data.Read(context.Background(), []string{"-"}, data.Ratings, data.Options{Stdin: in})
	fmt.Println(err)
	// Output:
	// stdin:2:10: rating "good" is not a number
	//       2 | bob,dune,good
	//         |          ^^^^
	// write a decimal number such as 0.5 or 1e-3; if the ratings stand in another column, name it with --rating
}
