"""Many calls at once, and few descriptors."""

import json

PLENTY = """
import asyncio, json, os, resource, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
import toolcrib
home, work = sys.argv[1:]
async def main():
    async with toolcrib.open(workspace=work, home=home, approver=toolcrib.SaysYes()) as crib:
        assert [tool.name for tool in crib.tools()] == ['custom_tool_nap'], crib.problems()
        before = len(os.listdir('/proc/self/fd'))
        results = await asyncio.gather(*(crib.call('custom_tool_nap', {'n': n}) for n in range(1000)))
        after = len(os.listdir('/proc/self/fd'))
        print(json.dumps({
            'errors': [result.error.message for result in results if result.error][:3],
            'answers': sorted(json.loads(result.data)['n'] for result in results if not result.error) == list(range(1000)),
            'leaked': max(0, after - before - 6),
            'total': crib.stats()['total_executions'],
        }))
asyncio.run(main())
"""
NAP = """#!/bin/sh
if [ "$1" = description ]; then
    echo '{"name": "nap", "description": "Sleeps.", "input_schema": {"type": "object", "properties": {"n": {"type": "integer"}}}}'
else
    cat; exec sleep 0.05
fi
"""


def test_a_thousand_calls_at_once_with_256_descriptors(home, workspace, make_tool, drive) -> None:
    """Done means 5, K61. SECURITY C4: "1000 concurrent sleeps: 0 errors"."""
    make_tool("nap", NAP)
    done = drive(PLENTY, str(home), str(workspace))
    assert json.loads(done.stdout) == {"errors": [], "answers": True, "leaked": 0, "total": 1000}
