"""Findings about rates above what machines can do."""

from campaign.core.messages import Message

CALL_OR_MORE = Message("{least} us or more", least="0.1")
EACH_TOOK = Message("{seconds} us per operation of a process", seconds="0.013")
MEMORY_OF_NODES = Message("at most {rate}", rate="4,000 GB/s")
ADAPTERS_OF = Message("at most {rate} for each of {nodes} nodes", rate="25 GB/s", nodes=4)
NO_ADAPTERS = Message("network adapters not recorded")
ADAPTERS_SILENT = Message("speed of a network adapter not recorded")
