package pending

// Patience is how long something has waited, by the ticks of its owner. The zero Patience has not begun; a wait
// begins with the first tick that sees it.
type Patience struct {
	sinceMillis int64
	noticed     bool
}

// Begin lets a wait begin that has not.
func (p *Patience) Begin(nowMillis int64) {
	if p.sinceMillis == 0 {
		p.sinceMillis = nowMillis
	}
}

// Lasted returns for how many milliseconds it has waited.
func (p *Patience) Lasted(nowMillis int64) int64 { return nowMillis - p.sinceMillis }

// Exhausted reports, once, that the wait has lasted too long to go unnamed.
func (p *Patience) Exhausted(nowMillis, noticeMillis int64) bool {
	p.Begin(nowMillis)
	if p.noticed || p.Lasted(nowMillis) <= noticeMillis {
		return false
	}
	p.noticed = true
	return true
}

// At is how a wait at a lane stands.
type At struct {
	Patience
	Known  bool // the lane has said that it has it
	Behind Behind
	Who    uint32
}

// Update takes the lane's answer about the wait.
func (a *At) Update(w *Wait) { a.Known, a.Behind, a.Who = w.Behind != Nothing, w.Behind, w.Who }
