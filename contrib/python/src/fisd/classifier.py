"""A served version as an estimator of scikit-learn (needs it: ``pip install fisd[sklearn]``)."""

from __future__ import annotations

from typing import Any, Iterable, Optional, Union

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from .errors import NotReady
from .models import Models
from .version import Version


class FisdClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that predicts with a version of a pipeline; fisd is what trains it.

    Parameters
    ----------
    source : Version or Models
        With a `Version`, it stays that one. With `Models`, `fit` takes the version that is served
        then; with ``follow=True`` every call predicts with the one that is served at that moment.
    follow : bool
    ignore : iterable of str
        Columns of frames and dicts that are no features (an id, the label).

    Attributes
    ----------
    classes_ : ndarray of str, shape (classes,)
        Sorted, as scikit-learn has them; `predict_proba` has its columns in this order, which
        need not be that of the pipeline.
    feature_names_in_ : ndarray of str
    n_features_in_ : int
    version_ : Version
        What it predicts with; with ``follow=True`` what was served at `fit`.

    Examples
    --------
    ::

        classifier = fisd.FisdClassifier(models).fit()
        sklearn.metrics.roc_auc_score(y, classifier.predict_proba(frame)[:, 1])
    """

    def __init__(self, source: Union[Version, Models, None] = None, follow: bool = False,
                 ignore: Iterable[str] = ()) -> None:
        self.source = source
        self.follow = follow
        self.ignore = ignore

    def fit(self, X: Any = None, y: Any = None) -> "FisdClassifier":
        """Takes the version; neither X nor y is looked at, and nothing is trained.

        Raises
        ------
        NotReady
            No version is served yet.
        """
        version = self._newest()
        self.version_ = version
        self._order = np.argsort(np.array(version.classes))
        self.classes_ = np.array(version.classes)[self._order]
        self.feature_names_in_ = np.array(version.columns, dtype=object)
        self.n_features_in_ = len(version.columns)
        return self

    def _newest(self) -> Version:
        if self.source is None:
            raise TypeError("source: expected a fisd.Version or fisd.Models")
        version: Optional[Version] = \
            self.source.served if isinstance(self.source, Models) else self.source
        if version is None:
            raise NotReady("no version is served yet: Models.wait() first")
        return version

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "version_")

    def _version(self) -> Version:
        if not hasattr(self, "version_"):
            self.fit()
        return self._newest() if self.follow else self.version_

    def predict_proba(self, X: Any) -> "np.ndarray[Any, Any]":
        """Probabilities, float64 [n, classes], in the order of `classes_`.

        Raises
        ------
        RecordError
            As `Version.predict_proba`.
        """
        version = self._version()
        return version.predict_proba(X, self.ignore)[:, self._order]

    def predict(self, X: Any) -> "np.ndarray[Any, Any]":
        """The most probable class of each row, str [n]. Errors as `predict_proba`."""
        return self._version().predict(X, self.ignore)
