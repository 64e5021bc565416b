#!/usr/bin/env python3
"""Writes trees-golden.txt: margins that Python's xgboost gives for the rows beside them.

    pip install xgboost==1.7.4 numpy && python3 tests/golden/trees-golden.py > tests/golden/trees-golden.txt

The version is that of Debian 12's libxgboost; test_boost.c fits the same rows by its C interface.
"""

import numpy as np
import xgboost

N, D = 200, 5
dice = np.random.default_rng(7)
x = np.round(dice.normal(size=(N, D)), 4).astype(np.float32)
x[:, 3] = dice.integers(0, 2, N)  # as a category has it
z = x[:, 0] - x[:, 1] * x[:, 3] + dice.normal(scale=.7, size=N)
y3 = np.digitize(z, [-.6, .6])


def margins(classes, y):
    parameters = {"objective": "binary:logistic" if classes == 2 else "multi:softprob",
                  "tree_method": "hist", "nthread": 1, "seed": 11, "base_score": .5, "max_depth": 4,
                  "eta": .05, "subsample": .8, "colsample_bytree": .5}
    if classes > 2:
        parameters["num_class"] = classes
    data = xgboost.DMatrix(x, label=y)
    model = xgboost.train(parameters, data, num_boost_round=40)
    return model.predict(data, output_margin=True).reshape(N, -1)


assert xgboost.__version__ == "1.7.4"
two, three = margins(2, y3 > 0), margins(3, y3)
print(N, D)
for i in range(N):
    print(*(f"{v:.9g}" for v in (*x[i], y3[i], *two[i], *three[i])))
