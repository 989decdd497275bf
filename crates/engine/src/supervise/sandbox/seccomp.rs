//! System calls that no confined program needs and that reach beyond it: into other processes, terminals and the kernel.

use std::{collections::BTreeMap, env::consts::ARCH};

use seccompiler::{
    BackendError, BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

/// The bit of the x32 variants of system calls, which have the same architecture as the others.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;

/// `ioctl` as x32 numbers it.
#[cfg(target_arch = "x86_64")]
const X32_IOCTL: i64 = X32 | 514;

/// `ptrace`, `process_vm_readv` and `process_vm_writev` as x32 numbers them.
#[cfg(target_arch = "x86_64")]
const X32_TRACING: [i64; 3] = [X32 | 521, X32 | 539, X32 | 540];

/// `EPERM`.
const REFUSED: u32 = 1;

/// Requests of `ioctl` that type into a terminal. The kernel looks at the lower 32 bits alone.
const TYPING: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// `open_tree_attr` of Linux 6.15, which has the same number everywhere.
const OPEN_TREE_ATTR: i64 = 467;

/// Reaching into other processes, into the kernel, and around the checks of paths and files.
const REFUSED_CALLS: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_perf_event_open,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_open_by_handle_at,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    OPEN_TREE_ATTR,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
];

/// Applies the filter to this process and all that it will start.
pub fn apply() -> Result<(), Error> {
    apply_filter(&program()?)
}

fn program() -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED_CALLS.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_ioctl, typing()?);
    #[cfg(target_arch = "x86_64")]
    {
        rules.extend(REFUSED_CALLS.iter().map(|call| (*call | X32, Vec::new())));
        rules.extend(X32_TRACING.map(|call| (call, Vec::new())));
        rules.insert(X32_IOCTL, typing()?);
    }
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(REFUSED), ARCH.try_into()?)?.try_into()
}

fn typing() -> Result<Vec<SeccompRule>, BackendError> {
    let rule = |request| {
        // Compared on 32 bits: the kernel ignores the rest, so a larger number is the same request.
        let is_request = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request)?;
        SeccompRule::new(vec![is_request])
    };
    TYPING.into_iter().map(rule).collect()
}
