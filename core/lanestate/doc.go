// Package lanestate has the partitions of a lane, finds them by pair and generation, and keeps which record, route and
// clock the lane is at.
//
// A State answers what every other part of a lane must know: which partition a pair names, whether the lane
// owns it at that generation, and which version reads see. It applies to all partitions what a record says of
// the whole job: a complete clock, an image to keep, a cut, another staleness. It sends nothing, and judges
// no sender.
//
// The caller's duties, in order:
//
//  1. New, and Create for each partition that the lane has from the beginning.
//  2. Number with each record, and SetRoute with each that changes the route.
//  3. Gain, Add and Await when a record gives a partition to the lane; Settle when its state is here; Leave
//     when a record gives it away, and Remove when it counts here no more.
package lanestate
