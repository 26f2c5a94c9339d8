//! The contexts of the formats, for bodies of any length.

use std::io::{self, Write};

use brotli::CompressorWriter;
use brotli::enc::BrotliEncoderParams;
use flate2::{Compress, FlushCompress, Status};
use howdah_config::model::Compression;
use zstd_safe::zstd_sys::ZSTD_EndDirective;
use zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer, ResetDirective};

/// Bits of the window of Zstandard and Brotli in a stream: 256 KiB, which limits the memory of a
/// response in flight.
const WINDOW: u32 = 18;
/// Size of Brotli's internal buffer for its output.
const BROTLI_BUFFER: usize = 4 << 10;
/// Minimum space that is reserved in the output at a time.
const ROOM: usize = 512;

/// A context with a body in it.
pub(super) enum Encoder {
    Gzip(Compress),
    Zstd(CCtx<'static>),
    /// Writes to a buffer, which is emptied after each step.
    Brotli(Box<CompressorWriter<Vec<u8>>>),
    /// A Brotli body that has ended: its context cannot be used again.
    Spent,
}

/// What follows the input of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FlushMode {
    /// More input follows, so output may be held back.
    Continue,
    /// All input must be output: the client waits for it.
    Flush,
    /// The end of the body.
    Finish,
}

impl Encoder {
    pub(super) fn new(compression: Compression) -> io::Result<Self> {
        Ok(match compression {
            // zlib's level 1 compresses hardly anything; its level 2 is as good as level 1 of the
            // library that compresses whole bodies.
            Compression::Gzip(level) => Self::Gzip(Compress::new_gzip(
                flate2::Compression::new(u32::from(level).max(2)),
                15,
            )),
            Compression::Zstd(level) => {
                let mut context = CCtx::create();
                for parameter in [
                    CParameter::CompressionLevel(level.into()),
                    CParameter::WindowLog(WINDOW),
                ] {
                    context.set_parameter(parameter).map_err(zstd_error)?;
                }
                Self::Zstd(context)
            }
            Compression::Brotli(quality) => Self::Brotli(Box::new(brotli_writer(quality, 0))),
        })
    }

    /// Resets the context for another body; `None` if it cannot be used again.
    pub(super) fn reset(mut self) -> Option<Self> {
        match &mut self {
            Self::Gzip(context) => context.reset(),
            Self::Zstd(context) => {
                context.reset(ResetDirective::SessionOnly).ok()?;
            }
            Self::Brotli(_) | Self::Spent => return None,
        }
        Some(self)
    }

    /// Compresses a whole body; the context must be at its start.
    pub(super) fn compress(&mut self, body: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Zstd(context) => {
                let mut output = Vec::with_capacity(zstd_safe::compress_bound(body.len()));
                context.compress2(&mut output, body).map_err(zstd_error)?;
                Ok(output)
            }
            Self::Gzip(_) | Self::Brotli(_) | Self::Spent => {
                let mut output = Vec::new();
                self.step(body, &mut output, FlushMode::Finish)?;
                Ok(output)
            }
        }
    }

    /// Consumes all of the input, and appends to the output.
    pub(super) fn step(
        &mut self,
        input: &[u8],
        output: &mut Vec<u8>,
        then: FlushMode,
    ) -> io::Result<()> {
        match self {
            Self::Gzip(context) => gzip(context, input, output, then),
            Self::Zstd(context) => zstd(context, input, output, then),
            Self::Brotli(writer) => {
                writer.write_all(input)?;
                match then {
                    FlushMode::Continue => {}
                    FlushMode::Flush => writer.flush()?,
                    FlushMode::Finish => {
                        if let Self::Brotli(writer) = std::mem::replace(self, Self::Spent) {
                            append(output, &mut writer.into_inner());
                        }
                        return Ok(());
                    }
                }
                append(output, writer.get_mut());
                Ok(())
            }
            Self::Spent => Err(io::Error::other("the body has ended")),
        }
    }
}

fn append(output: &mut Vec<u8>, written: &mut Vec<u8>) {
    if output.is_empty() {
        std::mem::swap(output, written);
    } else {
        output.append(written);
    }
}

/// Compresses a whole body.
pub(super) fn brotli(body: &[u8], quality: u8) -> io::Result<Vec<u8>> {
    let mut writer = brotli_writer(quality, body.len());
    writer.write_all(body)?;
    Ok(writer.into_inner())
}

fn brotli_writer(quality: u8, size_hint: usize) -> CompressorWriter<Vec<u8>> {
    let parameters = BrotliEncoderParams {
        quality: quality.into(),
        lgwin: WINDOW.cast_signed(),
        size_hint,
        ..BrotliEncoderParams::default()
    };
    CompressorWriter::with_params(Vec::new(), BROTLI_BUFFER, &parameters)
}

fn gzip(
    context: &mut Compress,
    mut input: &[u8],
    output: &mut Vec<u8>,
    then: FlushMode,
) -> io::Result<()> {
    let flush = match then {
        FlushMode::Continue if input.is_empty() => return Ok(()),
        FlushMode::Continue => FlushCompress::None,
        FlushMode::Flush => FlushCompress::Sync,
        FlushMode::Finish => FlushCompress::Finish,
    };
    loop {
        output.reserve((input.len() / 2).max(ROOM));
        let before = context.total_in();
        let status = context
            .compress_vec(input, output, flush)
            .map_err(io::Error::other)?;
        // No more than the input had.
        input = &input[(context.total_in() - before) as usize..];
        let has_room = output.len() < output.capacity();
        match (then, status) {
            (FlushMode::Finish, Status::StreamEnd) => return Ok(()),
            (FlushMode::Finish, Status::BufError) if has_room => {
                return Err(io::Error::other("gzip makes no progress"));
            }
            (FlushMode::Continue | FlushMode::Flush, _) if input.is_empty() && has_room => {
                return Ok(());
            }
            _ => {}
        }
    }
}

fn zstd(
    context: &mut CCtx<'static>,
    input: &[u8],
    output: &mut Vec<u8>,
    then: FlushMode,
) -> io::Result<()> {
    let directive = match then {
        FlushMode::Continue => ZSTD_EndDirective::ZSTD_e_continue,
        FlushMode::Flush => ZSTD_EndDirective::ZSTD_e_flush,
        FlushMode::Finish => ZSTD_EndDirective::ZSTD_e_end,
    };
    let mut source = InBuffer::around(input);
    loop {
        output.reserve((input.len() / 2).max(ROOM));
        let position = output.len();
        let left = {
            let mut target = OutBuffer::around_pos(output, position);
            context
                .compress_stream2(&mut target, &mut source, directive)
                .map_err(zstd_error)?
        };
        let done = match then {
            FlushMode::Continue => source.pos() == input.len(),
            FlushMode::Flush | FlushMode::Finish => left == 0,
        };
        if done {
            return Ok(());
        }
    }
}

fn zstd_error(code: usize) -> io::Error {
    io::Error::other(zstd_safe::get_error_name(code))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use proptest::prelude::*;

    use super::*;
    use crate::encode::coder::Coder;

    fn decoded(compression: Compression, encoded: &[u8]) -> Vec<u8> {
        let mut body = Vec::new();
        match compression {
            Compression::Gzip(_) => {
                flate2::read::GzDecoder::new(encoded)
                    .read_to_end(&mut body)
                    .unwrap();
            }
            Compression::Brotli(_) => {
                brotli::Decompressor::new(encoded, 4096)
                    .read_to_end(&mut body)
                    .unwrap();
            }
            Compression::Zstd(_) => {
                body.reserve(4 << 20);
                zstd_safe::decompress(&mut body, encoded).unwrap();
            }
        }
        body
    }

    /// Decodes the received part of a body that has not ended.
    fn decoded_so_far(compression: Compression, encoded: &[u8], length: usize) -> Vec<u8> {
        let mut body = vec![0; length];
        match compression {
            Compression::Gzip(_) => flate2::read::GzDecoder::new(encoded)
                .read_exact(&mut body)
                .unwrap(),
            Compression::Brotli(_) => brotli::Decompressor::new(encoded, 4096)
                .read_exact(&mut body)
                .unwrap(),
            Compression::Zstd(_) => {
                let mut context = zstd_safe::DCtx::create();
                let mut output = Vec::with_capacity(length + (1 << 17));
                let mut target = OutBuffer::around(&mut output);
                let mut source = InBuffer::around(encoded);
                while source.pos() < encoded.len() {
                    context.decompress_stream(&mut target, &mut source).unwrap();
                }
                return output;
            }
        }
        body
    }

    fn compression() -> impl Strategy<Value = Compression> {
        prop_oneof![
            (1..=9_u8).prop_map(Compression::Gzip),
            (1..=12_u8).prop_map(Compression::Zstd),
            (0..=9_u8).prop_map(Compression::Brotli),
        ]
    }

    /// Compressible and incompressible pieces, short and long.
    fn pieces() -> impl Strategy<Value = Vec<(Vec<u8>, bool)>> {
        let piece = prop_oneof![
            prop::collection::vec(any::<u8>(), 0..3000),
            ("[a-f<>/ ]{0,40}", 0..2000_usize)
                .prop_map(|(text, times)| text.repeat(times).into_bytes()),
        ];
        prop::collection::vec((piece, any::<bool>()), 0..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn decoding_reverses_encoding(compression in compression(), pieces in pieces()) {
            let coder = Coder::new(compression);
            // The second body is compressed with the context of the first.
            for _ in 0..2 {
                let mut encoder = coder.take().unwrap();
                let (mut body, mut encoded) = (Vec::new(), Vec::new());
                for (piece, flush) in &pieces {
                    body.extend_from_slice(piece);
                    let then = if *flush { FlushMode::Flush } else { FlushMode::Continue };
                    encoder.step(piece, &mut encoded, then).unwrap();
                    if *flush {
                        let seen = decoded_so_far(compression, &encoded, body.len());
                        prop_assert!(seen == body, "a flush held back");
                    }
                }
                encoder.step(b"", &mut encoded, FlushMode::Finish).unwrap();
                coder.put(encoder);
                prop_assert!(decoded(compression, &encoded) == body);
                let whole = coder.compress(&body).unwrap();
                prop_assert!(decoded(compression, &whole) == body);
            }
        }
    }

    #[test]
    fn a_context_that_was_left_in_a_body_starts_again() {
        for compression in [
            Compression::Gzip(1),
            Compression::Zstd(3),
            Compression::Brotli(2),
        ] {
            let coder = Coder::new(compression);
            let mut encoder = coder.take().unwrap();
            let mut lost = Vec::new();
            encoder
                .step(
                    b"left ".repeat(5000).as_slice(),
                    &mut lost,
                    FlushMode::Continue,
                )
                .unwrap();
            coder.put(encoder);
            let mut encoder = coder.take().unwrap();
            let mut body = Vec::new();
            encoder.step(b"new", &mut body, FlushMode::Finish).unwrap();
            assert_eq!(decoded(compression, &body), b"new");
        }
    }
}
