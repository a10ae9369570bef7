"""What candor's peers compute, by their own calls."""

from __future__ import annotations

import contextlib
import io
from typing import Any, Callable

import numpy as np
from data import BINARY, CANCER, CLASSES, DIABETES, DRAWS, LEVELS, LOGLIK, MADE, NORMALS, PLAIN, QUANTILES, RARE, SAMPLES, TIES, WEIGHTED
from rows import SINGLE, Rows

import candor

PEERS: dict[str, tuple[str, Callable[[Rows], None]]] = {}
"""The peers by their names on PyPI, in the order of the page: their requirements file, and what compares them."""

EPS, EPS32 = "2.220446049250313e-16", "1.1920928955078125e-7"


def peer(name: str, file: str = "requirements.txt") -> Callable[[Callable[[Rows], None]], Callable[[Rows], None]]:
    def add(compare: Callable[[Rows], None]) -> Callable[[Rows], None]:
        PEERS[name] = file, compare
        return compare

    return add


@peer("scikit-learn")
def scikit_learn(row: Rows) -> None:
    from sklearn import metrics as m
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV, calibration_curve
    from sklearn.frozen import FrozenEstimator

    both = (*BINARY, *CLASSES, WEIGHTED)
    clip = "clips at the eps of the type of the scores"
    row("log_loss", f"nll(clip={EPS})", both, lambda d: m.log_loss(d.y, d.p, sample_weight=d.w), note=clip)
    row("brier_score_loss", "brier", both, lambda d: m.brier_score_loss(d.y, d.p, sample_weight=d.w), note="halved for two classes")
    row("d2_brier_score", "brier_skill", both, lambda d: m.d2_brier_score(d.y, d.p, sample_weight=d.w))
    row("d2_log_loss_score", "nll_skill", (PLAIN, RARE, WEIGHTED, *CLASSES), lambda d: m.d2_log_loss_score(d.y, d.p, sample_weight=d.w))
    row("accuracy_score of the likeliest class", "accuracy", CLASSES, lambda d: m.accuracy_score(d.y, d.p.argmax(axis=1)))
    row("accuracy_score(y, p > .5)", "accuracy", (CANCER, PLAIN, RARE, WEIGHTED), lambda d: m.accuracy_score(d.y, d.p > 0.5, sample_weight=d.w))
    row("balanced_accuracy_score", "balanced_accuracy", CLASSES, lambda d: m.balanced_accuracy_score(d.y, d.p.argmax(axis=1)))
    row("top_k_accuracy_score(k=2)", "topk_accuracy(k=2)", CLASSES, lambda d: m.top_k_accuracy_score(d.y, d.p, k=2))
    row("roc_auc_score", "auroc", (*BINARY, WEIGHTED), lambda d: m.roc_auc_score(d.y, d.p, sample_weight=d.w))
    row("roc_auc_score(max_fpr=.1)", "auroc(max_fpr=0.1)", (PLAIN, RARE), lambda d: m.roc_auc_score(d.y, d.p, max_fpr=0.1))
    for average in ("macro", "weighted"):
        row(f"roc_auc_score(multi_class='ovr', average='{average}')", f"auroc(average={average})", CLASSES, lambda d, a=average: m.roc_auc_score(d.y, d.p, multi_class="ovr", average=a))
    for average, ours in (("macro", "ovo"), ("weighted", "ovo_weighted")):
        row(f"roc_auc_score(multi_class='ovo', average='{average}')", f"auroc(average={ours})", CLASSES, lambda d, a=average: m.roc_auc_score(d.y, d.p, multi_class="ovo", average=a))
    row("average_precision_score", "auprc", (*BINARY, WEIGHTED), lambda d: m.average_precision_score(d.y, d.p, sample_weight=d.w))

    def trapezoid(d: Any) -> float:
        precision, recall, _ = m.precision_recall_curve(d.y, d.p)
        return float(m.auc(recall, precision))

    row("auc of precision_recall_curve", "auprc(area=trapezoid)", BINARY, trapezoid)

    def bins(d: Any) -> Any:
        found = [b for b in d.evaluate("ece(closed=right)")["bins"] if b["count"]]
        return [[b["frequency"] for b in found], [b["confidence"] for b in found]]

    row("calibration_curve(n_bins=15)", "bins", (PLAIN,), lambda d: calibration_curve(d.y, d.p, n_bins=15), ours=bins, note="a score on an edge, which this set does not have, goes to the bin below")
    row("mean_pinball_loss(alpha=.05)", "pinball(level=0.05)", (QUANTILES,), lambda d: m.mean_pinball_loss(d.y, d.q[:, 0], alpha=0.05))
    row("root_mean_squared_error", "rmse", (DIABETES, NORMALS), lambda d: m.root_mean_squared_error(d.y, d.mean))
    row("mean_absolute_error", "mae", (DIABETES, NORMALS), lambda d: m.mean_absolute_error(d.y, d.mean))

    class Says(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """A classifier whose features are its logits."""

        def __init__(self, classes: int) -> None:
            self.classes, self.classes_ = classes, np.arange(classes)

        def fit(self, X: Any, y: Any) -> Any:
            return self

        def decision_function(self, X: Any) -> Any:
            return X[:, 0] if self.classes == 2 else X

        def predict(self, X: Any) -> Any:
            return self.decision_function(X) > 0 if self.classes == 2 else X.argmax(axis=1)

    def recalibrated(method: str) -> Callable[[Any], Any]:
        def theirs(d: Any) -> Any:
            x = _logits(d)
            clf = CalibratedClassifierCV(FrozenEstimator(Says(max(2, d.p.shape[-1] if d.p.ndim > 1 else 2))), method=method, ensemble=False)
            p = clf.fit(x.reshape(len(x), -1), d.y).predict_proba(x.reshape(len(x), -1))
            return p[:, 1] if d.p.ndim == 1 else p

        return theirs

    def ours(method: str) -> Callable[[Any], Any]:
        return lambda d: candor.recalibrate(method, logits=_logits(d), labels=d.y, metrics="nll").apply(logits=_logits(d))

    fit = "both are at the minimum; scikit-learn's optimizer stops a little before"
    row("CalibratedClassifierCV(method='isotonic')", "recalibrate('isotonic')", (PLAIN, RARE), recalibrated("isotonic"), ours=ours("isotonic"))
    row("CalibratedClassifierCV(method='sigmoid')", "recalibrate('platt(smoothed)')", (PLAIN, RARE), recalibrated("sigmoid"), ours=ours("platt(smoothed)"), within=1e-4, note=fit)
    row("CalibratedClassifierCV(method='temperature')", "recalibrate('temperature')", (MADE,), recalibrated("temperature"), ours=ours("temperature"), within=1e-4, note=fit)


def _logits(d: Any) -> Any:
    return np.log(d.p) - np.log1p(-d.p) if d.p.ndim == 1 else np.log(d.p)


@peer("torchmetrics", "requirements-torch.txt")
def torchmetrics(row: Rows) -> None:
    import torch
    from torchmetrics.classification import BinaryAccuracy, BinaryAUROC, BinaryAveragePrecision, BinaryCalibrationError, MulticlassAccuracy, MulticlassAUROC, MulticlassAveragePrecision, MulticlassCalibrationError
    from torchmetrics.regression import ContinuousRankedProbabilityScore
    from torchmetrics.text import Perplexity

    def of(metric: Any) -> Callable[[Any], float]:
        return lambda d: float((metric(num_classes=d.p.shape[1]) if d.p.ndim > 1 else metric())(torch.tensor(d.p), torch.tensor(d.y)))

    single = "sums of torchmetrics are in float32"
    for norm, ours in (("l1", "ece"), ("l2", "rmsce"), ("max", "mce")):
        row(f"BinaryCalibrationError(norm='{norm}')", ours, BINARY, of(lambda norm=norm: BinaryCalibrationError(norm=norm)), like="torchmetrics", note="edges and sums are in the type of the scores, float64 here; 1 has a bin of its own")
        row(f"MulticlassCalibrationError(norm='{norm}')", ours, CLASSES, of(lambda num_classes, norm=norm: MulticlassCalibrationError(num_classes, norm=norm)), like="torchmetrics", within=SINGLE, note="edges in float32; 1 has a bin of its own; " + single)
    row("BinaryAccuracy", "accuracy", (CANCER, PLAIN, RARE), of(BinaryAccuracy), within=SINGLE, note="the answer is in float32")
    row("MulticlassAccuracy(average='micro')", "accuracy", CLASSES, of(lambda num_classes: MulticlassAccuracy(num_classes, average="micro")), within=SINGLE, note="the answer is in float32")
    row("MulticlassAccuracy", "balanced_accuracy", CLASSES, of(MulticlassAccuracy), within=SINGLE, note="the answer is in float32")
    row("BinaryAUROC", "auroc", BINARY, of(BinaryAUROC), within=SINGLE, note=single)
    row("MulticlassAUROC", "auroc(average=macro)", CLASSES, of(MulticlassAUROC), within=SINGLE, note=single)
    row("BinaryAveragePrecision", "auprc", BINARY, of(BinaryAveragePrecision), within=SINGLE, note=single)
    row("MulticlassAveragePrecision", "auprc(average=macro)", CLASSES, of(MulticlassAveragePrecision), within=SINGLE, note=single)
    row("Perplexity", "perplexity", CLASSES, lambda d: float(Perplexity()(torch.tensor(d.p).log()[None], torch.tensor(d.y)[None])), within=SINGLE, note="its input is logits")
    row("ContinuousRankedProbabilityScore", "crps", (DRAWS, SAMPLES), lambda d: float(ContinuousRankedProbabilityScore()(torch.tensor(d.x), torch.tensor(d.y))), within=SINGLE, note=single)


@peer("netcal", "requirements-torch.txt")
def netcal(row: Rows) -> None:
    from netcal import metrics as m
    from netcal.metrics import regression as r

    for bins in (10, 15):
        row(f"ECE({bins})", f"ece(bins={bins})", (*BINARY, *CLASSES), lambda d, b=bins: m.ECE(b).measure(d.p.copy(), d.y))
    row("MCE(15)", "mce(bins=15)", (*BINARY, *CLASSES), lambda d: m.MCE(15).measure(d.p.copy(), d.y))
    row("ACE(10)", "ece_unweighted(bins=10)", (*BINARY, *CLASSES), lambda d: m.ACE(10).measure(d.p.copy(), d.y), note="candor's ace is the adaptive error of Nixon et al.")
    row("ECE(10, equal_intervals=False)", "ece_equal_mass(bins=10)", (PLAIN, MADE), lambda d: m.ECE(10, equal_intervals=False).measure(d.p.copy(), d.y), note="without ties, and where the bins divide the rows")
    row("regression.NLL", "nll", (DIABETES, NORMALS), lambda d: float(np.mean(r.NLL().measure((d.mean, d.std), d.y))))
    row("regression.PICP(q=.9)", "coverage_90", (DIABETES, NORMALS), lambda d: float(np.mean(r.PICP().measure((d.mean, d.std), d.y, q=0.9)[0])))
    row(
        "regression.QuantileLoss(q=.9)",
        "pinball(level=0.9)",
        (DIABETES, NORMALS),
        lambda d: r.QuantileLoss().measure((d.mean, d.std), d.y, q=np.array([0.9])),
        differs="it is of the nearer end of the central interval of level q, not of the q quantile",
    )
    width = "its bins are of equal width in the standard deviation; those of the definition and of candor have equal numbers of rows"
    row("regression.ENCE(10)", "ence(bins=10)", (DIABETES, NORMALS), lambda d: float(np.mean(r.ENCE(10).measure((d.mean, d.std), d.y))), differs=width)
    row("regression.UCE(10)", "uce(bins=10)", (DIABETES, NORMALS), lambda d: float(np.mean(r.UCE(10).measure((d.mean, d.std), d.y))), differs="likewise")


@peer("scoringrules")
def scoringrules(row: Rows) -> None:
    import scoringrules as s

    row("brier_score", "brier", BINARY, lambda d: np.mean(s.brier_score(d.y, d.p)))
    row("log_score", "nll", (PLAIN, RARE), lambda d: np.mean(s.log_score(d.y, d.p)))
    row("rps_score", "rps", CLASSES, lambda d: np.mean(s.rps_score(d.y + 1, d.p)), note="it counts classes from 1, and does not divide by their number")
    for estimator, ours in (("nrg", "crps"), ("qd", "crps"), ("int", "crps"), ("fair", "crps_fair"), ("pwm", "crps_pwm")):
        row(f"crps_ensemble(estimator='{estimator}')", ours, (DRAWS, SAMPLES), lambda d, e=estimator: np.mean(s.crps_ensemble(d.y, d.x, estimator=e)))
    row("crps_normal", "crps", (DIABETES, NORMALS), lambda d: np.mean(s.crps_normal(d.y, d.mean, d.std)))
    row("logs_normal", "nll", (DIABETES, NORMALS), lambda d: np.mean(s.logs_normal(d.y, d.mean, d.std)))
    row("crps_laplace", "crps", (DIABETES, NORMALS), lambda d: np.mean(s.crps_laplace(d.y, d.mean, d.std)), distribution="laplace")
    row("crps_logistic", "crps", (DIABETES, NORMALS), lambda d: np.mean(s.crps_logistic(d.y, d.mean, d.std)), distribution="logistic")
    row("crps_t(df=5)", "crps", (DIABETES, NORMALS), lambda d: np.mean(s.crps_t(d.y, 5, d.mean, d.std)), distribution="t(df=5)")
    row("logs_t(df=5)", "nll", (DIABETES, NORMALS), lambda d: np.mean(s.logs_t(d.y, 5, d.mean, d.std)), distribution="t(df=5)")
    row("quantile_score, mean of the levels", "pinball", (QUANTILES,), lambda d: np.mean([s.quantile_score(d.y, d.q[:, i], a) for i, a in enumerate(LEVELS)]))
    row("interval_score(alpha=.1)", "interval_score", (QUANTILES,), lambda d: np.mean(s.interval_score(d.y, d.q[:, 0], d.q[:, 4], 0.1)))
    row("crps_quantile", "wis", (QUANTILES,), lambda d: np.mean(s.crps_quantile(d.y, d.q, LEVELS)), note="twice the mean pinball loss; candor's crps of quantiles integrates over the levels")
    row(
        "weighted_interval_score",
        "wis",
        (QUANTILES,),
        lambda d: np.mean(s.weighted_interval_score(d.y, d.q[:, 2], d.q[:, [0, 1]], d.q[:, [4, 3]], np.array([0.1, 0.5]))),
        differs="it adds the median m, not \\|y - m\\|, times the median's weight",
    )


@peer("properscoring")
def properscoring(row: Rows) -> None:
    import properscoring as s

    row("brier_score", "brier", BINARY, lambda d: np.mean(s.brier_score(d.y, d.p)))
    row("crps_ensemble", "crps", (DRAWS, SAMPLES), lambda d: np.mean(s.crps_ensemble(d.y, d.x)))
    row("crps_gaussian", "crps", (DIABETES, NORMALS), lambda d: np.mean(s.crps_gaussian(d.y, d.mean, d.std)))


@peer("xskillscore")
def xskillscore(row: Rows) -> None:
    import xarray as xr
    import xskillscore as s

    def of(a: Any, *others: str) -> Any:
        return xr.DataArray(a, dims=["row", *others])

    row("brier_score", "brier", BINARY, lambda d: s.brier_score(of(d.y == 1), of(d.p), member_dim=None))
    row("crps_ensemble", "crps", (DRAWS, SAMPLES), lambda d: s.crps_ensemble(of(d.y), of(d.x, "member")))
    row("crps_gaussian", "crps", (DIABETES, NORMALS), lambda d: s.crps_gaussian(of(d.y), of(d.mean), of(d.std)))
    row("roc(bin_edges='continuous')", "auroc", (PLAIN, RARE), lambda d: s.roc(of(d.y == 1), of(d.p), bin_edges="continuous"))
    row("rmse", "rmse", (DIABETES, NORMALS), lambda d: s.rmse(of(d.mean), of(d.y)))
    row("mae", "mae", (DIABETES, NORMALS), lambda d: s.mae(of(d.mean), of(d.y)))

    def rps(d: Any) -> Any:
        outcome = np.eye(d.p.shape[1])[d.y]
        return s.rps(of(outcome, "category_edge").rename(category_edge="category"), of(d.p, "category"), category_edges=None, input_distributions="p")

    row("rps(input_distributions='p')", "rps", CLASSES, rps)


@peer("uncertainty-toolbox")
def uncertainty_toolbox(row: Rows) -> None:
    import uncertainty_toolbox as u

    sets = (DIABETES, NORMALS)
    row("prediction_error_metrics: rmse", "rmse", sets, lambda d: u.prediction_error_metrics(d.mean, d.y)["rmse"])
    row("prediction_error_metrics: mae", "mae", sets, lambda d: u.prediction_error_metrics(d.mean, d.y)["mae"])
    row("sharpness", "sharpness_root", sets, lambda d: u.sharpness(d.std))
    row("nll_gaussian", "nll", sets, lambda d: u.nll_gaussian(*d.triple))
    row("crps_gaussian", "crps", sets, lambda d: u.crps_gaussian(*d.triple))
    row("check_score", "pinball", sets, lambda d: u.check_score(*d.triple), ours=_check, note="mean of pinball(level=) at the levels .01 to .99")
    row("interval_score", "interval_score", sets, lambda d: u.interval_score(*d.triple), ours=_intervals, note="mean of interval_score(level=) at the levels .01 to .99")
    row("root_mean_squared_calibration_error", "rms_calibration", sets, lambda d: u.root_mean_squared_calibration_error(*d.triple))
    row("the same, prop_type='quantile'", "rms_calibration(form=quantile)", sets, lambda d: u.root_mean_squared_calibration_error(*d.triple, prop_type="quantile"))
    row("miscalibration_area", "miscalibration_area(form=interval,bins=99)", sets, lambda d: u.miscalibration_area(*d.triple))


def _levels(metric: str) -> Callable[[Any], float]:
    spec = ",".join(f"{metric}(level={i / 100})" for i in range(1, 100))
    return lambda d: float(np.mean([float(v) for v in d.evaluate(spec).metrics.values()]))


_check, _intervals = _levels("pinball"), _levels("interval_score")


@peer("MAPIE")
def mapie(row: Rows) -> None:
    from mapie.metrics import calibration as c
    from mapie.metrics import regression as r

    row("expected_calibration_error(split_strategy='uniform')", "ece(bins=49,closed=right)", (PLAIN, RARE), lambda d: c.expected_calibration_error(d.y, d.p, num_bins=50, split_strategy="uniform"), note="num_bins=50 makes 49 bins")
    row(
        "expected_calibration_error(split_strategy='array split')",
        "ece_equal_mass(bins=50)",
        (PLAIN,),
        lambda d: c.expected_calibration_error(d.y, d.p, num_bins=50, split_strategy="array split"),
        differs="its edges are the largest scores of 50 parts of the rows as they come, unsorted",
    )
    jitter = "it adds noise of 1e-8 to scores"
    for name, ours in (("kolmogorov_smirnov", "ks"), ("kuiper", "kuiper")):
        row(f"{name}_statistic", ours, (PLAIN, RARE), lambda d, n=name: getattr(c, f"{n}_statistic")(d.y, d.p), ours=lambda d, o=ours: _standardized(d, o), within=1e-7, note="in units of the standard deviation of the last sum; " + jitter)
        row(f"{name}_p_value", f"{ours}_p", (RARE,), lambda d, n=name: getattr(c, f"{n}_p_value")(d.y, d.p), within=1e-7, note=jitter)
    row("spiegelhalter_statistic", "spiegelhalter_z", (PLAIN, RARE), lambda d: c.spiegelhalter_statistic(d.y, d.p))
    row("spiegelhalter_p_value", "spiegelhalter_p", (PLAIN, RARE), lambda d: c.spiegelhalter_p_value(d.y, d.p), differs="it is one-sided: scores that are too cautious never have a small p")

    def intervals(d: Any) -> Any:
        return d.q[:, [0, 4], None]

    row("regression_coverage_score", "coverage_90", (QUANTILES,), lambda d: r.regression_coverage_score(d.y, intervals(d))[0])
    row("regression_mean_width_score", "width_90", (QUANTILES,), lambda d: r.regression_mean_width_score(intervals(d))[0])
    row("regression_mwi_score", "interval_score", (QUANTILES,), lambda d: r.regression_mwi_score(d.y, intervals(d), 0.9))

    from mapie.classification import SplitConformalClassifier
    from mapie.conformity_scores import APSConformityScore, ResidualNormalisedScore
    from mapie.metrics import classification as m
    from mapie.regression import ConformalizedQuantileRegressor, SplitConformalRegressor

    given = _given()

    def sets(d: Any, score: Any, **params: Any) -> Any:
        """Return the sets of the second half of the rows, by the first."""
        half, k = len(d.y) // 2, d.p.shape[1]
        c = SplitConformalClassifier(given(slice(k), np.arange(k)), confidence_level=0.85, conformity_score=score, prefit=True, random_state=1)
        return c.conformalize(d.p[:half], d.y[:half]).predict_set(d.p[half:], conformity_score_params=params or None)[1][:, :, 0]

    row("SplitConformalClassifier('lac')", "conformal lac", CLASSES, lambda d: sets(d, "lac"), ours=lambda d: _sets(d, "lac"), note="sets by half of the rows, of the others; so below")
    row(
        "SplitConformalClassifier(APSConformityScore()), mean size",
        "conformal aps(keep_last)",
        CLASSES,
        lambda d: sets(d, APSConformityScore(), include_last_label=True).sum(axis=1).mean(),
        ours=lambda d: _sets(d, "aps(keep_last)").sum(axis=1).mean(),
        differs="the scores of the calibration rows have random numbers, of NumPy's generator there and of a hash here; a test gives both the same",
    )
    row("classification_coverage_score", "coverage of conformal eval", CLASSES, lambda d: m.classification_coverage_score(_half(d), _sets(d, "aps"))[0], ours=lambda d: _seen(d)["all"]["covered"])
    row("classification_mean_width_score", "mean_size", CLASSES, lambda d: m.classification_mean_width_score(_sets(d, "aps")[:, :, None])[0], ours=lambda d: _seen(d)["sets"]["mean_size"])

    def ssc(d: Any) -> Any:
        return min(s["covered"] for s in _seen(d)["sets"]["by_size"])

    row("classification_ssc_score", "lowest of by_size", CLASSES, lambda d: m.classification_ssc_score(_half(d), _sets(d, "aps")[:, :, None])[0], ours=ssc)

    def columns(d: Any) -> Any:
        return np.stack([d.mean, d.std, d.mean - d.std, d.mean + d.std], axis=1)

    def ends(d: Any, **more: Any) -> Any:
        half, x = len(d.y) // 2, columns(d)
        return SplitConformalRegressor(given(0), confidence_level=0.85, prefit=True, **more).conformalize(x[:half], d.y[:half]).predict_interval(x[half:])[1][:, :, 0]

    def cqr(d: Any) -> Any:
        half, x = len(d.y) // 2, columns(d)
        c = ConformalizedQuantileRegressor([given(2), given(3), given(0)], confidence_level=0.85, prefit=True).conformalize(x[:half], d.y[:half])
        return c.predict_interval(x[half:], symmetric_correction=True)[1][:, :, 0]

    both = (DIABETES, NORMALS)
    row("SplitConformalRegressor", "conformal split", both, ends, ours=lambda d: _ends(d, "split"))
    row("SplitConformalRegressor(ResidualNormalisedScore())", "conformal normalized", (NORMALS,), lambda d: ends(d, conformity_score=ResidualNormalisedScore(residual_estimator=given(1), prefit=True)), ours=lambda d: _ends(d, "normalized"))
    row("ConformalizedQuantileRegressor", "conformal cqr", both, cqr, ours=lambda d: _ends(d, "cqr"), note="symmetric_correction=True")
    row("regression_ssc_score", "lowest of by_width", (NORMALS,), lambda d: r.regression_ssc_score(_half(d), _ends(d, "normalized")[:, :, None], num_bins=3)[0], ours=lambda d: min(s["covered"] for s in candor.evaluate_intervals(_ends(d, "normalized"), observed=_half(d))["intervals"]["by_width"]))


def _standardized(d: Any, metric: str) -> float:
    (found,) = d.evaluate(metric).metrics.values()
    return float(found) / (float(np.sqrt(np.sum(d.p * (1 - d.p)))) / len(d.p))



@peer("crepes")
def crepes(row: Rows) -> None:
    from crepes import ConformalClassifier, ConformalRegressor
    from crepes.extras import hinge

    def sets(d: Any) -> Any:
        half, k = len(d.y) // 2, d.p.shape[1]
        c = ConformalClassifier().fit(hinge(d.p[:half], np.arange(k), d.y[:half]))
        return c.predict_set(hinge(d.p[half:]), confidence=0.85, smoothing=False)

    def by_class(d: Any) -> Any:
        half, k = len(d.y) // 2, d.p.shape[1]
        c = ConformalClassifier().fit(hinge(d.p[:half], np.arange(k), d.y[:half]), bins=d.y[:half])
        scores = hinge(d.p[half:])
        return np.array([c.predict_set(scores, bins=np.full(len(scores), j), confidence=0.85, smoothing=False)[:, j] for j in range(k)]).T

    row("ConformalClassifier(hinge).predict_set", "conformal lac", CLASSES, sets, ours=lambda d: _sets(d, "lac"), note="smoothing=False; sets by half of the rows, of the others")
    row("ConformalClassifier(hinge, bins=y).predict_set", "conformal lac(by_class)", CLASSES, by_class, ours=lambda d: _sets(d, "lac(by_class)"))

    def ends(d: Any, scaled: bool) -> Any:
        half = len(d.y) // 2
        a, b = ({"sigmas": d.std[:half]}, {"sigmas": d.std[half:]}) if scaled else ({}, {})
        return ConformalRegressor().fit(d.y[:half] - d.mean[:half], **a).predict_int(d.mean[half:], confidence=0.85, **b)

    row("ConformalRegressor", "conformal split", (DIABETES, NORMALS), lambda d: ends(d, False), ours=lambda d: _ends(d, "split"))
    row("ConformalRegressor(sigmas)", "conformal normalized", (DIABETES, NORMALS), lambda d: ends(d, True), ours=lambda d: _ends(d, "normalized"))


def _given() -> Any:
    """Return a class of fitted estimators whose predictions are columns of what they are given."""
    from sklearn.base import BaseEstimator

    class Given(BaseEstimator):  # type: ignore[misc]
        def __init__(self, at: Any, classes: Any = None) -> None:
            self.at, self.classes = at, classes
            self._estimator_type = "regressor" if classes is None else "classifier"
            if classes is not None:
                self.classes_ = classes

        def __sklearn_tags__(self) -> Any:
            tags = super().__sklearn_tags__()
            tags.estimator_type = self._estimator_type
            return tags

        def fit(self, x: Any, y: Any) -> Any:
            return self

        def predict(self, x: Any) -> Any:
            x = np.asarray(x)[:, self.at]
            return x if self.classes is None else x.argmax(axis=1)

        def predict_proba(self, x: Any) -> Any:
            return np.asarray(x)[:, self.at]

        def __sklearn_is_fitted__(self) -> bool:
            return True

    return Given


def _half(d: Any) -> Any:
    return d.y[len(d.y) // 2 :]


def _sets(d: Any, method: str) -> Any:
    """Return the sets of the second half of the rows, by the first."""
    half = len(d.y) // 2
    return candor.conformalize(method, d.p[:half], labels=d.y[:half], coverage=0.85).apply(d.p[half:])


def _seen(d: Any) -> Any:
    return candor.evaluate_sets(_sets(d, "aps"), labels=_half(d))


def _ends(d: Any, method: str) -> Any:
    half = len(d.y) // 2
    first, second = ({"mean": d.mean[i], "std": d.std[i]} for i in (slice(half), slice(half, None)))
    if method == "split":
        first, second = {"mean": first["mean"]}, {"mean": second["mean"]}
    if method == "cqr":
        first, second = ({"quantiles": np.stack([f["mean"] - f["std"], f["mean"] + f["std"]], axis=1), "levels": [0.16, 0.84]} for f in (first, second))
    return candor.conformalize(method, **first, observed=d.y[:half], coverage=0.85).apply(**second)

@peer("model-diagnostics")
def model_diagnostics(row: Rows) -> None:
    from model_diagnostics.calibration import compute_bias
    from model_diagnostics.scoring import LogLoss, PinballLoss, SquaredError, decompose

    parts = (("miscalibration", "corp_mcb"), ("discrimination", "corp_dsc"), ("uncertainty", "corp_unc"))
    for theirs, ours in parts:
        row(f"decompose(SquaredError()): {theirs}", ours, (*BINARY, WEIGHTED), lambda d, t=theirs: decompose(d.y, d.p, weights=d.w, scoring_function=SquaredError())[t][0])
    for theirs, ours in parts:
        row(f"decompose(LogLoss()): {theirs}", f"{ours}(score=log)", (PLAIN, RARE, WEIGHTED), lambda d, t=theirs: decompose(d.y, d.p, weights=d.w, scoring_function=LogLoss())[t][0])
    row("compute_bias: bias_mean", "bias", (*BINARY, WEIGHTED), lambda d: compute_bias(d.y, d.p, weights=d.w)["bias_mean"][0])
    row("PinballLoss(level=.05)", "pinball(level=0.05)", (QUANTILES,), lambda d: PinballLoss(level=0.05)(d.y, d.q[:, 0]))


@peer("uncertainty-calibration")
def uncertainty_calibration(row: Rows) -> None:
    import calibration as c
    from calibration.utils import get_equal_prob_bins

    bins = "closed=right,index=divided"
    row("get_ece", f"ece({bins})", (PLAIN, RARE, TIES), lambda d: c.get_ece(d.p, d.y), note="scores of the event")
    row("get_ece", f"ece({bins})", CLASSES, lambda d: c.get_ece(d.p, d.y), note="the top label's score")
    row("get_ece(mode='marginal')", "sce(closed=right,threshold=0)", CLASSES, lambda d: c.get_ece(d.p, d.y, mode="marginal"))
    row("get_ece_em", "ece_equal_mass", (MADE,), lambda d: c.get_ece_em(d.p, d.y, num_bins=10), ours=lambda d: _only(d, "ece_equal_mass(bins=10)"), note="10 bins; without ties, and where the bins divide the rows")
    row(
        "lower_bound_scaling_ce(binning_scheme=get_equal_prob_bins)",
        f"rmsce_debiased(variance=kumar,{bins})",
        (PLAIN, TIES),
        lambda d: c.lower_bound_scaling_ce(d.p, d.y, binning_scheme=get_equal_prob_bins),
    )
    row("lower_bound_scaling_ce(debias=False, the same)", f"rmsce({bins})", (PLAIN, TIES), lambda d: c.lower_bound_scaling_ce(d.p, d.y, debias=False, binning_scheme=get_equal_prob_bins))


def _only(d: Any, spec: str) -> float:
    (found,) = d.evaluate(spec).metrics.values()
    return float(found)


@peer("relplot")
def relplot(row: Rows) -> None:
    import relplot as r

    row("smECE", "smooth_ece", (PLAIN, RARE, TIES), lambda d: r.smECE(d.p, d.y), differs="it halves the outermost cells of its grid, and returns the middle of an interval of 0.001")


@peer("arviz")
def arviz(row: Rows) -> None:
    import arviz as az

    data = az.from_dict(posterior={"a": np.zeros((1, LOGLIK.l.shape[1]))}, log_likelihood={"y": LOGLIK.l.T[None]})
    n, one = len(LOGLIK.l), (LOGLIK,)
    row("loo: elpd_loo / N", "psis_loo", one, lambda d: az.loo(data, reff=1.0).elpd_loo / n)
    row("loo: p_loo", "p_loo", one, lambda d: az.loo(data, reff=1.0).p_loo)
    row("loo(reff=.7): elpd_loo / N", "psis_loo(r_eff=0.7)", one, lambda d: az.loo(data, reff=0.7).elpd_loo / n)
    row("loo: the largest pareto_k", "pareto_k_max", one, lambda d: float(az.loo(data, reff=1.0, pointwise=True).pareto_k.max()))
    row("waic: elpd_waic / N", "nwaic1(as_coded)", one, lambda d: az.waic(data).elpd_waic / n, note="its variance has the divisor M; candor's is M - 1 without as_coded")
    row("waic: p_waic", "p_waic(as_coded)", one, lambda d: az.waic(data).p_waic, note="the same")


@peer("calzone-tool")
def calzone(row: Rows) -> None:
    from calzone.metrics import CalibrationMetrics, cox_regression_analysis

    def of(metric: str, name: str) -> Callable[[Any], float]:
        return lambda d: float(CalibrationMetrics(num_bins=10).calculate_metrics(d.y, d.two, [metric], perform_pervalance_adjustment=False)[name])

    bins = "bins=10,closed=right,zero=dropped"
    row("ECE-H", f"ece({bins})", (PLAIN, TIES, RARE), of("ECE-H", "ECE-H"))
    row("ECE-H topclass", f"ece_top_label({bins})", (PLAIN, TIES, RARE), of("ECE-H", "ECE-H topclass"))
    row("MCE-H", f"mce({bins})", (PLAIN, TIES, RARE), of("MCE-H", "MCE-H"))
    row("HL-H", "hosmer_lemeshow(even)", (PLAIN,), of("HL-H", "HL-H score"), note="it has no bin for scores of 0")
    row("HL-C p-value", "hosmer_lemeshow_p", (RARE,), of("HL-C", "HL-C p-value"), differs="it takes the degrees of freedom of fitted rows, G - 2, and leaves out the rows of the lowest score")
    row("SpiegelhalterZ score", "spiegelhalter_z", BINARY, of("SpiegelhalterZ", "SpiegelhalterZ score"))
    row("SpiegelhalterZ p-value", "spiegelhalter_p", BINARY, of("SpiegelhalterZ", "SpiegelhalterZ p-value"))
    row("Loess ICI", "ici(smoother=loess)", (PLAIN,), of("Loess", "Loess ICI"), within=1e-6, note="up to 10,000 rows")
    for i, ours in ((0, "calibration_slope"), (1, "calibration_intercept")):
        row(f"COX {('coef', 'intercept')[i]}", ours, (PLAIN, RARE), lambda d, i=i: float(cox_regression_analysis(d.y, d.two)[i]), within=1e-5, note="where no score is 0 or 1; its optimizer stops a little before the minimum")
    row("COX coef", "calibration_slope", (CANCER,), lambda d: float(cox_regression_analysis(d.y, d.two)[0]), differs="it clips scores of 0 and 1 at 1e-7; candor leaves these rows out and says so")


@peer("pycaleva")
def pycaleva(row: Rows) -> None:
    from pycaleva import CalibrationEvaluator

    def of(figure: Callable[[Any], Any], outsample: bool = True) -> Callable[[Any], float]:
        def theirs(d: Any) -> float:
            with contextlib.redirect_stdout(io.StringIO()):
                return float(figure(CalibrationEvaluator(d.y, d.p, outsample=outsample, n_groups=10)))

        return theirs

    row("auroc", "auroc", BINARY, of(lambda c: c.auroc))
    row("brier", "brier", BINARY, of(lambda c: c.brier))
    row("z_test", "spiegelhalter_z", BINARY, of(lambda c: c.z_test().statistic))
    row("z_test: pvalue", "spiegelhalter_p", BINARY, of(lambda c: c.z_test().pvalue))
    row("hosmerlemeshow", "hosmer_lemeshow", (PLAIN, RARE), of(lambda c: c.hosmerlemeshow(verbose=False).statistic))
    row("hosmerlemeshow: pvalue", "hosmer_lemeshow_p", (PLAIN, RARE), of(lambda c: c.hosmerlemeshow(verbose=False).pvalue), note="outsample=True; it subtracts from 1, so its p is 0 below 1e-16")
    row("the same, outsample=False", "hosmer_lemeshow_p(fitted)", (PLAIN, RARE), of(lambda c: c.hosmerlemeshow(verbose=False).pvalue, False))
    row("ace", "ece_unweighted(bins=10,adaptive)", (PLAIN,), of(lambda c: c.ace), note="without ties, and where the bins divide the rows")
    row("mce", "mce(bins=10,adaptive)", (PLAIN,), of(lambda c: c.mce), note="the same")
