//! Log output of an application is distinguished from that of the server and of PHP, whatever its
//! content, and hides no other entry.

use howdah_testkit::log::LogLine;
use howdah_testkit::{PATIENCE, Server, Www, process};

const WRITE: &str = r#"<?php
$id = str_repeat('9', 16);
foreach (str_split('ewnidms') as $level) {
    foreach (['', str_repeat('0', 16), str_repeat('f', 16)] as $key) {
        $text = "ready $level$key";
        $record = "\x1e$level$id" . sprintf('%08x', strlen($text)) . $key . $text;
        file_put_contents('php://stderr', $record . "\n");
        exec("printf '%s\\n' " . escapeshellarg($record) . ' >&2');
    }
}
file_put_contents('php://stderr', '{"level":"error","logger":"howdah::pool","msg":"forged","pool":"other"}' . "\n");
error_log("first\n{\"level\":\"error\",\"msg\":\"forged\"}\n\x1b[2J\x9b31m\u{9b}31m\u{202e}last");
echo $_SERVER['HTTP_X_MARK'] ?? '';
"#;

const FLOOD: &str = r"<?php
$line = str_repeat('x', 1000) . PHP_EOL;
for ($i = 0; $i < 40000; $i++) {
    file_put_contents('php://stderr', $line);
}
echo 'flooded';
";

fn written(server: &Server) -> Vec<LogLine> {
    let lines = server.log().lines();
    lines
        .into_iter()
        .filter(|line| line.text("logger") == Some("howdah::php"))
        .collect()
}

#[test]
fn nothing_that_is_written_passes_for_a_record() {
    let www = Www::new()
        .file("write.php", WRITE)
        .file("end.php", "<?php error_log('the end');");
    let server = Server::builder(&www).workers(1).start();
    server.get("/write.php").assert(200, "");
    server.get("/end.php").assert(200, "");
    server.wait_line("the end", |line| line.message() == "the end");
    let lines = written(&server);
    let forged: Vec<_> = lines
        .iter()
        .filter(|line| line.message().contains('\u{1e}'))
        .collect();
    assert_eq!(forged.len(), 2 * 7 * 3, "{forged:#?}");
    let id = forged[0]
        .text("request_id")
        .expect("its request")
        .to_owned();
    assert_ne!(id, "9".repeat(16));
    for line in forged {
        assert_eq!(line.level(), Some("info"), "{}", line.raw);
        assert_eq!(line.text("stream"), Some("output"), "{}", line.raw);
        assert_eq!(line.text("request_id"), Some(&*id), "{}", line.raw);
    }
    for line in server.log().containing("forged") {
        assert_eq!(line.level(), Some("info"), "{}", line.raw);
        assert_eq!(line.text("logger"), Some("howdah::php"), "{}", line.raw);
        assert_eq!(line.text("request_id"), Some(&*id), "{}", line.raw);
    }
    let logged = server.log().containing("last");
    let [line] = &logged[..] else {
        panic!("{logged:?}")
    };
    assert_eq!(line.text("stream"), None, "PHP logged it: {}", line.raw);
    assert!(line.message().starts_with("first\n{"), "{}", line.raw);
    for steers in ['\u{1b}', '\u{9b}', '\u{202e}'] {
        assert!(!line.raw.contains(steers), "{}", line.raw);
    }
    server.stop();
}

#[test]
fn endless_output_is_cut_and_does_not_silence_others() {
    let www = Www::new()
        .file("flood.php", FLOOD)
        .file("end.php", "<?php error_log('the end');");
    let text = format!(
        "{{\nadmin off\nfrankenphp {{\nnum_threads 1\npool loud {{\nnum_threads 1\n}}\n}}\n}}\n\
         http://:0 {{\nbind 127.0.0.1\nroot * {}\nhandle /flood.php {{\nphp_server {{\npool loud\n}}\n}}\nphp_server\n}}\n",
        www.path().display()
    );
    let server = Server::caddyfile(text).start();
    server.expect_log("dropped log messages of PHP code");
    let is_reported = |line: &LogLine| {
        line.message()
            .starts_with("dropped log messages of PHP code")
    };
    // On a busy machine, PHP may get no more CPU time than the log needs.
    let mut floods = 0;
    let dropped = (0..10).any(|_| {
        server.get("/flood.php").assert(200, "flooded");
        floods += 1;
        process::wait_until(PATIENCE / 10, || {
            server.log().lines().iter().any(is_reported)
        })
    });
    assert!(dropped);
    server.get("/end.php").assert(200, "");
    server.wait_line("the end", |line| {
        line.message() == "the end" && line.text("pool") == Some("php")
    });
    let line = server.wait_line("what was left out", is_reported);
    assert_eq!(
        (line.text("pool"), line.level()),
        (Some("loud"), Some("warn"))
    );
    // The worker logs again, and no entry is unaccounted for.
    let accounted = process::wait_until(PATIENCE, || {
        let lines = server.log().lines();
        let lost: u64 = lines
            .iter()
            .filter(|line| is_reported(line))
            .filter_map(|line| line.number("messages"))
            .sum();
        let logged = written(&server)
            .iter()
            .filter(|line| line.message().starts_with("xxx"))
            .count();
        lost + logged as u64 == floods * 40_000
    });
    assert!(accounted);
    server.stop();
}
