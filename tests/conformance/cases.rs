//! The conformance cases as Rust sees them: loaded from `cases/*.toml`, checked, compared. Included by
//! the tests that run them (`#[path]`), so that each server is driven by the same code.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

/// The name that requests carry unless a case sets `Host` itself.
pub(crate) const HOST: &str = "conformance.test";

/// One request and what must come back; the README explains every key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) target: String,
    #[serde(default = "get")]
    pub(crate) method: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: String,
    #[serde(default)]
    body_hex: String,
    #[serde(default)]
    body_size: usize,
    #[serde(default)]
    crlf: bool,
    #[serde(default = "ok")]
    status: u16,
    #[serde(default)]
    contains: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
    #[serde(default)]
    header: Vec<String>,
    #[serde(default)]
    header_lacks: Vec<String>,
    #[serde(default)]
    size: Option<usize>,
    #[serde(default)]
    normalise: Vec<Normalise>,
    #[serde(default)]
    difference: Vec<Difference>,
    #[serde(default)]
    pub(crate) then: Vec<Case>,
}

/// What varies by its nature and is masked before two answers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Normalise {
    /// Random session ids in cookies.
    SessionId,
    /// `Max-Age` of cookies, which counts from now.
    MaxAge,
    /// The `Expires` field, which counts from now.
    Expires,
}

/// A part that is not compared, with the reason.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    /// `status`, `body`, or `header:NAME`.
    part: String,
    reason: String,
}

fn get() -> String {
    "GET".to_owned()
}

fn ok() -> u16 {
    200
}

/// An answer as an HTTP client sees it, whichever server it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// Cookies that a case's answers set, for its next requests.
#[derive(Debug, Default)]
pub(crate) struct Jar(BTreeMap<String, String>);

impl Jar {
    pub(crate) fn take(&mut self, answer: &Answer) {
        for (name, value) in &answer.headers {
            if name.eq_ignore_ascii_case("set-cookie")
                && let Some((name, value)) = value.split(';').next().and_then(|c| c.split_once('='))
            {
                self.0.insert(name.to_owned(), value.to_owned());
            }
        }
    }
}

/// All cases by `file/name`, in that order.
pub(crate) fn load(directory: &Path) -> Result<BTreeMap<String, Case>, String> {
    let mut all = BTreeMap::new();
    let files = fs::read_dir(directory).map_err(|error| error.to_string())?;
    for file in files {
        let path = file.map_err(|error| error.to_string())?.path();
        let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
        let cases: BTreeMap<String, Case> =
            toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let area = path.file_stem().unwrap_or_default().to_string_lossy();
        for (name, case) in cases {
            case.validate()
                .map_err(|error| format!("{area}/{name}: {error}"))?;
            all.insert(format!("{area}/{name}"), case);
        }
    }
    Ok(all)
}

impl Case {
    fn validate(&self) -> Result<(), String> {
        if !self.target.starts_with('/') {
            return Err("the target must start with '/'".to_owned());
        }
        for difference in &self.difference {
            let part = difference.part.as_str();
            if !(part == "status" || part == "body" || part.starts_with("header:")) {
                return Err(format!("'{part}' is none of status, body, header:NAME"));
            }
            if difference.reason.len() < 10 {
                return Err(format!("the difference of {part} needs a reason"));
            }
        }
        let bodies = [
            !self.body.is_empty(),
            !self.body_hex.is_empty(),
            self.body_size > 0,
        ];
        if bodies.into_iter().filter(|given| *given).count() > 1 {
            return Err("body, body_hex and body_size exclude each other".to_owned());
        }
        if self.body_hex.len() % 2 == 1 || !self.body_hex.is_ascii() {
            return Err("body_hex is two digits for each byte".to_owned());
        }
        self.then.iter().try_for_each(Case::validate)
    }

    /// The body to send.
    pub(crate) fn request_body(&self) -> Vec<u8> {
        if self.body_size > 0 {
            return b"0123456789abcdef"
                .iter()
                .copied()
                .cycle()
                .take(self.body_size)
                .collect();
        }
        if !self.body_hex.is_empty() {
            let byte = |at| u8::from_str_radix(&self.body_hex[at..at + 2], 16).unwrap_or(b'?');
            return (0..self.body_hex.len()).step_by(2).map(byte).collect();
        }
        if self.crlf {
            self.body.replace('\n', "\r\n")
        } else {
            self.body.clone()
        }
        .into_bytes()
    }

    /// The header fields to send: `Host`, the case's own, cookies of earlier answers. Nothing that
    /// belongs to the connection or the body's framing.
    pub(crate) fn request_headers(&self, jar: &Jar) -> Vec<(String, String)> {
        let mut headers = self.headers.clone();
        if !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            headers.insert(0, ("Host".to_owned(), HOST.to_owned()));
        }
        if !jar.0.is_empty() {
            let cookies: Vec<String> = jar
                .0
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            headers.push(("Cookie".to_owned(), cookies.join("; ")));
        }
        headers
    }

    /// What a web server makes of a CGI answer: no body where HTTP allows none.
    pub(crate) fn finish(&self, mut answer: Answer) -> Answer {
        if self.method == "HEAD" || matches!(answer.status, 204 | 304) {
            answer.body.clear();
        }
        answer
    }

    /// What is wrong with an answer, whichever server it is from.
    pub(crate) fn check(&self, answer: &Answer) -> Vec<String> {
        let mut problems = Vec::new();
        let body = String::from_utf8_lossy(&answer.body);
        if answer.status != self.status {
            problems.push(format!(
                "status {} instead of {}",
                answer.status, self.status
            ));
        }
        if let Some(size) = self.size
            && size != answer.body.len()
        {
            problems.push(format!("{} bytes instead of {size}", answer.body.len()));
        }
        for part in self.contains.iter().filter(|part| !body.contains(*part)) {
            problems.push(format!("the body lacks {part:?}"));
        }
        for part in self.lacks.iter().filter(|part| body.contains(*part)) {
            problems.push(format!("the body has {part:?}"));
        }
        let lines: Vec<String> = answer
            .headers
            .iter()
            .map(|(name, value)| format!("{}: {value}", name.to_ascii_lowercase()))
            .collect();
        for line in &self.header {
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            let line = format!("{}:{value}", name.to_ascii_lowercase());
            if !lines.iter().any(|l| {
                l == &line || line.ends_with('*') && l.starts_with(line.trim_end_matches('*'))
            }) {
                problems.push(format!("the header lacks {line:?}: {lines:?}"));
            }
        }
        for name in &self.header_lacks {
            let start = format!("{}:", name.to_ascii_lowercase());
            if lines.iter().any(|line| line.starts_with(&start)) {
                problems.push(format!("the header has {name}: {lines:?}"));
            }
        }
        problems
    }

    /// How two servers' answers differ beyond what the case allows.
    pub(crate) fn compare(&self, ours: &Answer, theirs: &Answer) -> Vec<String> {
        let compared = |part: &str| {
            !self
                .difference
                .iter()
                .any(|d| d.part.eq_ignore_ascii_case(part))
        };
        let mut problems = Vec::new();
        if compared("status") && ours.status != theirs.status {
            problems.push(format!("status {} and {}", ours.status, theirs.status));
        }
        if compared("body") && ours.body != theirs.body {
            let text = |bytes: &[u8]| {
                String::from_utf8_lossy(&bytes[..bytes.len().min(4000)]).into_owned()
            };
            problems.push(format!(
                "body {:?}\n and {:?}",
                text(&ours.body),
                text(&theirs.body)
            ));
        }
        let (ours, theirs) = (self.fields(ours), self.fields(theirs));
        let names: std::collections::BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
        for name in names {
            let (our, their) = (ours.get(name), theirs.get(name));
            // PHP sends no length of its own accord, the web server may.
            let added = their.is_none() && (ADDED.contains(&name.as_str()));
            if our != their && !added && compared(&format!("header:{name}")) {
                problems.push(format!("header {name}: {our:?} and {their:?}"));
            }
        }
        problems
    }

    fn fields(&self, answer: &Answer) -> BTreeMap<String, Vec<String>> {
        let mut fields: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in &answer.headers {
            let name = name.to_ascii_lowercase();
            let mut value = value.clone();
            for rule in &self.normalise {
                value = match rule {
                    Normalise::SessionId => mask(&mask(&value, "PHPSESSID="), "OWN="),
                    Normalise::MaxAge => mask(&mask(&value, "Max-Age="), "expires="),
                    Normalise::Expires if name == "expires" => "*".to_owned(),
                    Normalise::Expires => value,
                };
            }
            fields.entry(name).or_default().push(value);
        }
        fields
    }
}

/// Fields that a web server adds to what PHP sent.
const ADDED: &[&str] = &[
    "date",
    "server",
    "connection",
    "keep-alive",
    "transfer-encoding",
    "content-length",
    "alt-svc",
];

/// Replaces what follows `start`, up to the next `;`, by a star.
fn mask(text: &str, start: &str) -> String {
    let Some(at) = text.find(start) else {
        return text.to_owned();
    };
    let (before, value) = text.split_at(at + start.len());
    let after = value.find(';').map_or("", |end| &value[end..]);
    [before, "*", after].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(text: &str) -> Case {
        toml::from_str(text).unwrap()
    }

    fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
        let headers = headers
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()))
            .collect();
        Answer {
            status,
            headers,
            body: body.as_bytes().to_vec(),
        }
    }

    #[test]
    fn differences_are_found() {
        let case = case("target = '/'");
        let one = answer(200, &[("X-A", "1"), ("X-A", "2")], "body");
        assert_eq!(case.compare(&one, &one), Vec::<String>::new());
        let with_date = answer(200, &[("date", "now"), ("x-a", "1"), ("x-a", "2")], "body");
        assert_eq!(case.compare(&with_date, &one), Vec::<String>::new());
        for other in [
            answer(201, &[("X-A", "1"), ("X-A", "2")], "body"),
            answer(200, &[("X-A", "2"), ("X-A", "1")], "body"),
            answer(200, &[("X-A", "1")], "body"),
            answer(200, &[("X-A", "1"), ("X-A", "2"), ("X-B", "")], "body"),
            answer(200, &[("X-A", "1"), ("X-A", "2")], "Body"),
        ] {
            assert_eq!(case.compare(&other, &one).len(), 1, "{other:?}");
            assert_eq!(case.compare(&one, &other).len(), 1, "{other:?}");
        }
        let length = answer(200, &[("Content-Length", "4")], "body");
        assert_eq!(case.compare(&answer(200, &[], "body"), &length).len(), 1);
    }

    #[test]
    fn only_differences_that_a_case_names_are_allowed() {
        let case = case(
            "target = '/'\nnormalise = ['session-id', 'max-age']\n\
             difference = [{ part = 'header:X-A', reason = 'for this test' }]",
        );
        let cookie = |id: &str| format!("PHPSESSID={id}; Max-Age={id}; path=/");
        let one = answer(200, &[("X-A", "1"), ("Set-Cookie", &cookie("12"))], "");
        let two = answer(200, &[("Set-Cookie", &cookie("345"))], "");
        assert_eq!(case.compare(&one, &two), Vec::<String>::new());
        let other_path = answer(
            200,
            &[("Set-Cookie", "PHPSESSID=1; Max-Age=1; path=/x")],
            "",
        );
        assert_eq!(case.compare(&one, &other_path).len(), 1);
    }

    #[test]
    fn expectations_are_checked() {
        let case = case(
            "target = '/'\nstatus = 201\ncontains = ['yes']\nlacks = ['no']\nsize = 3\n\
             header = ['X-A: 1', 'X-B: *']\nheader_lacks = ['X-C']",
        );
        let good = answer(201, &[("x-a", "1"), ("X-B", "anything")], "yes");
        assert_eq!(case.check(&good), Vec::<String>::new());
        let bad = answer(200, &[("x-a", "2"), ("x-c", "")], "no");
        assert_eq!(case.check(&bad).len(), 7);
    }

    #[test]
    fn wrong_cases_are_refused() {
        for text in [
            "target = 'x'",
            "target = '/'\ndifference = [{ part = 'boddy', reason = 'a long enough reason' }]",
            "target = '/'\ndifference = [{ part = 'body', reason = '' }]",
            "target = '/'\nbody = 'x'\nbody_size = 3",
            "target = '/'\nbody_hex = '123'",
            "target = '/'\nthen = [{ target = '' }]",
        ] {
            assert!(case(text).validate().is_err(), "{text}");
        }
        assert!(toml::from_str::<Case>("target = '/'\nconatins = []").is_err());
    }

    #[test]
    fn bodies_and_cookies() {
        assert_eq!(
            case("target = '/'\nbody_hex = '00ff41'").request_body(),
            [0, 255, b'A']
        );
        assert_eq!(
            case("target = '/'\nbody_size = 18").request_body(),
            b"0123456789abcdef01"
        );
        assert_eq!(
            case("target = '/'\nbody = \"a\\nb\"\ncrlf = true").request_body(),
            b"a\r\nb"
        );
        let mut jar = Jar::default();
        jar.take(&answer(
            200,
            &[("Set-Cookie", "a=1; path=/"), ("set-cookie", "b=2")],
            "",
        ));
        jar.take(&answer(200, &[("Set-Cookie", "a=3")], ""));
        let headers = case("target = '/'").request_headers(&jar);
        assert_eq!(headers[0], ("Host".to_owned(), HOST.to_owned()));
        assert_eq!(headers[1], ("Cookie".to_owned(), "a=3; b=2".to_owned()));
    }
}
