# scikit-learn's linear models behind a line protocol. Fields of a request are separated by tabs; an answer is numbers separated
# by blanks, or "error" and a sentence.
#   lasso FILE ALPHA        fit Lasso to a LIBSVM file with a column of ones -> 1 wall cpu non-zeros objective
#   sgd TRAIN TEST TIMES    fit SGDClassifier with its defaults so often -> 1 wall cpu test-logloss
#   tune TRAIN C,C,..       find the C of LogisticRegression with the best log-loss over five parts of the rows -> 1 wall cpu C
#   fit TRAIN TEST C        fit LogisticRegression -> 1 wall cpu test-logloss test-accuracy
# Times are those of the fits, without reading.
import sys
import time
import warnings

warnings.filterwarnings("ignore")
import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_files
from sklearn.linear_model import Lasso, LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MaxAbsScaler

read = {}


def rows(*files):
    if files not in read:
        read.clear()
        read[files] = load_svmlight_files(files)
    return read[files]


def timed(fit):
    wall, cpu = time.perf_counter(), time.process_time()
    out = fit()
    return 1, time.perf_counter() - wall, time.process_time() - cpu, out


def lasso(file, alpha):
    x, y = rows(file)
    x = sparse.hstack([x, np.ones((x.shape[0], 1))]).tocsc()
    if x.nnz * 2 > x.shape[0] * x.shape[1]:
        x = np.asfortranarray(x.toarray())
    alpha = float(alpha)
    *times, m = timed(lambda: Lasso(alpha=alpha, fit_intercept=False, tol=1e-8, max_iter=100000).fit(x, y))
    rest = y - x @ m.coef_
    return *times, np.count_nonzero(m.coef_[:-1]), rest @ rest / (2 * len(y)) + alpha * np.abs(m.coef_).sum()


def sgd(train, test, count):
    x, y, u, v = rows(train, test)
    fits = lambda: [SGDClassifier(loss="log_loss", random_state=s).fit(x, y) for s in range(int(count))]
    *times, all = timed(fits)
    return *times, np.mean([log_loss(v, m.predict_proba(u), labels=m.classes_) for m in all])


def tune(train, strengths):
    x, y = rows(train)
    x = MaxAbsScaler().fit_transform(x)
    folds = StratifiedKFold(5, shuffle=True, random_state=1)
    cs = [float(c) for c in strengths.split(",")]
    *times, m = timed(lambda: LogisticRegressionCV(Cs=cs, cv=folds, scoring="neg_log_loss", max_iter=300, refit=False).fit(x, y))
    return *times, np.atleast_1d(m.C_)[0]


def fit(train, test, strength):
    x, y, u, v = rows(train, test)
    scaler = MaxAbsScaler()
    x, u = scaler.fit_transform(x), scaler.transform(u)
    *times, m = timed(lambda: LogisticRegression(C=float(strength), max_iter=1000).fit(x, y))
    return *times, log_loss(v, m.predict_proba(u), labels=m.classes_), accuracy_score(v, m.predict(u))


answers = {"lasso": lasso, "sgd": sgd, "tune": tune, "fit": fit}
