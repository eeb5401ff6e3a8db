from campaign.cli.python import load as load
from campaign.cli.python import verify as verify

__version__: str
