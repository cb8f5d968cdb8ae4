// Package examples holds what applications that learn from examples share: rows of features as a model of some width
// sees them, the choice of training rows, the scale of each feature, renumbering of few features among very many, the
// labels of classes, class weights, the default strength of regularisation, and how well a model tells classes apart.
//
// The caller's duties, in order:
//
//  1. Find the labels (Numbered, by the list that the model keeps) and renumber wide rows (NarrowingOf).
//  2. Divide the rows into those that train and those that are held out, and measure the former: Scale.
//  3. Train on scaled features, and give the model weights of the unscaled ones.
//
// The package does not know what is learned. Sums over rows run in an order that does not depend on the machine.
package examples
