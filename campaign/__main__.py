"""`python -m campaign`."""

from campaign.cli.main import main

raise SystemExit(main())
