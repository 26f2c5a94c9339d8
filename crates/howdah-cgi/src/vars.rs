//! Names that are sent as a number: the Rust side of `worker/include/howdah_vars.h`.
//!
//! A test compares this list with the header, so the two cannot differ.

macro_rules! variables {
    ($($name:ident)+) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[repr(u16)]
        enum Position { Literal, $($name),+ }

        $(
            #[doc = concat!("The number of `", stringify!($name), "`.")]
            pub const $name: u16 = Position::$name as u16;
        )+

        /// All names in the order of their numbers; number 1 is the first.
        pub const NAMES: &[&str] = &[$(stringify!($name)),+];

        /// The number for a record that contains its name.
        pub const LITERAL: u16 = Position::Literal as u16;
    };
}

variables! {
    GATEWAY_INTERFACE
    SERVER_SOFTWARE
    SERVER_PROTOCOL
    SERVER_NAME
    SERVER_ADDR
    SERVER_PORT
    REQUEST_METHOD
    REQUEST_URI
    REQUEST_SCHEME
    QUERY_STRING
    DOCUMENT_ROOT
    DOCUMENT_URI
    SCRIPT_FILENAME
    SCRIPT_NAME
    PHP_SELF
    PATH_INFO
    PATH_TRANSLATED
    REMOTE_ADDR
    REMOTE_HOST
    REMOTE_PORT
    REMOTE_USER
    REMOTE_IDENT
    AUTH_TYPE
    CONTENT_TYPE
    CONTENT_LENGTH
    HTTPS
    SSL_PROTOCOL
    SSL_CIPHER
    REDIRECT_STATUS
    HTTP_HOST
    HTTP_USER_AGENT
    HTTP_ACCEPT
    HTTP_ACCEPT_LANGUAGE
    HTTP_ACCEPT_ENCODING
    HTTP_COOKIE
    HTTP_CONNECTION
    HTTP_CACHE_CONTROL
    HTTP_PRAGMA
    HTTP_REFERER
    HTTP_ORIGIN
    HTTP_AUTHORIZATION
    HTTP_CONTENT_TYPE
    HTTP_CONTENT_LENGTH
    HTTP_IF_MODIFIED_SINCE
    HTTP_IF_NONE_MATCH
    HTTP_RANGE
    HTTP_UPGRADE_INSECURE_REQUESTS
    HTTP_X_REQUESTED_WITH
    HTTP_X_FORWARDED_FOR
    HTTP_X_FORWARDED_PROTO
    HTTP_X_FORWARDED_HOST
    HTTP_SEC_FETCH_DEST
    HTTP_SEC_FETCH_MODE
    HTTP_SEC_FETCH_SITE
    HTTP_SEC_FETCH_USER
    HTTP_SEC_CH_UA
    HTTP_SEC_CH_UA_MOBILE
    HTTP_SEC_CH_UA_PLATFORM
    HTTP_TE
    HTTP_PRIORITY
    HTTP_DNT
    PHP_VALUE
    PHP_ADMIN_VALUE
}

/// The name of a number; `None` for [`LITERAL`] and for numbers beyond the list.
pub fn name(id: u16) -> Option<&'static str> {
    NAMES.get(usize::from(id).checked_sub(1)?).copied()
}

/// The number of a variable's name, `None` if it has none. It scans the list, for the few names in
/// a configuration. Header fields use [`header_id`].
pub fn id(name: &str) -> Option<u16> {
    let index = NAMES.iter().position(|known| *known == name)?;
    u16::try_from(index + 1).ok()
}

/// The number of the `HTTP_*` variable of a lower-case header field name, `None` if it has none.
///
/// One multiplication, one table cell and one comparison: the table is a perfect hash that is
/// computed at compile time, so a lookup takes a few nanoseconds whether the name is known or not.
#[inline]
pub fn header_id(name: &str) -> Option<u16> {
    let bytes = name.as_bytes();
    if bytes.is_empty() {
        return None;
    }
    // An empty cell is 0, whose name is empty and equals no header's.
    let id = TABLE.cells[cell(key(bytes), TABLE.factor)];
    (TABLE.names[usize::from(id)].as_bytes() == bytes).then_some(u16::from(id))
}

const CELLS_LOG2: u32 = 8;
const CELLS: usize = 1 << CELLS_LOG2;
const PREFIX: &[u8] = b"HTTP_";

/// A header field name: `accept-language` for `HTTP_ACCEPT_LANGUAGE`.
#[derive(Clone, Copy)]
struct FieldName {
    bytes: [u8; 31],
    size: u8,
}

impl FieldName {
    const EMPTY: Self = Self {
        bytes: [0; 31],
        size: 0,
    };

    const fn of(variable: &[u8]) -> Self {
        let mut name = Self::EMPTY;
        let mut i = PREFIX.len();
        while i < variable.len() {
            let byte = if variable[i] == b'_' {
                b'-'
            } else {
                variable[i].to_ascii_lowercase()
            };
            name.bytes[i - PREFIX.len()] = byte;
            name.size += 1;
            i += 1;
        }
        name
    }

    #[inline]
    const fn as_bytes(&self) -> &[u8] {
        self.bytes.split_at(self.size as usize).0
    }
}

struct Table {
    factor: u64,
    cells: [u8; CELLS],
    /// Indexed by number; empty for variables without a header field.
    names: [FieldName; NAMES.len() + 1],
}

static TABLE: Table = table();

/// Length and four bytes distinguish all known names; otherwise compilation fails.
#[inline]
const fn key(name: &[u8]) -> u64 {
    let size = name.len();
    (size as u64) << 32
        | (name[0] as u64) << 24
        | (name[size / 2] as u64) << 16
        | (name[size * 3 / 4] as u64) << 8
        | name[size - 1] as u64
}

#[inline]
const fn cell(key: u64, factor: u64) -> usize {
    (key.wrapping_mul(factor) >> (u64::BITS - CELLS_LOG2)) as usize
}

const fn table() -> Table {
    let mut names = [FieldName::EMPTY; NAMES.len() + 1];
    let mut i = 0;
    while i < NAMES.len() {
        let variable = NAMES[i].as_bytes();
        if let Some((b"HTTP_", _)) = variable.split_at_checked(PREFIX.len()) {
            names[i + 1] = FieldName::of(variable);
        }
        i += 1;
    }
    // The multiplier of a linear congruential generator produces candidates; few are needed.
    let mut factor: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut attempts = 0;
    while attempts < 1000 {
        if let Some(cells) = cells(&names, factor) {
            return Table {
                factor,
                cells,
                names,
            };
        }
        factor = factor.wrapping_mul(6_364_136_223_846_793_005) | 1;
        attempts += 1;
    }
    panic!("no perfect hash: two header names have the same key, or CELLS_LOG2 is too small");
}

const fn cells(names: &[FieldName; NAMES.len() + 1], factor: u64) -> Option<[u8; CELLS]> {
    let mut cells = [0; CELLS];
    let mut id = 1;
    while id < names.len() {
        if names[id].size != 0 {
            let at = cell(key(names[id].as_bytes()), factor);
            if cells[at] != 0 {
                return None;
            }
            cells[at] = id as u8;
        }
        id += 1;
    }
    Some(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contract itself, read as C reads it.
    const HEADER: &str = include_str!("../../../worker/include/howdah_vars.h");

    #[test]
    fn the_list_is_the_one_of_the_c_header() {
        let start = HEADER
            .find("#define HOWDAH_VARS(X)")
            .expect("the list's definition");
        let list: Vec<&str> = HEADER[start..]
            .lines()
            .skip(1)
            .map_while(|line| line.trim().strip_prefix("X("))
            .filter_map(|entry| entry.split_once(')').map(|(name, _)| name))
            .collect();
        assert!(list.len() > 50, "the list was not found whole: {list:?}");
        assert_eq!(list, NAMES);
    }

    #[test]
    fn numbers_start_at_one() {
        assert_eq!(GATEWAY_INTERFACE, 1);
        assert_eq!(usize::from(PHP_ADMIN_VALUE), NAMES.len());
        assert_eq!(name(LITERAL), None);
        assert_eq!(name(1), Some("GATEWAY_INTERFACE"));
        assert_eq!(name(PHP_ADMIN_VALUE + 1), None);
    }

    #[test]
    fn every_name_finds_its_number() {
        for (index, known) in NAMES.iter().enumerate() {
            let number = u16::try_from(index + 1).unwrap();
            assert_eq!(id(known), Some(number));
            if let Some(header) = known.strip_prefix("HTTP_") {
                let field = header.to_ascii_lowercase().replace('_', "-");
                assert_eq!(header_id(&field), Some(number), "{field}");
            }
        }
        assert_eq!(id("NO_SUCH_NAME"), None);
    }

    #[test]
    fn other_header_names_have_no_number() {
        for field in [
            "",
            "h",
            "hos",
            "hosts",
            "hosu",
            "Host",
            "x-powered-by",
            "proxy",
            "gateway-interface",
        ] {
            assert_eq!(header_id(field), None, "{field}");
        }
    }
}
