"""Tools from a Python module, in every form there is. In config.yaml:

toolsets:
  custom:
    module: ./calculator.py
    tools: [calculateFibonacci, factorial, mean, divide, primes]
    approval: {default: ask, tools: {factorial: preApproved}}
"""

from collections.abc import AsyncIterator
from typing import Annotated

from pydantic import BaseModel, Field

import toolcrib


# A function with type hints. Its docstring is what the model reads.
def calculateFibonacci(n: Annotated[int, Field(ge=0, le=1000)]) -> int:
    """Calculate the nth Fibonacci number.

    Args:
        n: Position in the sequence, from 0.
    """
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


# A function with a schema beside it, here a pydantic model.
class factorial_schema(BaseModel):
    n: int = Field(ge=0, le=170, description="Whose factorial")


def factorial(n):
    """Multiply all whole numbers up to n."""
    product = 1
    for factor in range(2, n + 1):
        product *= factor
    return product


# What more there is to say is said at the decorator. A tool that says `False` needs no approval.
@toolcrib.tool(version="1.0.0", needs_approval=False)
async def mean(values: Annotated[list[float], Field(min_length=1)]) -> float:
    """Calculate the mean of some numbers."""
    return sum(values) / len(values)


# A tool object. `execute` takes the input and, if it wants, the context.
def _divide(input, ctx):
    if input["by"] == 0:
        raise toolcrib.ToolError("nothing can be divided by zero; send another number")
    ctx.log.info(f"dividing by {input['by']}")
    return input["number"] / input["by"]


divide = {
    "name": "divide",
    "description": "Divide a number.",
    "inputSchema": {
        "type": "object",
        "properties": {"number": {"type": "number"}, "by": {"type": "number"}},
        "required": ["number", "by"],
        "additionalProperties": False,
    },
    "needsApproval": lambda input: abs(input["number"]) > 1_000_000,
    "execute": _divide,
}


# A generator tells of each value as it comes; the result is all of them.
async def primes(below: Annotated[int, Field(le=10_000)]) -> AsyncIterator[int]:
    """List the prime numbers below a number."""
    for number in range(2, below):
        if all(number % other for other in range(2, int(number**0.5) + 1)):
            yield number


def launch_rockets() -> str:
    """Not on the list above, and so not a tool."""
    return "boom"
