//! System calls that a sandboxed program is refused: those that reach what no namespace divides, or that
//! undo the sandbox.
//!
//! A list of what is refused, not of what is let through: the walls are the namespaces, and programs need
//! to keep working.

use super::Network;

/// A classic BPF program for the kernel, in its own layout: to be handed over as it is. Empty where this
/// machine's system calls are not known here.
pub(super) fn filter(network: Network) -> Vec<u8> {
    program(network).iter().flat_map(Instruction::bytes).collect()
}

/// As in the kernel's `struct sock_filter`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Instruction {
    code: u16,
    /// Instructions to skip when a comparison holds.
    then: u8,
    /// Instructions to skip when it does not.
    otherwise: u8,
    value: u32,
}

impl Instruction {
    fn bytes(&self) -> [u8; 8] {
        let [code_low, code_high] = self.code.to_ne_bytes();
        let [one, two, three, four] = self.value.to_ne_bytes();
        [code_low, code_high, self.then, self.otherwise, one, two, three, four]
    }
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn program(network: Network) -> Vec<Instruction> {
    use calls::*;
    let is_ours = Instruction { code: jump(libc::BPF_JEQ), then: 1, otherwise: 0, value: OURS };
    let mut program = vec![load(ARCHITECTURE), is_ours, ret(libc::SECCOMP_RET_KILL_PROCESS), load(NUMBER)];
    #[cfg(target_arch = "x86_64")]
    program.extend([
        // The same calls under other numbers.
        Instruction { code: jump(libc::BPF_JGE), then: 0, otherwise: 1, value: X32 },
        refuse(libc::ENOSYS),
    ]);
    for number in REFUSED {
        program.extend([unless_equal(of(*number), 1), refuse(libc::EPERM)]);
    }
    // Its flags are behind a pointer. Who hears that it does not exist takes `clone`.
    program.extend([unless_equal(of(libc::SYS_clone3), 1), refuse(libc::ENOSYS)]);
    let families: &[u32] = match network {
        Network::None => &[AF_VSOCK],
        // Sockets without a name in the file system belong to the network, and desktops have some.
        Network::Shared => &[AF_VSOCK, AF_UNIX],
    };
    program.extend(argument(libc::SYS_socket, 0, families, 0));
    program.extend(argument(libc::SYS_clone, 0, &[], NAMESPACES));
    program.extend(argument(libc::SYS_unshare, 0, &[], NAMESPACES | NEW_TIME));
    program.extend(argument(libc::SYS_ioctl, 1, &[TIOCSTI, TIOCLINUX], 0));
    program.push(ret(libc::SECCOMP_RET_ALLOW));
    program
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn program(_network: Network) -> Vec<Instruction> {
    Vec::new()
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod calls {
    use super::Instruction;

    /// Refuses the call `number` when argument `index` is one of `values` or has a bit of `mask`; lets
    /// it through else.
    pub(super) fn argument(number: i64, index: u32, values: &[u32], mask: u32) -> Vec<Instruction> {
        let mut checks = vec![load(ARGUMENTS + 8 * index)];
        for value in values {
            checks.extend([unless_equal(*value, 1), refuse(libc::EPERM)]);
        }
        if mask != 0 {
            let any = Instruction { code: jump(libc::BPF_JSET), then: 0, otherwise: 1, value: mask };
            checks.extend([any, refuse(libc::EPERM)]);
        }
        checks.push(ret(libc::SECCOMP_RET_ALLOW));
        let length = u8::try_from(checks.len()).unwrap_or(u8::MAX);
        std::iter::once(unless_equal(of(number), length)).chain(checks).collect()
    }

    pub(super) fn load(offset: u32) -> Instruction {
        let code = short(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS);
        Instruction { code, then: 0, otherwise: 0, value: offset }
    }

    /// Skips `count` instructions unless what was loaded is `value`.
    pub(super) fn unless_equal(value: u32, count: u8) -> Instruction {
        Instruction { code: jump(libc::BPF_JEQ), then: 0, otherwise: count, value }
    }

    pub(super) fn refuse(errno: i32) -> Instruction {
        ret(libc::SECCOMP_RET_ERRNO | errno.unsigned_abs())
    }

    pub(super) fn ret(value: u32) -> Instruction {
        Instruction { code: short(libc::BPF_RET | libc::BPF_K), then: 0, otherwise: 0, value }
    }

    pub(super) fn jump(how: u32) -> u16 {
        short(libc::BPF_JMP | how | libc::BPF_K)
    }

    pub(super) fn of(number: i64) -> u32 {
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    fn short(code: u32) -> u16 {
        u16::try_from(code).unwrap_or(u16::MAX)
    }

    /// Never meant for a program that an agent runs, whatever its arguments.
    pub(super) const REFUSED: &[i64] = &[
        // Other processes' memory and descriptors.
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_process_madvise,
        libc::SYS_pidfd_getfd,
        libc::SYS_kcmp,
        // Mounts and roots.
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
        libc::SYS_setns,
        libc::SYS_open_by_handle_at,
        libc::SYS_quotactl,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        // Keys, which no namespace divides.
        libc::SYS_add_key,
        libc::SYS_keyctl,
        libc::SYS_request_key,
        // Parts of the kernel that are known for ways out, and calls that would not pass here.
        libc::SYS_bpf,
        libc::SYS_fanotify_init,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
        libc::SYS_io_uring_setup,
        libc::SYS_lookup_dcookie,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        // The machine itself.
        libc::SYS_acct,
        libc::SYS_adjtimex,
        libc::SYS_clock_adjtime,
        libc::SYS_clock_settime,
        libc::SYS_delete_module,
        libc::SYS_finit_module,
        libc::SYS_init_module,
        libc::SYS_kexec_load,
        libc::SYS_reboot,
        libc::SYS_settimeofday,
        libc::SYS_syslog,
        libc::SYS_vhangup,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_ioperm,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_iopl,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_kexec_file_load,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_modify_ldt,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_uselib,
    ];

    /// Offsets in the kernel's `struct seccomp_data`. The lower half of an argument comes first
    /// on both machines.
    pub(super) const NUMBER: u32 = 0;
    pub(super) const ARCHITECTURE: u32 = 4;
    const ARGUMENTS: u32 = 16;

    #[cfg(target_arch = "x86_64")]
    pub(super) const OURS: u32 = 0xC000_003E;
    #[cfg(target_arch = "aarch64")]
    pub(super) const OURS: u32 = 0xC000_00B7;

    /// Where the numbers of x32 begin.
    #[cfg(target_arch = "x86_64")]
    pub(super) const X32: u32 = 0x4000_0000;

    pub(super) const AF_UNIX: u32 = 1;
    pub(super) const AF_VSOCK: u32 = 40;

    /// `CLONE_NEW…`, all but time, which `clone` reads otherwise.
    pub(super) const NAMESPACES: u32 = 0x7E02_0000;
    pub(super) const NEW_TIME: u32 = 0x80;

    /// Types into the terminal; copies from the console.
    pub(super) const TIOCSTI: u32 = 0x5412;
    pub(super) const TIOCLINUX: u32 = 0x541C;
}

#[cfg(test)]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod tests {
    use super::calls::*;
    use super::*;
    use pretty_assertions::assert_eq;

    /// What the kernel would do for a call, by the few instructions that are used.
    fn judge(network: Network, architecture: u32, number: i64, arguments: [u32; 2]) -> u32 {
        let program = program(network);
        let (mut at, mut loaded) = (0, 0);
        loop {
            let Instruction { code, then, otherwise, value } = program[at];
            let skip = |holds: bool| usize::from(if holds { then } else { otherwise });
            at += 1 + match u32::from(code) {
                code if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS => {
                    loaded = match value {
                        0 => of(number),
                        4 => architecture,
                        16 => arguments[0],
                        24 => arguments[1],
                        other => panic!("loads at {other}"),
                    };
                    0
                }
                code if code == libc::BPF_RET | libc::BPF_K => return value,
                code if code == libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K => skip(loaded == value),
                code if code == libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K => skip(loaded >= value),
                code if code == libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K => skip(loaded & value != 0),
                other => panic!("instruction {other}"),
            };
        }
    }

    #[test]
    fn calls_that_reach_out_are_refused_and_others_are_not() {
        let refused = |errno: i32| libc::SECCOMP_RET_ERRNO | errno.unsigned_abs();
        let (no, allowed) = (refused(libc::EPERM), libc::SECCOMP_RET_ALLOW);
        for network in [Network::None, Network::Shared] {
            let judged = |number, arguments| judge(network, OURS, number, arguments);
            for number in REFUSED {
                assert_eq!(judged(*number, [0, 0]), no, "{number}");
            }
            for number in [libc::SYS_read, libc::SYS_execve, libc::SYS_kill, libc::SYS_socketpair, 100_000] {
                assert_eq!(judged(number, [0, 0]), allowed, "{number}");
            }
            assert_eq!(judged(libc::SYS_clone3, [0, 0]), refused(libc::ENOSYS));
            assert_eq!(judged(libc::SYS_clone, [0x0120_0011, 0]), allowed);
            assert_eq!(judged(libc::SYS_clone, [0x1000_0011, 0]), no);
            assert_eq!(judged(libc::SYS_unshare, [0x400, 0]), allowed);
            assert_eq!(judged(libc::SYS_unshare, [0x80, 0]), no);
            assert_eq!(judged(libc::SYS_ioctl, [0, 0x5401]), allowed);
            assert_eq!(judged(libc::SYS_ioctl, [0, TIOCSTI]), no);
            assert_eq!(judged(libc::SYS_socket, [AF_VSOCK, 0]), no);
            assert_eq!(judged(libc::SYS_socket, [2, 0]), allowed);
        }
        assert_eq!(judge(Network::None, OURS, libc::SYS_socket, [AF_UNIX, 0]), allowed);
        assert_eq!(judge(Network::Shared, OURS, libc::SYS_socket, [AF_UNIX, 0]), no);
    }

    #[test]
    fn another_architecture_ends_the_program() {
        let other = if OURS == 0xC000_003E { 0x4000_0003 } else { 0x4000_0028 };
        assert_eq!(judge(Network::None, other, libc::SYS_read, [0, 0]), libc::SECCOMP_RET_KILL_PROCESS);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_same_call_under_another_number_does_not_exist() {
        let expected = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
        assert_eq!(judge(Network::None, OURS, 0x4000_0000 + 521, [0, 0]), expected);
    }

    #[test]
    fn the_kernel_reads_eight_bytes_for_each_instruction() {
        assert_eq!(filter(Network::None).len(), 8 * program(Network::None).len());
    }
}
