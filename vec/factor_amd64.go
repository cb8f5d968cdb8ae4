package vec

// factorKernel is the signature that all kernels of ratings have; those that score, or know no biases, pass over the rest.
type factorKernel func(n, ahead int, user, item *int32, rating *float32, users, items int, p, q *float32, rank, stride int,
	mean, step, decay float32, userBias, itemBias *float32, biasStride int, biasDecay float32) (done int, sumSquares float64)

// The kernels that learn and those that score, each without biases and with them.
var (
	learning = kernelSet{
		plain:  ranks{factorBlockAVX2, factorBlock16AVX2, factorBlock32AVX2},
		biased: ranks{factorBlockBiasedAVX2, factorBlockBiased16AVX2, factorBlockBiased32AVX2},
	}
	scoring = kernelSet{
		plain:  ranks{factorScoreAVX2, factorScore16AVX2, factorScore32AVX2},
		biased: ranks{factorScoreBiasedAVX2, factorScoreBiased16AVX2, factorScoreBiased32AVX2},
	}
)

type kernelSet struct{ plain, biased ranks }

type ranks struct{ any, rank16, rank32 factorKernel }

// factorRatings applies ratings, or only scores them; there is at least one. user and item go on beyond them, for the rows to
// fetch. It returns how many they were: fewer than all if an index is out of range.
func factorRatings(f *Factors, learn bool, users, items int, user, item []int32, rating []float32) (int, float64) {
	if active() == levelGo {
		return goFactorRatings(f, learn, users, items, user, item, rating)
	}
	if users == 0 || items == 0 {
		return 0, 0
	}
	// The kernel reads an index as unsigned: a negative one is above any limit.
	users, items = min(users, 1<<31), min(items, 1<<31)
	of := &learning
	if !learn {
		of = &scoring
	}
	var userBias, itemBias *float32
	kernels := &of.plain
	if f.UserBias != nil {
		kernels, userBias, itemBias = &of.biased, &f.UserBias[0], &f.ItemBias[0]
	}
	kernel := kernels.any
	switch f.Rank {
	case 16:
		kernel = kernels.rank16
	case 32:
		kernel = kernels.rank32
	}
	return kernel(len(rating), len(user), &user[0], &item[0], &rating[0], users, items, &f.P[0], &f.Q[0], f.Rank, 4*f.Stride,
		f.Mean, f.Step, 1-float32(f.Step*f.L2), userBias, itemBias, 4*f.BiasStride, 1-float32(f.Step*f.BiasL2))
}
