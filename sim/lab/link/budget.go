package link

// Budget bounds what leaves, as a leaky bucket: Burst bytes at once, and Rate bytes a second in the long run. Rate 0 is unlimited.
type Budget struct {
	Rate  float64
	Burst int

	empty int64 // when the bucket is empty
}

// ready returns when the next packet may leave.
func (b *Budget) ready(now int64) int64 {
	if b.Rate == 0 {
		return now
	}
	return max(now, b.empty-int64(float64(b.Burst)*1e9/b.Rate))
}

// take puts a packet into the bucket.
func (b *Budget) take(now int64, bytes int) {
	if b.Rate > 0 {
		b.empty = max(now, b.empty) + through(bytes, b.Rate)
	}
}
