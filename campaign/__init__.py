"""campaign: run an RFP's benchmarks on Slurm under its run rules, and produce verifiable result tables.

`load(file)` and `verify(bundle, terms=...)` are its interface for Python programs (docs/data.md).
"""

__version__ = "0.3.0"
__all__ = ["load", "verify"]  # loaded at their first use, with all that judges; their types: __init__.pyi


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module campaign has no attribute {name}")
    from importlib import import_module

    return getattr(import_module("campaign.cli.python"), name)
