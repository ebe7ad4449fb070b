"""The numbers by which the kernel knows its calls, on the two kinds of machine that programs are confined on."""

import functools
import platform

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""How a filter is told which of them a call was made for."""

TABLE = """
    acct                 163   89
    add_key              248  217
    adjtimex             159  171
    bpf                  321  280
    capset               126   91
    chmod                 90    -
    chroot               161   51
    clock_adjtime        305  266
    clock_settime        227  112
    clone                 56  220
    clone3               435  435
    creat                 85    -
    delete_module        176  106
    fanotify_init        300  262
    fchmod                91   52
    fchmodat             268   53
    fchmodat2            452  452
    fcntl                 72   25
    file_getattr         468  468
    file_setattr         469  469
    finit_module         313  273
    fsconfig             431  431
    fsmount              432  432
    fsopen               430  430
    fspick               433  433
    init_module          175  105
    io_uring_enter       426  426
    io_uring_register    427  427
    io_uring_setup       425  425
    ioctl                 16   29
    ioperm               173    -
    iopl                 172    -
    ioprio_set           251   30
    kcmp                 312  272
    kexec_file_load      320  294
    kexec_load           246  104
    keyctl               250  219
    kill                  62  129
    landlock_add_rule    445  445
    landlock_create_ruleset 444 444
    landlock_restrict_self  446 446
    listmount            458  458
    lookup_dcookie       212   18
    mknod                133    -
    mknodat              259   33
    mount                165   40
    mount_setattr        442  442
    move_mount           429  429
    mq_open              240  180
    mq_unlink            241  181
    msgctl                71  187
    msgget                68  186
    msgrcv                70  188
    msgsnd                69  189
    name_to_handle_at    303  264
    nfsservctl           180   42
    open                   2    -
    open_by_handle_at    304  265
    open_tree            428  428
    open_tree_attr       467  467
    openat               257   56
    openat2              437  437
    perf_event_open      298  241
    personality          135   92
    pidfd_getfd          438  438
    pidfd_open           434  434
    pivot_root           155   41
    prctl                157  167
    prlimit64            302  261
    process_vm_readv     310  270
    process_vm_writev    311  271
    ptrace               101  117
    quotactl             179   60
    quotactl_fd          443  443
    reboot               169  142
    request_key          249  218
    rt_sigqueueinfo      129  138
    rt_tgsigqueueinfo    297  240
    sched_setaffinity    203  122
    sched_setattr        314  274
    sched_setparam       142  118
    sched_setscheduler   144  119
    seccomp              317  277
    semctl                66  191
    semget                64  190
    semop                 65  193
    semtimedop           220  192
    setdomainname        171  162
    sethostname          170  161
    setns                308  268
    setpriority          141  140
    settimeofday         164  170
    shmat                 30  196
    shmctl                31  195
    shmget                29  194
    socket                41  198
    socketpair            53  199
    statmount            457  457
    swapoff              168  225
    swapon               167  224
    syslog               103  116
    tgkill               234  131
    tkill                200  130
    truncate              76   45
    umount2              166   39
    unshare              272   97
    uselib               134    -
    userfaultfd          323  282
    vhangup              153   58
"""
"""Name, number on x86_64, number on aarch64; not every machine has every call."""


@functools.cache
def numbers(machine: str) -> dict[str, int]:
    """Name to number; empty for a machine that is not known here."""
    if machine not in ARCHITECTURES:
        return {}
    column = 1 + list(ARCHITECTURES).index(machine)
    rows = [line.split() for line in TABLE.strip().splitlines()]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def machine() -> str:
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name := platform.machine().lower(), name)
