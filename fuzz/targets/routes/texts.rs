//! Placeholders and texts with them. Values are compared with reference implementations. Roots and
//! candidates must stay in the configured folders.

use std::path::{Component, Path};

use howdah_cgi::text_of;
use howdah_config::model::{Matcher as Model, Part, Placeholder, Template};
use http::header::COOKIE;
use percent_encoding::percent_decode_str;

use crate::candidate::Candidate;
use crate::context::Context;
use crate::matcher::Matcher;
use crate::path;
use crate::purpose::Purpose;
use crate::query;
use crate::root::RootText;
use crate::text::Text;

/// Placeholder for a letter in a change.
pub(crate) fn placeholder(letter: char) -> Option<Placeholder> {
    Some(match letter {
        'a' => Placeholder::QueryValue("a".into()),
        'c' => Placeholder::Cookie("a".into()),
        'd' => Placeholder::Dir,
        'e' => Placeholder::PathElement(0),
        'f' => Placeholder::File,
        'g' => Placeholder::Group("words".into(), "1".into()),
        'h' => Placeholder::Header("x".into()),
        'l' => Placeholder::HostLabel(0),
        'n' => Placeholder::Host,
        'o' => Placeholder::OrigPath,
        'p' => Placeholder::Path,
        'q' => Placeholder::Query,
        'u' => Placeholder::Uri,
        _ => return None,
    })
}

/// Letters of placeholders whose values a client can choose.
const CHOSEN: &str = "acdefghlnopqu";

/// Values of a query parameter that are compared.
const WANTED: [&str; 3] = ["1", "*", ""];

thread_local! {
    static COMPILED: Vec<Compiled> = CHOSEN.chars().map(Compiled::new).collect();
    static MATCHERS: [Matcher; 3] = WANTED.map(|wanted| {
        let values = vec![Template::text(wanted)];
        Matcher::compile(&Model::Query(vec![("a".into(), values)])).expect("a matcher")
    });
}

fn evaluate(parts: Vec<Part>, context: &Context<'_>, purpose: Purpose) -> String {
    let text = Text::new(&Template { parts });
    text.evaluate(context, purpose).into_owned()
}

fn value(placeholder: Placeholder, context: &Context<'_>) -> String {
    evaluate(vec![Part::Placeholder(placeholder)], context, Purpose::File)
}

pub(crate) fn check(context: &Context<'_>) {
    let own = &*context.path;
    let in_uri = evaluate(
        vec![Part::Placeholder(Placeholder::Path)],
        context,
        Purpose::Uri,
    );
    assert_eq!(path::normalise(&in_uri).as_deref(), Ok(own));
    assert_eq!(value(Placeholder::Path, context), own);
    pieces(context, own);
    fields(context);
    queries(context);
    COMPILED.with(|compiled| {
        for chosen in compiled {
            check_roots(chosen, context);
            check_candidates(chosen, context);
        }
    });
}

/// Whether the path may be looked up below a root.
pub(crate) fn is_clean(own: &str) -> bool {
    let mut segments = own.split('/');
    segments.next() == Some("")
        && !own.contains("//")
        && !own.contains('\0')
        && segments.all(|segment| !matches!(segment, "." | ".."))
}

/// Parts of paths and hosts, joined, are the whole.
fn pieces(context: &Context<'_>, own: &str) {
    let of = |placeholder| value(placeholder, context);
    assert_eq!(of(Placeholder::Dir) + &of(Placeholder::File), own);
    assert_eq!(
        of(Placeholder::FileBase) + &of(Placeholder::FileExtension),
        of(Placeholder::File)
    );
    let sent = context.original.uri.path();
    let whole = of(Placeholder::OrigDir) + &of(Placeholder::OrigFile);
    assert_eq!(path::normalise(sent).as_deref(), Ok(&*whole));
    let in_uri =
        |placeholder| evaluate(vec![Part::Placeholder(placeholder)], context, Purpose::Uri);
    let original = in_uri(Placeholder::OrigDir) + &in_uri(Placeholder::OrigFile);
    assert_eq!(original, sent);
    assert_eq!(
        original + &of(Placeholder::OrigPrefixedQuery),
        of(Placeholder::OrigUri)
    );
    for (index, element) in own[1..].split('/').enumerate() {
        assert_eq!(of(Placeholder::PathElement(index)), element);
    }
    let host = of(Placeholder::Host);
    for (index, label) in host.split('.').rev().enumerate() {
        assert_eq!(of(Placeholder::HostLabel(index)), label);
    }
    for (escaped, whole) in [
        (Placeholder::EscapedPath, own.to_owned()),
        (Placeholder::EscapedQuery, of(Placeholder::Query)),
        (Placeholder::EscapedUri, context.target()),
    ] {
        let text = of(escaped);
        let unreserved = |char: char| char.is_ascii_alphanumeric() || "-._~%".contains(char);
        assert!(text.chars().all(unreserved), "{text:?}");
        let decoded: Vec<u8> = percent_decode_str(&text).collect();
        assert_eq!(text_of(&decoded), whole);
    }
}

/// All values of a header field, and the first of a cookie.
fn fields(context: &Context<'_>) {
    let headers = &context.original.headers;
    let all: Vec<_> = headers
        .get_all("x")
        .iter()
        .map(|value| text_of(value.as_bytes()))
        .collect();
    assert_eq!(
        value(Placeholder::Header("x".into()), context),
        all.join(",")
    );
    let mut sent = Vec::new();
    for field in headers.get_all(COOKIE) {
        for pair in field.as_bytes().split(|byte| *byte == b';') {
            if field.to_str().is_ok()
                && let Some(value) = pair.trim_ascii().strip_prefix(b"a=")
            {
                sent.push(value);
            }
        }
    }
    let first = sent.first().copied().unwrap_or_default();
    // The quotes around the value are not part of it.
    let quoted = first
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""));
    let first = quoted.unwrap_or(first);
    let found = value(Placeholder::Cookie("a".into()), context);
    assert_eq!(found.as_bytes(), first);
}

/// As in every form parser.
fn queries(context: &Context<'_>) {
    let query = value(Placeholder::Query, context);
    let pairs = query::pairs(&query);
    let named = pairs.iter().filter(|(name, _)| name == "a");
    let values: Vec<_> = named.map(|(_, value)| value.as_str()).collect();
    let found = value(Placeholder::QueryValue("a".into()), context);
    assert_eq!(values.join(","), found);
    MATCHERS.with(|matchers| {
        for (wanted, matcher) in WANTED.iter().zip(matchers) {
            let fits = |value: &str| *wanted == "*" || *wanted == value;
            let expected = pairs.iter().any(|(name, value)| name == "a" && fits(value));
            let found = matcher.matches(context);
            assert_eq!(found, expected, "a={wanted} in {query:?}");
        }
    });
}

/// Configured texts with a value that the client chooses.
struct Compiled {
    /// Document roots, and the folder in which each must stay.
    roots: Vec<(RootText, Option<&'static str>)>,
    candidates: Vec<Candidate>,
}

impl Compiled {
    fn new(letter: char) -> Self {
        let of = |pieces: &[&str]| Template {
            parts: pieces
                .iter()
                .map(|piece| match *piece {
                    "{}" => Part::Placeholder(placeholder(letter).expect("a letter of it")),
                    text => Part::Text(text.to_owned()),
                })
                .collect(),
        };
        let www = Some("www");
        let roots = [
            (of(&["/srv/", "{}"]), None),
            (of(&["/srv/", "{}", "/www"]), www),
            (of(&["/srv/", "{}", "{}"]), None),
            (of(&["/srv/.", "{}"]), None),
            (of(&["/srv/", "{}", ".", "{}", "/www"]), www),
        ];
        let candidates = [
            of(&["{}"]),
            of(&["{}", "/"]),
            of(&["{}", "/index.php?", "{}"]),
            of(&["/a", "{}"]),
        ];
        Self {
            roots: roots
                .map(|(root, below)| (RootText::new(&root), below))
                .into(),
            candidates: candidates.map(|text| Candidate::new(&text)).into(),
        }
    }
}

/// Whatever a client sends, the root stays in the configured folder.
fn check_roots(compiled: &Compiled, context: &Context<'_>) {
    for (root, below) in &compiled.roots {
        let Some(root) = root.evaluate(context) else {
            continue;
        };
        let mut found = Vec::new();
        for component in Path::new(&**root.path()).components() {
            assert!(matches!(
                component,
                Component::RootDir | Component::Normal(_)
            ));
            found.push(component.as_os_str().to_str().expect("text"));
        }
        assert_eq!(&found[..2], ["/", "srv"], "{}", root.path());
        assert_eq!(
            found.len(),
            3 + usize::from(below.is_some()),
            "{}",
            root.path()
        );
        assert_eq!(found.get(3), below.as_ref());
        assert!(!root.path().contains('\0'));
    }
}

/// A candidate is below the root, and a script found in it is one of the candidates.
fn check_candidates(compiled: &Compiled, context: &Context<'_>) {
    let split = [".php".to_owned()];
    for candidate in &compiled.candidates {
        let found = candidate.place(0, context, &split);
        assert!(is_clean(&found.path), "{:?}", found.path);
        if !found.path_info.is_empty() {
            let script = found.path.to_lowercase();
            assert!(script.ends_with(".php"), "{script}");
            assert!(found.path_info.starts_with('/'), "{}", found.path_info);
            assert!(is_clean(&found.path_info), "{:?}", found.path_info);
        }
    }
}
