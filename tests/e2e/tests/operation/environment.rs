//! Environment variables of the server in PHP processes.

use howdah_testkit::{Server, ServerBuilder, Www};
use serde_json::Value;

/// Shows where a PHP process finds a variable. Process titles overwrite the environment in `/proc`,
/// so that one may be empty.
const LOOK: &str = r#"<?php
header('Content-Type: application/json');
$found = [];
foreach (['SECRET_A', 'SECRET_B', 'PLAIN', 'GIVEN', 'BOTH', 'PATH'] as $name) {
    exec("printenv $name", $lines, $failed);
    $found[$name] = implode(' ', array_keys(array_filter([
        'process' => getenv($name, true) !== false,
        'environ' => preg_match("/(^|\0)$name=/", file_get_contents('/proc/self/environ')),
        'parent' => preg_match("/(^|\0)$name=/", file_get_contents('/proc/' . posix_getppid() . '/environ')),
        'child' => !$failed,
        'server' => isset($_SERVER[$name]),
    ])));
}
echo json_encode($found);
"#;

fn configuration(www: &Www, php: &str) -> String {
    format!(
        "{{\nadmin off\nfrankenphp {{\nnum_threads 1\n{php}\n}}\n}}\nhttp://:0 {{\nbind 127.0.0.1\nroot * {}\n\
         # {{$PLAIN}}\nrespond /a \"{{$SECRET_A:none}}\"\nrespond /b {{env.SECRET_B}}\nrespond /both {{$BOTH}}\n\
         php_server {{\nenv GIVEN {{$GIVEN}}\nenv BOTH {{$BOTH}}\n}}\n}}\n",
        www.path().display()
    )
}

fn with_variables(server: ServerBuilder) -> ServerBuilder {
    let names = ["SECRET_A", "SECRET_B", "PLAIN", "GIVEN", "BOTH"];
    names
        .into_iter()
        .fold(server, |server, name| server.env(name, "value"))
}

fn started(www: &Www, php: &str) -> ServerBuilder {
    with_variables(Server::caddyfile(configuration(www, php)))
}

fn look(server: &Server) -> Value {
    let response = server.get("/look.php");
    response.assert_status(200);
    response.json()
}

#[test]
fn variables_of_the_configuration_are_withheld_from_php() {
    let www = Www::new().file("look.php", LOOK);
    let server = started(&www, "").start();
    for target in ["/a", "/b", "/both"] {
        server.get(target).assert(200, "value");
    }
    let found = look(&server);
    for name in ["SECRET_A", "SECRET_B"] {
        assert_eq!(found[name], "", "{name}: {found}");
    }
    for name in ["PLAIN", "PATH"] {
        assert_eq!(found[name], "process child", "{name}: {found}");
    }
    // `env` passes the named variables, even if other parts use them.
    assert_eq!(found["GIVEN"], "process child server", "{found}");
    assert_eq!(found["BOTH"], "server", "{found}");
    server.stop();
}

#[test]
fn clear_env_leaves_what_a_process_needs() {
    let www = Www::new().file("look.php", LOOK);
    let server = started(&www, "clear_env").start();
    server.get("/a").assert(200, "value");
    let found = look(&server);
    for name in ["SECRET_A", "SECRET_B", "PLAIN"] {
        assert_eq!(found[name], "", "{name}: {found}");
    }
    for name in ["GIVEN", "BOTH"] {
        assert_eq!(found[name], "server", "{name}: {found}");
    }
    assert_eq!(found["PATH"], "process child", "{found}");
    server.stop();
}

#[test]
fn validate_and_doctor_name_the_variables_without_their_values() {
    for (option, expected) in [
        ("", "uses them: BOTH, SECRET_A, SECRET_B"),
        (
            "clear_env",
            "because of clear_env; the Caddyfile uses BOTH, SECRET_A, SECRET_B",
        ),
    ] {
        let www = Www::new();
        let file = www.write("Caddyfile", configuration(&www, option));
        for command in ["validate", "doctor"] {
            let ended = with_variables(ServerBuilder::command([command, "-c"]).arg(&file)).run();
            ended.assert(0, expected);
            assert!(!ended.text().contains("value"), "{}", ended.text());
        }
    }
}
