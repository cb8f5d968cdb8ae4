// Package migration is the moves of partitions between lanes, as one lane sees them: it is either end of any
// number of copies (package handoff).
//
// As the owner the lane copies a partition, in the background, from when the controller asks for it (Begin). When
// nearly all is there, the partition waits for its turn among the requests for leases, as one for an exclusive lease
// does, so that no stream of leases keeps it out. It grants none from then on, and the controller hears of it. Only the
// record of the move decides: until then the lane serves as ever, and may have to give up. At the record nothing is
// leased or deferred. The lane sends the last piece, and serves the partition no more: its recorded chunks of
// clocks to come have gone with it, and parts that are only held here are sent again by their clients. So no part
// is ever at two lanes (docs/decisions/0035).
//
// As the lane that is to own it, it fills a partition that no client can ask for by the same code that fills its own.
// The partition is its own from the record on, and is served from when the last piece is here as well, whichever
// comes first.
//
// A controller that follows another has every copy given up that has no record (wire.Handoff with number 0), after
// the records that the lane lacked.
//
// The package sends messages of copies, and leaves to the lane what concerns others: leases that are granted before
// a partition stops, records, and the end.
package migration
