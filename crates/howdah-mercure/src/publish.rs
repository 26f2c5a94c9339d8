//! Publishing: a form with `topic`, `data` and more.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{Response, StatusCode};

use crate::answer::{Body, Request, forbidden, text, unauthorized, whole};
use crate::hub::Hub;
use crate::selector::all;
use crate::token::{TokenError, authorize};
use crate::update::{Draft, Problem};

/// Responds with the id of the update.
pub(crate) fn publish(hub: &Arc<Hub>, request: &Request<'_>) -> Response<Body> {
    let options = &hub.options;
    // Without a key no token is valid: PHP code and hot reload publish.
    let Some(key) = &options.publisher else {
        return *unauthorized(request, Some(&TokenError::NoKey));
    };
    let credentials = hub.credentials(request, None);
    let claims = match authorize(&credentials, key, &options.publish_origins) {
        Ok(claims) => claims,
        Err(refused) => return *unauthorized(request, Some(&refused)),
    };
    let Some(claims) = claims else {
        return *unauthorized(request, None);
    };
    let Some(allowed) = &claims.publish else {
        return *forbidden(request, &claims);
    };
    let kind = request.headers.get(CONTENT_TYPE);
    let is_form = kind
        .and_then(|kind| kind.to_str().ok())
        .and_then(|kind| kind.split(';').next())
        .is_some_and(|kind| {
            kind.trim()
                .eq_ignore_ascii_case("application/x-www-form-urlencoded")
        });
    if !is_form {
        return text(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "An update is published as application/x-www-form-urlencoded.",
        );
    }
    let draft = match read(request.body) {
        Ok(draft) => draft,
        Err(problem) => return text(status(problem), &problem.to_string()),
    };
    let update = draft.finish();
    if !all(allowed, &update.topics) {
        return *forbidden(request, &claims);
    }
    let id = Bytes::copy_from_slice(update.id.as_bytes());
    hub.dispatch(update);
    whole(StatusCode::OK, "text/plain; charset=utf-8", id)
}

/// The status of the response.
fn status(problem: Problem) -> StatusCode {
    match problem {
        Problem::Reserved => StatusCode::FORBIDDEN,
        _ => StatusCode::BAD_REQUEST,
    }
}

fn read(body: &[u8]) -> Result<Draft, Problem> {
    let mut draft = Draft::default();
    for (name, value) in form_urlencoded::parse(body) {
        match &*name {
            "topic" => draft.topics.push(value.into_owned()),
            "data" => draft.data = value.into_owned(),
            "private" => draft.private = true,
            "id" if !value.is_empty() => draft.id = Some(value.into_owned()),
            "type" if !value.is_empty() => draft.kind = Some(value.into_owned()),
            "retry" if !value.is_empty() => {
                draft.retry = Some(value.parse().map_err(|_| Problem::Retry)?);
            }
            // The protocol allows publishers to send fields that a hub does not know.
            _ => {}
        }
    }
    draft.check()?;
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let draft = read(b"topic=a&topic=b%20c&data=x%0Ay&private=on&id=i&type=t&retry=5&more=z");
        let draft = draft.expect("valid");
        assert_eq!(draft.topics, ["a", "b c"]);
        assert_eq!((draft.data.as_str(), draft.private), ("x\ny", true));
        assert_eq!(draft.retry, Some(5));
        for (form, problem) in [
            ("data=x", Problem::NoTopic),
            ("topic=a%0A", Problem::Topic),
            (
                "topic=https://a/.well-known/mercure/subscriptions/x",
                Problem::Reserved,
            ),
            ("topic=a&id=x%0Adata:y", Problem::Id),
            ("topic=a&id=%23x", Problem::Id),
            ("topic=a&type=x%0D", Problem::Kind),
            ("topic=a&type=mercure", Problem::ReservedKind),
            ("topic=a&retry=soon", Problem::Retry),
        ] {
            assert_eq!(read(form.as_bytes()).expect_err(form), problem, "{form}");
        }
    }
}
