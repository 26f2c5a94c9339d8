//! State that a request left behind, as the server logs it.

use serde_json::Value;

/// The record of one finding.
#[derive(Debug)]
pub(super) struct Leak(Value);

/// The logger of findings.
const LOGGER: &str = "howdah::leaks";

impl Leak {
    /// The leak of a log record that has one.
    pub(super) fn of(record: Value) -> Option<Self> {
        (record["logger"] == LOGGER && record["kind"].is_string()).then_some(Self(record))
    }

    fn field(&self, name: &str) -> &str {
        self.0[name].as_str().unwrap_or_default()
    }

    pub(super) fn text(&self) -> String {
        let (kind, path, why) = (self.field("kind"), self.field("path"), self.field("why"));
        let (method, uri, value) = (self.field("method"), self.field("uri"), self.field("value"));
        let member = self.field("member");
        let member = if member.is_empty() || member == path {
            String::new()
        } else {
            format!(" ({member})")
        };
        format!("{kind} {path}{member} {why}: {value}, by {method} {uri}")
    }

    pub(super) fn places(&self) -> Vec<String> {
        let file = self.field("file");
        let line = self.0["line"].as_u64().unwrap_or(0);
        let is_known = !file.is_empty();
        is_known
            .then(|| format!("{file}:{line}"))
            .into_iter()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leak_of_a_service_has_its_declaration() {
        let leak = |path: &str, member: &str| {
            Leak(
                serde_json::json!({"kind": "object property", "path": path, "member": member, "why": "grows",
                "value": "array(4)", "method": "GET", "uri": "/a"}),
            )
        };
        assert_eq!(
            leak("$GLOBALS['app']->lines", r"App\Logger::$lines").text(),
            r"object property $GLOBALS['app']->lines (App\Logger::$lines) grows: array(4), by GET /a"
        );
        let own = r"App\Logger::$lines";
        assert_eq!(
            leak(own, own).text(),
            r"object property App\Logger::$lines grows: array(4), by GET /a"
        );
    }
}
