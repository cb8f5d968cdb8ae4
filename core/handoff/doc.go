// Package handoff copies a partition from the lane that owns it to another while it is used: both ends of one stream, as step functions.
//
// The owner sends rows as they are, a few at a time, and between them everything that changes the partition, in the order in which it happens there: recorded chunks,
// clocks that become visible, images that the driver keeps. The receiver takes all of it in that order. So no snapshot is needed. What changes a row before it was
// copied is overwritten by the copy, which has it already, and need not be sent; what changes it afterwards is done by the receiver as by the owner, with the same bits. A table every
// row of which changes in each clock comes to an end like any other: what follows the last rows is only as much as what is pushed.
//
// Who may move what, and when, is the controller's matter; what is out while the stream ends is the lane's. A lane uses the package so:
//
//  1. The owner makes a Source, and sends its Offer. Nothing is sent before the receiver says that it takes it.
//  2. From Begins on it tells the Source of every change, and asks for Rows and Image as far as there is room for what has not been taken (Source.Next).
//  3. When it is Ready, little is under way, and the move may be recorded. At the record it sends Last.
//  4. The receiver makes a Target of an offer, gives it each piece, and does itself what Take leaves to it.
//
// The package holds no rows, refuses pieces out of their order, and decides nothing.
package handoff
