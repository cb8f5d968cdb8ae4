# The peers of command mlr that are Python libraries, behind a line protocol. Fields of a request are separated by tabs;
# an answer is numbers separated by blanks, or "error" and a sentence.
#   digits TRAIN TEST          read IDX images and their labels        -> rows
#   loop BATCH                 PyTorch's usual training loop, an epoch  -> rows wall cpu test-accuracy
#   hand BATCH                 the same arithmetic without autograd     -> rows wall cpu test-accuracy
#   examples TRAIN TEST DENSE  read LIBSVM files                        -> rows
#   logistic C SCALED ITERS    fit LogisticRegression                   -> 1 wall cpu test-accuracy
import gzip
import sys
import time
import warnings

warnings.filterwarnings("ignore")
have = {}


def raw(path, header):
    import numpy as np

    opened = gzip.open(path) if path.endswith(".gz") else open(path, "rb")
    with opened as f:
        return np.frombuffer(f.read(), np.uint8, offset=header)


def images(path):
    import numpy as np
    import torch

    labels = raw(path.replace("images", "labels").replace("idx3", "idx1"), 8)
    pixels = raw(path, 16).reshape(len(labels), -1).astype(np.float32) / 255
    return torch.from_numpy(pixels), torch.from_numpy(labels.astype(np.int64))


def digits(train, test):
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    have["x"], have["y"] = images(train)
    have["u"], have["v"] = images(test)
    have["model"] = torch.nn.Linear(have["x"].shape[1], 10)
    have["weights"] = torch.zeros(have["x"].shape[1], 10)
    have["bias"] = torch.zeros(10)
    return (len(have["y"]),)


def timed(rows, work):
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return rows, time.perf_counter() - wall, time.process_time() - cpu


def loop(batch):
    import torch

    x, y, model, batch = have["x"], have["y"], have["model"], int(batch)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = torch.nn.CrossEntropyLoss()

    def epoch():
        for i in range(0, len(y), batch):
            optimizer.zero_grad(set_to_none=True)
            loss(model(x[i : i + batch]), y[i : i + batch]).backward()
            optimizer.step()

    took = timed(len(y), epoch)
    with torch.no_grad():
        return took + ((model(have["u"]).argmax(1) == have["v"]).double().mean().item(),)


def hand(batch):
    import torch

    x, y, w, b, batch = have["x"], have["y"], have["weights"], have["bias"], int(batch)

    def epoch():
        for i in range(0, len(y), batch):
            rows, labels = x[i : i + batch], y[i : i + batch]
            p = torch.softmax(torch.addmm(b, rows, w), 1)
            p[torch.arange(len(labels)), labels] -= 1
            w.addmm_(rows.t(), p, alpha=-0.1 / len(labels))
            b.sub_(p.sum(0), alpha=0.1 / len(labels))

    with torch.no_grad():
        took = timed(len(y), epoch)
        return took + (((have["u"] @ w + b).argmax(1) == have["v"]).double().mean().item(),)


def examples(train, test, dense):
    from sklearn.datasets import load_svmlight_files

    x, y, u, v = load_svmlight_files([train, test])
    if dense == "1":
        x, u = x.toarray(), u.toarray()
    have["examples"] = x, y, u, v
    return (len(y),)


def logistic(c, scaled, iterations):
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    x, y, u, v = have["examples"]
    model = LogisticRegression(C=float(c), max_iter=int(iterations))

    def fit():
        if scaled == "1":
            have["scaler"] = StandardScaler()
            model.fit(have["scaler"].fit_transform(x), y)
        else:
            model.fit(x, y)

    took = timed(1, fit)
    return took + (model.score(have["scaler"].transform(u) if scaled == "1" else u, v),)


answers = {f.__name__: f for f in (digits, loop, hand, examples, logistic)}
