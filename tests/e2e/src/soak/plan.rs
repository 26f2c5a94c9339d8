//! The plan of one request, and the check of its response.

use howdah_testkit::client::ClientError;
use howdah_testkit::{Request, Response};

use super::Settings;
use crate::traffic::Client;

/// Pseudorandom numbers that are the same in each run (splitmix64).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (value ^ (value >> 31)) as usize % limit
    }
}

/// The time at which a client disconnects.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Leaves {
    Never,
    AtOnce,
    /// After it has received the response to a different request.
    Later,
}

/// Plan of one request.
#[derive(Debug)]
pub struct Plan {
    /// Id of the request.
    pub id: String,
    /// Steps in order.
    pub ops: Vec<&'static str>,
    pub(super) request: Request,
    pub(super) leaves: Leaves,
}

fn upload(request: Request, id: &str) -> Request {
    let part = |head: &str, body: &str| {
        format!("--soak\r\nContent-Disposition: form-data; {head}\r\n\r\n{body}\r\n")
    };
    let file = part("name=\"file\"; filename=\"a\"", &id.repeat(1000));
    let body = format!("{}{file}--soak--\r\n", part("name=\"field\"", id));
    request
        .header("Content-Type", "multipart/form-data; boundary=soak")
        .body(body)
}

/// Kinds of fatal errors. Builds with `ASan` have neither PHP's memory limit nor a stack limit.
fn fatal(n: usize) -> &'static str {
    if std::env::var("USE_ZEND_ALLOC").is_ok_and(|value| value == "0") {
        return "fatal";
    }
    ["fatal", "exceed", "overflow"][n / 2 % 3]
}

impl Plan {
    /// Plans the next request of a client.
    pub(super) fn next(
        client: &mut Client<'_>,
        kinds: &[&'static str],
        host: &str,
        settings: &Settings,
    ) -> Self {
        let n = client.number_next();
        let mut chance = Chance((client.number * 1_000_003 + n) as u64);
        let mut ops: Vec<_> = (0..=chance.below(4))
            .map(|_| kinds[chance.below(kinds.len())])
            .collect();
        // Kind of its end, if it does not end normally.
        ops.extend(match chance.below(40) {
            0..4 => Some("exit"),
            4..6 => Some("throw"),
            6 if settings.fatal && n.is_multiple_of(2) => Some(fatal(n)),
            // A request with a body is not retried.
            7..10 if !settings.crashes => Some("upload"),
            10..13 => Some("late"),
            _ => None,
        });
        let leaves = match (client.number % 10, n % 6) {
            (9, 0) => Leaves::AtOnce,
            (9, 3) => Leaves::Later,
            _ => Leaves::Never,
        };
        let id = format!("{}x{n}", client.number);
        let heeds = if leaves == Leaves::Later {
            "&heeds"
        } else {
            ""
        };
        let target = format!(
            "op={}&id={id}&client={}{heeds}",
            ops.join(","),
            client.number
        );
        // A request is retried when another request crashes the process. Otherwise no part of it
        // may be lost.
        let method = if settings.crashes { "GET" } else { "POST" };
        // The path is in the log if the request costs its process.
        let path = ops.join("-");
        let mut request = Request::new(method, format!("/{path}?{target}"))
            .header("X-Id", &id)
            .host(host);
        if ops.last() == Some(&"upload") {
            request = upload(request, &id);
        }
        Self {
            id,
            ops,
            request,
            leaves,
        }
    }

    /// Plans a request that crashes its process.
    pub(super) fn crash(client: &mut Client<'_>, host: &str) -> Self {
        let n = client.number_next();
        let id = format!("{}x{n}", client.number);
        let target = format!("/crash?op=crash&id={id}&client={}", client.number);
        Self {
            request: Request::get(target).header("X-Id", &id).host(host),
            ops: vec!["crash"],
            id,
            leaves: Leaves::Never,
        }
    }
}

/// Describes the error in a response. Returns `None` if it is right.
pub fn complaint(plan: &Plan, result: &Result<Response, ClientError>) -> Option<String> {
    let response = match result {
        Ok(response) => response,
        Err(error) => return Some(error.to_string()),
    };
    let (id, text) = (&plan.id, response.text());
    let good = match plan.ops.last() {
        Some(&"throw" | &"fatal" | &"exceed" | &"overflow") => response.status() == 500,
        Some(&"crash") => response.status() == 502,
        Some(&"late") => {
            response.header("x-late") == Some(id)
                && text == format!("ok {id} shutdown, destructor of {id}; sent")
        }
        _ => text == format!("ok {id}"),
    };
    (!good).then(|| format!("{} {text}", response.status()))
}

/// Whether the request timed out, or the server's attempt to run it did.
pub(super) fn is_hung(result: &Result<Response, ClientError>) -> bool {
    match result {
        Ok(response) => matches!(response.status(), 503 | 504),
        Err(error) => matches!(error, ClientError::Timeout(_)),
    }
}
