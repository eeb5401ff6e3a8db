"""Findings that compare the records around results with each other."""

from campaign.core.messages import Message

# --- EVD-06
NO_JOB_RECORD = Message("completion.json is missing: nothing to compare the other records with")
NO_SLURM = Message("Slurm's final record of the job is missing: nothing to compare the job's record with")
ENDS_BEFORE_START = Message("the run ended before it started")
CLOCK_SET = Message("the clock of the job's first node was set during the run")
MOST_SET = Message("by at most {seconds:.0f} s, as sites correct their clocks", seconds=60)
SET_BY = Message("by {seconds:+.1f} s", seconds=-2.0)
PHASES_EXCEED = Message("phases in the output took longer than the program ran by its own clock")
SECONDS = Message("at most {seconds:.1f} s", seconds=12.3)
BEFORE = Message("before {time}", time="2026-11-22 06:27:36 UTC")
LATER_THAN = Message("after {time}", time="2026-11-22 06:27:36 UTC")
OTHER_SUBMISSION = Message("submission time differs between Slurm and the journal")
STEP_PROGRAM = Message("sacct: the job step ran another program")
STEP_NODES = Message("sacct: the job step had a different node count")
STEP_ELSEWHERE = Message("sacct: the job step ran on nodes outside the job")
STEP_STATE = Message("the run is recorded as done, but sacct does not show its job step as completed")
STEP_CODE = Message("the run is recorded as done, but sacct shows an error of its job step")
STEP_TIMES = Message("sacct: the job step lies outside the run's time")
SPAN = Message("{start} to {end}", start="2026-11-22 06:27:36 UTC", end="2026-11-22 06:27:37 UTC")
STEP_SHORTER = Message("phases in the output took longer than the job step in sacct")

# --- EVD-07
NOTHING_DONE = Message("no run succeeded: nothing to compare")
ATTEMPTS_OF = Message("{count}, one for each recorded run", count=3)
EACH_STEP = Message("each number up to the last one")
STEP_OF_ITS_OWN = Message("a job step of its own")
NUMBERS_OF_ITS_OWN = Message("values of its own")
NODES_RESTARTED = Message("nodes were rebooted during the campaign")
ONE_BOOT = Message("no reboot of a node")
