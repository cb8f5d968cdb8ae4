// Package mlr is the application that trains softmax (multinomial logistic) regression: rows of features with a label
// out of two or more classes.
//
// The model of a row x is P(class c | x) = softmax(W x + b)_c. Training minimises the mean log-loss
// plus l2/2 times the squared weights, over features that are scaled first (see scaling.go).
//
// The caller's duties, in order:
//
//  1. New().Describe for help; NewRun with examples of any labels. It scales the training rows,
//     deals them to splits in an order that the seed fixes, and lays each clock's rows out for the
//     kernels.
//  2. Train Run.Job. In a clock every split walks from the common weights over its own rows by
//     mini-batches, on a copy, and pushes its way divided by the number of splits (local steps,
//     averaged); the clocks' common steps carry momentum. With rule=sgd or rule=adagrad a split
//     pushes the gradient at the common weights instead, and the table's rule makes the step.
//     With l1 or rule=ftrl the rule also applies the penalty of weights, by proximal steps (charged.go).
//  3. Run.Model makes the model; Open makes a Predictor of it.
//
// Sparse rows of very many features, most of which never occur, are trained on those that occur, and the model lists
// them (narrow.go).
//
// The step starts at what the curvature of the data allows, grows while epochs gain slowly and features are few, and is
// cut when an epoch gains too little. No row steps further than its own length allows. Unless l2 is given it follows
// the evidence (MacKay 1992, "Bayesian interpolation", eq. 4.8), so that it needs no held-out rows. If the data has
// many rows for its features, weights need no more than that, and held-out rows only decide when the run is done; else
// they choose the epoch that is kept.
//
// With l1 or rule=ftrl no rows are held out to decide: the least objective of the training rows does.
//
// A run may begin with a model (Input.From): splits push its weights in a clock before the first epoch (warm.go).
//
// With class_weights the loss of a row counts by its class, in training and in stopping, and not in the figures that
// are shown for held-out rows (weights.go).
//
// Under BSP the result is the same bit for bit for any number of compute slots: all sums run in the
// order of splits and clocks, and random choices are functions of (seed, split, clock).
//
// The package refuses to guess: it takes no regression targets for classes (more than 4,096
// distinct labels), trains nothing on a single class, and opens no model whose shapes disagree.
package mlr
