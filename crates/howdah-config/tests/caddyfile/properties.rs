//! Properties of every text.

use crate::common::{Memory, environment};
use howdah_config::{Config, fmt, parse};
use proptest::prelude::*;

/// Parts of Caddyfiles, so that random texts are not rejected at the first word.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        " ",
        " ",
        " ",
        "\n",
        "\n",
        "\n",
        "\t",
        "\r\n",
        "\\\n",
        "\\",
        "\"",
        "`",
        "#",
        "{",
        "}",
        " {\n",
        "\n}\n",
        "{}",
        "{path}",
        "{args[0]}",
        "{args[:]}",
        "{foo}",
        "<<E\n",
        "<<E",
        "E",
        "\nE\n",
        ":80",
        "http://a",
        ",",
        "import",
        "(s)",
        "import s",
        "import p*",
        "@a",
        "@a path /x",
        "not",
        "path",
        "file",
        "header",
        "respond",
        "ok",
        "404",
        "/x",
        "*",
        "root",
        "public",
        "php_server",
        "try_files",
        "=404",
        "index",
        "off",
        "handle",
        "handle_path",
        "route",
        "log",
        "frankenphp",
        "worker",
        "a.php",
        "watch",
        "*.{a,b}",
        "match",
        "name",
        "env",
        "keep",
        "boot",
        "encode",
        "handle_errors",
        "admin",
        "format filter",
        "wrap",
        "json",
        "debug",
        "php_ini",
        "servers",
        "timeouts",
        "idle",
        "30s",
        "10MB",
        "A",
        "-A",
        "?A",
        "é",
        "\u{feff}",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Valid files, so that there are meanings to compare.
fn valid() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec![
        "respond  ok",
        "respond /a  \"b  c\"  # d",
        "root * \\\n public",
        "",
        "# comment",
        "",
        "php_server  {\n index   app.php\n\n\n}",
        "handle /x {\nrespond <<E\n  a\n  E\n}",
        "handle_path   /z/*  {\nrespond  `{\"k\":  1}`\n}",
        "header  A  a\\b{path}x",
        "encode  zstd   gzip",
        "php_server {\nworker   a.php  3 {\n  watch  a/**/*.{php,env}   .env\nenv {\nA   b\n}\n}\n}",
        "php {\nname  x\nworker {\nfile  b.php\nmatch   /a/*   *.b\nkeep  ini   locale\n}\n}",
        "handle_errors {\nrespond  {err.status_code}\n}",
    ]);
    let lines = prop::collection::vec(line, 0..8);
    let head = prop::sample::select(vec![
        ":80 {\n",
        "{\ndebug\n}\n:80\n{\n",
        "{\nadmin  off\nfrankenphp {\nworker  g.php {\nwarm   /  /x\n}\n}\n}\n:80  {\n",
        "(s) {\nrespond s\n}\nhttp://a,\n:81  {\nimport   s\n",
    ]);
    (head, lines).prop_map(|(head, lines)| format!("{head}{}\n}}", lines.join("\n")))
}

fn meaning(text: &str) -> Option<Config> {
    parse(text, "F", &environment, &Memory::default())
        .ok()
        .map(|parsed| parsed.config)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_read_without_panic(text in any::<String>()) {
        if let Err(errors) = parse(&text, "F", &environment, &Memory::default()) {
            prop_assert!(!errors.0.is_empty());
        }
        let tidy = fmt(&text);
        prop_assert_eq!(fmt(&tidy), tidy);
    }

    #[test]
    fn soup_is_read_without_panic(text in soup()) {
        if let Err(errors) = parse(&text, "F", &environment, &Memory::default()) {
            prop_assert!(!errors.0.is_empty());
            for error in errors.0 {
                prop_assert!(error.position.line >= 1 && error.position.column >= 1);
            }
        }
    }

    #[test]
    fn fmt_is_stable_and_keeps_the_meaning(text in soup()) {
        let tidy = fmt(&text);
        prop_assert_eq!(&fmt(&tidy), &tidy);
        if let Some(before) = meaning(&text) {
            prop_assert_eq!(Some(before), meaning(&tidy));
        }
    }

    #[test]
    fn fmt_keeps_the_meaning_of_valid_files(text in valid()) {
        let before = meaning(&text);
        prop_assert!(before.is_some(), "{}", text);
        let tidy = fmt(&text);
        prop_assert_eq!(&fmt(&tidy), &tidy);
        prop_assert_eq!(before, meaning(&tidy));
    }
}
