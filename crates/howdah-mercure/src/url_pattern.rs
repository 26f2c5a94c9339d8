//! URL patterns of Mercure 1.0, as the URL Pattern Standard (<https://urlpattern.spec.whatwg.org>) defines them.
//!
//! A topic is parsed once, whatever the number of patterns that it is compared with. Patterns come from any client, so
//! their number, length and compiled size are limited. Their regular expressions match in linear time.

use std::sync::{LazyLock, OnceLock};

use regex::Error;
use regex::bytes::{Regex, RegexBuilder};
use url::{Url, quirks};
use urlpattern::matcher::{InnerMatcher, Matcher};
use urlpattern::regexp::RegExp;
use urlpattern::{RegexSyntax, UrlPatternInit, UrlPatternOptions};

/// Patterns of one subscription or token.
const PATTERNS_MAX: usize = 100;
/// Characters in them that may begin a group.
const GROUPS_MAX: usize = 1_000;
/// Bytes of memory of their regular expressions.
const MEMORY_MAX: usize = 8 << 20;
/// Steps of the limit on the compiled size of one regular expression. A compiler that knows the size only when it fails
/// tries the smallest first.
const COMPILED_MAX: [usize; 3] = [4 << 10, 16 << 10, 64 << 10];
/// Bytes of the cache of a regular expression, of which it has two.
const CACHE_MAX: usize = 32 << 10;

/// The base of relative patterns and topics. The name can belong to no host (RFC 6761).
static BASE: LazyLock<Url> = LazyLock::new(|| {
    let base = Url::parse("http://mercure.invalid");
    base.expect("a valid URL")
});

/// What the patterns of one subscription or token may cost together.
#[derive(Debug)]
pub(crate) struct Budget {
    patterns: usize,
    groups: usize,
    memory: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            patterns: PATTERNS_MAX,
            groups: GROUPS_MAX,
            memory: MEMORY_MAX,
        }
    }
}

/// Why a pattern cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternError {
    #[error("a URL pattern is invalid")]
    Invalid,
    #[error("the URL patterns are too many or too complex")]
    TooComplex,
}

/// A topic as a URL; `None`: it is not one, and no pattern matches it.
pub(crate) fn topic_url(topic: &str) -> Option<Url> {
    BASE.join(topic).ok()
}

/// A pattern, ready to match.
#[derive(Debug, Clone)]
pub(crate) struct UrlPattern {
    /// Those components that do not match everything.
    components: Vec<(Get, Component)>,
}

/// Returns a component of a URL.
type Get = fn(&Url) -> &str;

#[derive(Debug, Clone)]
struct Component {
    prefix: String,
    suffix: String,
    between: Between,
}

#[derive(Debug, Clone)]
enum Between {
    Text(String),
    Any {
        except: Option<char>,
        may_be_empty: bool,
    },
    Regex(Regex),
}

impl UrlPattern {
    pub(crate) fn new(text: &str, budget: &mut Budget) -> Result<Self, PatternError> {
        let take = |left: &mut usize, taken: usize| {
            *left = left.checked_sub(taken).ok_or(PatternError::TooComplex)?;
            Ok(())
        };
        take(&mut budget.patterns, 1)?;
        if !is_balanced(text) {
            return Err(PatternError::Invalid);
        }
        let groups = text.matches([':', '*', '(', '{']).count();
        take(&mut budget.groups, groups)?;
        let read = |base| UrlPatternInit::parse_constructor_string::<Source>(text, base);
        // With a base, the path of an absolute pattern such as `urn\:uuid\::id` would be below the base's.
        let init = match read(None) {
            Err(urlpattern::Error::BaseUrlRequired) => read(Some(BASE.clone())),
            init => init,
        };
        let parsed = init.and_then(|init| {
            urlpattern::UrlPattern::<Source>::parse(init, UrlPatternOptions::default())
        });
        let pattern = parsed.map_err(|_| PatternError::Invalid)?;
        let all: [(Get, Matcher<Source>); 8] = [
            (Url::scheme, pattern.protocol.matcher),
            (
                |url| url.host_str().unwrap_or_default(),
                pattern.hostname.matcher,
            ),
            (quirks::port, pattern.port.matcher),
            (quirks::pathname, pattern.pathname.matcher),
            (
                |url| url.query().unwrap_or_default(),
                pattern.search.matcher,
            ),
            (
                |url| url.fragment().unwrap_or_default(),
                pattern.hash.matcher,
            ),
            (Url::username, pattern.username.matcher),
            (
                |url| url.password().unwrap_or_default(),
                pattern.password.matcher,
            ),
        ];
        let mut components = Vec::new();
        for (get, matcher) in all {
            let between = match matcher.inner {
                InnerMatcher::Literal { literal } => Between::Text(literal),
                InnerMatcher::SingleCapture {
                    filter,
                    allow_empty,
                } => Between::Any {
                    except: filter,
                    may_be_empty: allow_empty,
                },
                InnerMatcher::RegExp { regexp } => {
                    let source = regexp.map_err(|_| PatternError::Invalid)?;
                    let (regex, size) = source.compile(&COMPILED_MAX)?;
                    // It has one matcher for each direction, and their caches.
                    take(&mut budget.memory, 2 * (size + CACHE_MAX))?;
                    Between::Regex(regex)
                }
            };
            let component = Component {
                prefix: matcher.prefix,
                suffix: matcher.suffix,
                between,
            };
            if !component.matches_everything() {
                components.push((get, component));
            }
        }
        Ok(Self { components })
    }

    pub(crate) fn matches(&self, topic: &Url) -> bool {
        let mut components = self.components.iter();
        components.all(|(get, component)| component.matches(get(topic)))
    }
}

impl Component {
    fn matches_everything(&self) -> bool {
        let any = matches!(
            self.between,
            Between::Any {
                except: None,
                may_be_empty: true
            }
        );
        any && self.prefix.is_empty() && self.suffix.is_empty()
    }

    fn matches(&self, text: &str) -> bool {
        let rest = text.strip_prefix(self.prefix.as_str());
        let Some(rest) = rest.and_then(|rest| rest.strip_suffix(self.suffix.as_str())) else {
            return false;
        };
        match &self.between {
            Between::Text(text) => rest == text,
            Between::Any {
                except,
                may_be_empty,
            } => {
                (*may_be_empty || !rest.is_empty())
                    && !except.is_some_and(|char| rest.contains(char))
            }
            Between::Regex(regex) => regex.is_match(rest.as_bytes()),
        }
    }
}

/// The text of a regular expression. The library generates one for each component, most of which no topic is compared
/// with: it is compiled when it is used.
#[derive(Debug)]
struct Source {
    text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Source {
    /// The compiled form, and the step of the limits that it is within.
    fn compile(&self, limits: &[usize]) -> Result<(Regex, usize), PatternError> {
        for limit in limits {
            // Components of URLs are ASCII, and classes such as `\w` are so in the standard too.
            let built = RegexBuilder::new(&without_captures(&self.text))
                .unicode(false)
                .size_limit(*limit)
                .dfa_size_limit(CACHE_MAX)
                .build();
            match built {
                // Other groups have names, and would need another kind of matcher.
                Ok(regex) if regex.captures_len() == 1 => return Ok((regex, *limit)),
                Err(Error::CompiledTooBig(_)) => {}
                Ok(_) | Err(_) => return Err(PatternError::Invalid),
            }
        }
        Err(PatternError::TooComplex)
    }
}

/// Whether each brace that closes a group has one that opens it, each regular expression in parentheses has an end, and
/// there are no brackets, escaped or not, outside of them. The library counts braces and brackets without checks. A host
/// that is an IPv6 address is refused with the brackets.
fn is_balanced(text: &str) -> bool {
    let mut chars = text.chars().peekable();
    let mut open = 0_usize;
    while let Some(char) = chars.next() {
        match char {
            '\\' if matches!(chars.peek(), Some('[' | ']')) => return false,
            '\\' => drop(chars.next()),
            '[' | ']' => return false,
            '{' => open += 1,
            '}' if open == 0 => return false,
            '}' => open -= 1,
            '(' => {
                let mut depth = 1;
                if matches!(chars.peek(), Some('?' | ')')) {
                    return false;
                }
                while depth > 0 {
                    let within = match chars.next() {
                        Some('\\') => chars.next(),
                        Some('(') if chars.peek() != Some(&'?') => return false,
                        other => {
                            match other {
                                Some('(') => depth += 1,
                                Some(')') => depth -= 1,
                                _ => {}
                            }
                            other
                        }
                    };
                    if !within.is_some_and(|char| char.is_ascii()) {
                        return false;
                    }
                }
            }
            _ => {}
        }
    }
    open == 0
}

/// Turns the groups that the library generates into groups that do not capture, because nothing reads them.
fn without_captures(text: &str) -> String {
    let mut result = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        result.push(char);
        match char {
            '\\' => result.extend(chars.next()),
            '(' if chars.peek() != Some(&'?') => result.push_str("?:"),
            _ => {}
        }
    }
    result
}

impl RegExp for Source {
    fn syntax() -> RegexSyntax {
        RegexSyntax::Rust
    }

    fn parse(pattern: &str, _: &str, _: bool) -> Result<Self, ()> {
        Ok(Self {
            text: pattern.to_owned(),
            compiled: OnceLock::new(),
        })
    }

    /// Called while a pattern is parsed, for the name of the protocol.
    fn matches<'a>(&self, text: &'a str) -> Option<Vec<Option<&'a str>>> {
        let compiled = self.compiled.get_or_init(|| {
            let compiled = self.compile(&COMPILED_MAX).ok()?;
            Some(compiled.0)
        });
        let found = compiled.as_ref()?.is_match(text.as_bytes());
        found.then(Vec::new)
    }

    fn pattern_string(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Result<UrlPattern, PatternError> {
        UrlPattern::new(text, &mut Budget::default())
    }

    fn matches(text: &str, topic: &str) -> bool {
        let pattern = pattern(text).expect(text);
        topic_url(topic).is_some_and(|url| pattern.matches(&url))
    }

    #[test]
    fn matching_topics() {
        let table = [
            ("https://a/books/:id", "https://a/books/1", true),
            ("https://a/books/:id", "https://a/books/a%20b", true),
            ("https://a/books/:id", "https://a/books/", false),
            ("https://a/books/:id", "https://a/books/1/2", false),
            ("https://a/books/:id", "https://a/books/..", false),
            ("https://a/books/:id", "https://a/books/1/../../x", false),
            ("https://a/books/:id", "https://a/Books/1", false),
            ("https://a/books/:id", "HTTPS://A/books/1", true),
            ("https://a/books/:id", "http://a/books/1", false),
            ("https://a/books/:id", "https://a:8443/books/1", false),
            ("https://a:443/books/:id", "https://a/books/1", true),
            // What a pattern leaves out at its end may be anything, but not what it leaves out before.
            ("https://a/books/:id", "https://a/books/1?q#f", true),
            ("https://a/books/:id?q=:q", "https://a/books/1", false),
            ("https://a/books/:id\\?q=:q", "https://a/books/1?q=2", true),
            ("https://a/books/:id", "https://u:p@a/books/1", true),
            ("https://a/users/42/*", "https://a/users/42/x/y", true),
            ("https://a/users/42/*", "https://a/users/42/", true),
            ("https://a/users/42/*", "https://a/users/4/2", false),
            ("https://a/users/42/*", "https://a/users/42/../43/x", false),
            (
                "https://a/users/42/*",
                "https://a/users/42/%2e%2e/43/x",
                false,
            ),
            ("https://a/users/42/*", "https://a\\users\\42\\x", true),
            ("https://*.a/:x", "https://b.c.a/1", true),
            ("https://*.a/:x", "https://a/1", false),
            ("https://a/:type(news|alerts)", "https://a/news", true),
            ("https://a/:type(news|alerts)", "https://a/newsx", false),
            ("https://a/:type(news|alerts)/x", "https://a/alerts/x", true),
            ("https://a/:n(\\d+)", "https://a/12", true),
            ("https://a/:n(\\d+)", "https://a/1x", false),
            ("https://a/:n([^a-z]+)", "https://a/12", true),
            ("https://a/:n(\\w+)/:m(\\w+)", "https://a/1/b_2", true),
            ("https://a/:n(\\w+)", "https://a/%C3%A9", false),
            ("https://a/:n((?:a|b)+)/y", "https://a/abab/y", true),
            ("https://a/items{/:tail}?", "https://a/items", true),
            ("https://a/items{/:tail}?", "https://a/items/1", true),
            ("https://a/items{/:tail}?", "https://a/items/1/2", false),
            ("https://a/:path+", "https://a/1/2", true),
            ("https://a/x/:path*", "https://a/x", true),
            ("http{s}?://a/:x", "http://a/1", true),
            ("http{s}?://a/:x", "https://a/1", true),
            ("/books/:id", "/books/1", true),
            ("/books/:id", "books/1", true),
            ("/books/:id", "https://a/books/1", false),
            ("books/:id", "/books/1", true),
            (":x", "chat", true),
            (":x", "chat/1", false),
            ("urn\\:uuid\\::id", "urn:uuid:1", true),
            ("urn\\:uuid\\::id", "urn:other:1", false),
            ("https://a/", "https://[", false),
            ("*://*/*", "https://a/b", true),
        ];
        for (text, topic, expected) in table {
            assert_eq!(matches(text, topic), expected, "{text} {topic}");
        }
    }

    #[test]
    fn texts_that_are_not_patterns() {
        for text in [
            "https://a/:",
            "https://a/(",
            "https://a/{x",
            "https://a/:x/:x",
            "https://a/(?x)",
            "https://a/((x))",
            "https://a/:x([)",
            "https://a/:x(a(?<n>b))",
            "https://a/:x(a(?P<n>b))",
            "https://a/:x(a(?=b))",
            "https://a/}",
            "https://a/({)}",
            "https://a/\\{}",
            "https://a/(\\",
            "https://a/(é)",
            "https://[::1]/",
            "[://]/",
            "https://a\\]/",
            "https://a/:x(\\p{L})",
        ] {
            let refused = pattern(text).expect_err(text);
            assert_eq!(refused, PatternError::Invalid, "{text}");
        }
    }

    #[test]
    fn costs_are_limited() {
        let long = "a".repeat(4_000);
        for text in [
            r"https://a/:x(\w{1000})".to_owned(),
            r"https://a/:x((?:(?:(?:a{999}){999}){999}){999})".to_owned(),
            format!("https://a/:x({long})/:y({long})"),
            format!("https://a/{}", "*/".repeat(1_001)),
            format!("{}(:)?://a", r":x(\w{999})"),
        ] {
            let refused = pattern(&text).expect_err(&text);
            assert_eq!(refused, PatternError::TooComplex, "{text}");
        }
        let many = |text: &str| {
            let mut budget = Budget::default();
            let patterns = std::iter::repeat_with(|| UrlPattern::new(text, &mut budget));
            patterns.take(1_000).take_while(Result::is_ok).count()
        };
        assert_eq!(many("https://a/:x"), 100);
        assert_eq!(many("https://a/users/:user/books/:book"), 100);
        let complex = many(r"https://a/:x([a-z]{200}\d{200})");
        assert!((10..100).contains(&complex), "{complex}");
        let groups = many("https://a/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*");
        assert_eq!(groups, 50);
    }

    #[test]
    fn no_text_causes_a_panic() {
        let pieces = [
            "http", "s", "a", "é", "日", "\u{200d}", ":", ":x", "//", "/", "*", "?", "+", "(", ")",
            "[", "]", "{", "}", "\\", "#", "@", ".", "%", "%2e", "-", "|", "^", "$", "(?:", "[^",
            "&&", "\\w", "1", ":80", "::1", "xn--", "\u{ad}", " ",
        ];
        let mut random = fastrand::Rng::with_seed(1);
        let mut valid = 0;
        for _ in 0..20_000 {
            let count = random.usize(..20);
            let text: String = (0..count)
                .map(|_| pieces[random.usize(..pieces.len())])
                .collect();
            let topic = topic_url(&text);
            if let Ok(pattern) = pattern(&text) {
                valid += 1;
                let _ = topic.map(|topic| pattern.matches(&topic));
            }
        }
        assert!(valid > 1_000, "{valid}");
    }
}
