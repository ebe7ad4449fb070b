"""The network, other processes, the kernel, terminals."""

import os
import socket
from functools import partial

from toolcrib.sandbox.canary import agent, bystander, key, listener, memory, traced

from .escape import (
    Escape,
    address,
    can_make,
    closed,
    escape,
    everybody,
    intel,
    ipv6,
    openable,
    own_address,
    root,
    setting,
    there,
    x32,
)
from .things import (
    datagrams,
    domain,
    domain_file,
    kernel_log,
    listening_abstract,
    listening_inside,
    message_queue,
    our_key,
    shared_memory,
    signalled,
    socket_left_open,
    terminal,
    typed,
)
from .yard import Witness, any_socket, fresh_user, holding, host_socket, other_space, our_space, path_of_process

network, processes, kernel, terminals = map(escape, ("network", "processes", "kernel", "terminals"))
DGRAM, RAW = socket.SOCK_DGRAM, socket.SOCK_RAW
AF_ALG, AF_VSOCK, AF_PACKET, NETLINK_AUDIT, ICMP, SCTP = 38, 40, 17, 9, 1, 132
NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000
USERS = setting("/proc/sys/kernel/unprivileged_userns_clone", "1")


def at_own_address(yard, name):
    return listener(yard, name, host=own_address() or "127.0.0.1")


NETWORK = [
    network("tcp", "tcp", listener),
    network("tcp6", "tcp", partial(listener, host="::1"), lacks=ipv6),
    network("tcp-own-address", "tcp", at_own_address, lacks=address),
    network("tcp-fast-open", "tcp_fast_open", listener, lacks=setting("/proc/sys/net/ipv4/tcp_fastopen", "1", "3")),
    network("mptcp", "mptcp", listener, lacks=can_make(socket.AF_INET, socket.SOCK_STREAM, 262)),
    network("udp", "udp", partial(listener, kind=DGRAM)),
    network("udp6", "udp", partial(listener, host="::1", kind=DGRAM), lacks=ipv6),
    network("resolve", "resolve", partial(listener, kind=DGRAM)),
    network("udp-as-for-32-bits", "udp_of_another_machine", partial(listener, kind=DGRAM), lacks=intel),
    network("udp-as-for-x32", "udp_of_x32", partial(listener, kind=DGRAM), lacks=x32),
    network("agent", "unix", agent),
    network("agent-by-link", "unix_in_workspace", agent),
    network("agent-datagram", "unix_datagram", datagrams),
    network("agent-datagram-of-a-pair", "unix_datagram_of_a_pair", datagrams),
    network("agent-abstract", "unix", partial(agent, abstract=True)),
    network("left-open", "send_on_descriptors", socket_left_open, lacks=closed),
    network("listen", "listen", listening_inside),
    network("listen-abstract", "listen_abstract", listening_abstract),
    network("raw", "hold_socket", host_socket(family=2, kind=RAW, protocol=ICMP), lacks=can_make(2, RAW, ICMP)),
    network("raw6", "hold_socket", host_socket(family=10, kind=RAW, protocol=58), lacks=can_make(10, RAW, 58)),
    network("ping", "hold_socket", host_socket(family=2, kind=DGRAM, protocol=ICMP), lacks=can_make(2, DGRAM, ICMP)),
    network("packet", "hold_socket", any_socket(family=AF_PACKET, kind=RAW), lacks=can_make(AF_PACKET, RAW)),
    network("machine", "hold_socket", any_socket(family=AF_VSOCK, kind=1), lacks=can_make(AF_VSOCK, 1)),
    network("kernel-ciphers", "hold_socket", any_socket(family=AF_ALG, kind=5), lacks=can_make(AF_ALG, 5)),
    network("routes", "hold_socket", host_socket(family=16, kind=RAW), lacks=can_make(16, RAW)),
    network(
        "kernel-audit",
        "hold_socket",
        host_socket(family=16, kind=RAW, protocol=NETLINK_AUDIT),
        lacks=can_make(16, RAW, 9),
    ),
    network("ring", "ring", holding("io_uring"), lacks=setting("/proc/sys/kernel/io_uring_disabled", "0")),
]

PROCESSES = [
    processes("terminate", "terminate", bystander),
    processes("stop", "stop", bystander),
    processes("signal-thread", "signal_thread", bystander),
    processes("signal-group", "signal_group", bystander),
    processes("signal-by-descriptor", "signal_by_descriptor", bystander),
    processes("signal-with-value", "signal_with_value", bystander),
    processes("signal-by-owner", "signal_by_owner", bystander),
    processes("signal-everybody", "signal_everybody", signalled, lacks=everybody),
    processes("trace", "trace", traced),
    processes("read-memory", "read_memory", memory),
    processes("write-memory", "write_memory", memory),
    processes("write-memory-file", "write_memory_file", memory),
    processes("steal-descriptor", "steal_descriptor", path_of_process("descriptor")),
    processes("limit", "limit", bystander),
    processes("offer-to-killer", "offer_to_killer", bystander),
    processes("renice", "renice", bystander),
    processes("bind-to-processor", "bind_to_processor", bystander, lacks=lambda: several()),
    processes("reschedule", "reschedule", bystander),
]


def several() -> str:
    return "" if len(os.sched_getaffinity(0)) > 1 else "there is only one processor here"


KERNEL = [
    kernel("new-user", "unshare", fresh_user(flags=NEWUSER), lacks=USERS),
    kernel("new-user-by-clone", "clone", fresh_user(flags=NEWUSER), lacks=USERS),
    kernel("new-user-by-clone3", "clone3", fresh_user(flags=NEWUSER), lacks=USERS),
    kernel("new-mounts", "unshare", other_space("mnt", flags=NEWNS), lacks=root),
    kernel("new-network", "unshare", other_space("net", flags=NEWNET), lacks=root),
    kernel("enter-mounts", "enter", our_space("mnt", "/proc/{pid}/ns/mnt"), lacks=root),
    kernel("enter-network", "enter", our_space("net", "/proc/{pid}/ns/net"), lacks=root),
    kernel(
        "enter-first-network",
        "enter",
        our_space("net", "/proc/1/ns/net"),
        lacks=openable("/proc/1/ns/net", os.O_RDONLY),
    ),
    kernel("enter-process", "enter_of_process", our_space("mnt", "{pid}"), lacks=root),
    kernel("add-key", "add_key", key, lacks=there("/proc/keys")),
    kernel("read-key", "read_key", our_key, lacks=there("/proc/keys")),
    kernel("page-faults", "page_faults", holding("userfaultfd")),
    kernel(
        "count-events",
        "count_events",
        holding("perf_event"),
        lacks=setting("/proc/sys/kernel/perf_event_paranoid", "-1", "0", "1", "2"),
    ),
    kernel(
        "program",
        "kernel_program",
        holding("bpf-map"),
        lacks=setting("/proc/sys/kernel/unprivileged_bpf_disabled", "0"),
    ),
    kernel("watch-everything", "watch_everything", holding("fanotify"), lacks=root),
    kernel(
        "personality",
        "personality",
        lambda yard, name: Witness(yard, lambda seen: seen.personality.endswith("40000"), value=0x40000),
    ),
    kernel("shared-memory", "shared_memory", shared_memory, lacks=there("/proc/sysvipc/shm")),
    kernel("message-queue", "message_queue", message_queue, lacks=there("/proc/sys/fs/mqueue")),
    kernel("log", "kernel_log", kernel_log, lacks=setting("/proc/sys/kernel/dmesg_restrict", "0")),
    kernel(
        "log-device",
        "hold",
        holding("/dev/kmsg", path="/dev/kmsg", flags=os.O_WRONLY),
        lacks=openable("/dev/kmsg", os.O_WRONLY),
    ),
    kernel("system-name", "system_name", domain, lacks=root),
    kernel("system-name-file", "add_text", domain_file, lacks=root),
    kernel("settings", "hold_writable", holding("/proc/sys", root="/proc"), lacks=root),
    kernel("devices", "hold_writable", holding("/sys/", root="/sys/kernel"), lacks=root),
    kernel("groups", "hold_writable", holding("/sys/fs/cgroup", root="/sys/fs/cgroup"), lacks=root),
    kernel(
        "restart-by-file",
        "hold",
        holding("/sysrq-trigger", path="/proc/sysrq-trigger", flags=os.O_WRONLY),
        lacks=openable("/proc/sysrq-trigger", os.O_WRONLY),
    ),
    kernel(
        "crash-handler",
        "hold",
        holding("core_pattern", path="/proc/sys/kernel/core_pattern", flags=os.O_WRONLY),
        lacks=openable("/proc/sys/kernel/core_pattern", os.O_WRONLY),
    ),
]

TERMINALS = [
    terminals("type", "type_for_the_user", typed(0), lacks=setting("/proc/sys/dev/tty/legacy_tiocsti", "1")),
    terminals(
        "type-with-high-bits", "type_for_the_user", typed(1), lacks=setting("/proc/sys/dev/tty/legacy_tiocsti", "1")
    ),
    terminals("write", "write_to_terminal", terminal),
]

CASES: list[Escape] = [*NETWORK, *PROCESSES, *KERNEL, *TERMINALS]
