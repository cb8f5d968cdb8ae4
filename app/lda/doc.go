// Package lda is the application that trains topic models of documents by latent Dirichlet allocation, with sparse and
// Metropolis-Hastings samplers. Documents are mixtures of topics, and topics are distributions over words (Blei, Ng and
// Jordan 2003).
//
// Every token has a topic, and a sweep draws each anew given all others: collapsed Gibbs sampling (Griffiths and
// Steyvers 2004), p(k) ∝ (n_dk + α_k)(n_kw + β)/(n_k + Vβ). The counts n_kw and n_k are tables; the topics of the
// tokens are rows of a table partitioned by split, so that a split can move; n_dk is counted from them document by
// document.
//
// The caller's duties, in order:
//
//  1. New().Describe for help; NewRun with documents. It deals them to splits in an order that the
//     seed fixes.
//  2. Train Run.Job. Its opening gives every token a topic. If there are many, a few documents get random topics, which are
//     swept until they mean something; the others get theirs from those (see growth). Then an epoch is one sweep, and a clock
//     that scores. Splits draw against the counts as their tasks pulled them, and push their changes (approximate distributed
//     LDA: Newman et al. 2009).
//     A run without a number of epochs ends when epochs gain little. Its last sweeps add their counts up in tables of sums, and
//     the model is made of those, with β as many times: topics of one sweep are noisy draws, and the mean of many predicts
//     held-out documents better.
//  3. Run.Model makes the model; Open makes a Predictor of it. Topics that another program made are
//     scored by the same arithmetic as Topics.
//
// Two samplers draw: sparse (SparseLDA: Yao, Mimno and McCallum 2009) walks the topics that a word and a document have,
// or lets a kernel multiply the weights of all topics for a word that has many of them (dense);
// mh (LightLDA: Yuan et al. 2015) makes cheap proposals and accepts or rejects them, which does not get slower with the
// number of topics. α_k follows the documents (Minka 2000, "Estimating a Dirichlet distribution", eq. 55), unless it is
// given.
//
// Under BSP the result is the same bit for bit for any number of compute slots: random numbers are functions of (seed,
// split, clock, document), and sums run in the order of splits and clocks.
//
// The package does not guess: it opens no model whose counts disagree, and trains on nothing if the documents left for
// training have no words.
package lda
