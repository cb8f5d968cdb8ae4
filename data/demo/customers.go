package demo

import (
	"math"

	"bellows/data"
)

// Customers is the name of a demonstration of examples: customers of a subscription, some of whom cancel it. The label
// is 1 for those, and 0 for the others.
const Customers = "customers"

const customers = 20_000

// A column is a feature of customers: values about mean with a deviation, in whole numbers from 0. Each unit adds
// weight to the log-odds of cancelling. The noise is not quite logistic.
type column struct {
	name                    string
	mean, deviation, weight float64
}

// A few columns tell who cancels; most tell nothing, which a model has to find out.
var columns = []column{
	{"complaints", 1, 1, 0.9},
	{"late_deliveries", 1.5, 1.2, 0.6},
	{"price_rises", 1, 0.8, 0.7},
	{"days_since_order", 20, 12, 0.06},
	{"years_with_us", 4, 2.5, -0.5},
	{"orders_last_month", 3, 1.5, -0.7},
	{"friends_with_us", 2, 1.5, -0.4},
	{"birth_month", 6, 3, 0}, {"birth_day", 15, 8, 0}, {"house_number", 40, 25, 0}, {"floor", 3, 2, 0},
	{"shoe_size", 41, 2.5, 0},
	{"letters_in_name", 7, 2, 0}, {"vowels_in_name", 3, 1.2, 0}, {"pets", 1, 1, 0}, {"plants", 5, 3, 0},
	{"bicycles", 2, 1.2, 0},
	{"books_at_home", 60, 35, 0}, {"lamps_at_home", 9, 4, 0}, {"tram_stops_away", 4, 2, 0},
	{"rainy_days_last_month", 11, 5, 0},
	{"lottery_number", 49, 28, 0}, {"weekday_of_joining", 3, 2, 0}, {"minute_of_joining", 30, 17, 0},
}

// stays is the score of a customer by no column, and unknown the deviation of what no column explains.
const (
	stays   = -0.9
	unknown = 1.7
)

// makeCustomers plants a linear classifier of two classes, most of whose weights are zero.
func makeCustomers(s *source) *data.ExampleSet {
	set := &data.ExampleSet{Features: len(columns), Label: make([]float32, customers),
		Dense: make([]float32, customers*len(columns))}
	for _, c := range columns {
		set.FeatureNames = append(set.FeatureNames, c.name)
	}
	for r := range customers {
		x, score := set.Dense[r*len(columns):(r+1)*len(columns)], stays+float64(unknown*s.normal())
		for j, c := range columns {
			v := max(0, math.Round(c.mean+float64(c.deviation*s.normal())))
			x[j] = float32(v)
			score += float64(c.weight * (v - c.mean))
		}
		if score > 0 {
			set.Label[r] = 1
		}
	}
	return set
}
