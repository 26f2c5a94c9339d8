//! `howdah_goridge`: output of a RoadRunner worker, as frames that contain responses, and forms of
//! clients.
//!
//! The first byte is the size of the pieces in which the rest arrives.
#![no_main]

use bytes::BytesMut;
use howdah_goridge::Context;
use howdah_goridge::form::urlencoded;
use howdah_goridge::frame::{CONTEXT_MAX, Decoder, FrameError, Part};
use libfuzzer_sys::fuzz_target;

/// Contents of a stream: complete bodies, and the error at its end.
#[derive(Debug, Default, PartialEq)]
struct Stream {
    starts: Vec<(Vec<u8>, u32)>,
    body: Vec<u8>,
    ends: Vec<u8>,
    error: Option<FrameError>,
}

fn read<'d>(pieces: impl Iterator<Item = &'d [u8]>) -> Stream {
    let (mut decoder, mut input, mut stream) =
        (Decoder::default(), BytesMut::new(), Stream::default());
    for piece in pieces {
        input.extend_from_slice(piece);
        loop {
            match decoder.next(&mut input) {
                Ok(None) => break,
                Ok(Some(Part::Start { context, body, .. })) => {
                    assert!(context.len() <= CONTEXT_MAX as usize);
                    // Any bytes are possible, and it must not panic.
                    let _ = Context::decode(&context);
                    stream.starts.push((context.to_vec(), body));
                }
                Ok(Some(Part::Body(piece))) => {
                    assert!(!piece.is_empty());
                    stream.body.extend_from_slice(&piece);
                }
                Ok(Some(Part::End(marks))) => stream.ends.push(marks),
                Err(error) => {
                    stream.error = Some(error);
                    return stream;
                }
            }
        }
    }
    stream
}

fuzz_target!(|data: &[u8]| {
    let Some((size, bytes)) = data.split_first() else {
        return;
    };
    let whole = read(std::iter::once(bytes));
    let pieces = read(bytes.chunks(usize::from(*size).max(1)));
    assert_eq!(whole, pieces);
    let _ = Context::decode(bytes);
    if let Ok(form) = urlencoded(bytes) {
        let json = serde_json::to_vec(&form).expect("text");
        let _: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    }
});
