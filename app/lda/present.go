package lda

// present holds the topics that a word has, ascending, and its counts in them.
type present struct {
	topic []uint16
	count []int32
	blank []uint32 // as long, for growing by it
}

// finder finds the topics of words. Its result is valid until the next word.
type finder struct{ present }

// find returns the topics of one word by its counts in all of them: most are 0, and eight zeros are one comparison.
func (f *finder) find(counts []int32) present {
	if len(f.topic) < len(counts) {
		f.topic, f.count, f.blank = make([]uint16, len(counts)), make([]int32, len(counts)), make([]uint32, len(counts))
	}
	topic, count := f.topic[:len(counts)], f.count[:len(counts)]
	n, k := 0, 0
	for ; k+8 <= len(counts); k += 8 {
		eight := (*[8]int32)(counts[k:])
		if eight[0]|eight[1]|eight[2]|eight[3]|eight[4]|eight[5]|eight[6]|eight[7] == 0 {
			continue
		}
		for i, c := range eight {
			topic[n], count[n] = uint16(k+i), c
			if c != 0 {
				n++
			}
		}
	}
	for ; k < len(counts); k++ {
		topic[n], count[n] = uint16(k), counts[k]
		if counts[k] != 0 {
			n++
		}
	}
	return present{topic[:n], count[:n], f.blank[:n]}
}
