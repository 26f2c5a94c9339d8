//! Commands and flags that do not start a server.

use std::process::Command;
use std::time::Duration;

use howdah_testkit::{Request, Server, ServerBuilder, free_ports, howdah, process};
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
    // The remaining commands are the same under both names, and PHP is found next to the real
    // program.
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

#[test]
fn commands_describe_what_there_is() {
    let run = |arguments: &[&str]| output(Command::new(howdah()).args(arguments));
    assert_eq!(run(&["--version"]).lines().count(), 1);
    assert!(run(&["help", "run"]).contains("--lenient"));
    let directives = run(&["list-directives"]);
    assert!(
        directives.lines().any(|line| line == "php_server"),
        "{directives}"
    );
    assert!(run(&["list-directives", "--about"]).contains("php_server  "));
    for shell in ["bash", "zsh", "fish"] {
        let text = run(&["completions", shell]);
        assert!(
            text.contains("php-server") && text.contains("lenient"),
            "{shell}"
        );
    }
    let environment = output(Command::new(howdah()).arg("environ").env("SHOWN", "yes"));
    assert!(environment.contains("\nSHOWN=yes\n") && environment.contains("howdah.version="));
    assert!(run(&["php-cli", "-r", "echo 6 * 7;"]).contains("42"));
    assert!(run(&["build-info"]).contains("build\tarch="));
}

#[test]
fn a_start_into_a_pipe_has_no_banner_and_no_colours() {
    let server = ServerBuilder::caddyfile(caddyfile("", "log\n respond OK"))
        .env("TERM", "xterm-256color")
        .start();
    server.get("/piped").assert(200, "OK");
    server.wait_log("/piped");
    for text in ["\u{1b}", "Ctrl+C"] {
        let lines = server.log().containing(text);
        assert!(lines.is_empty(), "{lines:?}");
    }
}

#[test]
fn lost_output_is_a_failure_unless_the_reader_left() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("Caddyfile");
    std::fs::write(&file, ":8080 {\n\trespond hello\n}\n").expect("written");
    let file = file.to_str().expect("text");
    let commands: [&[&str]; 9] = [
        &["help"],
        &["--version"],
        &["version"],
        &["build-info"],
        &["environ"],
        &["completions", "bash"],
        &["hash-password", "--plaintext", "secret", "--cost", "4"],
        &["validate", "--config", file],
        &["fmt", file],
    ];
    for words in commands {
        let run = |output: std::process::Stdio| {
            let mut command = Command::new(howdah());
            command
                .args(words)
                .stdout(output)
                .output()
                .expect("it runs")
        };
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let ended = run(full.expect("a device").into());
        let text = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{words:?}: {text}");
        assert!(
            text.starts_with("howdah: standard output: "),
            "{words:?}: {text}"
        );
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let ended = run(writer.into());
        assert_eq!(ended.status.code(), Some(0), "{words:?}: {ended:?}");
        assert!(ended.stderr.is_empty(), "{words:?}: {ended:?}");
    }
}

#[test]
fn a_configuration_is_shown_as_json() {
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("Caddyfile");
    std::fs::write(&file, ":8080 {\n\trespond {$GREETING:hello}\n}\n").expect("written");
    let adapt = |options: &[&str]| {
        let mut command = Command::new(howdah());
        output(command.arg("adapt").arg("-c").arg(&file).args(options))
    };
    let shown: serde_json::Value = serde_json::from_str(&adapt(&[])).expect("JSON");
    let site = &shown["statements"]["sites"][0];
    assert_eq!(site["addresses"][0], ":8080");
    assert_eq!(site["statements"][0]["arguments"][0], "hello");
    let pretty = adapt(&["--pretty"]);
    assert!(pretty.lines().count() > 5, "{pretty}");
    let same: serde_json::Value = serde_json::from_str(&pretty).expect("JSON");
    assert_eq!(same, shown);
    std::fs::write(&file, ":8080 {\n\tnonsense\n}\n").expect("written");
    let wrong = Command::new(howdah())
        .arg("adapt")
        .arg("-c")
        .arg(&file)
        .output();
    assert_eq!(wrong.expect("it runs").status.code(), Some(2));
}

#[test]
fn a_password_is_hashed_for_basic_auth() {
    let mut child = Command::new(howdah())
        .args(["hash-password", "--cost", "4"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    std::io::Write::write_all(&mut stdin, b"open sesame\n").expect("sent");
    drop(stdin);
    let ended = child.wait_with_output().expect("it ends");
    let hash = String::from_utf8(ended.stdout)
        .expect("text")
        .trim()
        .to_owned();
    assert!(hash.starts_with("$2a$04$") && hash.len() == 60, "{hash}");
    let site = format!("basic_auth {{\n ann {hash}\n }}\n respond {{http.auth.user.id}}");
    let server = Server::caddyfile(caddyfile("", &site)).start();
    server.get("/").assert_status(401);
    let with = |credentials: &str| Request::get("/").header("Authorization", credentials);
    server
        .send(&with("Basic YW5uOm9wZW4gc2VzYW1l"))
        .assert(200, "ann");
    server
        .send(&with("Basic YW5uOm9wZW4gc2F5c2FtZQ=="))
        .assert_status(401);
}

#[test]
fn a_server_in_the_background_is_started_checked_and_stopped() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    let [port, admin] = free_ports();
    // All files are accessible to others, so a server started by root changes to a different user.
    let text = format!(
        "{{\n\tadmin localhost:{admin}\n}}\nhttp://:{port} {{\n\tbind 127.0.0.1\n\trespond ok\n}}\n"
    );
    std::fs::write(path("Caddyfile"), text).expect("written");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(howdah());
        command.arg(arguments[0]).arg("-c").arg(path("Caddyfile"));
        command.args(&arguments[1..]).output().expect("it runs")
    };
    assert_eq!(run(&["healthcheck"]).status.code(), Some(1));
    let (log, pid) = (path("howdah.log"), path("pid"));
    let started = run(&[
        "start",
        "--log",
        log.to_str().expect("UTF-8"),
        "--pidfile",
        pid.to_str().expect("UTF-8"),
    ]);
    assert!(started.status.success(), "{started:?}");
    let pid_file = pid;
    let pid = std::fs::read_to_string(&pid_file).expect("written");
    let said = String::from_utf8_lossy(&started.stdout).into_owned();
    assert!(said.contains(&format!("process {}", pid.trim())), "{said}");
    assert!(said.contains("howdah stop --config "), "{said}");
    // The server accepts requests as soon as the command has exited.
    let url = format!("http://127.0.0.1:{port}/");
    let healthy = output(Command::new(howdah()).args(["healthcheck", &url]));
    assert_eq!(healthy, "");
    assert!(run(&["healthcheck"]).status.success());
    let stopped = run(&["stop"]);
    assert!(stopped.status.success(), "{stopped:?}");
    let gone = Command::new(howdah()).args(["healthcheck", &url]).output();
    assert_eq!(gone.expect("it runs").status.code(), Some(1));
    // In a folder of root's, which a server of a different user cannot change.
    assert!(process::wait_until(Duration::from_secs(10), || !pid_file.exists()));
    let log = std::fs::read_to_string(log).expect("a log");
    assert!(log.contains("stopped"), "{log}");
    assert!(!log.contains("\"warn\""), "{log}");
}

#[test]
fn a_server_that_cannot_start_in_the_background_reports_the_error() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("Caddyfile"), ":8080 {\n\tnonsense\n}\n").expect("written");
    let started = Command::new(howdah())
        .arg("start")
        .arg("-c")
        .arg(path("Caddyfile"))
        .arg("--log")
        .arg(path("howdah.log"))
        .output()
        .expect("it runs");
    assert_eq!(started.status.code(), Some(2), "{started:?}");
    let said = String::from_utf8_lossy(&started.stderr).into_owned();
    assert!(said.contains("did not start"), "{said}");
    assert!(said.contains("unknown directive `nonsense`"), "{said}");
}
