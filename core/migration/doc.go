// Package migration runs the partition copies of one lane, as source and as target: when each begins, how fast it
// sends, and when it ends. Package handoff is one of these copies.
//
// As the owner the lane copies a partition, in the background, when the controller asks for it (Begin). When nearly all
// is there, the partition queues among the requests for leases, like a request for an exclusive lease, so that no
// stream of leases keeps it out. From then on it grants none, and reports to the controller. Only the record of the
// move decides: until then the lane serves as ever, and may have to give up. At the record nothing is leased or
// deferred. The lane sends the last piece, and serves the partition no more: its recorded chunks of later clocks have
// gone with it, and clients send again the parts that are only held here. So no part is ever at two lanes
// (docs/decisions/0035).
//
// As the new owner, the lane fills a partition that no client can ask for, by the same code that fills its own. The
// partition belongs to it from the record on, and is served when the last piece is here as well, whichever comes first.
//
// A controller that follows another makes lanes give up every copy without a record (wire.Handoff with number 0), after
// the records that the lane lacked.
//
// The package sends messages of copies, and leaves to the lane what concerns others: leases that are granted before
// a partition stops, records, and the end.
package migration
