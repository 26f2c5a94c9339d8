//! `encode`, and the formats of `precompressed`.

use std::ops::RangeInclusive;

use super::scope::Scope;
use crate::error::{Error, ErrorKind};
use crate::matcher::{add_header, header_entry};
use crate::model::Handler;
use crate::model::{
    BROTLI_QUALITY, Compression, ContentCoding, Encode, GZIP_LEVEL, ResponseMatcher, StatusRange,
    ZSTD_LEVEL,
};
use crate::syntax::tree::{Statement, Word};
use crate::table::value::{number, only_option, status};
use crate::table::{Call, Context, Entry, Item, Table, bad_value};

/// An `encode` while it is read.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    formats: Vec<Compression>,
    minimum_length: Option<u64>,
    matches: Option<ResponseMatcher>,
}

/// Names of the block of `encode`.
pub(crate) const ENCODE: Table<Draft> = Table {
    kind: "subdirective of `encode`",
    items: &[
        Item::Supported(
            Entry {
                name: "gzip",
                syntax: "gzip [LEVEL]",
                default: "LEVEL is `1`",
                about: "Offers gzip; LEVEL is 1 (fast) to 9 (small).",
                differs: "",
                example: "gzip 6",
            },
            |_, call, draft| {
                let level = level(call, call.arguments(0, 1)?, GZIP_LEVEL, 1..=9)?;
                draft.offer(Compression::Gzip(level));
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "zstd",
                syntax: "zstd [LEVEL] [{ disable_checksum }]",
                default: "LEVEL is `3`",
                about: "Offers Zstandard; LEVEL is 1 (fast) to 19 (small), or `fastest` (1), `default` \
                        (3), `better` (7) or `best` (11).",
                differs: "LEVEL may be a number. `disable_checksum` is missing: bodies have no checksum.",
                example: "zstd better",
            },
            zstd,
        ),
        Item::Supported(
            Entry {
                name: "br",
                syntax: "br [QUALITY]",
                default: "QUALITY is `2`",
                about: "Offers Brotli; QUALITY is 0 (fast) to 11 (small).",
                differs: "",
                example: "br 5",
            },
            |_, call, draft| {
                let quality = level(call, call.arguments(0, 1)?, BROTLI_QUALITY, 0..=11)?;
                draft.offer(Compression::Brotli(quality));
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "minimum_length",
                syntax: "minimum_length BYTES",
                default: "`512`",
                about: "Smaller responses are not compressed.",
                differs: "",
                example: "minimum_length 1024",
            },
            |_, call, draft| {
                draft.minimum_length = Some(number(call, 0)?);
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "match",
                syntax: "match { … }  or  match status CODE…  or  match header NAME VALUE",
                default: "the content types that compress well: text, JSON, XML, SVG, scripts, fonts …, the same as \
                          Caddy's",
                about: "Compresses only these responses.",
                differs: "",
                example: "match {\n\tstatus 2xx\n\theader Content-Type text/*\n}",
            },
            matches,
        ),
    ],
};

/// Names of the block of `match`.
pub(crate) const RESPONSE: Table<ResponseMatcher> = Table {
    kind: "response matcher",
    items: &[
        Item::Supported(
            Entry {
                name: "status",
                syntax: "status CODE…",
                default: "",
                about: "The status is one of these; `2xx` is 200 to 299.",
                differs: "",
                example: "status 200 404 5xx",
            },
            |_, call, matcher| {
                for word in call.arguments(1, usize::MAX)? {
                    matcher.statuses.push(statuses(word)?);
                }
                Ok(())
            },
        ),
        Item::Supported(
            header_entry(
                "The response has the header field with the value, which may have `*` at its start, its end or both; \
                 with `!` it does not have the field. Of several for one field, one must match.",
                "header Content-Type text/*",
            ),
            |_, call, matcher| add_header(call, &mut matcher.headers, Some("*")),
        ),
    ],
};

impl Draft {
    /// A format that is named twice keeps its position and gets the later level.
    fn offer(&mut self, format: Compression) {
        let known = self
            .formats
            .iter_mut()
            .find(|known| known.coding() == format.coding());
        match known {
            Some(known) => *known = format,
            None => self.formats.push(format),
        }
    }
}

pub(crate) fn read(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (key, rest) = scope.matcher(call.arguments)?;
    let mut draft = Draft::default();
    for coding in codings(rest)? {
        draft.offer(coding.by_default());
    }
    cx.read(&ENCODE, call.block.unwrap_or_default(), &mut draft);
    if draft.formats.is_empty() {
        draft.formats = vec![
            ContentCoding::Zstd.by_default(),
            ContentCoding::Gzip.by_default(),
        ];
    }
    let mut encode = Encode::new(draft.formats);
    if let Some(length) = draft.minimum_length {
        encode.minimum_length = length;
    }
    if let Some(matches) = draft.matches {
        encode.matches = matches;
    }
    scope.push(key, Handler::Encode(encode));
    Ok(())
}

/// Names of formats, each once.
pub(super) fn codings(words: &[Word]) -> Result<Vec<ContentCoding>, Error> {
    let mut found = Vec::new();
    for word in words {
        let coding = ContentCoding::find(&word.text).ok_or_else(|| {
            bad_value(
                &word.position,
                format!("`{}` is not a format of compression", word.text),
                "known are zstd, br and gzip; a matcher starts with `/` or `@`",
            )
        })?;
        if found.contains(&coding) {
            return Err(Error::new(
                ErrorKind::Conflict,
                &word.position,
                format!("`{}` is given twice", word.text),
                "remove one of them",
            ));
        }
        found.push(coding);
    }
    Ok(found)
}

/// The level of a compression, which is its only argument.
fn level(
    call: &Call<'_>,
    arguments: &[Word],
    default: u8,
    levels: RangeInclusive<u8>,
) -> Result<u8, Error> {
    let Some(word) = arguments.first() else {
        return Ok(default);
    };
    let level = word.text.parse().ok();
    level.filter(|level| levels.contains(level)).ok_or_else(|| {
        bad_value(
            &word.position,
            format!(
                "`{}` is not a valid level of `{}`",
                word.text, call.entry.name
            ),
            format!("give a number from {} to {}", levels.start(), levels.end()),
        )
    })
}

fn zstd(_: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    only_option(
        call,
        "disable_checksum",
        "the only option is `disable_checksum`, which always applies here",
    )?;
    let arguments = call.count(0, 1)?;
    let level = match arguments.first().map(|word| word.text.as_str()) {
        Some("fastest") => 1,
        Some("default") => 3,
        Some("better") => 7,
        Some("best") => 11,
        _ => level(call, arguments, ZSTD_LEVEL, 1..=19)?,
    };
    draft.offer(Compression::Zstd(level));
    Ok(())
}

fn matches(cx: &mut Context, call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    draft.matches = Some(response_matcher(cx, call.name, call.arguments, call.block)?);
    Ok(())
}

/// A matcher of responses: on the line of `owner`, or in its block.
pub(super) fn response_matcher(
    cx: &mut Context,
    owner: &Word,
    arguments: &[Word],
    block: Option<&[Statement]>,
) -> Result<ResponseMatcher, Error> {
    let mut matcher = ResponseMatcher {
        statuses: Vec::new(),
        headers: Vec::new(),
    };
    let errors = cx.errors.len();
    match (arguments.split_first(), block) {
        (Some((name, arguments)), None) => {
            let statement = Statement {
                name: name.clone(),
                arguments: arguments.to_vec(),
                block: None,
            };
            cx.read(&RESPONSE, &[statement], &mut matcher);
        }
        (None, Some(block)) => cx.read(&RESPONSE, block, &mut matcher),
        _ => {}
    }
    if cx.errors.len() == errors && matcher.statuses.is_empty() && matcher.headers.is_empty() {
        return Err(Error::new(
            ErrorKind::Arguments,
            &owner.position,
            format!("`{}` has no response matcher", owner.text),
            format!(
                "write `{0} status CODE…` or `{0} header NAME VALUE`",
                owner.text
            ),
        ));
    }
    Ok(matcher)
}

/// `404`, or `4xx` for the whole class.
pub(super) fn statuses(word: &Word) -> Result<StatusRange, Error> {
    match word.text.as_str() {
        "2xx" => Ok(StatusRange::new(200, 299)),
        "3xx" => Ok(StatusRange::new(300, 399)),
        "4xx" => Ok(StatusRange::new(400, 499)),
        "5xx" => Ok(StatusRange::new(500, 599)),
        text => status(word, text, 200..=599).map(StatusRange::one),
    }
}
