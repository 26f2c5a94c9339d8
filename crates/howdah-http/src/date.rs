//! The `Date` of responses, formatted once a second.

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

use http::HeaderValue;

thread_local! {
    static LAST: RefCell<(u64, Option<HeaderValue>)> = const { RefCell::new((0, None)) };
}

/// The time now. `None`: the clock is outside the range of the field.
pub(crate) fn now() -> Option<HeaderValue> {
    let now = SystemTime::now();
    let second = now.duration_since(UNIX_EPOCH).ok()?.as_secs();
    LAST.with_borrow_mut(|(last, value)| {
        if *last != second || value.is_none() {
            *value = HeaderValue::try_from(httpdate::fmt_http_date(now)).ok();
            *last = second;
        }
        value.clone()
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_the_time() {
        let value = super::now().expect("a date");
        let parsed = httpdate::parse_http_date(value.to_str().unwrap()).unwrap();
        let age = std::time::SystemTime::now().duration_since(parsed).unwrap();
        assert!(age.as_secs() < 3600, "{value:?}");
        assert!(super::now().is_some());
    }
}
