//! Handles a request: checks its sender, finds the endpoint, and reads its body.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Body;

use super::call::Call;
use super::endpoint::Endpoint;
use super::guard::Guard;
use super::query::{ReloadTarget, reload_target};
use super::reply::{FullResponse, error};
use super::{Configuration, Control, dashboard};

/// Bytes of a request body. FrankenPHP's clients send the whole configuration back.
const MAX_BODY: usize = 1 << 20;
/// Timeout of the whole body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// Responds to any request. `begun` is called when it has arrived completely.
pub(super) async fn respond<C: Control, B>(
    control: &C,
    guard: &Guard,
    request: Request<B>,
    begun: impl FnOnce(),
) -> FullResponse
where
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send,
{
    let (parts, body) = request.into_parts();
    if let Err(text) = guard.check(&parts) {
        tracing::warn!(target: "howdah::admin", path = parts.uri.path(), "refused: {text}");
        return error(StatusCode::FORBIDDEN, &text);
    }
    if matches!(parts.method, Method::GET | Method::HEAD)
        && let Some(file) = dashboard::file(parts.uri.path())
    {
        return file;
    }
    let endpoint = match Endpoint::find(&parts.method, parts.uri.path()) {
        Ok(endpoint) => endpoint,
        Err(response) => return *response,
    };
    if let Err(text) = check_permission(control, guard, endpoint, parts.uri.query()) {
        // Commands work without it: `howdah reload --config` sends the text, and `howdah crashes` reads the folder.
        if matches!(
            endpoint,
            Endpoint::Reload | Endpoint::Crashes | Endpoint::ClearCrashes
        ) {
            tracing::info!(target: "howdah::admin", "refused: {text}");
        } else {
            tracing::warn!(target: "howdah::admin", path = parts.uri.path(), "refused: {text}");
        }
        return error(StatusCode::FORBIDDEN, &text);
    }
    let body = match read_to_end(body).await {
        Ok(body) => body,
        Err(response) => return *response,
    };
    begun();
    let call = Call {
        control,
        guard,
        parts: &parts,
        body: &body,
    };
    call.run(endpoint).await
}

/// Every process of the machine can reach a TCP address, PHP too; only the server's user and root can reach a Unix
/// socket.
///
/// A configuration can run programs with the server's rights, and the errors of a file reveal its contents. So over TCP
/// no other file is read, and a server whose PHP has fewer rights than itself neither accepts a configuration nor shows
/// its own, which has secrets.
fn check_permission<C: Control>(
    control: &C,
    guard: &Guard,
    endpoint: Endpoint,
    query: Option<&str>,
) -> Result<(), String> {
    const SOCKET: &str =
        "send it as root through a Unix socket: `admin unix//PATH` in the Caddyfile";
    if guard.keeps_php_out(control.is_php_restricted()) {
        return Ok(());
    }
    match endpoint {
        Endpoint::Load | Endpoint::WholeConfig if control.is_php_restricted() => Err(format!(
            "no configuration is accepted or shown here, since PHP runs as a different user than the server and can reach this address; {SOCKET}"
        )),
        // They contain requests of others.
        Endpoint::Crashes | Endpoint::ClearCrashes if control.crashes_are_private() => {
            Err(format!(
                "no crash report is shown or removed over TCP, since PHP can reach this address and must not read them; {SOCKET}, or run `howdah crashes` as root"
            ))
        }
        Endpoint::SetLogSink if control.is_php_restricted() => Err(format!(
            "logs are not sent over TCP, since PHP runs as a different user than the server and can reach this address; {SOCKET}"
        )),
        Endpoint::Reload => match reload_target(query) {
            Ok(ReloadTarget::Configuration(Configuration::File(file)))
                if control.config_file().as_ref() != Some(&file) =>
            {
                Err(format!(
                    "over TCP, only the server's current configuration file can be loaded, since PHP can reach this address; {SOCKET}"
                ))
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Reads a body to its end, so that the connection can be used again.
async fn read_to_end<B>(body: B) -> Result<Bytes, Box<FullResponse>>
where
    B: Body<Data: Send, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send,
{
    let refused = |status, text: &str| Err(Box::new(error(status, text)));
    let too_large = || {
        let text = format!("the request body may have at most {MAX_BODY} bytes");
        refused(StatusCode::PAYLOAD_TOO_LARGE, &text)
    };
    if body.size_hint().lower() > MAX_BODY as u64 {
        return too_large();
    }
    let read = tokio::time::timeout(BODY_TIMEOUT, Limited::new(body, MAX_BODY).collect());
    match read.await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(cause)) if cause.is::<http_body_util::LengthLimitError>() => too_large(),
        Ok(Err(cause)) => refused(StatusCode::BAD_REQUEST, &cause.to_string()),
        Err(_) => refused(
            StatusCode::REQUEST_TIMEOUT,
            "the request body did not arrive",
        ),
    }
}
