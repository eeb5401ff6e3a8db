"""`python -m campaign.slurm.sandbox start|stop|status|env`"""

import argparse
import sys

from campaign.core.errors import INTERRUPTED, CampaignError
from campaign.slurm.sandbox.command import add_arguments, main

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="campaign sandbox", description="A Slurm cluster of virtual nodes")
    add_arguments(parser)
    try:
        sys.exit(main(parser.parse_args()))
    except CampaignError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
