package vec

import "fmt"

// Factors is the part of a factor model that a block of ratings touches, and how its steps update it.
//
// Row u of the users is P[u*Stride:u*Stride+Rank], and row i of the items is the same part of Q. The values between
// Rank and Stride are neither read nor written, except a bias kept there; rows need no padding. Ranks 16 and 32 have
// special kernels; then multiples of 16 are fastest, then of 8. Slabs that start on a cache line, as large slices do,
// and a Stride that is a multiple of 8 help.
type Factors struct {
	Rank   int // factors in a row, at least 1
	Stride int // elements from one row to the next, at least Rank
	P, Q   []float32

	// Biases in rows are the faster of the two: at rank 32 in blocked order they
	// cost about 10 % of the speed without biases, separate ones about 15 %.
	// UserBias[u*BiasStride] and ItemBias[i*BiasStride] are added to the prediction and learned with it; both nil means
	// no biases. To keep a bias in its row after the factors, let UserBias be P[Rank:], ItemBias be Q[Rank:] and
	// BiasStride be Stride. Separate slices have BiasStride 1.
	UserBias, ItemBias []float32
	BiasStride         int

	Mean   float32 // added to each prediction, not learned
	Step   float32 // step size
	L2     float32 // weight of the squared rows in the loss
	BiasL2 float32 // weight of the squared biases in the loss
}

// FactorBlock runs one step of stochastic gradient descent on the squared error
// of each rating as predicted by the product of two rows (Koren, Bell and
// Volinsky, "Matrix factorization techniques for recommender systems", 2009,
// section "Learning algorithms"), in the given order: rating[j] by the row user[j] of f.P on the row item[j] of
// f.Q. It returns the sum of the squared residuals, each as it was before its
// step.
//
//	e    = rating - Mean - bu - bi - p·q
//	p, q = (1-Step*L2)*p + Step*e*q, (1-Step*L2)*q + Step*e*p
//	bu   = (1-Step*BiasL2)*bu + Step*e, and bi likewise
//
// The three slices have equal lengths. An index outside its slab panics; the
// ratings before it have then been applied. Rows are updated strictly one
// rating after another, so the result repeats; rows of ratings a little ahead
// are fetched into the cache, so an order that stays within blocks of users and
// items that fit the second-level cache is about twice as fast as a random one.
func FactorBlock(f *Factors, user, item []int32, rating []float32) (sumSquares float64) {
	return f.run("FactorBlock", true, user, item, rating)
}

// FactorScore returns the sum of the squared residuals of ratings, with the rows as they are: that of [FactorBlock] at
// step 0, without writing anything. It takes the same slices and panics in the same cases; Step, L2 and BiasL2 are
// ignored. Several goroutines may score with the same slabs.
func FactorScore(f *Factors, user, item []int32, rating []float32) (sumSquares float64) {
	return f.run("FactorScore", false, user, item, rating)
}

// run passes the ratings to a kernel, chunk by chunk: to one that learns, or to
// one that scores.
func (f *Factors) run(name string, learn bool, user, item []int32, rating []float32) (sumSquares float64) {
	f.check(name, len(user), len(item), len(rating))
	users, items := f.rows()
	done := 0
	for done < len(rating) {
		end := min(done+factorChunk, len(rating))
		n, s := factorRatings(f, learn, users, items, user[done:], item[done:], rating[done:end])
		sumSquares += s
		done += n
		if done < end {
			panic(fmt.Sprintf("vec: %s: rating %d is by user %d on item %d, but there are %d users and %d items",
				name, done, user[done], item[done], users, items))
		}
	}
	return sumSquares
}

// factorChunk is the number of ratings in one assembly call, which cannot be
// preempted.
const factorChunk = 4096

func (f *Factors) check(name string, users, items, ratings int) {
	same(name, users, items)
	same(name, items, ratings)
	if f.Rank < 1 || f.Stride < f.Rank {
		panic(fmt.Sprintf("vec: %s: rank %d with stride %d", name, f.Rank, f.Stride))
	}
	if (f.UserBias == nil) != (f.ItemBias == nil) {
		panic(fmt.Sprintf("vec: %s: biases for users or for items only; give both or none", name))
	}
	if f.UserBias != nil && f.BiasStride < 1 {
		panic(fmt.Sprintf("vec: %s: bias stride %d; separate biases have 1, biases in rows the row's stride", name, f.BiasStride))
	}
}

// rows returns the number of users and of items that the slabs hold.
func (f *Factors) rows() (users, items int) {
	users, items = whole(f.P, f.Stride, f.Rank), whole(f.Q, f.Stride, f.Rank)
	if f.UserBias != nil {
		users = min(users, whole(f.UserBias, f.BiasStride, 1))
		items = min(items, whole(f.ItemBias, f.BiasStride, 1))
	}
	return users, items
}

// whole returns how many rows of the given width and stride fit in s.
func whole(s []float32, stride, width int) int {
	if len(s) < width {
		return 0
	}
	return (len(s)-width)/stride + 1
}

func goFactorUpdate(a, decay float32, p, q []float32) {
	q = q[:len(p)]
	for i, v := range p {
		w := q[i]
		p[i] = float32(decay*v) + float32(a*w)
		q[i] = float32(decay*w) + float32(a*v)
	}
}

// goFactorRatings applies ratings, or only scores them, and returns how many they were: fewer than all if an index is out of range.
func goFactorRatings(f *Factors, learn bool, users, items int, user, item []int32, rating []float32) (int, float64) {
	decay, biasDecay := 1-float32(f.Step*f.L2), 1-float32(f.Step*f.BiasL2)
	var sum float64
	for j, r := range rating {
		u, i := int(user[j]), int(item[j])
		if uint(u) >= uint(users) || uint(i) >= uint(items) {
			return j, sum
		}
		p := f.P[u*f.Stride : u*f.Stride+f.Rank]
		q := f.Q[i*f.Stride : i*f.Stride+f.Rank]
		e := r - f.Mean
		if f.UserBias != nil {
			e = e - f.UserBias[u*f.BiasStride] - f.ItemBias[i*f.BiasStride]
		}
		e -= goDot(p, q)
		sum += float64(float64(e) * float64(e))
		if !learn {
			continue
		}
		if f.UserBias != nil {
			bu, bi := &f.UserBias[u*f.BiasStride], &f.ItemBias[i*f.BiasStride]
			*bu = float32(biasDecay**bu) + float32(f.Step*e)
			*bi = float32(biasDecay**bi) + float32(f.Step*e)
		}
		goFactorUpdate(f.Step*e, decay, p, q)
	}
	return len(rating), sum
}
