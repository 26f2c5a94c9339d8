//! `howdah php-cli` runs scripts like the php command.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use howdah_testkit::howdah;
use howdah_tests::www;

fn run(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(howdah())
        .arg("php-cli")
        .args(args)
        .current_dir(www())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut stdin = child.stdin.take().expect("it is piped");
    // Scripts that do not read may exit before all input is written.
    drop(stdin.write_all(input));
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn passes_arguments() {
    let output = run(&["cli.php", "args", "a", "--b=c", "-v", "", "d e"], b"");
    assert_eq!(stdout(&output), r#"[7,["a","--b=c","-v","","d e"]]"#);
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn settings_have_their_effect() {
    // php.ini would take `=` and `;` for the end of a value, and would ignore the text after a
    // syntax error.
    let script = "echo json_encode([ini_get('session.save_path'), ini_get('error_prepend_string'), \
                  ini_get('error_append_string'), (int) ini_get('error_reporting') === (E_ALL & ~E_NOTICE), \
                  ini_get('memory_limit')], JSON_UNESCAPED_SLASHES);";
    let settings = [
        "session.save_path=tcp://127.0.0.1:6379?auth=x&database=1",
        "error_prepend_string=a ; b",
        r#"error_append_string=c"d\e"#,
        "error_reporting=E_ALL & ~E_NOTICE",
        "memory_limit=64M",
    ];
    let mut args: Vec<&str> = settings.iter().flat_map(|it| ["-d", it]).collect();
    args.extend(["-r", script]);
    assert_eq!(
        stdout(&run(&args, b"")),
        r#"["tcp://127.0.0.1:6379?auth=x&database=1","a ; b","c\"d\\e",true,"64M"]"#
    );
}

#[test]
fn passes_the_exit_code() {
    for code in [0, 1, 3, 255] {
        let output = run(&["cli.php", "exit", &code.to_string()], b"");
        assert_eq!(output.status.code(), Some(code));
    }
    let output = run(&["cli.php", "throw"], b"");
    assert_eq!(output.status.code(), Some(255));
    let told = stdout(&output) + &String::from_utf8_lossy(&output.stderr);
    assert!(
        told.contains("Uncaught RuntimeException: the reason"),
        "{told}"
    );
}

#[test]
fn passes_standard_streams() {
    assert_eq!(
        stdout(&run(&["cli.php", "stdin"], b"from stdin")),
        "FROM STDIN"
    );
    let output = run(&["cli.php", "stderr"], b"");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "to stderr");
    assert_eq!(stdout(&output), "");
}

#[test]
fn is_the_cli_to_php() {
    assert_eq!(stdout(&run(&["cli.php", "sapi"], b"")), "cli 0 0");
}

#[test]
fn knows_the_usual_options() {
    assert_eq!(stdout(&run(&["-r", "echo 6 * 7;"], b"")), "42");
    assert_eq!(
        stdout(&run(
            &["-d", "precision=3", "-r", "echo ini_get('precision');"],
            b""
        )),
        "3"
    );
    assert!(stdout(&run(&["-v"], b"")).starts_with("PHP 8."));
    assert!(stdout(&run(&["-m"], b"")).contains("Core"));
    assert!(stdout(&run(&["-i"], b"")).contains("PHP Version => 8."));
}

#[test]
fn reports_a_missing_script() {
    let output = run(&["missing.php"], b"");
    assert_eq!(output.status.code(), Some(1));
    let told = stdout(&output) + &String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("missing.php"), "{told}");
}
