//! A zygote that its application controls: a boot script runs in it as the pool's user and sends
//! messages on its control socket. An invalid message ends its generation. The server, a second
//! pool and a process of root continue to work.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};

use howdah_testkit::process::wait_until;
use howdah_testkit::{PATIENCE, Server, howdah_php};
use howdah_tests::admin::Admin;
use serde_json::json;

/// Sends the message of `lie.json` once, when the first worker runs. The sender is a child that
/// outlives the zygote.
const LIAR: &str = r"<?php
$lie = @file_get_contents(__DIR__ . '/lie.json');
if ($lie && unlink(__DIR__ . '/lie.json')) {
    tell(json_decode($lie));
}
while (frankenphp_handle_request(function () {
    echo 'app';
}));

function tell(object $lie): void {
    $c = FFI::cdef('
        int fork(void); int kill(int, int); void _exit(int); int usleep(unsigned);
        long syscall(long, ...); int getsockopt(int, int, int, int *, unsigned *);
        ssize_t recv(int, void *, size_t, int);
        struct iovec { void *base; size_t size; };
        struct msghdr { void *name; unsigned name_size; struct iovec *parts; size_t count;
                        void *control; size_t control_size; int flags; };
        ssize_t sendmsg(int, struct msghdr *, int);', 'libc.so.6');
    $zygote = getmypid();
    if ($c->fork() !== 0) {
        return;
    }
    $socket = -1;
    for ($fd = 3; $fd < 64; $fd++) {
        [$type, $size] = [$c->new('int'), $c->new('unsigned')];
        $size->cdata = 4;
        if ($c->getsockopt($fd, 1, 3, FFI::addr($type), FFI::addr($size)) === 0 && $type->cdata === 5) {
            $socket = $fd;
        }
    }
    // Its first worker serves.
    while (!($worker = child_of($zygote))) {
        $c->usleep(1000);
    }
    if ($lie->instead ?? false) {
        // The zygote, whose boot is over, does not answer, and is asked for a worker.
        while (!@unlink(__DIR__ . '/go')) {
            $c->usleep(1000);
        }
        $c->kill($zygote, 19);
        $c->kill($worker, 9);
        $order = $c->new('char[64]');
        $c->recv($socket, FFI::addr($order), 64, 2); // which stays there
        $lie->worker = unpack('V', FFI::string($order, 8), 4)[1];
    }
    $text = $lie->data ?? '';
    $head = pack('VVVVVV', $lie->kind, $lie->worker ?? 0, $lie->pid ?? 0, $lie->status ?? 0,
        $lie->size ?? strlen($text), $lie->reserved ?? 0);
    $bytes = $c->new('char[65536]');
    FFI::memcpy($bytes, $head . $text, strlen($head . $text));
    $part = $c->new('struct iovec');
    $part->base = FFI::addr($bytes);
    $part->size = $lie->cut ?? strlen($head . $text);
    $message = $c->new('struct msghdr');
    $message->parts = FFI::addr($part);
    $message->count = 1;
    $fds = array_fill(0, $lie->fds ?? 0, isset($lie->pidfd) ? (int) $c->syscall(434, $lie->pidfd, 0) : 0);
    $control = $c->new('char[1024]');
    if ($fds) {
        $rights = pack('PVV', 16 + 4 * count($fds), 1, 1) . pack('V*', ...$fds);
        FFI::memcpy($control, $rights, strlen($rights));
        $message->control = FFI::addr($control);
        $message->control_size = (strlen($rights) + 7) & ~7;
    }
    $end = hrtime(true) + 20e9;
    while ($c->sendmsg($socket, FFI::addr($message), 0x4000) >= 0 && hrtime(true) < $end) {
        if (!($lie->flood ?? false)) {
            $c->usleep(2000);
        }
    }
    $c->kill($zygote, 9);
    $c->_exit(0);
}

function child_of(int $parent): int {
    foreach (glob('/proc/[0-9]*/stat') as $file) {
        $fields = explode(' ', preg_replace('/^.*\) /s', '', (string) @file_get_contents($file)));
        $pid = (int) explode('/', $file)[2];
        if (($fields[1] ?? 0) == $parent && $pid !== getmypid_of_this()) {
            return $pid;
        }
    }
    return 0;
}

function getmypid_of_this(): int {
    return (int) basename(readlink('/proc/self'));
}
";

struct Victim(Child);

impl Victim {
    fn new() -> Self {
        Self(Command::new("sleep").arg("600").spawn().expect("a process"))
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().expect("a child").is_none()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Creates a file whose reader may remove it at once. It is complete when it appears.
fn write(path: &Path, text: &str, mode: u32) {
    let new = path.with_extension("new");
    std::fs::write(&new, text).expect("written");
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(mode)).expect("changed");
    std::fs::rename(new, path).expect("renamed");
}

fn folder(path: &Path, mode: u32) {
    std::fs::create_dir_all(path).expect("made");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("changed");
}

#[test]
fn false_messages_of_a_zygote_harm_no_other_process() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("left out: only root can change users");
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    folder(dir.path(), 0o755);
    folder(&dir.path().join("www"), 0o755);
    // The folder is writable for the sender, which removes the file.
    folder(&dir.path().join("app"), 0o777);
    folder(&dir.path().join("bin"), 0o755);
    for name in ["howdah-php", "howdah-php.so"] {
        let to = dir.path().join("bin").join(name);
        std::fs::copy(howdah_php().with_file_name(name), &to).expect("copied");
    }
    write(
        &dir.path().join("www/index.php"),
        "<?php echo 'php';",
        0o644,
    );
    write(&dir.path().join("app/liar.php"), LIAR, 0o644);
    let root = dir.path().display();
    let text = format!(
        "{{\nadmin localhost:0\nfrankenphp {{\nphp_ini ffi.enable 1\nnum_threads 1\nuser www-data\n}}\n}}\n\
         http://:0 {{\nbind 127.0.0.1\nroot * {root}/www\nrespond /front front\nphp_server {{\n\
         worker {{\nname app\nfile {root}/app/liar.php\nnum 1\nmatch /app\n}}\n}}\n}}\n"
    );
    let server = Server::caddyfile(text).env("TMPDIR", dir.path()).start();
    let admin = Admin::of(&server);
    let mut victim = Victim::new();
    let pid = victim.0.id();
    let cases = [
        (json!({"kind": 6, "pid": pid}), "Spawned with 0 descriptors"),
        (
            json!({"kind": 6, "pid": pid, "fds": 1, "pidfd": pid}),
            "Spawned for worker 0",
        ),
        (
            json!({"kind": 6, "pid": pid, "fds": 1, "pidfd": pid, "instead": true}),
            "which does not run as user 33",
        ),
        (
            json!({"kind": 6, "pid": pid + 1, "fds": 1, "pidfd": pid, "instead": true}),
            "with the descriptor of process",
        ),
        (
            json!({"kind": 6, "pid": pid, "fds": 1, "instead": true}),
            "a descriptor that is not a pidfd",
        ),
        (
            json!({"kind": 6, "pid": pid, "fds": 100, "pidfd": pid}),
            "Spawned with 4 descriptors",
        ),
        (
            json!({"kind": 6, "worker": 4_000_000_000_u32, "pid": pid, "fds": 1, "pidfd": pid}),
            "number 4000000000",
        ),
        (
            json!({"kind": 7, "pid": pid, "status": 9, "worker": 60000}),
            "Exited with number 60000",
        ),
        (
            json!({"kind": 7, "pid": -1, "status": 9}),
            "Exited with process -1",
        ),
        (
            json!({"kind": 8, "status": 11, "data": "no\nsuch \u{1b}[31mthing"}),
            "Failed for worker 0",
        ),
        (json!({"kind": 9, "status": 0}), "Booted a second time"),
        (
            json!({"kind": 9, "status": 77, "data": "x"}),
            "Booted a second time",
        ),
        (json!({"kind": 2, "data": "{}"}), "unexpected Ready"),
        (
            json!({"kind": 3, "pid": pid, "fds": 1, "pidfd": pid}),
            "unexpected PoolStarted",
        ),
        (json!({"kind": 4, "pid": pid}), "unexpected PoolExited"),
        (json!({"kind": 1, "data": "pool"}), "unexpected Pool"),
        (json!({"kind": 12, "worker": 0}), "unexpected Kill"),
        (json!({"kind": 99}), "of a different version"),
        (
            json!({"kind": 7, "pid": pid, "reserved": 5}),
            "of a different version",
        ),
        (
            json!({"kind": 7, "pid": pid, "size": 1000}),
            "of a different version",
        ),
        (
            json!({"kind": 7, "pid": pid, "cut": 11}),
            "of a different version",
        ),
        (
            json!({"kind": 8, "data": "x".repeat(20000), "flood": true}),
            "Failed with 20000 bytes",
        ),
    ];
    server.allow_log("control message");
    for (lie, said) in cases {
        let seen = server.log().containing(said).len();
        let reported = (0..6).any(|_| {
            write(&dir.path().join("app/lie.json"), &lie.to_string(), 0o666);
            // The message may arrive before or after the end of the reload. If a generation ends
            // for a different reason before the message is sent, the next generation sends it.
            admin.post("/reload?pool=app");
            if lie["instead"] == true {
                write(&dir.path().join("app/go"), "", 0o666);
            }
            wait_until(PATIENCE / 6, || server.log().containing(said).len() > seen)
        });
        assert!(reported, "{lie}");
        assert!(victim.lives(), "{lie}");
        server.get("/front").assert(200, "front");
        server.get("/").assert(200, "php");
        server.get("/app").assert(200, "app");
    }
    for line in server.log().containing("control message") {
        assert_eq!(line.text("pool"), Some("app"), "{}", line.raw);
        assert!(!line.raw.contains('\u{1b}'), "{}", line.raw);
    }
    server.stop();
    assert!(victim.lives());
}
