// Package examples is what applications that learn from examples have in common: rows of features as a model of some width sees them,
// which of them are trained on, the scale of each feature, the numbers of features that are few among very many, the labels of classes, how much
// rows count by their class, how strongly the data asks for small weights, and how well a model tells classes apart.
//
// The caller's duties, in order:
//
//  1. Find the labels (Numbered, by the list that the model keeps) and number wide rows anew (NarrowingOf).
//  2. Divide the rows into those that train and those that are held out, and measure the former: Scale.
//  3. Train on scaled features, and give the model weights of the features as they are.
//
// It refuses to know what is learned of the rows. Sums over rows run in an order that does not depend on the machine.
package examples
