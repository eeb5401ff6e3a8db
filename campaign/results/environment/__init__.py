"""What the job wrote down of its surroundings (environment.json, docs/formats.md), and what Slurm said of the job."""
