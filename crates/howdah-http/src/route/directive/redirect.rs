//! `redir`: redirects the client.

use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};

use crate::message::page::escape;
use crate::message::reply;
use crate::message::response::Content;
use crate::route::context::Context;
use crate::route::handler::Handler;
use crate::route::outcome::Outcome;
use crate::route::purpose::Purpose;
use crate::route::text::Text;

#[derive(Debug)]
pub(super) struct Redirect {
    pub(super) to: Text,
    pub(super) status: StatusCode,
}

impl Handler for Redirect {
    fn run(&self, context: &mut Context<'_>) -> Outcome {
        let location = self.to.evaluate(context, Purpose::Uri);
        if self.status == StatusCode::OK {
            return Outcome::answer(page(&location));
        }
        Outcome::answer(reply::redirect(self.status, &location))
    }
}

/// A page that leads browsers to `location`. Without a script, which would need different escapes.
fn page(location: &str) -> Response<Content> {
    let location = escape(location);
    let text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Redirect</title>\n\
         <meta http-equiv=\"refresh\" content=\"0; URL={location}\">\n</head>\n\
         <body>Redirecting to <a href=\"{location}\">{location}</a></body>\n</html>\n"
    );
    let body = howdah_cgi::bytes_of(&text).into_owned();
    let mut response = reply::text(StatusCode::OK, body.into());
    let html = HeaderValue::from_static("text/html; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, html);
    response
}
