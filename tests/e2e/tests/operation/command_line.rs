//! Commands and flags, as far as no server comes of them.

use std::process::Command;

use howdah_testkit::{ServerBuilder, howdah};
use howdah_tests::{caddyfile, www};

fn output(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn as_frankenphp_it_tells_which_version_it_stands_for() {
    let dir = tempfile::tempdir().expect("a directory");
    let alias = dir.path().join("frankenphp");
    std::os::unix::fs::symlink(howdah(), &alias).expect("a link");
    let info = output(Command::new(&alias).arg("build-info"));
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("dep\tgithub.com/dunglas/frankenphp\tv"))
        .unwrap_or_else(|| panic!("no line of frankenphp in {info}"));
    let numbers: Vec<u32> = line
        .split('.')
        .map(|n| n.parse().expect("a number"))
        .collect();
    assert!(numbers.len() == 3 && numbers >= vec![1, 3, 0], "{line}");
    // Other commands are the same under both names, and PHP is found beside the real program.
    assert_eq!(
        output(Command::new(&alias).arg("version")),
        output(Command::new(howdah()).arg("version"))
    );
    let own = output(Command::new(howdah()).arg("build-info"));
    assert!(own.contains(env!("CARGO_PKG_VERSION")), "{own}");
    assert!(!own.contains("frankenphp"), "{own}");
}

#[test]
fn numbers_have_bounds() {
    for (flag, value, message) in [
        ("--front-threads", "17", "from 1 to 16"),
        ("--front-threads", "0", "from 1 to 16"),
        ("--workers", "256", "from 1 to 255"),
        ("--worker", "a.php,0", "from 1 to 255"),
        ("--worker", ",2", "FILE or FILE,N"),
    ] {
        ServerBuilder::command(["php-server", flag, value])
            .run()
            .assert(2, message);
    }
    let file = tempfile::NamedTempFile::new().expect("a file");
    let text = caddyfile("frankenphp {\n front_threads 17\n}", "respond ok");
    std::fs::write(file.path(), text).expect("written");
    let ended = ServerBuilder::command(["run", "-c"]).arg(file.path()).run();
    ended.assert(2, ":3:");
    ended.assert(
        2,
        "17 front threads are too many; give a number from 1 to 16",
    );
}

#[test]
fn watching_and_workers_need_a_script_that_is_there() {
    ServerBuilder::command(["php-server", "--watch"])
        .run()
        .assert(2, "--worker");
    ServerBuilder::command(["php-server", "--worker", "/nowhere/worker.php", "-r"])
        .arg(www())
        .run()
        .assert(2, "worker script /nowhere/worker.php: No such file");
    ServerBuilder::command(["php-server", "--mercure"])
        .run()
        .assert(2, "--mercure");
}
