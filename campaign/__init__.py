"""campaign: run a procurement's benchmarks by its run rules on Slurm, and hand in tables that can be checked."""

__version__ = "0.2.0"
