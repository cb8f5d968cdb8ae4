package data

type slot struct{}

func newSlot(ins []input, kind Kind, opt *Options) *slot { return &slot{} }
func (s *slot) open() (*Set, bool)                       { return nil, false }
func (s *slot) store(set *Set, ins []input, splits int) string {
	return ""
}
