package dense

import "bellows/vec"

// Few draws topics of dense words for a document that has few topics. Late sweeps have such documents: at 1,000 topics
// those of the NIPS papers have 16 after 60 sweeps, and frequent words still have 200. The probability is the sum of two
// parts,
//
//	(n_dk+α_k)(n_kw+β)/(n_k+Vβ)  over the topics of the document, and  α_k(n_kw+β)/(n_k+Vβ)  over the others.
//
// The first part has nearly all, and few products. The second is not computed: its bound is at most
//
//	Σ_k α_kβ/(n_k+Vβ) + n_w max_k α_k/(n_k+Vβ).
//
// A draw is from the first part and this bound. If it falls beyond the first part, the second is computed: the topic is
// that at the place drawn, or the draw is repeated if the second part ends before it. So each draw has the probability
// that Rows.Draw gives it.
//
// The caller calls Begin for a token, and then Draw until it has a topic.
//
// Rejected: the sum of the second part as it was when the task began, which is no bound once totals have changed.
type Few struct {
	weight  []float32 // of all topics
	counts  []uint16
	topics  []int32 // of the document
	beta    float32
	sum     float32   // of the products
	product []float32 // of the topics of the document
	kept    []float32 // their weights, while weight has zeros for them
}

// fewShare is how many topics a word has for each of a document with few: a walk over the document's is faster then.
const fewShare = 16

// slack covers the rounding of the bound.
const slack = 1.001

// HasFew reports whether so many topics of a document are few.
func (x *Rows) HasFew(topics int) bool { return topics*fewShare <= len(x.sums)*Block }

// Begin readies the draws for a token of a word, with the arguments of Rows.Draw, the document's topics, and a bound of
// the second part. It returns the length of the line on which Draw takes places.
func (f *Few) Begin(weight []float32, counts []uint16, beta float32, old int32, own float32, topics []int32, bound float64) float64 {
	f.weight, f.counts, f.topics, f.beta, f.sum, f.product = weight, counts, topics, beta, 0, f.product[:0]
	for _, k := range topics {
		v := float32(weight[k] * (float32(counts[k]) + beta))
		if k == old {
			v -= own
		}
		f.product = append(f.product, v)
		f.sum += v
	}
	f.sum = max(0, f.sum)
	return float64(f.sum) + slack*bound
}

// Draw returns the topic at a place. It reports whether there is one.
func (f *Few) Draw(x *Rows, place float32) (topic int32, ok bool) {
	if place >= f.sum {
		return f.other(x, place-f.sum)
	}
	for i, v := range f.product {
		if v > 0 { // rounding may carry the place beyond the end: then the last topic is chosen
			topic, ok = f.topics[i], true
		}
		if place -= v; place < 0 {
			break
		}
	}
	return topic, ok
}

// other returns the topic at a place in the second part. It reports whether the part is that large.
func (f *Few) other(x *Rows, place float32) (topic int32, ok bool) {
	f.kept = f.kept[:0]
	for _, k := range f.topics {
		f.kept = append(f.kept, f.weight[k])
		f.weight[k] = 0
	}
	topic = -1
	if place < vec.CountSums(f.weight, f.counts, f.beta, x.sums) {
		topic = x.find(f.weight, f.counts, f.beta, -1, 0, place)
	}
	for i, k := range f.topics {
		f.weight[k] = f.kept[i]
	}
	return topic, topic >= 0
}
