package demo

import (
	"bellows/data"
	"bellows/data/internal/bags"
)

// makeDocuments plants topics: each has 60 separate words, low ones more frequent, and a document mixes three topics
// with words that all documents share.
func makeDocuments(s *source) *data.DocumentSet {
	const own = 60
	bagged := bags.New(documents * tokens)
	home := make([][own]int32, topics)
	for k := range home {
		for i := range home[k] {
			home[k][i] = int32(s.skewed(words))
		}
	}
	for range documents {
		var mixed [3]int
		for i := range mixed {
			mixed[i] = s.skewed(topics)
		}
		bag := make([]int32, tokens/2+int(s.Uniform()*tokens))
		for i := range bag {
			if s.Uniform() < 0.2 {
				bag[i] = int32(s.skewed(words))
				continue
			}
			bag[i] = home[mixed[s.skewed(len(mixed))]][s.skewed(own)]
		}
		bagged.Add(bag, words)
	}
	return &data.DocumentSet{Offset: bagged.Offset, Word: bagged.Word, Count: bagged.Count, Vocab: names("word", words)}
}
