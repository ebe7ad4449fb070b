"""Which tests are asked about mutants, and for how long."""

BUDGET = 15.0  # seconds of tests that one mutant meets at most, as they take while they are traced
AFRESH = 2.0  # of these, once more in an interpreter of its own
LONGEST = 300.0  # seconds for a test file while it is traced

TRACED = (
    "tests/policy/test_*.py",
    "tests/sandbox/test_*.py",
    "tests/sandbox/escapes/test_*.py",
    "tests/contracts/test_*.py",
    "tests/core/test_*.py",
    "tests/runtime/test_gate.py",
    "tests/runtime/test_hostile_project.py",
    "tests/runtime/test_confinement.py",
    "tests/builtins/test_run_command.py",
    "tests/cli/test_self_test.py",
)

# Long ones, which ask again what others of the list ask.
UNTRACED = ("tests/sandbox/test_places_bench.py", "tests/sandbox/test_load.py", "tests/sandbox/test_guard_race.py")

# Code that runs in a process of its own, or while its module is imported, is not seen from the test. Its tests are these.
OWN = {
    "policy/wrappers.py": ("tests/policy/test_argv.py",),
    "policy/project_files.py": ("tests/policy/test_trust.py",),
    "sandbox/zygote.py": ("tests/sandbox/test_warm.py",),
    "sandbox/lending.py": ("tests/sandbox/test_warm.py",),
    "sandbox/_attempts.py": ("tests/cli/test_self_test.py",),
    "sandbox/_restricted.py": ("tests/sandbox/test_landlock.py",),
    "sandbox/_deliver.py": ("tests/sandbox/test_peer.py",),
    "sandbox/bridge.py": ("tests/sandbox/test_proxy.py",),
}
