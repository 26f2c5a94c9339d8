//! The runner of external `.phpt` files, tested with files created for this purpose.

use std::fs;
use std::sync::Mutex;

use howdah_tests::phpt::Outcome;
use howdah_tests::phpt::report::{Report, line, word};
use howdah_tests::phpt::run::{Options, run};

/// Files, and the expected outcome of each.
const FILES: [(&str, &str, &str); 21] = [
    (
        "pass",
        "PASS",
        "--FILE--\n<?php echo 'out';\n--EXPECT--\nout\n",
    ),
    (
        "fail",
        "FAIL",
        "--FILE--\n<?php echo 'out';\n--EXPECT--\nin\n",
    ),
    (
        "format",
        "PASS",
        "--FILE--\n<?php echo __DIR__, ' ', 42;\n--EXPECTF--\n%s %d\n",
    ),
    (
        "regex",
        "PASS",
        "--FILE--\n<?php echo 'abab';\n--EXPECTREGEX--\n(ab)+\n",
    ),
    (
        "get",
        "PASS",
        "--GET--\na[]=1&b=2 3\n--FILE--\n<?php echo json_encode($_GET);\n--EXPECT--\n{\"a\":[\"1\"],\"b\":\"2 3\"}\n",
    ),
    (
        "post",
        "PASS",
        "--POST--\na=1\n--COOKIE--\nc=2\n--FILE--\n<?php echo $_POST['a'], $_COOKIE['c'];\n--EXPECT--\n12\n",
    ),
    (
        "raw",
        "PASS",
        "--POST_RAW--\nContent-Type: text/x\nbody\nmore\n--FILE--\n<?php echo $_SERVER['CONTENT_TYPE'], file_get_contents('php://input');\n--EXPECT--\ntext/xbody\nmore\n",
    ),
    (
        "put",
        "PASS",
        "--PUT--\nContent-Type: text/x\nbody\n--FILE--\n<?php echo $_SERVER['REQUEST_METHOD'], file_get_contents('php://input');\n--EXPECT--\nPUTbody\n",
    ),
    (
        "ini",
        "PASS",
        "--INI--\nprecision=5\n--FILE--\n<?php echo ini_get('precision');\n--EXPECT--\n5\n",
    ),
    (
        "base",
        "PASS",
        "--FILE--\n<?php echo $x;\n--EXPECTF--\nWarning: Undefined variable $x in %sbase.php on line 1\n",
    ),
    (
        "env",
        "PASS",
        "--ENV--\nHOWDAH_PHPT=yes\n--FILE--\n<?php echo getenv('HOWDAH_PHPT');\n--EXPECT--\nyes\n",
    ),
    (
        "header",
        "PASS",
        "--HEADERS--\nX-Test: 1\n--FILE--\n<?php header('X-Out: ' . $_SERVER['HTTP_X_TEST']);\n--EXPECTHEADERS--\nX-Out: 1\n--EXPECT--\n",
    ),
    (
        "header-fail",
        "FAIL",
        "--FILE--\n<?php\n--EXPECTHEADERS--\nX-Out: 1\n--EXPECT--\n",
    ),
    (
        "skip",
        "SKIP",
        "--SKIPIF--\n<?php die('skip not today');\n--FILE--\n<?php\n--EXPECT--\n",
    ),
    (
        "no-skip",
        "PASS",
        "--SKIPIF--\n<?php if (false) die('skip');\n--FILE--\n<?php\n--EXPECT--\n",
    ),
    (
        "extension",
        "SKIP",
        "--EXTENSIONS--\nno_such_extension\n--FILE--\n<?php\n--EXPECT--\n",
    ),
    (
        "extension-there",
        "PASS",
        "--EXTENSIONS--\nCore\nstandard\n--FILE--\n<?php\n--EXPECT--\n",
    ),
    (
        "xfail",
        "XFAIL",
        "--XFAIL--\nnot yet\n--FILE--\n<?php echo 1;\n--EXPECT--\n2\n",
    ),
    (
        "xpass",
        "WARN",
        "--XFAIL--\nnot yet\n--FILE--\n<?php echo 1;\n--EXPECT--\n1\n",
    ),
    ("redirect", "SKIP", "--REDIRECTTEST--\nreturn [];\n"),
    ("borked", "BORK", "--FILE--\n<?php\n"),
];

fn run_in(folder: &std::path::Path, compare: bool) -> Report {
    let options = Options {
        folder: folder.to_owned(),
        filters: Vec::new(),
        jobs: 2,
        compare,
        ini: Vec::new(),
    };
    let lines = Mutex::new(Vec::new());
    let heard = |tested: &_| lines.lock().expect("no panic").push(line(tested));
    let report = run(&options, &heard).expect("the folder is readable");
    for line in lines.into_inner().expect("no panic") {
        println!("{line}");
    }
    report
}

#[test]
fn judges_each_kind_of_test() {
    let folder = tempfile::tempdir().expect("a directory");
    for (name, _, text) in FILES {
        let file = folder.path().join(format!("{name}.phpt"));
        fs::write(file, format!("--TEST--\n{name}\n{text}")).expect("written");
    }
    fs::create_dir(folder.path().join("sub")).expect("a directory");
    fs::write(folder.path().join("sub/helper.inc"), "<?php echo 'help';").expect("written");
    let clean = "--TEST--\nx\n--FILE--\n<?php require 'helper.inc'; touch(__DIR__ . '/left');\n\
        --CLEAN--\n<?php unlink(__DIR__ . '/left');\n--EXPECT--\nhelp\n";
    fs::write(folder.path().join("sub/clean.phpt"), clean).expect("written");
    let report = run_in(folder.path(), false);
    for (name, wanted, _) in FILES {
        let outcome = report.outcome(name).expect("it was run");
        assert_eq!(word(outcome), wanted, "{name}: {outcome:?}");
    }
    assert_eq!(report.outcome("sub/clean"), Some(&Outcome::Pass));
    assert!(!report.is_good());
    let out = tempfile::tempdir().expect("a directory");
    report.write(out.path()).expect("written");
    let failed = fs::read_to_string(out.path().join("fail.txt")).expect("it is there");
    assert!(failed.starts_with("fail\tthe output differs"), "{failed}");
    assert_eq!(
        fs::read(out.path().join("fail.out")).expect("it is there"),
        b"out"
    );
    assert_eq!(
        fs::read_dir(folder.path()).expect("readable").count(),
        FILES.len() + 1
    );
}

#[test]
fn survives_scripts_that_take_php_down() {
    let folder = tempfile::tempdir().expect("a directory");
    let files = [
        ("a-dies", "<?php posix_kill(getmypid(), 9);"),
        ("b-exits", "<?php echo 'x'; exit(1);"),
    ];
    for (name, code) in files {
        let text = format!("--TEST--\n{name}\n--FILE--\n{code}\n--EXPECT--\nx\n");
        fs::write(folder.path().join(format!("{name}.phpt")), text).expect("written");
    }
    let report = run_in(folder.path(), true);
    assert_eq!(report.with("FAIL"), ["a-dies"]);
    assert_eq!(report.with("PASS"), ["b-exits"]);
    // PHP-FPM's child crashes as well.
    assert_eq!(report.worse_than_fpm(), Vec::<&str>::new());
}
