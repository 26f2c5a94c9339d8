//! Converts arbitrary bytes to text and back.
//!
//! Names of files are bytes, and those of old archives are often ISO 8859-1. Routes and placeholders work with text. So
//! each byte that is not valid UTF-8 becomes one character of U+10FF80 to U+10FFFF, a range for private use at the end
//! of Unicode, and becomes that byte again where the text goes to the disk, to PHP or to a client. The UTF-8 of these
//! characters is treated as single bytes too: different bytes always give different texts.

use std::borrow::Cow;

use memchr::memchr;

/// The character for the byte 0x80; those up to 0xFF follow.
const FIRST: u32 = 0x0010_FF80;
/// The first UTF-8 byte of all characters that stand for bytes, and of no others except U+100000 to U+10FF7F.
pub const BYTE_LEAD: u8 = 0xF4;

/// Decodes UTF-8. Each byte that is not UTF-8, and each character that stands for one, becomes a character of its own.
pub fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(is_byte) => Cow::Borrowed(text),
        _ => {
            let mut text = String::with_capacity(bytes.len() + 12);
            for chunk in bytes.utf8_chunks() {
                for char in chunk.valid().chars() {
                    if is_byte(char) {
                        push_bytes(&mut text, char.encode_utf8(&mut [0; 4]).as_bytes());
                    } else {
                        text.push(char);
                    }
                }
                push_bytes(&mut text, chunk.invalid());
            }
            Cow::Owned(text)
        }
    }
}

/// The bytes that a text stands for.
pub fn bytes_of(text: &str) -> Cow<'_, [u8]> {
    if memchr(BYTE_LEAD, text.as_bytes()).is_none() || !text.chars().any(is_byte) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for char in text.chars() {
        match byte(char) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

fn byte(char: char) -> Option<u8> {
    let offset = u32::from(char).checked_sub(FIRST)?;
    u8::try_from(offset + 0x80).ok()
}

fn is_byte(char: char) -> bool {
    u32::from(char) >= FIRST
}

/// Appends bytes of 0x80 or more.
fn push_bytes(text: &mut String, bytes: &[u8]) {
    let chars = bytes
        .iter()
        .filter_map(|byte| char::from_u32(FIRST - 0x80 + u32::from(*byte)));
    text.extend(chars);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_stays_and_other_bytes_have_characters() {
        for (bytes, text) in [
            (&b"/a.txt"[..], "/a.txt"),
            ("/café/\u{10ff7f}".as_bytes(), "/café/\u{10ff7f}"),
            (b"/caf\xe9.txt", "/caf\u{10ffe9}.txt"),
            (b"\x80\xff", "\u{10ff80}\u{10ffff}"),
            // The UTF-8 of a character in the range stands for itself.
            (
                "\u{10ffe9}".as_bytes(),
                "\u{10fff4}\u{10ff8f}\u{10ffbf}\u{10ffa9}",
            ),
        ] {
            assert_eq!(text_of(bytes), text);
            assert_eq!(&*bytes_of(text), bytes);
        }
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes in prop::collection::vec(
            prop_oneof![any::<u8>(), Just(0xf4), Just(0x8f), Just(0xbf), Just(0xbe)], 0..24,
        )) {
            let text = text_of(&bytes);
            prop_assert_eq!(&*bytes_of(&text), &bytes[..]);
        }
    }
}
