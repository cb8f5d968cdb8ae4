package app_test

import (
	"fmt"

	"bellows/app"
)

// Resolve checks all of a user's settings at once, and reports an unknown name and each invalid value.
func ExampleResolve() {
	d := app.Description{Name: "knn", Settings: []app.Setting{
		{Name: "neighbours", Default: "5", Reason: "how many vote"},
		{Name: "weight", Default: "uniform", Reason: "uniform or distance"},
	}}
	v, err := app.Resolve(d, map[string]string{"neighbours": "0", "weight": "distanc"})
	if err != nil {
		fmt.Println(err)
		return
	}
	v.Int("neighbours", 1, 1000)
	v.Choice("weight", "uniform", "distance")
	fmt.Println(v.Err())

	_, err = app.Resolve(d, map[string]string{"neighbors": "7"})
	fmt.Println(err)
	// Output:
	// set knn: neighbours=0: must be a whole number from 1 to 1000; weight=distanc: must be one of uniform, distance
	// set knn: neighbors=7: is no setting of this application: did you mean neighbours?
}
