// Package handoff streams one partition from the lane that owns it to another while it is in use: Source and Target
// are the two ends. Both are step functions.
//
// The owner sends rows as they are, a few at a time, and between them every change of the partition, in the order in
// which it happens there: recorded chunks, clocks that become visible, images that the driver keeps. The receiver takes
// all of it in that order, so no snapshot is needed. A change of a row that is not copied yet need not be sent: the
// copy contains it. The receiver repeats later changes, with the same bits as the owner. The copy ends even if each
// clock changes every row: the pieces after the last rows are only as much as is pushed meanwhile.
//
// The controller decides which partition moves, and when; the lane takes care of leases and flushes that are out while
// the stream ends. A lane uses the package as follows:
//
//  1. The owner makes a Source, and sends its Offer. It sends nothing else before the receiver accepts it.
//  2. From Begin on it passes every change to the Source, and asks for Rows and Image as far as the window has room
//     (Source.Next).
//  3. When it is Ready, little is under way, and the move may be recorded. At the record it sends Last.
//  4. The receiver makes a Target of an offer, gives it each piece, and carries out what Take leaves to it.
//
// The package holds no rows, refuses pieces out of their order, and decides nothing.
package handoff
