// Package examples prepares labelled rows for app/linear and app/mlr: feature layout and scales, labels, class weights,
// regularisation, and scores of classes. It also has the rows of features as a model of some width sees them, the
// choice of training rows, and the renumbering of few features among very many.
//
// The caller's duties, in order:
//
//  1. Find the labels (Numbered, by the list that the model keeps) and renumber wide rows (NarrowingOf).
//  2. Divide the rows into those that train and those that are held out, and measure the former: Scale.
//  3. Train on scaled features, and give the model weights of the unscaled ones.
//
// The package does not know what is learned. Sums over rows run in an order that does not depend on the machine.
package examples
