package mf

// rotation is the order of visits under schedule=strata: in clock t of an epoch split i visits part
// (i+t) mod parts of the items. A part goes from hand to hand in the order of (clock, split); with
// as many parts as splits each clock has one hand. The order is fixed, so that results repeat
// whatever runs when.
//
// Splits that are equal modulo parts form a class. A class meets one part in each clock, and the
// next class meets it one clock earlier.
type rotation struct{ splits, parts int }

// part returns the part of the items that a split visits in a clock.
func (o rotation) part(split, clock int) int { return (split + clock) % o.parts }

// clockOf returns the clock in which a split visits a part.
func (o rotation) clockOf(split, part int) int { return ((part-split)%o.parts + o.parts) % o.parts }

// before returns the holder of the part before the split: that split, that many clocks earlier. In an epoch's first
// clocks there may be none: then the clock is negative.
func (o rotation) before(split int) (holder, clocks int) {
	if split >= o.parts {
		return split - o.parts, 0
	}
	class := (split + 1) % o.parts
	if class >= o.splits {
		// With more parts than splits some classes are empty, and the part rests meanwhile.
		return 0, o.parts - split
	}
	return class + (o.splits-1-class)/o.parts*o.parts, 1
}

// Ready implements epochs.Order. Two tasks must be done: the split's own before it, and that of the split which holds the
// part of the items before.
func (o rotation) Ready(split, clock int, done []int) bool {
	holder, clocks := o.before(split)
	return done[split] == clock && done[holder] > clock-clocks
}

// Next implements epochs.Order: it returns the next holder of the part after the split.
func (o rotation) Next(split int) int {
	if split+o.parts < o.splits {
		return split + o.parts
	}
	return min((split%o.parts+o.parts-1)%o.parts, o.splits-1)
}

// first reports whether the part has no holder before the split, in that clock of an epoch.
func (o rotation) first(split, clock int) bool {
	_, clocks := o.before(split)
	return clock < clocks
}
