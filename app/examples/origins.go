package examples

import (
	"math"
	"slices"

	"bellows"
	"bellows/data"
)

// nearLeast is how many times the distance from its least value to its largest a feature's origin is from 0 for the feature to be trained about it where
// features are not centred. Below it, 32 bits hold the feature to a ten-thousandth, and it stays where its penalty has always been.
const nearLeast = 1 << 10

// Settle moves features of the rows to train and to show back to 0 where these are not centred, by their scale or since they are sparse, unless they are far from
// it: then the bias, which is pulled, is that of rows at 0. Features that are centred stay as they are: no weight and no penalty depends on their origin.
func Settle(src, test *Source, dense bool, scheme string) {
	set := src.ExampleSet
	if len(set.Origins) == 0 || dense && scheme != ScaleNone {
		return
	}
	near := slices.DeleteFunc(slices.Clone(set.Origins), func(o data.Origin) bool {
		low, high := extremes(set, o.Feature)
		return math.Abs(o.Value) >= nearLeast*(high-low)
	})
	shown := test.ExampleSet
	if src.ExampleSet = set.Uncentred(near); shown == set {
		test.ExampleSet = src.ExampleSet
	} else if shown != nil {
		test.ExampleSet = shown.Uncentred(near)
	}
}

// extremes returns the least and the largest value of a feature that all rows have.
func extremes(set *data.ExampleSet, feature int32) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for r := range set.Rows() {
		if place := set.Place(r, feature); place != nil {
			low, high = min(low, float64(*place)), max(high, float64(*place))
		}
	}
	return low, high
}

// Lift returns, by class, what is added to scores of a set's rows if its values are counted from other origins than those of the model. It is nil if both
// are the same. weight is that of a class and a column of the model, which has width of them.
func Lift(set, model []data.Origin, classes, width int, weight func(class int, column int32) float32) []float64 {
	if slices.Equal(set, model) {
		return nil
	}
	apart := map[int32]float64{}
	for _, o := range set {
		apart[o.Feature] += o.Value
	}
	for _, o := range model {
		apart[o.Feature] -= o.Value
	}
	lift := make([]float64, classes)
	for j := range int32(width) {
		if d := apart[j]; d != 0 {
			for c := range lift {
				lift[c] += d * float64(weight(c, j))
			}
		}
	}
	return lift
}

// CheckOrigins returns an error if the origins of a model do not belong to its columns.
func CheckOrigins(list []data.Origin, columns int) error {
	last := int32(-1)
	for _, o := range list {
		if o.Feature <= last || int(o.Feature) >= columns || math.IsNaN(o.Value) || math.IsInf(o.Value, 0) {
			return bellows.Errorf(bellows.BadData, "open model", "manifest.json", "the origin %g of column %d is not that of one of %d columns, in their order", o.Value, o.Feature, columns)
		}
		last = o.Feature
	}
	return nil
}
