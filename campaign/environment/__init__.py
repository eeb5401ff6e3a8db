"""What the job wrote down of its surroundings (environment.json, docs/formats.md), and what Slurm said of the job."""

from campaign.environment.facts import NOTHING, Accounting, Environment, Evidence, Node, Space, Value
from campaign.environment.kept import dump, dump_accounting, dump_rest, restore, restore_accounting, restore_rest
from campaign.environment.reading import LARGEST_BYTES, parse, parse_accounting, read, read_accounting
from campaign.environment.slurm_text import expand_nodes, slurm_fields

__all__ = [
    "LARGEST_BYTES", "NOTHING", "Accounting", "Environment", "Evidence", "Node", "Space", "Value", "dump",
    "dump_accounting", "dump_rest", "expand_nodes", "parse", "parse_accounting", "read", "read_accounting", "restore",
    "restore_accounting", "restore_rest", "slurm_fields",
]  # fmt: skip
