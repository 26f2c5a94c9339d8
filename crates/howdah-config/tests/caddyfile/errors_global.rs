//! Errors of global options, with their positions.

use crate::common::errors;

#[test]
fn global_options_are_checked() {
    for (option, expected) in [
        (
            "worker a.php",
            "2:1: `worker` is not a global option; put it in `frankenphp { … }` or `php_server { … }`",
        ),
        ("xyzzy", "2:1: unknown global option `xyzzy`"),
        (
            "http_prt 1",
            "2:1: unknown global option `http_prt`; did you mean `http_port`?",
        ),
        (
            "admin local host",
            "2:13: `admin` takes 0 to 1 argument, 2 given; write `admin off|[ADDRESS] [{ … }]`",
        ),
        (
            "admin",
            "2:1: `admin` takes 1 argument, 0 given; write `admin off|[ADDRESS] [{ … }]`",
        ),
        (
            "admin localhost:",
            "2:7: `` is not a port; a port is a number from 0 to 65535",
        ),
        (
            "admin [::x]:1",
            "2:7: `[::x]:1` is not an address to listen on; write for example `admin localhost:2019`, `admin unix//run/howdah.sock` or `admin off`",
        ),
        (
            "admin http://a",
            "2:7: `//a` is not a port; a port is a number from 0 to 65535",
        ),
        (
            "admin unix/run/a",
            "2:7: `run/a` is not the absolute path of a socket, of at most 107 bytes; write for example `admin localhost:2019`, `admin unix//run/howdah.sock` or `admin off`",
        ),
        (
            "order respond under redir",
            "2:1: `under` is not a place in the order; write `order DIRECTIVE first|last  or  order DIRECTIVE before|after OTHER`",
        ),
        (
            "order respond last redir",
            "2:1: `last` is not a place in the order; write `order DIRECTIVE first|last  or  order DIRECTIVE before|after OTHER`",
        ),
        (
            "order respnd first",
            "2:7: unknown directive `respnd`; did you mean `respond`?",
        ),
        (
            "order respond after respond",
            "2:7: `respond` cannot be placed before or after itself",
        ),
        (
            "order respond after handle_path",
            "2:21: `handle_path` is not supported in this version; it has the same place as `handle`",
        ),
        (
            "default_bind localhost",
            "2:14: `localhost` is not an IP address; write for example `default_bind 127.0.0.1`",
        ),
        (
            "http_port 65536",
            "2:11: `65536` is not a port; a port is a number from 0 to 65535",
        ),
        (
            "grace_period 10",
            "2:14: `10` is not a duration; write for example `30s`, `500ms`, `1h30m` or `2d`",
        ),
        (
            "frankenphp {\nmax_wait_time 0\n}",
            "3:15: `max_wait_time` cannot be zero; this option cannot be unlimited; give a long time such as `1h`",
        ),
        (
            "servers localhost:80 {\n}",
            "2:9: `localhost:80` is not an address to listen on; write for example `servers :443`, `servers 127.0.0.1:8080` or `servers unix//run/howdah.sock`",
        ),
        (
            "servers 127.0.0.1 {\n}",
            "2:9: `127.0.0.1` is not an address to listen on; write for example `servers :443`, `servers 127.0.0.1:8080` or `servers unix//run/howdah.sock`",
        ),
        (
            "servers :80000 {\n}",
            "2:9: `80000` is not a port; a port is a number from 0 to 65535",
        ),
        (
            "servers unix/run/a.sock {\n}",
            "2:9: `unix/run/a.sock` is not the absolute path of a Unix socket; write for example `servers unix//run/howdah.sock`",
        ),
        (
            "servers :80 :81 {\n}",
            "2:13: `servers` takes 0 to 1 argument, 2 given; write `servers [ADDRESS] { … }`",
        ),
        (
            "servers :80",
            "2:1: `servers` needs a block; write `servers [ADDRESS] { … }`",
        ),
        (
            "servers :80 {\n}\nservers {\n}\nservers tcp/:80 {\n}",
            "6:9: `servers :80` is given twice; put all options in the one at Caddyfile:2:9",
        ),
        (
            "servers {\n}\nservers {\n}",
            "4:1: `servers` without an address is given twice; put all options in the one at Caddyfile:2:1",
        ),
        (
            "servers :80 {\nmax_connections 9\n}",
            "3:1: `max_connections` is for the whole server; put it in `servers` without an address",
        ),
        (
            "servers {\nmax_header_size big\n}",
            "3:17: `big` is not a size; write for example `10MB` (10,000,000 bytes) or `16KiB` (16,384 bytes)",
        ),
        (
            "servers {\ntimeouts {\nidel 1s\n}\n}",
            "4:1: unknown timeout `idel`; did you mean `idle`?",
        ),
        (
            "frankenphp {\nnum_thread 1\n}",
            "3:1: unknown option of `frankenphp` `num_thread`; did you mean `num_threads`?",
        ),
        (
            "howdah {\nworkerz 1\n}",
            "3:1: unknown option of `howdah` `workerz`; did you mean `workers`?",
        ),
        (
            "frankenphp {\nnum_threads 0\n}",
            "3:13: `0` is not a whole number for `num_threads`; give a number of at least 1",
        ),
        (
            "frankenphp {\nfront_threads 17\n}",
            "3:15: 17 front threads are too many; give a number from 1 to 16",
        ),
        (
            "frankenphp {\nnum_threads 1\nworkers 2\n}",
            "4:1: `workers` is given twice; remove one of them",
        ),
        (
            "frankenphp {\n}\nhowdah {\n}",
            "4:1: `frankenphp` and `howdah` are the same block; put all options in one of them",
        ),
        (
            "frankenphp {\nphp_ini a\n}",
            "3:1: `php_ini` takes 2 arguments, 1 given; write `php_ini NAME VALUE  or  php_ini { NAME VALUE … }`",
        ),
        (
            "frankenphp {\nphp_ini {\na\n}\n}",
            "4:1: `a` needs one value; write `NAME VALUE`, with quotes around a value with spaces",
        ),
        (
            "frankenphp {\nnum_threads 256\n}",
            "3:13: 256 processes are too many for one pool; give a number of at most 255",
        ),
        (
            "frankenphp {\nmax_threads most\n}",
            "3:13: `most` is not a whole number for `max_threads`; give a number of at least 1",
        ),
        (
            "servers {\nprotocols h1 h2 h4\n}",
            "3:17: `h4` is not a supported protocol; write `protocols h1 h2` or `protocols h1 h2 h3`",
        ),
        (
            "servers {\nprotocols h2 h3\n}",
            "3:1: `protocols` is not supported in this version; HTTP/1.1 is always served: write `protocols h1 …`",
        ),
        (
            "frankenphp {\nmax_threads 3\nnum_threads 4\n}",
            "2:1: `max_threads` is 3, which is less than the 4 processes that always run; `max_threads` is the larger of the two",
        ),
    ] {
        let found = errors(&format!("{{\n{option}\n}}"));
        assert_eq!(found, [format!("Caddyfile:{expected}")], "{option}");
    }
}
