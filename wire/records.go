package wire

import "bellows"

func (b *Batch) records(m *Records) error {
	units := 0
	for i := range m.List {
		units += len(m.List[i].Units)
	}
	if max(units, len(m.List)) > listMax {
		return tooMany(kindRecords)
	}
	for i := range m.List {
		r := &m.List[i]
		at := b.open(1)
		b.varint(1, uint64(r.Number))
		b.protoFlush(2, r.Flush)
		for _, u := range r.Units {
			b.unit(3, u)
		}
		b.shut(at)
	}
	return nil
}

func (m *Records) decode(payload []byte) error {
	f := fields{b: payload}
	for f.next() {
		if f.key == 1<<3|sized {
			f.room(len(m.List))
			f.fail(m.record(f.data))
		}
	}
	return f.err
}

// record appends a record, which without its units is longer than four bytes.
func (m *Records) record(b []byte) error {
	f := fields{b: b}
	r := Record{}
	at := len(m.units)
	for f.next() {
		switch f.key {
		case 1<<3 | varint:
			r.Number = bellows.CommitNumber(f.num)
		case 2<<3 | sized:
			f.fail(flushOf(f.data, &r.Flush))
		case 3<<3 | sized:
			f.room(len(m.units))
			u := bellows.Unit{}
			f.fail(unitOf(f.data, &u))
			f.fail(whole(&u))
			m.units = append(m.units, u)
		}
	}
	if r.Number == 0 {
		f.fail(errNumber)
	}
	r.Units = m.units[at:len(m.units):len(m.units)]
	m.List = append(m.List, r)
	return f.err
}
