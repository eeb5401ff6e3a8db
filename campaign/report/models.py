"""A fitted model of contention in words. Pure."""

from __future__ import annotations

from campaign.statistics import contention


def model_lines(fit: contention.ContentionFit) -> list[tuple[str, str]]:
    """A fitted model in words: what a number is, and the number with its unit."""
    low_high = fit.ranges

    def rate(name: str, value: float) -> str:
        low, high = low_high[name]
        return f"{value / 1e6:.4g} MB/s ({low / 1e6:.4g} to {high / 1e6:.4g} over the fits)"

    low, high = low_high["latency_s"]
    lines = [
        ("T", "α + k·m / min(R_N, R_Cb + (k − 1)·R_Ci), for k pairs and messages of m bytes"),
        ("α, a message without its bytes", f"{fit.model.latency_s * 1e6:.4g} µs ({low * 1e6:.4g} to {high * 1e6:.4g})"),
        (
            "R_N, what a node can send",
            rate("node_bytes_s", fit.model.node_bytes_s)
            if fit.node_limit_reached
            else f"not reached by this sweep: {fit.model.rate(fit.pairs) / 1e6:.4g} MB/s or more",
        ),
        ("R_Cb, what its first process can send", rate("first_bytes_s", fit.model.first_bytes_s)),
        ("R_Ci, what each further one adds", rate("further_bytes_s", fit.model.further_bytes_s)),
        ("error on the points of the fit", _errors(fit.fitted)),
        ("error on points held back", _errors(fit.held_back)),
    ]
    if fit.most_pairs is not None:
        lines.append(("error on the most pairs, held back together", _errors(fit.most_pairs)))
    if fit.without_model is not None:
        lines.append(("error without a model: as one pair alone", _errors(fit.without_model)))
    return lines


def _errors(errors: contention.Errors) -> str:
    return (
        f"{errors.median:.1%} median, {errors.ninth_decile:.1%} ninth decile, {errors.largest:.1%} largest, "
        f"of {errors.points} points"
    )
