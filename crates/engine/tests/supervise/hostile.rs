//! What a hostile agent tries from inside of a sandbox, as root and as an ordinary user. Each attempt succeeds without
//! the sandbox, unless the kernel forbids it to everybody.

use std::{
    fs,
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            fs::{PermissionsExt as _, chown},
            net::{SocketAddr, UnixListener},
        },
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::stage::{FAKE, Folder, session};

/// An ordinary user that every system has.
const ORDINARY_USER_ID: &str = "65534";

/// A place that ordinary users can work in, and their own copy of the fake agent: they may not enter the build directory.
struct Lab {
    directory: Folder,
    agent: PathBuf,
}

impl Lab {
    fn new() -> Self {
        let directory = Folder::new();
        fs::set_permissions(&directory.0, fs::Permissions::from_mode(0o777)).unwrap();
        let agent = directory.0.join("switchboard-fake-agent");
        // A copy cannot run while a process that another test has just started still has it open for writing.
        if fs::hard_link(FAKE, &agent).is_err() {
            fs::copy(FAKE, &agent).unwrap();
        }
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
        Self { directory, agent }
    }

    /// A directory that everybody may write to, as far as the sandbox lets them.
    fn open_directory(&self, name: &str) -> PathBuf {
        let path = self.directory.folder(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        path
    }

    fn open_file(&self, path: PathBuf, text: &str) -> PathBuf {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        path
    }

    /// The lines of a script in a sandbox, run by a user.
    fn run(&self, user: User, settings: &[String], script: &str) -> Vec<String> {
        self.run_command(user.command(&self.agent), settings, script)
    }

    fn run_command(&self, mut command: Command, settings: &[String], script: &str) -> Vec<String> {
        command.arg("shell").args(settings).arg(script).env_clear().current_dir("/");
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        text.lines().map(str::to_owned).collect()
    }
}

#[derive(Clone, Copy, Debug)]
enum User {
    Current,
    Ordinary,
}

impl User {
    /// The users that tests can run as: only root can become another.
    fn all() -> Vec<Self> {
        let is_root = rustix::process::geteuid().is_root();
        [Self::Current].into_iter().chain(is_root.then_some(Self::Ordinary)).collect()
    }

    /// Makes a file the user's own.
    fn own(self, path: &Path) {
        if matches!(self, Self::Ordinary) {
            let id = ORDINARY_USER_ID.parse().ok();
            chown(path, id, id).unwrap();
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the holder is started as another user")]
    fn command(self, program: &Path) -> Command {
        match self {
            Self::Current => Command::new(program),
            Self::Ordinary => {
                let mut command = Command::new("setpriv");
                command
                    .args(["--reuid", ORDINARY_USER_ID, "--regid", ORDINARY_USER_ID, "--clear-groups", "--"])
                    .arg(program);
                command
            }
        }
    }
}

fn setting(kind: &str, path: &Path) -> String {
    format!("{kind}={}", path.display())
}

/// The line that a script prints when an attempt succeeded.
const ESCAPED: &str = "escaped";

/// Runs a script in a sandbox with one writable directory, as each user; no line of it may be `escaped`.
fn check_held(lab: &Lab, settings: &[String], script: &str) {
    for user in User::all() {
        let lines = lab.run(user, settings, script);
        assert!(lines.last().is_some_and(|line| line.starts_with("exit: Some(")), "{user:?} {lines:?}");
        assert!(!lines.iter().any(|line| line.starts_with(ESCAPED)), "{user:?} {lines:#?}");
        assert!(lines.iter().any(|line| line == "tried"), "{user:?} {lines:#?}");
    }
}

#[test]
fn it_cannot_signal_or_see_other_processes() {
    let lab = Lab::new();
    let workspace = lab.open_directory("workspace");
    let outside = std::process::id();
    let script = format!(
        "kill -0 {outside} && echo escaped signal
         kill -9 1; kill -STOP 1; kill -KILL $PPID; kill -STOP $PPID
         test -e /proc/{outside} && echo escaped proc
         test $(ls -d /proc/[0-9]* | wc -l) -gt 6 && echo escaped list
         test -r /proc/1/environ && cat /proc/1/environ 2>/dev/null | grep -q . && echo escaped environment
         for file in /proc/1/fd/*; do readlink $file >/dev/null && echo escaped files; done
         (cd /proc/1/root) 2>/dev/null && echo escaped root
         echo tried"
    );
    check_held(&lab, &[setting("w", &workspace)], &script);
}

#[test]
fn it_cannot_trace_or_use_refused_system_calls() {
    let lab = Lab::new();
    let workspace = lab.open_directory("workspace");
    // ptrace(TRACEME), ptrace(ATTACH), process_vm_readv, io_uring_setup, bpf, userfaultfd, perf_event_open, keyctl,
    // unshare and clone with CLONE_NEWUSER, clone3, and the x32 numbers of some of them.
    let script = r#"perl -e '
        my $zero = pack("x256");
        for my $call ([101, 0, 0, 0, 0], [101, 16, 1, 0, 0], [310, 1, 0, 0, 0], [425, 4, $zero, 0, 0],
                      [321, 0, $zero, 64, 0], [323, 0, 0, 0, 0], [298, $zero, 0, -1, -1], [250, 0, -3, 0, 0],
                      [272, 0x10000000, 0, 0, 0], [272, 0x30020000, 0, 0, 0], [56, 0x10000011, 0, 0, 0],
                      [435, $zero, 88, 0, 0], [0x40000000 + 272, 0x10000000, 0, 0, 0],
                      [0x40000000 + 521, 0, 0, 0, 0], [0x40000000 + 425, 4, $zero, 0, 0]) {
            my ($number, @args) = @$call;
            my $result = syscall($number, @args);
            print "escaped $number\n" if $result >= 0;
            # EPERM of the filter, or ENOSYS of a kernel that does not have it.
            print "escaped $number errno ", $! + 0, "\n" unless $! == 1 || $! == 38;
        }
        '; echo tried"#;
    if cfg!(target_arch = "x86_64") {
        check_held(&lab, &[setting("w", &workspace)], script);
    }
}

#[test]
fn it_cannot_type_into_terminals() {
    let lab = Lab::new();
    let workspace = lab.open_directory("workspace");
    let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let path = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let script = format!(
        r#"echo hello 2>/dev/null > {path} && echo escaped write
        for device in /dev/tty1 /dev/ttyS0 /dev/console /dev/vcs /dev/mem /dev/sda /dev/vda; do
            test -e $device && echo escaped $device
        done
        (: </dev/tty) 2>/dev/null && echo escaped controlling terminal
        perl -e '
            use Fcntl;
            # A terminal of its own, which it may use, but not type into.
            sysopen(my $own, "/dev/ptmx", O_RDWR | O_NOCTTY) or print "escaped no ptmx $!\n";
            my $size = pack("S4", 10, 20, 0, 0);
            ioctl($own, 0x5414, $size) or print "escaped cannot resize: $!\n";
            my $byte = "x";
            for my $request (0x5412, 0x100005412, 0x541c, 0xffffffff0000541c) {{
                my $result = syscall(16, fileno($own), $request, $byte);
                print "escaped $request\n" if $result >= 0 or $! != 1;
            }}
            if (open(my $other, "<", "{path}")) {{
                print "escaped typing\n" if syscall(16, fileno($other), 0x5412, $byte) >= 0;
            }}
        '
        echo tried"#
    );
    check_held(&lab, &[setting("w", &workspace)], &script);
}

#[test]
fn it_has_no_privileges_and_gains_none() {
    let lab = Lab::new();
    let workspace = lab.open_directory("workspace");
    let script = r#"
        for set in CapInh CapPrm CapEff CapBnd CapAmb; do
            grep -q "^$set:.0000000000000000$" /proc/self/status || echo "escaped $(grep "^$set" /proc/self/status)"
        done
        grep -q "^NoNewPrivs:.1" /proc/self/status || echo escaped privileges
        grep -q "^Seccomp:.2" /proc/self/status || echo escaped seccomp
        for flags in -U -Ur -Urm -Un; do unshare $flags true 2>/dev/null && echo escaped user namespace $flags; done
        unshare -Urm sh -c 'mount -o remount,rw,bind / && echo escaped remount; umount /proc && echo escaped umount
            mount -t tmpfs none /mnt && echo escaped mount' 2>/dev/null
        echo core > /proc/sys/kernel/core_pattern && echo escaped core pattern
        echo tried"#;
    check_held(&lab, &[setting("w", &workspace)], script);
}

#[test]
fn it_cannot_change_anything_about_files_elsewhere() {
    let lab = Lab::new();
    let (workspace, other) = (lab.open_directory("workspace"), lab.open_directory("other"));
    let file = lab.open_file(other.join("file"), "as it was");
    let script = format!(
        "cd {other}
        chmod 600 file && echo escaped mode
        touch -d 2001-01-01 file && echo escaped time
        chown $(id -u) file && echo escaped owner
        echo more >> file && echo escaped append
        ln file {workspace}/link && echo escaped link
        mv file {workspace}/moved && echo escaped move
        cp {workspace}/../other/file {workspace}/copy-$(id -u) || echo escaped cannot copy
        echo inside > {workspace}/new-$(id -u) || echo escaped cannot write
        echo tried",
        other = other.display(),
        workspace = workspace.display(),
    );
    check_held(&lab, &[setting("w", &workspace)], &script);
    assert_eq!(fs::read_to_string(file).unwrap(), "as it was");
}

#[test]
fn protected_paths_stay_as_they_are() {
    let lab = Lab::new();
    for user in User::all() {
        let workspace = lab.open_directory(&format!("workspace-{user:?}"));
        for directory in [".git", ".git/hooks", ".git/modules", ".git/modules/sub", ".git/modules/sub/hooks"] {
            fs::create_dir(workspace.join(directory)).unwrap();
            fs::set_permissions(workspace.join(directory), fs::Permissions::from_mode(0o777)).unwrap();
        }
        let config = lab.open_file(workspace.join(".git/config"), "[core]");
        let protected = [".git/hooks", ".git/config", ".git/modules/sub/hooks"].map(|path| workspace.join(path));
        let mut settings = vec![setting("w", &workspace)];
        settings.extend(protected.iter().map(|path| setting("p", path)));
        let script = "
            echo evil > .git/hooks/pre-commit && echo escaped hook
            echo evil > .git/config && echo escaped config
            echo evil > .git/config.new && mv .git/config.new .git/config && echo escaped replaced
            rm -f .git/config && echo escaped removed
            rmdir .git/hooks && echo escaped removed directory
            mv .git/hooks .git/old && echo escaped renamed
            mv .git .old && echo escaped renamed parent
            mv .git/modules .git/old && echo escaped renamed grandparent
            mv .git/modules/sub .git/modules/old && echo escaped renamed parent of nested
            ln -sfn /tmp .git/hooks && ls .git/hooks/hooks >/dev/null 2>&1 && echo escaped link
            echo ref > .git/HEAD || echo escaped cannot write
            mkdir -p .git/objects/aa && echo new > .git/index.lock && mv .git/index.lock .git/index || echo escaped git
            echo tried";
        let lines = lab.run(user, &settings, script);
        assert!(lines.iter().any(|line| line == "tried"), "{lines:#?}");
        assert!(!lines.iter().any(|line| line.starts_with(ESCAPED)), "{user:?} {lines:#?}");
        assert_eq!(fs::read_to_string(config).unwrap(), "[core]");
        assert_eq!(fs::read_dir(workspace.join(".git/hooks")).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(workspace.join(".git/index")).unwrap(), "new\n");
    }
}

#[test]
fn hidden_paths_appear_empty_and_views_keep_what_they_should() {
    let lab = Lab::new();
    for user in User::all() {
        let workspace = lab.open_directory(&format!("workspace-{user:?}"));
        let secrets = lab.open_directory(&format!("secrets-{user:?}"));
        let state = lab.open_directory(&format!("state-{user:?}"));
        lab.open_file(secrets.join("inner"), "hidden");
        let token = lab.open_file(lab.directory.0.join(format!("token-{user:?}")), "hidden");
        for (name, text) in [("settings.json", "mine"), ("login", "old token")] {
            lab.open_file(state.join(name), text);
        }
        fs::create_dir(state.join("sessions")).unwrap();
        fs::set_permissions(state.join("sessions"), fs::Permissions::from_mode(0o777)).unwrap();
        // A layer can only take files of the user over.
        for path in ["", "settings.json", "login", "sessions"].map(|name| state.join(name)) {
            user.own(&path);
        }
        let view = format!("v={}:sessions,login", state.display());
        let settings = [setting("w", &workspace), setting("x", &secrets), setting("x", &token), view];
        let script = format!(
            "ls {secrets} | grep -q . && echo escaped directory
            grep -q hidden {token} && echo escaped file
            cd {state}
            grep -q mine settings.json || echo escaped cannot read
            echo evil > settings.json || echo escaped cannot write to its own layer
            echo evil > new && mv new settings.json || echo escaped cannot rename in its own layer
            grep -q evil settings.json || echo escaped does not see its own change
            echo 'new token' > login || echo escaped cannot write
            echo session > sessions/1 || echo escaped cannot create
            echo cache > cache || echo escaped cannot cache
            echo tried",
            secrets = secrets.display(),
            token = token.display(),
            state = state.display(),
        );
        let lines = lab.run(user, &settings, &script);
        assert!(lines.iter().any(|line| line == "tried"), "{lines:#?}");
        assert!(!lines.iter().any(|line| line.starts_with(ESCAPED)), "{user:?} {lines:#?}");
        let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
        assert_eq!(read(state.join("settings.json")), "mine");
        assert_eq!(read(state.join("login")), "new token\n");
        assert_eq!(read(state.join("sessions/1")), "session\n");
        assert!(!state.join("cache").exists() && !state.join("new").exists());
    }
}

#[test]
fn it_cannot_reach_abstract_sockets() {
    let lab = Lab::new();
    let workspace = lab.open_directory("workspace");
    let name = session();
    let _listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let script = format!(
        r#"perl -e 'use Socket; socket(my $s, PF_UNIX, SOCK_STREAM, 0);
            print "escaped\n" if connect($s, pack("S a*", AF_UNIX, "\0{name}"))'
        echo tried"#
    );
    check_held(&lab, &[setting("w", &workspace)], &script);
    let lines = lab.run(User::Current, &["free".to_owned()], &script);
    assert!(lines.contains(&ESCAPED.to_owned()), "the attempt works without a sandbox: {lines:?}");
}

/// Whether a process with this argument runs.
fn is_running(argument: &str) -> bool {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok()).any(|command| {
        let mut words = command.split(|byte| *byte == 0);
        words.next().is_some_and(|program| program.ends_with(b"sleep")) && words.any(|word| word == argument.as_bytes())
    })
}

/// A time to sleep that no other process has.
fn unique_sleep() -> String {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("{}.{number}", 1_000_000 + std::process::id())
}

#[test]
fn nothing_outlives_a_confined_agent() {
    let lab = Lab::new();
    let workspace = lab.open_directory("workspace");
    for user in User::all() {
        let sleep = unique_sleep();
        let script = format!("(setsid env -i sleep {sleep} >/dev/null 2>&1 &); kill -9 $PPID; kill -9 -1; echo tried");
        lab.run(user, &[setting("w", &workspace)], &script);
        assert!(!is_running(&sleep), "{user:?}");
    }
}

#[test]
fn orphans_of_a_killed_supervisor_are_killed() {
    let lab = Lab::new();
    for user in User::all() {
        let sleep = unique_sleep();
        // Twice removed, without its mark and in a session of its own.
        let script = format!(
            "(setsid sh -c 'setsid env -i /bin/sleep {sleep} & ' >/dev/null 2>&1 &)
             while ! pgrep -f 'sleep {sleep}' >/dev/null; do :; done; kill -9 $PPID"
        );
        let lines = lab.run(user, &["free".to_owned()], &script);
        assert!(lines.contains(&"gone: 0 left".to_owned()), "{lines:?}");
        assert!(!is_running(&sleep), "{user:?}");
    }
}

#[test]
fn a_stopped_supervisor_cannot_prevent_the_end() {
    let lab = Lab::new();
    for user in User::all() {
        for (way, end) in [("is stopped", "echo 'stop me'; sleep"), ("ends by itself", "exit 0; :")] {
            let sleep = unique_sleep();
            let script = format!(
                "(setsid env -i sleep {sleep} >/dev/null 2>&1 &)
                 trap '' TERM INT; kill -STOP $PPID; {end} {sleep}"
            );
            let lines = lab.run(user, &["free".to_owned()], &script);
            assert!(lines.contains(&"gone: 0 left".to_owned()), "{way} {user:?} {lines:?}");
            assert!(!is_running(&sleep), "{way} {user:?}");
        }
    }
}

#[test]
fn a_hidden_file_may_vanish_while_the_session_starts() {
    let lab = Lab::new();
    let workspace = lab.open_directory("workspace");
    let sockets: Vec<_> = (0..200).map(|number| workspace.join(format!("{number}.sock"))).collect();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let settings: Vec<_> = sockets.iter().map(|path| setting("x", path)).chain([setting("w", &workspace)]).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                sockets.iter().for_each(|path| fs::write(path, "").unwrap());
                sockets.iter().for_each(|path| fs::remove_file(path).unwrap());
            }
        });
        let runs: Vec<_> = (0..20).map(|_| lab.run(User::Current, &settings, "echo tried")).collect();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        for lines in runs {
            assert!(lines.iter().any(|line| line == "tried"), "{lines:?}");
        }
    });
}

/// A control group that belongs to a user, as systemd delegates one. Only root can make it.
struct DelegatedGroup(PathBuf);

impl DelegatedGroup {
    fn new(user: User) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        let mount = mounts.lines().find(|line| line.contains(" cgroup2 "))?.split(' ').nth(1)?;
        let path = Path::new(mount).join(format!("test-{}", unique_sleep()));
        fs::create_dir(&path).ok()?;
        user.own(&path);
        user.own(&path.join("cgroup.procs"));
        Some(Self(path))
    }

    /// A command that starts a program inside.
    #[expect(clippy::disallowed_methods, reason = "the holder is started in a control group")]
    fn command(&self, user: User, program: &Path) -> Command {
        let inner = user.command(program);
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.0.display())).arg("sh");
        command.arg(inner.get_program()).args(inner.get_args());
        command
    }

    fn nested(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).unwrap().flatten().map(|entry| entry.path());
        entries.filter(|path| path.is_dir()).collect()
    }
}

impl Drop for DelegatedGroup {
    fn drop(&mut self) {
        drop(fs::write(self.0.join("cgroup.kill"), "1"));
        self.nested().iter().for_each(|path| drop(fs::remove_dir(path)));
        drop(fs::remove_dir(&self.0));
    }
}

#[test]
fn a_delegated_control_group_holds_every_process() {
    let lab = Lab::new();
    let workspace = lab.open_directory("workspace");
    for user in User::all() {
        let Some(group) = DelegatedGroup::new(user) else {
            let lines = lab.run(user, &[setting("w", &workspace)], "true");
            assert!(lines.iter().any(|line| line.starts_with("missing: cgroup: ")), "{lines:?}");
            continue;
        };
        let script = format!(
            "grep -q '^0::.*/switchboard-' /proc/self/cgroup || echo escaped: not in a group
             echo $$ > {group}/cgroup.procs && echo escaped: left the group
             mkdir {group}/other && echo escaped: created a group
             echo tried",
            group = group.0.display()
        );
        let lines = lab.run_command(group.command(user, &lab.agent), &[setting("w", &workspace)], &script);
        assert!(lines.iter().any(|line| line == "tried"), "{user:?} {lines:?}");
        assert!(!lines.iter().any(|line| line.starts_with(ESCAPED) || line.contains("missing: cgroup")), "{lines:?}");
        assert_eq!(group.nested(), Vec::<PathBuf>::new(), "{user:?}");
    }
}

#[test]
fn a_control_group_is_cleared_after_its_owner_was_killed() {
    let lab = Lab::new();
    for user in User::all() {
        let Some(group) = DelegatedGroup::new(user) else { continue };
        // The orphan has dropped its mark and its parents, and everything that could kill it dies first. The pattern
        // matches a whole command line: this script also contains the words. The holder is stopped before the
        // supervisor dies, so that it cannot react. The other way around would wake a stopped supervisor: the kernel
        // sends SIGCONT to a process group that loses its last parent.
        let sleep = unique_sleep();
        let script = format!(
            "(setsid sh -c 'setsid env -i /bin/sleep {sleep} & ' >/dev/null 2>&1 &)
             while ! pgrep -x -f '/bin/sleep {sleep}' >/dev/null; do sleep 0.01; done
             holder=$(ps -o ppid= -p $PPID)
             setsid sh -c \"kill -STOP $holder; kill -9 $PPID $holder\" &
             wait"
        );
        let mut holder = group.command(user, &lab.agent);
        holder.args(["shell", "free", &script]).env_clear().current_dir("/");
        let output = holder.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert!(!output.success() && is_running(&sleep), "{user:?} {output}");
        let lines = lab.run_command(group.command(user, &lab.agent), &["recover".to_owned()], "true");
        assert_eq!(lines, ["recovered"]);
        assert!(!is_running(&sleep) && group.nested().is_empty(), "{user:?}");
    }
}
