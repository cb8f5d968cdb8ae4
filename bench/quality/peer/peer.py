# scikit-learn's logistic regression behind a line protocol. Fields of a request are separated by tabs; an answer is numbers separated
# by blanks, or "error" and a sentence.
#   tuned TRAIN TEST C,C,...  fit to LIBSVM files -> 1 wall cpu test-logloss test-accuracy C
# Features are divided by their largest size. C has the best log-loss over five parts of the training rows.
import sys
import time
import warnings

warnings.filterwarnings("ignore")


def tuned(train, test, strengths):
    from sklearn.datasets import load_svmlight_files
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.metrics import accuracy_score, log_loss
    from sklearn.model_selection import StratifiedKFold
    from sklearn.preprocessing import MaxAbsScaler

    x, y, u, v = load_svmlight_files([train, test])
    if x.nnz * 8 > x.shape[0] * x.shape[1]:
        x, u = x.toarray(), u.toarray()
    scaler = MaxAbsScaler()
    x, u = scaler.fit_transform(x), scaler.transform(u)
    wall, cpu = time.perf_counter(), time.process_time()
    model = LogisticRegressionCV(
        Cs=[float(c) for c in strengths.split(",")],
        cv=StratifiedKFold(5, shuffle=True, random_state=0),
        scoring="neg_log_loss",
        max_iter=1000,
    ).fit(x, y)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    p = model.predict_proba(u)
    known = set(model.classes_)
    if not set(v) <= known:
        raise ValueError("test rows have a label that no training row has")
    return 1, wall, cpu, log_loss(v, p, labels=model.classes_), accuracy_score(v, model.predict(u)), model.C_[0]


answers = {"tuned": tuned}
