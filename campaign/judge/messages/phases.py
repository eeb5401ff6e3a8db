"""Texts of the rule on phases."""

from campaign.core.messages import Message

NO_PHASE_TIMES = Message("the job did not record when each phase ran")
OTHER_PHASES = Message("the phases that ran differ from the plan (each once, in order)")
NOT_IN_ORDER = Message("a phase began before the previous one had ended")
AFTER = Message("after the end of {phase}", phase="ior-easy-write")
SEVERAL_JOBS = Message("the phases of one result ran in several jobs")
STEPS_OUT_OF_ORDER = Message("the job steps are not in the order of the phases")
ASCENDING = Message("ascending step numbers")
NO_STEPS = Message("job steps not in Slurm's accounting: other work between the phases cannot be excluded")
FOREIGN_STEPS = Message("the job ran other steps between the phases of one result")
STEPS_OF = Message("{count} of {program}", count=2, program="ior")
