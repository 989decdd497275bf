//! Refuses system calls that no confined program needs and that reach beyond it: into other processes, terminals and
//! the kernel.

use std::{collections::BTreeMap, env::consts::ARCH};

use seccompiler::{
    BackendError, BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

/// The bit of the x32 variants of system calls, which have the same architecture as the others.
#[cfg(target_arch = "x86_64")]
const X32_BIT: i64 = 0x4000_0000;

/// `ioctl` as x32 numbers it.
#[cfg(target_arch = "x86_64")]
const X32_IOCTL: i64 = X32_BIT | 514;

/// `ptrace`, `process_vm_readv` and `process_vm_writev` as x32 numbers them.
#[cfg(target_arch = "x86_64")]
const X32_TRACING: [i64; 3] = [X32_BIT | 521, X32_BIT | 539, X32_BIT | 540];

const EPERM: u32 = libc::EPERM.unsigned_abs();

const ENOSYS: u32 = libc::ENOSYS.unsigned_abs();

/// Conditions by the number of the call.
type SyscallRules = BTreeMap<i64, Vec<SeccompRule>>;

/// Requests of `ioctl` that type into a terminal. The kernel looks only at the lower 32 bits.
const TYPING_REQUESTS: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// `open_tree_attr` of Linux 6.15, which has the same number everywhere.
const OPEN_TREE_ATTR: i64 = 467;

/// Calls that reach into other processes or the kernel, or around the checks of paths and files.
#[rustfmt::skip]
const REFUSED_CALLS: &[i64] = &[
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd, libc::SYS_kcmp, libc::SYS_perf_event_open, libc::SYS_bpf, libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register, libc::SYS_open_by_handle_at,
    libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_move_mount, libc::SYS_open_tree,
    libc::SYS_fsopen, libc::SYS_fsconfig, libc::SYS_fsmount, libc::SYS_fspick, libc::SYS_mount_setattr,
    OPEN_TREE_ATTR, libc::SYS_chroot, libc::SYS_setns, libc::SYS_add_key, libc::SYS_request_key, libc::SYS_keyctl,
    libc::SYS_init_module, libc::SYS_finit_module, libc::SYS_delete_module, libc::SYS_kexec_load,
    libc::SYS_kexec_file_load, libc::SYS_reboot, libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_settimeofday,
    libc::SYS_clock_settime, libc::SYS_acct, libc::SYS_quotactl, libc::SYS_syslog,
];

/// Applies the filters to this process and all its later children.
pub fn apply_filters() -> Result<(), Error> {
    apply_filter(&build_program(refused_calls()?, EPERM)?)?;
    // Its flags lie in memory, where a filter cannot look. Programs that do not find it use `clone`.
    let hidden = with_x32(BTreeMap::from([(libc::SYS_clone3, Vec::new())]));
    apply_filter(&build_program(hidden, ENOSYS)?)
}

fn build_program(rules: SyscallRules, errno: u32) -> Result<BpfProgram, BackendError> {
    SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Errno(errno), ARCH.try_into()?)?.try_into()
}

/// Returns the refused calls with the conditions on their arguments. Without a condition, every call is refused.
fn refused_calls() -> Result<SyscallRules, BackendError> {
    let mut rules: SyscallRules = REFUSED_CALLS.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_ioctl, typing_rules()?);
    // In a user namespace of its own a process has every capability, and with that more of the kernel to attack.
    rules.extend([(libc::SYS_unshare, vec![user_namespace_rule()?]), (libc::SYS_clone, vec![user_namespace_rule()?])]);
    rules.insert(libc::SYS_socket, vec![other_families_rule()?]);
    rules.insert(libc::SYS_prlimit64, vec![other_process_rule()?]);
    let mut rules = with_x32(rules);
    #[cfg(target_arch = "x86_64")]
    {
        rules.extend(X32_TRACING.map(|call| (call, Vec::new())));
        rules.insert(X32_IOCTL, typing_rules()?);
    }
    Ok(rules)
}

/// Adds the x32 variants.
#[cfg(target_arch = "x86_64")]
fn with_x32(mut rules: SyscallRules) -> SyscallRules {
    let variants: Vec<_> = rules.iter().map(|(call, rules)| (*call | X32_BIT, rules.clone())).collect();
    rules.extend(variants);
    rules
}

#[cfg(not(target_arch = "x86_64"))]
fn with_x32(rules: SyscallRules) -> SyscallRules {
    rules
}

/// Matches flags, the first argument, with `CLONE_NEWUSER`.
fn user_namespace_rule() -> Result<SeccompRule, BackendError> {
    let flag = libc::CLONE_NEWUSER.unsigned_abs().into();
    let is_set = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(flag), flag)?;
    SeccompRule::new(vec![is_set])
}

/// Matches a process, the first argument, other than the caller itself: the first process of the session belongs to the
/// same user.
fn other_process_rule() -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?])
}

/// Socket families that a network namespace contains. Others, such as those that lead from a virtual machine to its
/// host (`AF_VSOCK`), reach beyond it.
const SOCKET_FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// Matches sockets of any other family, the first argument.
fn other_families_rule() -> Result<SeccompRule, BackendError> {
    let is_other =
        |family: i32| SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family.unsigned_abs().into());
    SeccompRule::new(SOCKET_FAMILIES.into_iter().map(is_other).collect::<Result<_, _>>()?)
}

fn typing_rules() -> Result<Vec<SeccompRule>, BackendError> {
    let rule = |request| {
        // Compared on 32 bits: the kernel ignores the rest, so a larger number is the same request.
        let is_request = SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, request)?;
        SeccompRule::new(vec![is_request])
    };
    TYPING_REQUESTS.into_iter().map(rule).collect()
}
