// Package linear is the application that trains linear models for regression and two classes, by SGD, Newton steps or
// dual ascent; mlr trains more classes. Softmax (loss softmax) is package mlr; all others have one score. Rows of
// features have the score w x + b, and a loss gives the cost of a wrong one (internal/loss).
//
// Training minimises the mean loss plus l2/2 |w|² + l1 |w|₁, over features that are scaled first and one that is the
// same in all rows, the bias, which is penalised like the others. The problem has one optimum, and a run ends when it
// is provably close to it: the smaller the setting gap, the closer. If dual ascent cannot prove that, the run ends when
// it improves no more, and the gap says how far from certain it is.
//
// The caller's duties, in order:
//
//  1. New().Describe for help; NewRun with examples that have labels of the loss. It makes targets of labels
//     (targets.go), scales the training rows, and deals them to splits in an order that the seed fixes.
//
//  2. Train Run.Job. Up to 1,024 features: Newton's method, with moments of all rows in a table (newton.go); a loss
//     with corners is smoothed about dual variables of the rows. More features with l1: the same by coordinate descent
//     along features (columns.go). Else dual coordinate ascent (ascent.go): each training row has a dual variable, in a
//     table with a partition for each split. Another table has the sums of dual variables times features, and the
//     weights are a function of these sums. In a clock the first split brings the dual variables of all rows to their
//     best, one after the other, four times, and pushes the change of the sums. If it has too many rows for that, or
//     clocks are given, every split does so with some of its rows, and the changes of all add up (block.go).
//
//  3. Run.Model makes the model; its weights are for unscaled features and labels. Open makes a Predictor of it.
//
//  4. If l2 or l1 is to be chosen, rows that are kept aside at first choose it (path.go).
//
// Nothing has a step size. All methods go to the same optimum; tests compare them with each other and with a slow
// reference.
//
// On request it takes gradient steps instead (steps.go), for which tables may lag behind: sgd, adagrad, adam and ftrl.
// A rule of the table steps their weights on the server, l1 and l2 included. They come close to the same optimum, and
// cannot say how close.
//
// Under BSP the result is the same bit for bit for any number of compute slots and processes: all sums run in the order
// of splits and clocks, and the order of rows is a function of (seed, split, clock). An executor keeps nothing: all
// that lasts is in tables, and so moves, is copied and restored with them.
//
// The package refuses to guess: it accepts no text as numbers and no more than two classes, and no lagging tables for
// methods that would then prove nothing.
package linear
