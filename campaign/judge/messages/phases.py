"""Texts of the rule on phases."""

from campaign.core.messages import Message

NO_PHASE_TIMES = Message("the job did not record when each phase ran")
OTHER_PHASES = Message("the phases that ran are not the planned ones, each once and in order")
NOT_IN_ORDER = Message("a phase began before the one before it had ended")
AFTER = Message("after the end of {phase}", phase="ior-easy-write")
SEVERAL_JOBS = Message("the phases of one result ran in several jobs")
STEPS_OUT_OF_ORDER = Message("the job's steps are not in the order of the phases")
ASCENDING = Message("ascending numbers")
NO_STEPS = Message("no accounting of the job's steps: other work between the phases cannot be excluded")
FOREIGN_STEPS = Message("the job ran other steps between the phases of one result")
