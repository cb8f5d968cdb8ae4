// Package data reads training data (ratings, labelled examples, documents) from files in many formats into flat columns
// for kernels.
//
// The caller's duties, in order:
//
//  1. Choose the Kind: Ratings for (user, item, rating) triples, Examples for
//     labelled feature vectors, Documents for bags of words.
//  2. Call Read with paths, globs or "-" and the options of the command line.
//     Print Set.Detected, which says how the input was understood.
//  3. For a test file, call Read again with Options.ForTest(train), so that the
//     features and the index base are those of the training set, and
//     RatingSet.IndicesIn to find its users and items there.
//  4. Use the columns read-only. When Options.Cache is set they may point into
//     files mapped into memory, and a write to them ends the process.
//  5. Call Set.Close when no slice of the set is used any more.
//
// Every line is looked at. The file name and the first record propose a
// format; a later line that does not agree is an *Error that names file, line
// and column, and the whole read fails. Output does not depend on the number
// of workers: rows keep the order of the input, inputs of one glob are sorted
// by name, ids are numbered by first appearance.
//
// What the columns of a table hold, what becomes of text and of missing values, and
// how another input is read alike is kept in Set.Reading; docs/3-formats.md has the rules.
//
// The package refuses to guess: it does not drop lines, does not take a word for a
// number, does not follow quoted fields over line ends, and does not take memory on
// the word of a header or of a compressed stream.
package data
