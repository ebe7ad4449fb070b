"""What every policy keeps to: `core.policy.Policy`."""

import pytest

from toolcrib.backends.function import tool
from toolcrib.core.call import Call
from toolcrib.core.policy import Decision, Verdict
from toolcrib.policy.renamed import RenamedPolicy
from toolcrib.policy.rules import RulePolicy
from toolcrib.testing import FixedPolicy


@tool
def greet(name: str) -> str:
    """Greet somebody."""
    return name


BLOCKED = Verdict(Decision.BLOCKED, "because")


@pytest.mark.parametrize(
    "policy",
    [
        FixedPolicy(Decision.BLOCKED, "because"),
        RulePolicy({"greet": BLOCKED}),
        RulePolicy(default=BLOCKED),
        RenamedPolicy({"hello": BLOCKED}, in_own_words=lambda call, tool: (call, tool._replace(name="hello"))),
    ],
)
def test_it_judges_the_same_call_the_same_each_time_and_says_why(policy) -> None:
    call = Call("greet", {"name": "Bob"}, "c-1")
    assert [policy.judge(call, greet) for _ in range(3)] == [BLOCKED] * 3
