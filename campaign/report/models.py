"""The fitted contention model in words. Pure."""

from __future__ import annotations

from campaign.core.units import digits
from campaign.statistics import contention


def model_lines(fit: contention.ContentionFit) -> list[tuple[str, str]]:
    """The parameters of a fitted model: meaning, and number with its unit."""
    low_high = fit.ranges

    def rate(name: str, value: float) -> str:
        low, high = low_high[name]
        return f"{digits(value / 1e6)} MB/s ({digits(low / 1e6)} to {digits(high / 1e6)} over the fits)"

    def latency(name: str, value: float) -> str:
        low, high = low_high[name]
        return f"{digits(value * 1e6)} µs ({digits(low * 1e6)} to {digits(high * 1e6)})"

    lines = [
        ("T", "α + (k − 1)·g + k·m / min(R_N, R_Cb + (k − 1)·R_Ci), for k pairs and messages of m bytes"),
        (
            "α, latency of a message",
            latency("latency_s", fit.model.latency_s),
        ),
        ("g, what each further pair adds to it", latency("further_s", fit.model.further_s)),
        (
            "R_N, highest rate of a node",
            rate("node_bytes_s", fit.model.node_bytes_s)
            if fit.node_limit_reached
            else f"at least {digits(fit.model.rate(fit.pairs) / 1e6)} MB/s (limit not reached)",
        ),
        ("R_Cb, rate of its first process", rate("first_bytes_s", fit.model.first_bytes_s)),
        ("R_Ci, rate that each further process adds", rate("further_bytes_s", fit.model.further_bytes_s)),
        ("error on the points of the fit", _errors(fit.fitted)),
        ("prediction error on held-out points", _errors(fit.held_back)),
    ]
    if fit.most_pairs is not None:
        lines.append(("prediction error on the most pairs, held out together", _errors(fit.most_pairs)))
    if fit.without_model is not None:
        lines.append(("error of the simple estimate (single-pair rate)", _errors(fit.without_model)))
    return lines


def _errors(errors: contention.Errors) -> str:
    return (
        f"{errors.median:.1%} median, {errors.ninth_decile:.1%} ninth decile, {errors.largest:.1%} largest, of "
        f"{errors.points} points"
    )
