//! Functions that a script must not use, because they would affect later requests of the process.

use howdah_testkit::load::at_once;
use howdah_testkit::{Server, Www};

#[test]
fn there_is_no_chroot() {
    // It would stop the worker for all later requests. PHP-FPM does not have it either.
    let www = Www::new().file(
        "a.php",
        "<?php echo function_exists('chroot') ? 'there' : 'absent';",
    );
    let server = Server::builder(&www).workers(1).start();
    server.get("/a.php").assert(200, "absent");
}

#[test]
fn a_forked_child_does_not_answer() {
    let code = "<?php
        if (!function_exists('pcntl_fork')) { exit('parent 7'); }
        echo 'p';
        $pid = pcntl_fork();
        if ($pid === 0) { echo 'child'; flush(); exit(7); }
        pcntl_waitpid($pid, $status);
        echo 'arent ', pcntl_wexitstatus($status);";
    let www = Www::new()
        .file("fork.php", code)
        .file("pid.php", "<?php echo getmypid();");
    let server = Server::builder(&www).workers(1).start();
    let pid = server.get("/pid.php").text();
    at_once(20, |_| server.get("/fork.php").assert(200, "parent 7"));
    server.get("/pid.php").assert(200, &pid);
}

#[test]
fn programs_that_it_starts_get_none_of_the_server_s_files() {
    let code = "<?php passthru('for f in /proc/self/fd/*; do readlink $f; done');";
    let www = Www::new().file("fds.php", code);
    let server = Server::builder(&www).workers(1).start();
    let open = server.get("/fds.php").text();
    assert!(!open.is_empty());
    let spool = server.temp_dir().display().to_string();
    for kind in ["memfd:", "socket:", "anon_inode:", &spool] {
        assert!(!open.contains(kind), "{kind} in {open}");
    }
}
