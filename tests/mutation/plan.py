"""Which tests are asked about mutants, and for how long."""

BUDGET = 15.0  # seconds of tests that one mutant meets at most, as they take while they are traced
AFRESH = 2.0  # of these, once more in an interpreter of its own
LONGEST = 300.0  # seconds for a test file while it is traced

TRACED = (
    "tests/policy/test_*.py",
    "tests/sandbox/test_*.py",
    "tests/contracts/test_*.py",
    "tests/core/test_*.py",
    "tests/runtime/test_gate.py",
    "tests/runtime/test_hostile_project.py",
    "tests/runtime/test_confinement.py",
    "tests/builtins/test_run_command.py",
)

# Long ones, which ask again what others of the list ask.
LONG = ("tests/sandbox/test_places_bench.py", "tests/sandbox/test_load.py", "tests/sandbox/test_guard_race.py")

# A worker lives in a namespace already, and bubblewrap inside it does not hold as it does outside. What needs it is
# neither asked nor measured.
CONTAINED = (
    "tests/sandbox/test_bubblewrap.py",
    "tests/sandbox/test_ordinary.py",
    "tests/sandbox/test_ordinary_tools.py",
)
UNTRACED = (*LONG, *CONTAINED)
UNMEASURED = ("sandbox/bubblewrap.py", "sandbox/bubblewrap_canary.py", "sandbox/contained.py", "sandbox/shield.py")

# Code that runs in a process of its own is not seen from the test. Its tests are these.
OWN = {
    "sandbox/zygote.py": ("tests/sandbox/test_warm.py",),
    "sandbox/lending.py": ("tests/sandbox/test_warm.py",),
    "sandbox/_attempts.py": ("tests/sandbox/test_canary.py", "tests/sandbox/test_choose.py"),
    "sandbox/_restricted.py": ("tests/sandbox/test_landlock.py",),
    "sandbox/_deliver.py": ("tests/sandbox/test_peer.py",),
}
