//! How responses are compressed: the typed form of `encode` and `precompressed`.

use super::response::StatusRange;

/// `encode [MATCHER] [FORMAT…] { … }`: compresses responses for clients that accept one of the formats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encode {
    /// The formats, the preferred first. At least one; default `zstd gzip`, as in Caddy.
    pub formats: Vec<Compression>,
    /// `minimum_length`: bytes; a shorter response is not compressed. Default 512, as in Caddy.
    pub minimum_length: u64,
    /// `match`: the responses that are compressed.
    pub matches: ResponseMatcher,
}

impl Encode {
    /// These formats in this order, with defaults otherwise.
    #[must_use]
    pub fn new(formats: Vec<Compression>) -> Self {
        Self {
            formats,
            minimum_length: 512,
            matches: ResponseMatcher::default(),
        }
    }
}

/// A format with its level: higher is smaller and slower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// `gzip [LEVEL]`: 1 to 9.
    Gzip(u8),
    /// `zstd [LEVEL]`: 1 to 19, or Caddy's `fastest`, `default`, `better` and `best`.
    Zstd(u8),
    /// `br [QUALITY]`: 0 to 11.
    Brotli(u8),
}

/// gzip's default level: higher ones save little on a page, and cost much.
pub(crate) const GZIP_LEVEL: u8 = 1;
/// Zstandard's default level, as in its library.
pub(crate) const ZSTD_LEVEL: u8 = 3;
/// Brotli's default quality: the highest fast one.
pub(crate) const BROTLI_QUALITY: u8 = 2;

impl Compression {
    /// The coding, without the level.
    #[must_use]
    pub fn coding(self) -> ContentCoding {
        match self {
            Self::Gzip(_) => ContentCoding::Gzip,
            Self::Zstd(_) => ContentCoding::Zstd,
            Self::Brotli(_) => ContentCoding::Brotli,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the documentation")]
pub enum ContentCoding {
    Gzip,
    Zstd,
    Brotli,
}

impl ContentCoding {
    /// Its name in HTTP and in a Caddyfile.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Brotli => "br",
        }
    }

    /// The suffix of precompressed files.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
            Self::Brotli => ".br",
        }
    }

    /// The format with its default level: gzip 1, zstd 3, br 2.
    #[must_use]
    pub fn by_default(self) -> Compression {
        match self {
            Self::Gzip => Compression::Gzip(GZIP_LEVEL),
            Self::Zstd => Compression::Zstd(ZSTD_LEVEL),
            Self::Brotli => Compression::Brotli(BROTLI_QUALITY),
        }
    }

    pub(crate) fn find(name: &str) -> Option<Self> {
        [Self::Gzip, Self::Zstd, Self::Brotli]
            .into_iter()
            .find(|coding| coding.name() == name)
    }
}

/// The responses that a `match` selects: the status is one of these, and each of the fields is present with one of its
/// values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResponseMatcher {
    /// `status`; empty: all.
    pub statuses: Vec<StatusRange>,
    /// `header`: names, and values with `*` at the ends; a value `None`: the field is absent.
    pub headers: Vec<(String, Vec<Option<String>>)>,
}

impl Default for ResponseMatcher {
    /// The content types that Caddy compresses.
    fn default() -> Self {
        let types = COMPRESSIBLE.iter().map(|kind| Some((*kind).to_owned()));
        Self {
            statuses: Vec::new(),
            headers: vec![("Content-Type".to_owned(), types.collect())],
        }
    }
}

/// Caddy's list, the frequent ones first.
pub(crate) const COMPRESSIBLE: &[&str] = &[
    "text/*",
    "application/json*",
    "application/javascript*",
    "image/svg+xml*",
    "application/xml*",
    "application/xhtml+xml*",
    "application/atom+xml*",
    "application/eot*",
    "application/font*",
    "application/geo+json*",
    "application/graphql+json*",
    "application/graphql-response+json*",
    "application/ld+json*",
    "application/manifest+json*",
    "application/opentype*",
    "application/otf*",
    "application/rss+xml*",
    "application/truetype*",
    "application/ttf*",
    "application/vnd.api+json*",
    "application/vnd.ms-fontobject*",
    "application/wasm*",
    "application/x-httpd-cgi*",
    "application/x-javascript*",
    "application/x-opentype*",
    "application/x-otf*",
    "application/x-perl*",
    "application/x-protobuf*",
    "application/x-ttf*",
    "font/otf*",
    "font/ttf*",
    "image/vnd.microsoft.icon*",
    "image/x-icon*",
    "multipart/bag*",
    "multipart/mixed*",
];
