"""Findings over the system: how it is described, and whether it stayed what it was."""

from campaign.core.messages import Message

INCOMPLETE_DESCRIPTION = Message("the system description is incomplete")
PLACEHOLDERS = Message("the system description still has placeholders")
DESCRIPTION = Message("a description of each")
MISSING = Message("none of {keys}", keys="system.network")
NO_ADDRESS = Message("contact.email is not an e-mail address")
TUNING_MISSING = Message("system: {keys} not filled in", keys="user_tuning and administrator_tuning")
TUNING_OR_NONE = Message("a description, or the word none")
SAME_TUNING = Message("the same tuning is given for users and for administrators")
DIFFERENT_TUNING = Message("different entries")
NO_ENVIRONMENTS = Message(
    "environment not recorded for {attempts} (first: {first})", attempts="3 attempts", first="scratch.node.shared.r1/1"
)
SILENT_NODES = Message(
    "environment of {nodes} not recorded in {attempts} (first: {first}){why}",
    nodes="n2, n3",
    attempts="3 attempts",
    first="scratch.node.shared.r1/1",
    why=": srun: error: Unable to create step",
)
CHANGED = Message("{name} changed during the campaign", name="kernel")
DIFFERS = Message("{name} differs between nodes", name="kernel")
TUNING_UNSAID = Message("tuning variables of MPI, network or loader were set, but are not in the system description")
NAMED_UNDER_SYSTEM = Message("named under system (tuning by users) or slurm.environment")
NO_MOUNTS = Message("the file system of {target} was not recorded", target="scratch")
NOT_AS_PROPOSED = Message("the measured system differs from the proposed one: {name}", name="processor")
NOT_PROPOSED = Message(
    "proposed system not described under proposed: {names}; not compared with the measured system",
    names="processor, memory",
)
NOT_RECORDED = Message("not recorded on the measured system: {names}", names="network")
NOT_DESCRIBED = Message(
    "the file system of {target} is not described; fill in 'file system' under system, or the target's description "
    "(the nodes mounted {found})",
    target="scratch",
    found="lustre",
)
OTHER_MOUNT = Message("the file system mounted for {target} is not the described one", target="scratch")
