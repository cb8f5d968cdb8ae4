# The peers of command lda, behind a line protocol. Fields of a request are separated by tabs; an answer is numbers
# separated by blanks, or "error" and a sentence.
#   corpus FILE               read training documents               -> documents tokens
#   gensim CLASS JSON OUT     fit a model of gensim.models           -> tokens wall cpu
#   sklearn JSON OUT          fit LatentDirichletAllocation          -> tokens wall cpu
# FILE is 32-bit little-endian integers: documents, words, entries, then the documents + 1 places where each begins among the
# entries, the entries' words, and their counts. OUT is 32-bit floats: a row for each topic with the probabilities of all
# words, then the weight of each topic in a document.
# Times are those of the fit alone, with the CPU time of processes that it starts.
import json
import os
import resource
import sys
import time
import warnings

warnings.filterwarnings("ignore")
have = {}


def corpus(path):
    import numpy as np

    raw = np.fromfile(path, np.dtype("<i4"))
    docs, words, entries = (int(n) for n in raw[:3])
    start, word, count = np.split(raw[3:], [docs + 1, docs + 1 + entries])
    have["words"], have["start"], have["word"], have["count"] = words, start, word, count
    have["bags"] = None
    return docs, int(count.sum())


def cpu():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def timed(work):
    wall, before = time.perf_counter(), cpu()
    model = work()
    return model, (int(have["count"].sum()), time.perf_counter() - wall, cpu() - before)


def hand_over(topics, alpha, out):
    import numpy as np

    topics = np.maximum(np.asarray(topics, np.float64), 1e-30)
    topics /= topics.sum(1, keepdims=True)
    np.concatenate([topics.ravel(), np.asarray(alpha, np.float64)]).astype("<f4").tofile(out)


def gensim(name, settings, out):
    from gensim import models

    if have["bags"] is None:
        ends = have["start"].tolist()
        pairs = list(zip(have["word"].tolist(), have["count"].tolist()))
        have["bags"] = [pairs[a:b] for a, b in zip(ends, ends[1:])]
    names = {i: str(i) for i in range(have["words"])}
    make, settings = getattr(models, name), json.loads(settings)
    model, took = timed(lambda: make(have["bags"], id2word=names, random_state=1, eval_every=None, **settings))
    hand_over(model.get_topics(), model.alpha, out)
    return took


def sklearn(settings, out):
    from scipy.sparse import csr_matrix
    from sklearn.decomposition import LatentDirichletAllocation

    rows = csr_matrix((have["count"], have["word"], have["start"]), shape=(len(have["start"]) - 1, have["words"]))
    model = LatentDirichletAllocation(random_state=1, n_jobs=1, **json.loads(settings))
    _, took = timed(lambda: model.fit(rows))
    hand_over(model.components_, [model.doc_topic_prior_] * model.n_components, out)
    return took


# A worker of LdaMulticore must not read our requests.
asked = os.fdopen(os.dup(0))
answers = {f.__name__: f for f in (corpus, gensim, sklearn)}
