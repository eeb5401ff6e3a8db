"""Runs the benchmarks of the project against their limits: `make bench`, or `python -m tests.bench NAME…` for some of
them.

Every module here with a `main()` is one. Each prints a table of medians and ratios and says which bar a figure
misses.
"""

import importlib
import os
import pkgutil
import sys

import tests.bench


def main(names: list[str]) -> int:
    # Each process of a pool would start as many threads for small matrices as there are cores.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    found = [module.name for module in pkgutil.iter_modules(tests.bench.__path__)]
    modules = {name: importlib.import_module(f"tests.bench.{name}") for name in found if name != "__main__"}
    modules = {name: module for name, module in modules.items() if hasattr(module, "main")}
    unknown = set(names) - set(modules)
    if unknown:
        print(
            f"no such benchmark: {', '.join(sorted(unknown))}; there are: {', '.join(sorted(modules))}", file=sys.stderr
        )
        return 2
    missed = []
    for name in names or sorted(modules):
        print(f"\n== {name}: {(modules[name].__doc__ or '').strip().splitlines()[0]}", flush=True)
        if modules[name].main():
            missed.append(name)
    if missed:
        print(f"\nbars missed in: {', '.join(missed)}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
