//! Attempts of a hostile agent from inside of a sandbox, as root and as an ordinary user. Each attempt succeeds without
//! the sandbox, unless the kernel forbids it to all users.

use std::{
    fs,
    net::TcpListener,
    os::{
        linux::net::SocketAddrExt as _,
        unix::{
            fs::{PermissionsExt as _, chown},
            net::{SocketAddr, UnixListener},
        },
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::fixtures::{FAKE_AGENT, TestDirectory, session};

/// An ordinary user that every system has.
const ORDINARY_USER_ID: &str = "65534";

/// A directory for ordinary users with a copy of the fake agent: they may not enter the build directory.
struct SandboxFixture {
    directory: TestDirectory,
    agent: PathBuf,
    /// A directory that the sandbox permits to write.
    workspace: PathBuf,
}

impl SandboxFixture {
    fn new() -> Self {
        let directory = TestDirectory::new();
        fs::set_permissions(&directory.0, fs::Permissions::from_mode(0o777)).unwrap();
        let agent = directory.0.join("switchboard-fake-agent");
        // A copy cannot run while a process that another test has just started still has it open for writing.
        if fs::hard_link(FAKE_AGENT, &agent).is_err() {
            fs::copy(FAKE_AGENT, &agent).unwrap();
        }
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
        let workspace = open_directory(&directory.0.join("workspace"));
        Self { directory, agent, workspace }
    }

    fn open_directory(&self, name: &str) -> PathBuf {
        open_directory(&self.directory.0.join(name))
    }

    fn writable(&self) -> String {
        setting("w", &self.workspace)
    }

    /// Runs a script in a sandbox with one writable directory, as each user; no line of it may be `escaped`.
    fn check_held(&self, settings: &[String], script: &str) {
        let settings = [&[self.writable()], settings].concat();
        for user in TestUser::all() {
            let lines = self.run_to_end(user, &settings, script);
            assert!(lines.last().is_some_and(|line| line.starts_with("exit: Some(")), "{user:?} {lines:?}");
        }
    }

    /// Runs a script that prints `tried` at its end, and `escaped` where an attempt succeeds.
    fn run_to_end(&self, user: TestUser, settings: &[String], script: &str) -> Vec<String> {
        let lines = self.run(user, settings, script);
        check_lines(&lines);
        lines
    }

    fn run(&self, user: TestUser, settings: &[String], script: &str) -> Vec<String> {
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
enum TestUser {
    Current,
    Ordinary,
}

impl TestUser {
    /// Returns the users that tests can run as: only root can become another user.
    fn all() -> Vec<Self> {
        let is_root = rustix::process::geteuid().is_root();
        [Self::Current].into_iter().chain(is_root.then_some(Self::Ordinary)).collect()
    }

    /// Makes the user the owner of a file.
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

/// Creates a directory that every user may write, as far as the sandbox permits.
fn open_directory(path: &Path) -> PathBuf {
    fs::create_dir(path).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    path.to_owned()
}

fn open_file(path: PathBuf, text: &str) -> PathBuf {
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    path
}

fn setting(kind: &str, path: &Path) -> String {
    format!("{kind}={}", path.display())
}

/// The line that a script prints when an attempt succeeded.
const ESCAPED: &str = "escaped";

#[track_caller]
fn check_lines(lines: &[String]) {
    assert!(!lines.iter().any(|line| line.starts_with(ESCAPED)), "{lines:#?}");
    assert!(lines.iter().any(|line| line == "tried"), "{lines:#?}");
}

#[test]
fn it_cannot_signal_or_see_other_processes() {
    let fixture = SandboxFixture::new();
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
    fixture.check_held(&[], &script);
}

#[test]
fn it_cannot_trace_or_use_refused_system_calls() {
    let fixture = SandboxFixture::new();
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
        fixture.check_held(&[], script);
    }
}

#[test]
fn it_cannot_type_into_terminals() {
    let fixture = SandboxFixture::new();
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
    fixture.check_held(&[], &script);
}

#[test]
fn it_has_no_privileges_and_gains_none() {
    let fixture = SandboxFixture::new();
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
    fixture.check_held(&[], script);
}

#[test]
fn it_cannot_change_anything_about_files_elsewhere() {
    let fixture = SandboxFixture::new();
    let (workspace, other) = (&fixture.workspace, fixture.open_directory("other"));
    let file = open_file(other.join("file"), "as it was");
    // Outside of a sandbox it works, or the attempt would prove nothing.
    let set_attribute = "perl -e 'my ($path, $name, $value) = qw(file user.switchboard 1);
        exit !(syscall(188, $path, $name, $value, 1, 0) == 0)'";
    for user in TestUser::all() {
        let script = format!("cd {} && {set_attribute} && echo works", other.display());
        if !fixture.run(user, &["free".to_owned()], &script).contains(&"works".to_owned()) {
            eprintln!("NOT TESTED: extended attributes, which this file system or processor does not offer ({user:?})");
        }
    }
    let script = format!(
        "cd {other}
        chmod 600 file && echo escaped mode
        touch -d 2001-01-01 file && echo escaped time
        chown $(id -u) file && echo escaped owner
        {set_attribute} && echo escaped attribute
        chattr +A file 2>/dev/null && echo escaped flag
        echo more >> file && echo escaped append
        ln file {workspace}/link && echo escaped link
        mv file {workspace}/moved && echo escaped move
        cp {workspace}/../other/file {workspace}/copy-$(id -u) || echo escaped cannot copy
        echo inside > {workspace}/new-$(id -u) || echo escaped cannot write
        echo tried",
        other = other.display(),
        workspace = workspace.display(),
    );
    fixture.check_held(&[], &script);
    assert_eq!(fs::read_to_string(file).unwrap(), "as it was");
}

#[test]
fn protected_paths_stay_as_they_are() {
    let fixture = SandboxFixture::new();
    for user in TestUser::all() {
        let workspace = fixture.open_directory(&format!("workspace-{user:?}"));
        for directory in [".git", ".git/hooks", ".git/modules", ".git/modules/sub", ".git/modules/sub/hooks"] {
            open_directory(&workspace.join(directory));
        }
        let config = open_file(workspace.join(".git/config"), "[core]");
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
        fixture.run_to_end(user, &settings, script);
        assert_eq!(fs::read_to_string(config).unwrap(), "[core]");
        assert_eq!(fs::read_dir(workspace.join(".git/hooks")).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(workspace.join(".git/index")).unwrap(), "new\n");
    }
}

#[test]
fn hidden_paths_appear_empty_and_views_keep_some_entries() {
    let fixture = SandboxFixture::new();
    for user in TestUser::all() {
        let secrets = fixture.open_directory(&format!("secrets-{user:?}"));
        let state = fixture.open_directory(&format!("state-{user:?}"));
        open_file(secrets.join("inner"), "hidden");
        let token = open_file(fixture.directory.0.join(format!("token-{user:?}")), "hidden");
        for (name, text) in [("settings.json", "mine"), ("login", "old token")] {
            open_file(state.join(name), text);
        }
        open_directory(&state.join("sessions"));
        // A layer can only copy files that belong to the user.
        for path in ["", "settings.json", "login", "sessions"].map(|name| state.join(name)) {
            user.own(&path);
        }
        let view = format!("v={}:sessions,login", state.display());
        let settings = [fixture.writable(), setting("x", &secrets), setting("x", &token), view];
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
        fixture.run_to_end(user, &settings, &script);
        let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
        assert_eq!(read(state.join("settings.json")), "mine");
        assert_eq!(read(state.join("login")), "new token\n");
        assert_eq!(read(state.join("sessions/1")), "session\n");
        assert!(!state.join("cache").exists() && !state.join("new").exists());
    }
}

#[test]
fn it_cannot_reach_abstract_sockets() {
    let fixture = SandboxFixture::new();
    let name = session();
    let _listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let script = format!(
        r#"perl -e 'use Socket; socket(my $s, PF_UNIX, SOCK_STREAM, 0);
            print "escaped\n" if connect($s, pack("S a*", AF_UNIX, "\0{name}"))'
        echo tried"#
    );
    fixture.check_held(&[], &script);
    let lines = fixture.run(TestUser::Current, &["free".to_owned()], &script);
    assert!(lines.contains(&ESCAPED.to_owned()), "the attempt works without a sandbox: {lines:?}");
}

#[test]
fn it_cannot_limit_the_first_process_of_its_session() {
    let fixture = SandboxFixture::new();
    // SYS_prlimit64 and RLIMIT_NOFILE: allowed for the process itself.
    let call = |process: &str| {
        let number = libc::SYS_prlimit64;
        format!(r#"perl -e 'my $l = pack("QQ", 16, 16); exit(syscall({number}, {process}, 7, $l, 0) == 0 ? 0 : 1)'"#)
    };
    let script = format!("{} && echo {ESCAPED}; {} || echo {ESCAPED}; echo tried", call("1"), call("0"));
    fixture.check_held(&[], &script);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a shell opens the files before the holder starts")]
fn it_inherits_no_open_files() {
    let fixture = SandboxFixture::new();
    let outside = open_file(fixture.directory.0.join("outside"), "");
    for sandbox in [vec![fixture.writable()], vec!["free".to_owned()]] {
        let mut command = Command::new("sh");
        command.args(["-c", "exec 7</ 8>>\"$1\"; shift; exec \"$@\"", "sh"]).arg(&outside).arg(&fixture.agent);
        let script = "ls /proc/self/fd/7/ && echo escaped; echo escaped >&8; echo tried";
        let lines = fixture.run_command(command, &sandbox, script);
        check_lines(&lines);
        assert_eq!(fs::read_to_string(&outside).unwrap(), "");
    }
}

#[test]
fn a_private_directory_in_a_protected_one_can_be_written() {
    let fixture = SandboxFixture::new();
    let data = open_directory(&fixture.workspace.join("data"));
    let settings = [fixture.writable(), setting("w", &open_directory(&data.join("tmp"))), setting("p", &data)];
    let script = format!(
        "echo x > {0}/tmp/file && rm {0}/tmp/file && echo written; echo x > {0}/file && echo escaped",
        data.display()
    );
    for user in TestUser::all() {
        let lines = fixture.run(user, &settings, &script);
        assert!(lines.contains(&"written".to_owned()) && !lines.contains(&ESCAPED.to_owned()), "{lines:?}");
    }
}

/// Returns all attempts of a program to reach a server or a network. One that succeeds is an escape.
fn network_attempts(tcp: u16, tcp6: Option<u16>) -> Vec<String> {
    let connect = |family: &str, address: &str| {
        format!(r#"socket(my $s, {family}, SOCK_STREAM, 0) and connect($s, {address}) and print "escaped\n";"#)
    };
    let open = |family: i32, kind: &str, protocol: i32| {
        format!(r#"socket(my $s, {family}, {kind}, {protocol}) and print "escaped\n";"#)
    };
    let mut attempts = vec![
        connect("PF_INET", &format!(r#"pack_sockaddr_in({tcp}, inet_aton("127.0.0.1"))"#)),
        connect("PF_INET", r#"pack_sockaddr_in(53, inet_aton("192.0.2.1"))"#),
        format!(
            r#"socket(my $s, PF_INET, SOCK_DGRAM, 0) and send($s, "x", 0, pack_sockaddr_in(53, inet_aton("192.0.2.1")))
               and print "escaped\n";"#
        ),
        open(libc::AF_INET, "SOCK_RAW", libc::IPPROTO_ICMP),
        open(libc::AF_INET, "SOCK_DGRAM", libc::IPPROTO_ICMP),
        open(libc::AF_PACKET, "SOCK_RAW", 768),
        open(libc::AF_VSOCK, "SOCK_STREAM", 0),
        open(libc::AF_ALG, "SOCK_SEQPACKET", 0),
        open(libc::AF_BLUETOOTH, "SOCK_RAW", 1),
    ];
    attempts.extend(
        tcp6.map(|port| connect("PF_INET6", &format!(r#"pack_sockaddr_in6({port}, inet_pton(AF_INET6, "::1"))"#))),
    );
    attempts
}

#[test]
fn it_cannot_reach_any_network() {
    let fixture = SandboxFixture::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let listener6 = TcpListener::bind("[::1]:0").ok();
    let port = |listener: &TcpListener| listener.local_addr().unwrap().port();
    let attempts = network_attempts(port(&listener), listener6.as_ref().map(port));
    let script = |attempts: &[String]| {
        let lines = attempts.iter().map(|attempt| format!("perl -e 'use Socket qw(:all); {attempt}'\n"));
        format!(
            "{}\nip link 2>/dev/null | grep -v ' lo:' | grep -q ': ' && echo escaped\necho tried",
            lines.collect::<String>()
        )
    };
    fixture.check_held(&["isolated".to_owned()], &script(&attempts));
    let first = attempts.get(..1).unwrap();
    let lines = fixture.run(TestUser::Current, &["free".to_owned()], &script(first));
    assert!(lines.contains(&ESCAPED.to_owned()), "the attempt works without a sandbox: {lines:?}");
    let lines = fixture.run(TestUser::Current, &[fixture.writable()], &script(first));
    assert!(lines.contains(&ESCAPED.to_owned()), "only an isolated network is limited: {lines:?}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the holder is started where the kernel gives less")]
fn without_namespaces_it_is_refused_or_weaker() {
    let fixture = SandboxFixture::new();
    let run = |kind: &str, settings: &[&str]| {
        let mut command = Command::new("unshare");
        let limit = format!("echo 0 > /proc/sys/user/max_{kind}_namespaces && exec \"$@\"");
        command.args(["-r", "sh", "-c", &limit, "sh"]);
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").arg(&fixture.agent);
        let settings: Vec<_> = [fixture.writable(), "isolated".to_owned()]
            .into_iter()
            .chain(settings.iter().map(|setting| (*setting).to_owned()))
            .collect();
        let script = "echo ran with ${HTTP_PROXY-no proxy}";
        command.arg("shell").args(&settings).arg(script).current_dir("/");
        let output = command.stdin(Stdio::null()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for (kind, feature) in [("net", "network-namespace"), ("pid", "pid-namespace"), ("mnt", "mount-namespace")] {
        let refused = run(kind, &[]);
        let is_named = refused.contains(&format!("{feature} is not available"));
        assert!(refused.contains("refused:") && is_named && !refused.contains("ran with"), "{kind}: {refused}");
        let weaker = run(kind, &["best-effort"]);
        assert!(weaker.contains(&format!("missing: {feature}")) && weaker.contains("ran with"), "{kind}: {weaker}");
        assert!(kind != "net" || weaker.contains("ran with no proxy"), "{weaker}");
    }
}

#[test]
fn listeners_of_its_network_have_any_port_or_it_is_refused() {
    let fixture = SandboxFixture::new();
    let connect = "perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(PeerAddr => q(127.0.0.1:80)) ? qq(connected\n) : qq(refused\n)'";
    for user in TestUser::all() {
        let run = |settings: &[&str]| {
            let settings: Vec<_> =
                [fixture.writable()].into_iter().chain(settings.iter().map(|text| (*text).to_owned())).collect();
            fixture.run(user, &settings, connect)
        };
        let lines = run(&["l=127.0.0.1:80"]);
        assert!(lines.contains(&"connected".to_owned()), "{user:?} {lines:?}");
        // Once it has left the network of the machine, there is no way back.
        for settings in [&["l=192.0.2.1:80"][..], &["l=192.0.2.1:80", "best-effort"]] {
            let lines = run(settings);
            let is_refused = |line: &String| line.starts_with("refused:") && line.contains("listen on 192.0.2.1:80");
            assert!(lines.iter().any(is_refused), "{user:?} {lines:?}");
        }
    }
}

/// Returns whether a `sleep` process with this argument runs.
fn is_running(argument: &str) -> bool {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok()).any(|command| {
        let mut words = command.split(|byte| *byte == 0);
        words.next().is_some_and(|program| program.ends_with(b"sleep")) && words.any(|word| word == argument.as_bytes())
    })
}

fn unique_sleep() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{}.{number}", 1_000_000 + std::process::id())
}

#[test]
fn nothing_outlives_a_confined_agent() {
    let fixture = SandboxFixture::new();
    for user in TestUser::all() {
        let sleep = unique_sleep();
        let script = format!("(setsid env -i sleep {sleep} >/dev/null 2>&1 &); kill -9 $PPID; kill -9 -1; echo tried");
        fixture.run(user, &[fixture.writable()], &script);
        assert!(!is_running(&sleep), "{user:?}");
    }
}

#[test]
fn orphans_of_a_killed_supervisor_are_killed() {
    let fixture = SandboxFixture::new();
    for user in TestUser::all() {
        let sleep = unique_sleep();
        // A grandchild without the mark, in a session of its own.
        let script = format!(
            "(setsid sh -c 'setsid env -i /bin/sleep {sleep} & ' >/dev/null 2>&1 &)
             while ! pgrep -f 'sleep {sleep}' >/dev/null; do :; done; kill -9 $PPID"
        );
        let lines = fixture.run(user, &["free".to_owned()], &script);
        assert!(lines.contains(&"gone: 0 left".to_owned()), "{lines:?}");
        assert!(!is_running(&sleep), "{user:?}");
    }
}

#[test]
fn a_stopped_supervisor_cannot_prevent_the_end() {
    let fixture = SandboxFixture::new();
    for user in TestUser::all() {
        for (way, end) in [("is stopped", "echo 'stop me'; sleep"), ("ends by itself", "exit 0; :")] {
            let sleep = unique_sleep();
            let script = format!(
                "(setsid env -i sleep {sleep} >/dev/null 2>&1 &)
                 trap '' TERM INT; kill -STOP $PPID; {end} {sleep}"
            );
            let lines = fixture.run(user, &["free".to_owned()], &script);
            assert!(lines.contains(&"gone: 0 left".to_owned()), "{way} {user:?} {lines:?}");
            assert!(!is_running(&sleep), "{way} {user:?}");
        }
    }
}

#[test]
fn a_hidden_file_may_vanish_while_the_session_starts() {
    let fixture = SandboxFixture::new();
    let sockets: Vec<_> = (0..200).map(|number| fixture.workspace.join(format!("{number}.sock"))).collect();
    let is_over = AtomicBool::new(false);
    let settings: Vec<_> = sockets.iter().map(|path| setting("x", path)).chain([fixture.writable()]).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                sockets.iter().for_each(|path| fs::write(path, "").unwrap());
                sockets.iter().for_each(|path| fs::remove_file(path).unwrap());
            }
        });
        let runs: Vec<_> = (0..20).map(|_| fixture.run(TestUser::Current, &settings, "echo tried")).collect();
        is_over.store(true, Ordering::Relaxed);
        runs.iter().for_each(|lines| check_lines(lines));
    });
}

/// A control group that belongs to a user, as systemd delegates one. Only root can create it.
struct DelegatedGroup(PathBuf);

impl DelegatedGroup {
    fn new(user: TestUser) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        let mount = mounts.lines().find(|line| line.contains(" cgroup2 "))?.split(' ').nth(1)?;
        let path = Path::new(mount).join(format!("test-{}", unique_sleep()));
        fs::create_dir(&path).ok()?;
        user.own(&path);
        user.own(&path.join("cgroup.procs"));
        Some(Self(path))
    }

    #[expect(clippy::disallowed_methods, reason = "the holder is started in a control group")]
    fn command(&self, user: TestUser, program: &Path) -> Command {
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
    let fixture = SandboxFixture::new();
    for user in TestUser::all() {
        let Some(group) = DelegatedGroup::new(user) else {
            let lines = fixture.run(user, &[fixture.writable()], "true");
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
        let lines = fixture.run_command(group.command(user, &fixture.agent), &[fixture.writable()], &script);
        check_lines(&lines);
        assert!(!lines.iter().any(|line| line.contains("missing: cgroup")), "{lines:?}");
        assert_eq!(group.nested(), Vec::<PathBuf>::new(), "{user:?}");
    }
}

#[test]
fn a_control_group_is_cleared_after_its_owner_was_killed() {
    let fixture = SandboxFixture::new();
    for user in TestUser::all() {
        // The next process may be started elsewhere, for example in another terminal.
        let (Some(group), Some(elsewhere)) = (DelegatedGroup::new(user), DelegatedGroup::new(user)) else {
            eprintln!("NOT TESTED: control groups, since none can be created here ({user:?})");
            continue;
        };
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
        let mut holder = group.command(user, &fixture.agent);
        holder.args(["shell", "free", &script]).env_clear().current_dir("/");
        let output = holder.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        assert!(!output.success() && is_running(&sleep), "{user:?} {output}");
        let lines = fixture.run_command(elsewhere.command(user, &fixture.agent), &["recover".to_owned()], "true");
        assert_eq!(lines, ["recovered"]);
        assert!(!is_running(&sleep) && group.nested().is_empty(), "{user:?}");
    }
}
