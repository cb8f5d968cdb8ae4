// Package mf is the application that factorises matrices: it predicts ratings of items by users, or ranks items by
// pairs without ratings. A rating is predicted as mean + user bias + item bias + p·q, learned by stochastic gradient
// descent on the squared error with L2 (Koren, Bell and Volinsky 2009).
//
// It is an app.Application; the caller's duties are those of package app. What happens inside, in
// the order of the data:
//
//  1. Ratings are standardised to mean 0 and deviation 1, so that one schedule of step sizes fits every scale.
//  2. Users and items are relabelled so that parts of consecutive rows hold equally many ratings.
//  3. schedule=strata (Gemulla et al. 2011, as in Litz §5): a split owns a part of the users; in
//     clock t of an epoch split i visits the ratings between its users and the items of part
//     (i+t) mod clocks, with both parts under exclusive leases, in place. Many splits of little
//     data share few parts of the items, so that a task has enough to do; those that meet in one
//     part go in the order of their numbers (see rotation). No two tasks that run together share a
//     row, and the driver lets a task go as soon as the two tasks before it are done, so the
//     result is the same bit for bit for any number of slots.
//  4. schedule=ssp: the items are a table under SSP; a task pulls the rows of its clock's items,
//     descends on a copy, and pushes what changed.
//  5. After every epoch a clock that visits nothing scores the held-out ratings. They decide when
//     to stop and which epoch's model is returned, and they say how much noise is left, which
//     sets the strength of L2 (see stepSchedule). The test file, when given, decides nothing.
//
// The package refuses settings that it does not know or that do not go together, data without
// ratings to train on, and models whose tensors do not fit each other.
package mf
