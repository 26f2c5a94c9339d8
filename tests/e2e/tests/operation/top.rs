//! `howdah top` in a terminal, and as text.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use howdah_testkit::{PATIENCE, Server, Signal, howdah, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::{caddyfile, www};

fn serve() -> (Server, Admin) {
    let site = format!("root * {}\nphp_server", www().display());
    let text = caddyfile(&format!("{ON}\nfrankenphp {{\nnum_threads 2\n}}"), &site);
    let server = Server::caddyfile(text).start();
    let admin = Admin::of(&server);
    (server, admin)
}

/// `howdah top` in a terminal of 80 columns and 24 lines, and the state of the terminal afterwards.
struct Terminal {
    child: Child,
    shown: Arc<Mutex<String>>,
}

impl Terminal {
    fn start(admin: &Admin) -> Self {
        Self::start_as(admin, "xterm-256color")
    }

    fn start_as(admin: &Admin, kind: &str) -> Self {
        let top = format!("{} top --address {}", howdah().display(), admin.address);
        let script = format!(
            "stty rows 24 cols 80; sh -c 'echo pid $$ .; exec {top}'; echo code $?; stty -a; echo over"
        );
        let mut child = Command::new("script")
            .args(["-q", "-e", "-c", &script, "/dev/null"])
            .env("TERM", kind)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("util-linux");
        let shown = Arc::<Mutex<String>>::default();
        let (mut output, all) = (child.stdout.take().expect("a pipe"), Arc::clone(&shown));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..read]);
                all.lock().expect("no panic").push_str(&text);
            }
        });
        Self { child, shown }
    }

    fn text(&self) -> String {
        self.shown.lock().expect("no panic").clone()
    }

    #[track_caller]
    fn wait(&self, text: &str) {
        let is_shown = process::wait_until(PATIENCE, || self.text().contains(text));
        assert!(is_shown, "{text}: {:?}", self.text());
    }

    fn press(&mut self, keys: &str) {
        let input = self.child.stdin.as_mut().expect("a pipe");
        input.write_all(keys.as_bytes()).expect("it listens");
    }

    fn pid(&self) -> u32 {
        let text = self.text();
        let pid = text
            .split("pid ")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        pid.and_then(|pid| pid.parse().ok()).expect("a pid")
    }

    /// Checks that the command exited with this code and that the terminal is restored.
    #[track_caller]
    fn assert_restored(&mut self, code: i32) {
        self.wait("over");
        let text = self.text();
        let after = text.split("\u{1b}[?1049l").nth(1);
        let after = after.unwrap_or_else(|| panic!("the screen is kept: {text:?}"));
        assert!(after.contains(&format!("code {code}")), "{after}");
        for mode in ["icanon", "echo", "isig", "icrnl"] {
            let is_on = after.split_whitespace().any(|word| word == mode);
            assert!(is_on, "{mode}: {after}");
        }
        self.child.wait().expect("a child");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has exited, unless the test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn shows_the_server_until_q() {
    let (server, admin) = serve();
    server.get("/hello.php").assert(200, "hello");
    let mut terminal = Terminal::start(&admin);
    terminal.wait("\u{1b}[?1049h");
    terminal.wait("requests/s");
    terminal.press("2");
    terminal.wait("PLACE");
    terminal.press("r");
    // Spaces that are already on the screen are not sent again.
    terminal.wait("PHP?");
    terminal.press("y");
    terminal.wait("(generation");
    terminal.press("q");
    terminal.assert_restored(0);
}

#[test]
fn gives_the_terminal_back_at_a_signal() {
    let (_server, admin) = serve();
    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130), (Signal::HUP, 129)] {
        let mut terminal = Terminal::start(&admin);
        terminal.wait("requests/s");
        process::kill(terminal.pid(), signal).expect("it runs");
        terminal.assert_restored(code);
    }
}

#[test]
fn a_key_that_comes_with_a_new_size_counts() {
    let (_server, admin) = serve();
    let mut terminal = Terminal::start(&admin);
    terminal.wait("requests/s");
    let pid = terminal.pid();
    let count = |terminal: &Terminal, word: &str| terminal.text().matches(word).count();
    for _ in 0..5 {
        for (key, heading) in [("2", "PLACE"), ("8", "NUMBERS")] {
            let before = count(&terminal, heading);
            process::kill(pid, Signal::WINCH).expect("it runs");
            terminal.press(key);
            let is_shown = process::wait_until(PATIENCE, || count(&terminal, heading) > before);
            assert!(is_shown, "{key}: {:?}", terminal.text());
        }
    }
    terminal.press("q");
    terminal.assert_restored(0);
}

#[test]
fn a_terminal_without_a_movable_cursor_gets_text() {
    let (_server, admin) = serve();
    let terminal = Terminal::start_as(&admin, "dumb");
    terminal.wait("POOL  MODE     GEN  WORKERS");
    let text = terminal.text();
    assert!(!text.contains('\u{1b}'), "{text:?}");
    process::kill(terminal.pid(), Signal::TERM).expect("it runs");
    terminal.wait("over");
}

#[test]
fn ends_with_its_terminal() {
    let (_server, admin) = serve();
    let mut terminal = Terminal::start(&admin);
    terminal.wait("requests/s");
    let command_line = format!("/proc/{}/cmdline", terminal.pid());
    terminal.child.kill().expect("it runs");
    // The command line of a process that was not reaped is empty.
    let runs = || std::fs::read(&command_line).is_ok_and(|line| !line.is_empty());
    assert!(process::wait_until(PATIENCE, || !runs()));
}

#[test]
fn reports_that_the_server_has_exited() {
    let (server, admin) = serve();
    let mut terminal = Terminal::start(&admin);
    terminal.wait("requests/s");
    server.stop();
    terminal.wait("answers");
    terminal.press("\u{3}");
    terminal.assert_restored(0);
}

#[test]
fn prints_a_page_for_scripts() {
    let (server, admin) = serve();
    server.get("/hello.php").assert(200, "hello");
    let page = admin.command(&["top", "--once"]);
    page.assert(0, "POOL  MODE     GEN  WORKERS");
    page.assert(0, "php   classic  1    2");
    assert!(!page.text().contains('\u{1b}'), "{}", page.text());
}
