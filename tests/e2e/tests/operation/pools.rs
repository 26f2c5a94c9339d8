//! Classic pools of single sites: each is independent of the others.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use howdah_testkit::{PATIENCE, Request, Server, ServerBuilder, Www, load, process};
use howdah_tests::admin::{Admin, ON};
use howdah_tests::www;
use serde_json::{Value, json};

const SHOW: &str = "<?php
header('Content-Type: application/json');
$limit = ini_get('memory_limit');
echo json_encode([
    'limit' => $limit,
    'set' => ini_set('memory_limit', '999M') === false ? 'refused' : ini_get('memory_limit'),
    'precision' => ini_get('precision'),
    'phpinfo' => function_exists('phpinfo'),
    'uid' => posix_geteuid(),
]);
";

/// Two sites on separate ports. The first has the pool `slow`. `howdah` are options for all pools.
fn text(www: &Www, howdah: &str, slow: &str) -> String {
    let root = www.path().display();
    format!(
        "{{\n{ON}\nhowdah {{\nworkers 1\n{howdah}\npool slow {{\nworkers 1\n{slow}\n}}\n}}\n}}\n\
         http://:0 {{\nbind 127.0.0.1\nroot * {root}\n@slow path /slow/*\nhandle @slow {{\nuri strip_prefix /slow\n\
         php_server {{\npool slow\n}}\n}}\nphp_server\n}}\n"
    )
}

fn site() -> Www {
    let gate = www().join("gate.php").display().to_string();
    Www::new()
        .file("show.php", SHOW)
        .file("hello.php", "<?php echo 'hello';")
        .file("gate.php", format!("<?php require '{gate}';"))
}

fn shown(server: &Server, target: &str) -> Value {
    let response = server.get(target);
    response.assert_status(200);
    response.json()
}

#[test]
fn a_slow_site_keeps_no_other_waiting() {
    let www = site();
    let server = Server::caddyfile(text(&www, "", "queue_length 1\nmax_wait_time 1m")).start();
    server.expect_log("requests refused with 503");
    let mut gate = server.gate("slow");
    let admin = Admin::of(&server);
    let waiting = || {
        let status = admin.get("/status").json();
        let pools = status["pools"].as_array().expect("a list").clone();
        let slow = pools.iter().find(|pool| pool["name"] == "slow");
        slow.expect("the pool")["queue"].as_u64()
    };
    let target = format!("/slow/gate.php?silent&gate={}", gate.path().display());
    let held = || server.get(&target).status();
    std::thread::scope(|scope| {
        let first = scope.spawn(held);
        gate.reached();
        let second = scope.spawn(held);
        assert!(process::wait_until(PATIENCE, || waiting() == Some(1)));
        // Its process is busy and its queue full, but the other site is not affected.
        for _ in 0..20 {
            server.get("/hello.php").assert_status(200);
        }
        server.get("/slow/hello.php").assert_status(503);
        gate.open(1);
        assert_eq!(first.join().expect("answered"), 200);
        gate.reached();
        gate.open(1);
        assert_eq!(second.join().expect("answered"), 200);
    });
    server.get("/slow/hello.php").assert_status(200);
    server.stop();
}

#[test]
fn each_pool_has_its_settings() {
    let www = site();
    let howdah = "php_ini precision 5\nphp_admin_ini memory_limit 128M\npool free {\n}";
    let slow =
        "php_ini precision 6\nphp_admin_ini {\nmemory_limit 64M\ndisable_functions phpinfo\n}";
    let text = text(&www, howdah, slow).replace(
        "\nphp_server\n}\n",
        "\nhandle /free/* {\nuri strip_prefix /free\nphp_server {\npool free\nenv PHP_VALUE precision=7\n\
         env PHP_ADMIN_VALUE memory_limit=96M\n}\n}\nhandle {\nphp_server\n}\n}\n",
    );
    let server = Server::caddyfile(text).start();
    for _ in 0..2 {
        for (target, limit, precision, phpinfo) in [
            ("/show.php", "128M", "5", true),
            ("/slow/show.php", "64M", "6", false),
            ("/free/show.php", "96M", "7", true),
        ] {
            let answer = shown(&server, target);
            assert_eq!(answer["limit"], limit, "{target}");
            assert_eq!(answer["set"], "refused", "{target}");
            assert_eq!(answer["precision"], precision, "{target}");
            assert_eq!(answer["phpinfo"], phpinfo, "{target}");
        }
    }
    let pools = Admin::of(&server).get("/status").json();
    let names: Vec<_> = pools["pools"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|pool| pool["name"].clone())
        .collect();
    assert_eq!(names, [json!("php"), json!("free"), json!("slow")]);
    server.stop();
}

#[test]
fn a_reload_brings_pools_and_takes_them_away() {
    let www = site();
    let server = Server::caddyfile(text(&www, "", "php_ini precision 6")).start();
    let admin = Admin::of(&server);
    let file = server.temp_dir().with_file_name("Caddyfile");
    let precision = || shown(&server, "/slow/show.php")["precision"].clone();
    assert_eq!(precision(), "6");
    for (text, expected, line) in [
        (
            text(&www, "", "php_ini precision 8"),
            "8",
            "pool slow: php_ini changed from",
        ),
        (
            text(&www, "php_ini precision 9", "").replace("slow", "other"),
            "9",
            "pool other is new",
        ),
    ] {
        let target = if expected == "9" {
            "/other/show.php"
        } else {
            "/slow/show.php"
        };
        fs::write(&file, text).expect("written");
        admin.post("/reload").assert_status(200);
        server.wait_log(line);
        assert_eq!(shown(&server, target)["precision"], expected);
    }
    server.wait_log("pool slow was removed");
    server.stop();
}

#[test]
fn a_setting_that_php_does_not_know_keeps_the_server_from_starting() {
    let www = site();
    let text = text(&www, "", "php_admin_ini memory_limt 64M");
    let ended = Server::caddyfile(text)
        .try_start()
        .expect_err("it does not start");
    ended.assert(2, "php_admin_ini memory_limt: PHP has no such setting");
}

#[test]
fn the_command_line_has_final_settings() {
    let www = site();
    let server = ServerBuilder::php_server(www.path())
        .arg("--php-admin-ini=memory_limit=64M")
        .arg("--php-ini=precision=4")
        .start();
    let answer = shown(&server, "/show.php");
    assert_eq!(
        (&answer["limit"], &answer["set"]),
        (&json!("64M"), &json!("refused"))
    );
    assert_eq!(answer["precision"], "4");
    server.stop();
}

#[test]
fn each_pool_has_its_user() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("left out: only root can change users");
        return;
    }
    let www = site();
    fs::set_permissions(www.path(), fs::Permissions::from_mode(0o755)).expect("changed");
    let text = text(&www, "user www-data", "user nobody");
    let server = Server::caddyfile(text).start();
    assert_eq!(shown(&server, "/show.php")["uid"], 33);
    assert_eq!(shown(&server, "/slow/show.php")["uid"], 65534);
    server.stop();
}

/// Input from a client always becomes part of a value and never a separate setting.
#[test]
fn no_client_sets_anything() {
    let www = site();
    let root = www.path().display().to_string();
    let text = format!(
        "{{\n{ON}\nhowdah {{\nworkers 1\n}}\n}}\nhttp://:0 {{\nbind 127.0.0.1\nroot * {root}\nphp_server {{\n\
         env PHP_VALUE \"user_agent={{header.X-Name}}\nprecision=3\"\n}}\n}}\n"
    );
    fs::write(
        www.path().join("agent.php"),
        "<?php echo json_encode([ini_get('user_agent'), ini_get('precision'), ini_get('memory_limit')]);",
    )
    .expect("written");
    let server = Server::caddyfile(text).start();
    let ask = |name: &str| {
        let request = Request::get("/agent.php")
            .header("X-Name", name)
            .header("PHP_VALUE", "memory_limit=1G")
            .header("PHP-ADMIN-VALUE", "memory_limit=1G");
        let response = server.send(&request);
        response.assert_status(200);
        response.json()
    };
    for (name, agent) in [
        ("plain", "plain"),
        (
            "a' \"b\"; memory_limit=1G ${HOME} [c]",
            "a \"b\"; memory_limit=1G ${HOME} [c]",
        ),
        ("'", ""),
    ] {
        assert_eq!(ask(name), json!([agent, "3", "128M"]), "{name}");
    }
    let answers = load::at_once(4, |_| ask("x"));
    assert!(answers.iter().all(|answer| answer[0] == "x"));
    server.stop();
}
