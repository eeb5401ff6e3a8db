"""campaign: run an RFP's benchmarks on Slurm under its run rules, and produce verifiable result tables."""

__version__ = "0.3.0"
