package vec

// factorBlock applies the ratings, of which there is at least one; user and
// item go on beyond them, for the rows to fetch. It returns how many it
// applied: fewer than all if an index is out of range.
func factorBlock(f *Factors, users, items int, user, item []int32, rating []float32) (int, float64) {
	if active() == levelGo {
		return goFactorBlock(f, users, items, user, item, rating)
	}
	if users == 0 || items == 0 {
		return 0, 0
	}
	// The kernel reads an index as unsigned: a negative one is above any limit.
	users, items = min(users, 1<<31), min(items, 1<<31)
	if f.UserBias != nil {
		return biasedBlock(f, users, items, user, item, rating)
	}
	kernel := factorBlockAVX2
	switch f.Rank {
	case 16:
		kernel = factorBlock16AVX2
	case 32:
		kernel = factorBlock32AVX2
	}
	return kernel(len(rating), len(user), &user[0], &item[0], &rating[0], users, items,
		&f.P[0], &f.Q[0], f.Rank, 4*f.Stride, f.Mean, f.Step, 1-float32(f.Step*f.L2))
}

func biasedBlock(f *Factors, users, items int, user, item []int32, rating []float32) (int, float64) {
	kernel := factorBlockBiasedAVX2
	switch f.Rank {
	case 16:
		kernel = factorBlockBiased16AVX2
	case 32:
		kernel = factorBlockBiased32AVX2
	}
	return kernel(len(rating), len(user), &user[0], &item[0], &rating[0], users, items,
		&f.P[0], &f.Q[0], f.Rank, 4*f.Stride, f.Mean, f.Step, 1-float32(f.Step*f.L2),
		&f.UserBias[0], &f.ItemBias[0], 4*f.BiasStride, 1-float32(f.Step*f.BiasL2))
}

// factorScore is like factorBlock, and writes no rows.
func factorScore(f *Factors, users, items int, user, item []int32, rating []float32) (int, float64) {
	if active() == levelGo {
		return goFactorScore(f, users, items, user, item, rating)
	}
	if users == 0 || items == 0 {
		return 0, 0
	}
	users, items = min(users, 1<<31), min(items, 1<<31)
	if f.UserBias != nil {
		return biasedScore(f, users, items, user, item, rating)
	}
	kernel := factorScoreAVX2
	switch f.Rank {
	case 16:
		kernel = factorScore16AVX2
	case 32:
		kernel = factorScore32AVX2
	}
	return kernel(len(rating), len(user), &user[0], &item[0], &rating[0], users, items,
		&f.P[0], &f.Q[0], f.Rank, 4*f.Stride, f.Mean)
}

func biasedScore(f *Factors, users, items int, user, item []int32, rating []float32) (int, float64) {
	kernel := factorScoreBiasedAVX2
	switch f.Rank {
	case 16:
		kernel = factorScoreBiased16AVX2
	case 32:
		kernel = factorScoreBiased32AVX2
	}
	return kernel(len(rating), len(user), &user[0], &item[0], &rating[0], users, items,
		&f.P[0], &f.Q[0], f.Rank, 4*f.Stride, f.Mean, &f.UserBias[0], &f.ItemBias[0], 4*f.BiasStride)
}
