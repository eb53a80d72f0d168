//! Other processes, the network, and the kernel.

use super::{Attempt, by, deeply};
use crate::executor::sandbox::workspace::Wall;

const NETWORK: &[Wall] = &[Wall::Network];
const FILTER: &[Wall] = &[Wall::Filter];
const PROCESSES: &[Wall] = &[Wall::Processes];
const DEVICES: &[Wall] = &[Wall::Devices];

pub(super) const TALK: &[Attempt] = &[
    by("talk to a server", NETWORK, "bash -c 'exec 9<> /dev/tcp/127.0.0.1/$PORT'"),
    by("talk to a server by name", NETWORK, "bash -c 'exec 9<> /dev/tcp/localhost/$PORT'"),
    by(
        "talk to a server by a mapped address",
        NETWORK,
        "python3 -c 'import os, socket; socket.create_connection((\"::ffff:127.0.0.1\", int(os.environ[\"PORT\"])))'",
    ),
    by(
        "talk by datagrams",
        NETWORK,
        "python3 -c 'import os, socket, time
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end.connect((\"127.0.0.1\", int(os.environ[\"UDP\"])))
for _ in range(3):
    end.send(b\"x\")
    time.sleep(.02)'",
    ),
    by(
        "talk to a socket without a path",
        NETWORK,
        "python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).connect(\"\\0\" + os.environ[\"ABSTRACT\"])'",
    ),
    by("talk to nobody, but see sockets", NETWORK, "grep $ABSTRACT /proc/net/unix"),
    by(
        "talk to a socket with a path",
        &[Wall::Scratch],
        "python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).connect(os.environ[\"SOCK\"])'",
    ),
    by("talk to nobody, but know an agent of keys", &[Wall::Environment], "test -n \"$SSH_AUTH_SOCK\""),
    by(
        "talk to an agent of keys",
        &[Wall::Environment, Wall::Scratch],
        "python3 -c 'import os, socket; socket.socket(socket.AF_UNIX).connect(os.environ[\"SSH_AUTH_SOCK\"])'",
    ),
    deeply(
        "talk to the system's bus",
        "test -S /run/dbus/system_bus_socket || test -S /var/run/dbus/system_bus_socket",
    ),
    deeply("talk to the person's bus", "ls /run/user | grep ."),
    deeply("talk to docker", "test -S /var/run/docker.sock || test -S /run/docker.sock || docker ps"),
    deeply("talk to podman", "test -S /run/podman/podman.sock || podman ps"),
    deeply("talk to a display", "ls /tmp/.X11-unix | grep . || xset q"),
    deeply("talk to the first process", "systemctl status"),
    deeply("talk to the outside", "bash -c 'exec 9<> /dev/tcp/192.0.2.1/80'"),
    deeply("talk to the address of clouds", "bash -c 'exec 9<> /dev/tcp/169.254.169.254/80'"),
    deeply(
        "talk over the local wire",
        "python3 -c 'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)'",
    ),
    deeply(
        "talk by raw packets",
        "python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)'",
    ),
    deeply(
        "talk to the machine around this one",
        "python3 -c 'import socket; socket.socket(socket.AF_VSOCK)'",
    ),
    deeply("talk to a server of names", "getent hosts example.org"),
    deeply("talk over another interface", "ip link add x type dummy"),
];

pub(super) const PROCESS: &[Attempt] = &[
    by("process outside: signal it", PROCESSES, "kill -0 $PID"),
    by("process outside: see it", PROCESSES, "ls -d /proc/$PID"),
    by("process outside: hold it", PROCESSES, "python3 -c 'import os; os.pidfd_open(int(os.environ[\"PID\"]))'"),
    by("process outside: its command line", PROCESSES, "head -c 1 /proc/$PID/cmdline | grep ."),
    by("process of its own: let it be traced", FILTER, "python3 -c 'import ctypes; raise SystemExit(ctypes.CDLL(None).ptrace(0, 0, None, None) != 0)'"),
    by(
        "process of its own: another's memory",
        FILTER,
        "python3 -c 'import ctypes, os
class Part(ctypes.Structure):
    _fields_ = [(\"at\", ctypes.c_void_p), (\"length\", ctypes.c_size_t)]
there, here = ctypes.create_string_buffer(b\"x\"), ctypes.create_string_buffer(1)
parts = [Part(ctypes.addressof(buffer), 1) for buffer in (here, there)]
read = ctypes.CDLL(None).process_vm_readv(os.getpid(), ctypes.byref(parts[0]), 1, ctypes.byref(parts[1]), 1, 0)
raise SystemExit(read != 1)'",
    ),
    deeply("process outside: its variables", "head -c 1 /proc/$PID/environ | grep ."),
    deeply("process outside: its files", "ls /proc/$PID/fd | grep ."),
    deeply("process outside: trace it", "python3 -c 'import ctypes, os; raise SystemExit(ctypes.CDLL(None).ptrace(16, int(os.environ[\"PID\"]), None, None) != 0)'"),
    deeply("process outside: enter its name spaces", "nsenter -t $PID -m true"),
    deeply("process outside: enter those of the first", "nsenter -t 1 -m -n true"),
    deeply("process with rights", "grep '^Cap[^:]*:.*[1-9a-f]' /proc/self/status"),
    deeply("process that may get rights", "grep 'NoNewPrivs:.*0' /proc/self/status"),
    deeply("process that becomes another user", "su -c true nobody || sudo -n true"),
    deeply("process with a copied right", "cp /usr/bin/id tool && chmod 4755 tool && sudo -n ./tool"),
    deeply("process that is spared", "echo -900 > /proc/self/oom_score_adj"),
    deeply("process that types for others", "python3 -c 'import fcntl; fcntl.ioctl(open(\"/dev/tty\"), 0x5412, b\"x\")'"),
];

pub(super) const KERNEL: &[Attempt] = &[
    by(
        "kernel rings",
        FILTER,
        "python3 -c 'import ctypes; raise SystemExit(ctypes.CDLL(None).syscall(425, 8, ctypes.create_string_buffer(256)) < 0)'",
    ),
    by(
        "kernel faults",
        FILTER,
        "python3 -c 'import ctypes; raise SystemExit(ctypes.CDLL(None).syscall(323, 1) < 0)'",
    ),
    by(
        "kernel keys",
        FILTER,
        "python3 -c 'import ctypes; raise SystemExit(ctypes.CDLL(None).syscall(250, 0, -3, 1) < 0)'",
    ),
    by(
        "kernel keys added",
        FILTER,
        "python3 -c 'import ctypes; raise SystemExit(ctypes.CDLL(None).syscall(248, b\"user\", b\"x\", b\"y\", 1, -2) < 0)'",
    ),
    by(
        "kernel tables of segments",
        FILTER,
        "python3 -c 'import ctypes; raise SystemExit(ctypes.CDLL(None).syscall(154, 0, ctypes.create_string_buffer(64), 64) < 0)'",
    ),
    by(
        "kernel devices",
        DEVICES,
        "ls /dev | grep -vxE 'core|fd|full|null|ptmx|pts|random|shm|stderr|stdin|stdout|tty|urandom|zero'",
    ),
    by("kernel messages", DEVICES, "test -e /dev/kmsg"),
    deeply(
        "kernel programs",
        "python3 -c 'import ctypes; raise SystemExit(ctypes.CDLL(None).syscall(321, 0, ctypes.create_string_buffer(128), 128) < 0)'",
    ),
    deeply(
        "kernel counters",
        "python3 -c 'import ctypes; raise SystemExit(ctypes.CDLL(None).syscall(298, ctypes.create_string_buffer(b\"\\1\\0\\0\\0\\x70\", 128), 0, -1, -1, 0) < 0)'",
    ),
    deeply("kernel devices made", "mknod disk b 8 0"),
    deeply("kernel mounts", "mount -t tmpfs none vendor"),
    deeply("kernel mounts in a name space", "unshare -rm true"),
    deeply("kernel users in a name space", "unshare -r true"),
    deeply(
        "kernel users by another call",
        "python3 -c 'import ctypes; raise SystemExit(ctypes.CDLL(None).syscall(435, ctypes.create_string_buffer(b\"\\0\\0\\0\\x10\", 88), 88) < 0)'",
    ),
    deeply("kernel networks in a name space", "unshare -rn true"),
    deeply("kernel roots", "mkdir old; pivot_root . old"),
    deeply("kernel roots of a process", "chroot . /bin/true || chroot / /bin/true"),
    deeply("kernel mounts taken off", "umount -l /proc || umount -l ~ || umount ."),
    deeply("kernel dumps", "echo '|/tmp/evil' > /proc/sys/kernel/core_pattern"),
    deeply("kernel helpers", "echo /tmp/evil > /proc/sys/kernel/modprobe"),
    deeply("kernel keys of the keyboard", "echo h > /proc/sysrq-trigger"),
    deeply("kernel settings", "find /proc/sys /sys -type f -writable 2> /dev/null | grep ."),
    deeply("kernel modules", "insmod x.ko || modprobe dummy"),
    deeply(
        "kernel control groups",
        "mkdir /sys/fs/cgroup/x || mkdir /sys/fs/cgroup/unified/x || mkdir /sys/fs/cgroup/pids/x",
    ),
    deeply("kernel classes of devices", "ls /sys/class /sys/block /sys/bus"),
    deeply(
        "kernel file handles",
        "python3 -c 'import ctypes; raise SystemExit(ctypes.CDLL(None).syscall(304, 3, ctypes.create_string_buffer(b\"\\4\\0\\0\\0\\1\\0\\0\\0\\2\", 64), 0) < 0)'",
    ),
    deeply("kernel name of the machine", "hostname evil"),
];

pub(super) const SHARE: &[Attempt] = &[
    by("share memory with a name", DEVICES, "cat /dev/shm/$SHM"),
    by("share queues", &[Wall::Ipc], "test \"$(readlink /proc/self/ns/ipc)\" = \"$NS_IPC\""),
    by("share a network", NETWORK, "test \"$(readlink /proc/self/ns/net)\" = \"$NS_NET\""),
    by("share numbers of processes", PROCESSES, "test \"$(readlink /proc/self/ns/pid)\" = \"$NS_PID\""),
    deeply("share mounts", "test \"$(readlink /proc/self/ns/mnt)\" = \"$NS_MNT\""),
    deeply("share users", "test \"$(readlink /proc/self/ns/user)\" = \"$NS_USER\""),
    deeply("share a name", "test \"$(readlink /proc/self/ns/uts)\" = \"$NS_UTS\""),
];
