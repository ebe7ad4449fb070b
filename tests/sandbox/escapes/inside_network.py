"""More ways to others by a socket. Runs inside the sandbox."""

import ctypes
import mmap
import os
import socket
import struct

from attempts import NUMBERS, attempt, kernel

MPTCP, MSG_FASTOPEN, NETLINK_ROUTE, AF_VSOCK, AF_ALG = 262, 0x20000000, 0, 40, 38
I386_SOCKET = 359


@attempt
def tcp_fast_open(host: str, port: int) -> None:
    """Data with the first packet: no call of `connect`."""
    with socket.socket() as sender:
        sender.settimeout(5)
        sender.sendto(b"x", MSG_FASTOPEN, (host, port))


@attempt
def mptcp(host: str, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, MPTCP) as sender:
        sender.settimeout(5)
        sender.connect((host, port))


@attempt
def resolve(host: str, port: int) -> None:
    """Ask somebody for a name, and so tell him a secret."""
    question = (
        b"".join(bytes([len(part)]) + part for part in (b"secret", b"example")) + b"\0" + struct.pack(">HH", 1, 1)
    )
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect((host, port))
        sender.send(struct.pack(">HHHHHH", 1, 256, 1, 0, 0, 0) + question)


@attempt
def unix_datagram(address: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", address)


@attempt
def unix_datagram_of_a_pair(address: str) -> None:
    """One that is connected already, and can be led on."""
    ours, _theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.sendto(b"x", address)


@attempt
def unix_in_workspace(address: str) -> None:
    """A link among our own files to somebody's socket."""
    link = os.path.abspath("socket-" + os.urandom(4).hex())
    os.symlink(address, link)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(link)


@attempt
def send_on_descriptors() -> None:
    """Whatever socket was left open for us."""
    for fd in range(3, 1024):
        try:
            socket.socket(fileno=os.dup(fd)).send(b"x")
        except OSError:
            pass


@attempt
def listen(port: int) -> int:
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", port))
    server.listen()
    return server.detach()


@attempt
def listen_abstract(address: str) -> int:
    server = socket.socket(socket.AF_UNIX)
    server.bind("\0" + address[1:])
    server.listen()
    return server.detach()


@attempt
def hold_socket(family: int, kind: int, protocol: int = 0) -> int:
    return socket.socket(family, kind, protocol).detach()


@attempt
def udp_of_another_machine(host: str, port: int) -> None:
    """Calls as a program for 32 bits makes them, which have other numbers."""
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    # push rbx; mov eax, edi; mov ebx, esi; mov ecx, edx; xor edx, edx; int 0x80; pop rbx; ret
    code.write(bytes.fromhex("53 89f8 89f3 89d1 31d2 cd80 5b c3"))
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    call = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int)(address)
    fd = call(I386_SOCKET, socket.AF_INET, socket.SOCK_DGRAM)
    if fd < 0:
        raise OSError(-fd, os.strerror(-fd))
    socket.socket(fileno=fd).sendto(b"x", (host, port))


@attempt
def udp_of_x32(host: str, port: int) -> None:
    NUMBERS["socket of x32"] = NUMBERS["socket"] | 0x40000000
    fd = kernel("socket of x32", socket.AF_INET, socket.SOCK_DGRAM, 0)
    socket.socket(fileno=fd).sendto(b"x", (host, port))


@attempt
def ring() -> int:
    """Calls that are made by writing them into memory."""
    return kernel("io_uring_setup", 4, ctypes.create_string_buffer(120))
