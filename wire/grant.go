package wire

const acquireSize = 8 + pairSize + 4 + needSize

func (b *Batch) acquire(m *Acquire) {
	b.u64(m.Request)
	b.pair(m.Pair)
	b.mode(m.Mode)
	b.need(m.Need)
}

func (m *Acquire) decode(payload []byte) error {
	r := reader{b: payload}
	*m = Acquire{Request: r.u64(), Pair: r.pair(), Mode: r.mode(), Need: r.need()}
	return r.end()
}

func (b *Batch) granted(m *Granted) {
	b.u64(m.Request)
	b.ref(m.Ref)
	b.mode(m.Mode)
	b.count(len(m.Values))
	array(b, m.Values)
}

func (m *Granted) decode(payload []byte) error {
	r := reader{b: payload}
	*m = Granted{Request: r.u64(), Ref: r.ref(), Mode: r.mode(), payload: payload}
	m.Values = words[float32](&r, r.u32())
	return r.end()
}

func (b *Batch) release(m *Release) {
	b.ref(m.Ref)
}

func (m *Unsubscribe) decode(payload []byte) error {
	r := reader{b: payload}
	m.Ref = r.ref()
	return r.end()
}

func (m *Release) decode(payload []byte) error {
	r := reader{b: payload}
	m.Ref = r.ref()
	return r.end()
}
