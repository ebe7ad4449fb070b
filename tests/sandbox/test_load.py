"""Many calls at once, and few descriptors."""

import json

PLENTY = """
import asyncio, json, os, resource, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
import toolcrib
home, work = sys.argv[1:]
async def main():
    async with toolcrib.open(workspace=work, home=home, approver=toolcrib.SaysYes()) as crib:
        assert crib.find('custom_tool_nap'), crib.problems()
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
    """K61: a thousand programs that sleep, and not one error."""
    make_tool("nap", NAP)
    done = drive(PLENTY, str(home), str(workspace))
    assert json.loads(done.stdout) == {"errors": [], "answers": True, "leaked": 0, "total": 1000}


FLOODS = """
import asyncio, os, resource, sys
from toolcrib.core.context import new_id
from toolcrib.core.process import Command
from toolcrib.sandbox.processes import Processes
mark = new_id()
sandbox = Processes(mark)
async def main():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    env = {'PATH': os.environ['PATH']}
    text = 'head -c 20000000 /dev/zero; head -c 5000000 /dev/zero >&2'
    commands = [Command(('/bin/sh', '-c', text), '/', f'{mark}-{n}', env) for n in range(50)]
    totals = {(d.stdout.total, d.stderr.total) for d in await asyncio.gather(*map(sandbox.exec, commands))}
    assert totals == {(20000000, 5000000)}, totals
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
asyncio.run(main())
sandbox.close()
"""


def test_fifty_floods_at_once_stay_within_their_bounds(drive) -> None:
    """Memory follows from the limits, not from what the programs say."""
    assert int(drive(FLOODS).stdout) < 250


DIRTY = """
import asyncio, os, sys
from toolcrib.core.context import new_id
from toolcrib.core.process import Command
from toolcrib.sandbox.processes import Processes
mark = new_id()
sandbox = Processes(mark)
text = 'cd $TMPDIR; for n in 1 2 3 4 5 6 7 8 9; do mkdir -p $n/a/b/c $n/d; : > $n/a/b/c/file; done; echo up'
async def main():
    for _ in range(20):
        told = asyncio.Event()
        command = Command(('/bin/sh', '-c', text), '/', mark + '-1', {'PATH': os.environ['PATH']})
        task = asyncio.create_task(sandbox.exec(command, ended=lambda done: told.set()))
        await told.wait()
        task.cancel()               # while its directory is being removed
        await asyncio.wait((task,))
asyncio.run(main())
sandbox.close()
print(os.path.exists(sandbox.scratch.root))
"""


def test_giving_up_while_a_directory_is_removed_leaves_none(drive) -> None:
    assert drive(DIRTY).stdout == "False\n"
