//! CodeIgniter's own worker script and Caddyfile, unmodified, from 4.7.1 on, and those of the
//! Composer package `php/codeigniter4` for 4.3 to 4.6. `HOWDAH_CODEIGNITER` names the folder. The
//! pages of `tests/worker/codeigniter` are added to its `app`.

use howdah_testkit::load::at_once;
use howdah_testkit::{Request, Server};
use howdah_tests::codeigniter::{application, serve};
use howdah_tests::worker::cookie;
use serde_json::json;

fn pid(server: &Server) -> String {
    let text = server.get("/probe/pid").text();
    text.split(' ').next().unwrap_or_default().to_owned()
}

macro_rules! with_codeigniter {
    ($($name:ident($workers:literal) = $check:expr;)+) => {$(
        #[test]
        fn $name() {
            if let Some(www) = application("") {
                let check: fn(&Server) = $check;
                check(&serve(&www, $workers));
            }
        }
    )+};
}

with_codeigniter! {
    serves_the_front_page(1) = |server| {
        for _ in 0..5 {
            let page = server.get("/");
            page.assert_status(200);
            assert!(page.text().contains("Welcome to CodeIgniter"));
        }
        server.get("/favicon.ico").assert_status(200);
    };
    is_booted_once(1) = |server| {
        let pid = pid(server);
        for n in 2..10 {
            server.get("/probe/pid").assert(200, &format!("{pid} {n}"));
        }
    };
    missing_pages_keep_the_worker(1) = |server| {
        let before = pid(server);
        for _ in 0..50 {
            let request = Request::get("/no/such/page").header("Accept", "text/html");
            let missing = server.send(&request);
            missing.assert_status(404);
            assert!(missing.text().contains("404"), "{}", missing.text());
            assert!(missing.text().trim_end().ends_with("</html>"), "{}", missing.text());
        }
        server.get("/probe/exit").assert(200, "said before");
        assert_eq!(pid(server), before);
    };
    exceptions_keep_the_worker(1) = |server| {
        let before = pid(server);
        for _ in 0..10 {
            server.get("/probe/throw").assert_status(500);
        }
        assert_eq!(pid(server), before);
    };
    memory_exhausted_is_answered(1) = |server| {
        server.allow_log("Allowed memory size");
        server.allow_log("fatal error");
        let answer = server.get("/probe/memory");
        answer.assert_status(500);
        server.get("/probe/pid").assert_status(200);
    };
    requests_are_isolated(4) = |server| {
        at_once(100, |i| {
            let mark = format!("m{i}");
            let request = Request::form(format!("/probe/isolate/{mark}?mark={mark}"), &format!("mark={mark}"))
                .header("Cookie", format!("mark={mark}"))
                .header("X-Mark", &mark);
            let answer = server.send(&request);
            answer.assert_status(200);
            assert_eq!(answer.head.header_all("x-mark"), [mark.as_str()]);
            let wanted = json!({
                "segment": mark, "get": mark, "post": mark, "cookie": mark, "header": mark,
                "server": mark, "uri": format!("probe/isolate/{mark}"), "method": "POST",
            });
            assert_eq!(answer.json(), wanted);
        });
        let bare = server.get("/probe/isolate/x").json();
        assert_eq!(bare["get"], json!(null));
        assert_eq!(bare["post"], json!(null));
        assert_eq!(bare["header"], "");
    };
    sessions_count(4) = |server| {
        let first = server.get("/probe/count");
        first.assert(200, "1");
        let cookie = cookie(&first);
        let with = |target: &str| server.send(&Request::get(target).header("Cookie", &cookie));
        for n in 2..20 {
            with("/probe/count").assert(200, &n.to_string());
        }
        let mut counts = at_once(20, |_| with("/probe/count").text());
        counts.sort_by_key(|count| count.parse::<u32>().unwrap_or(0));
        assert_eq!(counts, (20..40).map(|n| n.to_string()).collect::<Vec<_>>());
        server.get("/probe/count").assert(200, "1");
    };
    flash_data_lives_for_one_request(2) = |server| {
        let redirect = server.get("/probe/flash");
        redirect.assert_status(302);
        let cookie = cookie(&redirect);
        let page = || server.send(&Request::get("/probe/flashed").header("Cookie", &cookie));
        page().assert(200, "kept for one request");
        page().assert(200, "");
    };
    uploads_arrive(1) = |server| {
        for i in 0..3 {
            let body = format!(
                "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\
                 Content-Type: text/plain\r\n\r\ntext {i}\r\n--X--\r\n"
            );
            let request = Request::new("POST", "/probe/upload")
                .header("Content-Type", "multipart/form-data; boundary=X")
                .body(body);
            let answer = server.send(&request).json();
            assert_eq!(answer, json!({"valid": true, "text": format!("text {i}"), "moved": true, "there": true}));
        }
    };
    downloads_come_whole(1) = |server| {
        for _ in 0..3 {
            let answer = server.get("/probe/download");
            answer.assert(200, &"download ".repeat(10_000));
            let disposition = answer.header("content-disposition").unwrap_or_default();
            assert!(disposition.contains("name.txt"), "{disposition}");
        }
    };
    settings_are_put_back(1) = |server| {
        let fresh = server.get("/probe/settings").json();
        for _ in 0..3 {
            assert_eq!(server.get("/probe/settings").json(), fresh);
        }
    };
}
