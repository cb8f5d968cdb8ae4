// Package alias draws from discrete distributions by alias tables, for the Metropolis-Hastings sampler of app/lda.
//
// The caller adds tables one after the other to a list, and draws from the slots of one. A table is built in time that
// is linear in its length, and a draw takes constant time. The package keeps no random numbers: the caller gives each
// draw 64 random bits.
package alias

// A Slot is one of n equally likely places of an alias table (Walker 1977, built as Vose 1991): a draw
// that falls here is topic with the chance keep, else other.
type Slot struct {
	keep         float32
	topic, other uint16
}

// Tables is alias tables, one after the other. The zero Tables has none.
type Tables struct {
	Slots        []Slot
	small, large []int32
}

// Add appends a table of the topics of list, each as likely as its weight, and returns the weights' sum. Both are
// as long; the weights are spoilt.
func (a *Tables) Add(topic []uint16, weight []float32) (sum float32) {
	from := len(a.Slots)
	for i, v := range weight {
		sum += v
		a.Slots = append(a.Slots, Slot{1, topic[i], topic[i]})
	}
	if !(sum > 0) {
		return 0
	}
	slots := a.Slots[from:]
	scale := float32(len(weight)) / sum
	a.small, a.large = a.small[:0], a.large[:0]
	for i := range weight {
		if weight[i] *= scale; weight[i] < 1 {
			a.small = append(a.small, int32(i))
		} else {
			a.large = append(a.large, int32(i))
		}
	}
	for len(a.small) > 0 && len(a.large) > 0 {
		s, l := a.small[len(a.small)-1], a.large[len(a.large)-1]
		a.small = a.small[:len(a.small)-1]
		slots[s].keep, slots[s].other = weight[s], topic[l]
		if weight[l] -= 1 - weight[s]; weight[l] < 1 {
			a.large = a.large[:len(a.large)-1]
			a.small = append(a.small, l)
		}
	}
	return sum // what is left over is 1 but for rounding
}

// Pick draws from a table: 32 bits choose the slot, 32 the topic in it.
func Pick(slots []Slot, r uint64) int32 {
	s := &slots[(r>>32)*uint64(len(slots))>>32]
	if float32(uint32(r)>>8)*(1.0/(1<<24)) < s.keep {
		return int32(s.topic)
	}
	return int32(s.other)
}
