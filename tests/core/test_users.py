"""A user has a name, or is known by its number."""

from __future__ import annotations

import os
import pwd

from campaign.core import users


def test_a_user_is_named_by_the_machine_and_one_that_it_does_not_know_by_its_number() -> None:
    assert users.user_name(os.geteuid()) == pwd.getpwuid(os.geteuid()).pw_name
    assert users.user_name(0) == "root"
    unknown = max(user.pw_uid for user in pwd.getpwall()) + 1
    assert users.user_name(unknown) == str(unknown)
