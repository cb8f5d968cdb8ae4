// Package linear is linear models: of numbers (regression), of two classes, and of more (softmax, which is package mlr). But for softmax they have one score. Rows of features have the score w x + b, and a loss says what
// a wrong one costs (internal/loss).
//
// Training minimises the mean loss plus l2/2 |w|² + l1 |w|₁, over features that are scaled first and one that is the same in all rows, the bias, which
// is pulled as the others are. There is one best, and a run ends when it is certain to be close to it: the smaller the setting gap, the closer. Where dual
// ascent cannot prove that, it ends when it gains nothing any more, and the gap says how far from certain it is.
//
// The caller's duties, in order:
//
//  1. New().Describe for help; NewRun with examples whose labels are the loss's. It makes targets of labels (targets.go), scales the training rows, and
//     deals them to splits in an order that the seed fixes.
//
//  2. Train Run.Job. Up to 1,024 features: Newton's method, with moments of all rows in a table (newton.go); a loss with corners is smoothed about dual variables of the rows.
//     More, with l1: the same by coordinate descent along features (columns.go). Else dual coordinate ascent
//     (ascent.go): each training row has a dual variable, in a table whose partitions are those of the splits, and a table has the sums of dual
//     variables times features, of which the weights are a function. In a clock the first split brings the dual variables of all rows to
//     their best, one after the other, four times, and pushes how that changes the sums; where rows are too many for it, or clocks are given, every split does so with some of its rows, and
//     what all do at once adds up (block.go).
//
//  3. Run.Model makes the model, whose weights are of the features and labels as they are; Open makes a Predictor of it.
//
//  4. Where l2 or l1 is to be chosen, rows that are kept aside at first choose it (path.go).
//
// Nothing has a step size. All ways go to the same best, which tests hold against each other and against a slow reference.
//
// Who asks for it gets steps by gradients instead (steps.go), by which tables may lag behind: sgd, adagrad, adam, ftrl, whose weights a rule of the table steps on
// the server, l1 and l2 included. They come close to the same best, and cannot say how close.
//
// Under BSP the result is the same bit for bit for any number of compute slots and processes: all sums run in the order of splits and clocks, and the order of rows
// is a function of (seed, split, clock). An executor keeps nothing: all that lasts is in tables, and so moves, is copied and restored with them.
//
// The package refuses to guess: it takes no text for numbers and no more than two classes, and no tables that lag behind where nothing would be certain any more.
package linear
