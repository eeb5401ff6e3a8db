"""Findings about rates above what machines can do."""

from campaign.core.messages import Message

BELOW_A_CALL = Message(
    "{operation}: each operation took less time than any system call, so that the work was not done", operation="stat"
)
CALL_OR_MORE = Message("{least} us or more", least="0.1")
EACH_TOOK = Message("{seconds} us for each operation of a process", seconds="0.013")
ABOVE_MEMORY = Message("{operation}: more bytes than the memory of the nodes can deliver", operation="read")
MEMORY_OF_NODES = Message("at most {rate}", rate="4,000 GB/s")
ABOVE_ADAPTERS = Message("{operation}: more bytes than the network adapters of the nodes can carry", operation="read")
ADAPTERS_OF = Message("at most {rate} for each of {nodes} nodes", rate="25 GB/s", nodes=4)
NO_ADAPTERS = Message("network adapters were not recorded")
ADAPTERS_SILENT = Message("the speed of a network adapter is not known")
