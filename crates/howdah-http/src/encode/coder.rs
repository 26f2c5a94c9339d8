//! One format at one level, with the contexts of a front thread: creating one costs more than
//! compressing a page.

use std::cell::RefCell;
use std::fmt;
use std::io;

use bytes::Bytes;
use howdah_config::model::{Compression, ContentCoding};
use libdeflater::{CompressionLvl, Compressor};

use super::stream::{self, Encoder};

/// Contexts that are kept for the next response. When more responses are in flight, more are created, and dropped
/// afterwards.
const IDLE_MAX: usize = 4;
/// A body that is compressed to more than so many hundredths is sent as it is: the network gains less than the client
/// pays.
const WORTH: usize = 90;
/// Length of the start that decides whether compression pays.
const PROBE: usize = 8 << 10;
/// Length of the start whose bytes are counted first.
const COUNTED: usize = 4 << 10;
/// In larger bodies, only one byte in `STEP` is counted, which is as reliable. The number is odd, so that all
/// bytes of multi-byte numbers and characters are seen.
const STEP: usize = 3;

/// A compiled [`Compression`].
pub(super) struct Coder {
    pub(super) compression: Compression,
    /// Compresses whole bodies; only gzip has a faster way for them.
    deflate: RefCell<Option<Deflate>>,
    idle: RefCell<Vec<Encoder>>,
}

/// Compresses whole bodies with gzip.
struct Deflate {
    compressor: Compressor,
    /// Buffer for the longest result so far: memory that was just used is faster than new memory.
    output: Vec<u8>,
}

impl fmt::Debug for Coder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Coder").field(&self.compression).finish()
    }
}

impl Coder {
    pub(super) fn new(compression: Compression) -> Self {
        Self {
            compression,
            deflate: RefCell::default(),
            idle: RefCell::default(),
        }
    }

    pub(super) fn coding(&self) -> ContentCoding {
        self.compression.coding()
    }

    /// A context at the start of a body.
    pub(super) fn take(&self) -> io::Result<Encoder> {
        let idle = self.idle.borrow_mut().pop();
        match idle {
            Some(encoder) => Ok(encoder),
            None => Encoder::new(self.compression),
        }
    }

    /// Takes a context back, wherever its body ended.
    pub(super) fn put(&self, encoder: Encoder) {
        let mut idle = self.idle.borrow_mut();
        if idle.len() < IDLE_MAX
            && let Some(encoder) = encoder.reset()
        {
            idle.push(encoder);
        }
    }

    /// Compresses a whole body.
    pub(super) fn compress(&self, body: &[u8]) -> io::Result<Bytes> {
        match self.compression {
            Compression::Gzip(level) => self.gzip(body, level, Bytes::copy_from_slice),
            Compression::Brotli(quality) => stream::brotli(body, quality).map(Bytes::from),
            Compression::Zstd(_) => {
                let mut encoder = self.take()?;
                let result = encoder.compress(body);
                self.put(encoder);
                result.map(Bytes::from)
            }
        }
    }

    fn compressed_length(&self, body: &[u8]) -> io::Result<usize> {
        match self.compression {
            Compression::Gzip(level) => self.gzip(body, level, <[u8]>::len),
            Compression::Brotli(_) | Compression::Zstd(_) => Ok(self.compress(body)?.len()),
        }
    }

    fn gzip<T>(&self, body: &[u8], level: u8, then: impl FnOnce(&[u8]) -> T) -> io::Result<T> {
        let mut kept = self.deflate.borrow_mut();
        let level = CompressionLvl::new(level.into())
            .map_err(|_| io::Error::other("unsupported gzip level"))?;
        let Deflate { compressor, output } = kept.get_or_insert_with(|| Deflate {
            compressor: Compressor::new(level),
            output: Vec::new(),
        });
        let bound = compressor.gzip_compress_bound(body.len());
        if output.len() < bound {
            output.resize(bound, 0);
        }
        let length = compressor
            .gzip_compress(body, output)
            .map_err(io::Error::other)?;
        Ok(then(&output[..length]))
    }

    /// Whether compressing a body that starts like this is worth it.
    pub(super) fn is_compressible(&self, start: &[u8]) -> io::Result<bool> {
        if is_skewed(&start[..start.len().min(COUNTED)]) {
            return Ok(true);
        }
        let probe = &start[..start.len().min(PROBE)];
        Ok(saves_enough(self.compressed_length(probe)?, probe.len()))
    }
}

/// Whether the compressed length is worth it.
pub(super) fn saves_enough(compressed: usize, plain: usize) -> bool {
    compressed <= plain / 100 * WORTH + plain % 100 * WORTH / 100
}

/// Whether some bytes are so much more frequent than others that any coding can use it, as in texts
/// of all kinds. Counting costs a hundredth of compressing.
fn is_skewed(sample: &[u8]) -> bool {
    let mut counts = [0_u16; 256];
    let step = if sample.len() < COUNTED { 1 } else { STEP };
    for byte in sample.iter().step_by(step) {
        counts[usize::from(*byte)] += 1;
    }
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let length = sample.len().div_ceil(step) as f32;
    let bits: f32 = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let count = f32::from(*count);
            count * (length / count).log2()
        })
        .sum();
    // Somewhat below the limit: a small sample looks more uneven than the whole.
    bits < length * 8.0 * 0.8
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn compressible_bodies_are_recognised_from_their_start() {
        let text = "<li>A page has <b>many</b> words.</li>\n".repeat(300);
        let noise = noise(20_000);
        let repeated = noise[..1000].repeat(20);
        let digits: Vec<u8> = noise.iter().map(|byte| b'0' + byte % 10).collect();
        let base64: Vec<u8> = noise.iter().map(|byte| b'0' + byte % 64).collect();
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for compression in [
            Compression::Gzip(1),
            Compression::Zstd(3),
            Compression::Brotli(2),
        ] {
            let coder = Coder::new(compression);
            for (body, expected) in [
                (text.as_bytes(), true),
                (&noise, false),
                (&noise[..600], false),
                // No byte is more frequent than others, but each sequence of bytes is repeated.
                (&repeated, true),
                (&digits, true),
                // A quarter smaller, although nothing is repeated.
                (&base64, true),
                (&wide, true),
            ] {
                assert_eq!(
                    coder.is_compressible(body).unwrap(),
                    expected,
                    "{compression:?} {}",
                    body.len()
                );
            }
        }
    }

    #[test]
    fn contexts_are_used_again() {
        for compression in [Compression::Gzip(6), Compression::Zstd(1)] {
            let coder = Coder::new(compression);
            let first: Vec<Encoder> = (0..IDLE_MAX + 2).map(|_| coder.take().unwrap()).collect();
            for encoder in first {
                coder.put(encoder);
            }
            assert_eq!(coder.idle.borrow().len(), IDLE_MAX);
            coder.take().unwrap();
            assert_eq!(coder.idle.borrow().len(), IDLE_MAX - 1);
        }
    }

    #[test]
    fn a_body_has_nothing_of_the_one_before() {
        let text = "A page has many words, and ever so many letters. ".repeat(900);
        let noise = noise(60_000);
        let coder = Coder::new(Compression::Gzip(1));
        for body in [&noise[..], text.as_bytes(), b"short", &noise, b""] {
            let compressed = coder.compress(body).unwrap();
            assert_eq!(coder.compressed_length(body).unwrap(), compressed.len());
            let mut plain = Vec::new();
            flate2::read::GzDecoder::new(&compressed[..])
                .read_to_end(&mut plain)
                .unwrap();
            assert!(plain == body, "{} bytes", body.len());
        }
    }

    #[test]
    fn nine_tenths_are_the_limit() {
        assert!(saves_enough(90, 100) && !saves_enough(91, 100));
        assert!(saves_enough(900, 1000) && !saves_enough(901, 1000));
        assert!(saves_enough(0, 0));
    }
}
