package model

import "bellows/link/wire"

// Watch replays all records in an Oracle.
type Watch struct {
	*Oracle
	Must func(error) // takes what is wrong with a record
}

// Posted replays records when they leave.
func (w Watch) Posted(e wire.Envelope) {
	if m, ok := e.Message.(*wire.Records); ok {
		for i := range m.List {
			w.Must(w.Record(&m.List[i]))
		}
	}
}
