//! Forms with files: their fields, and the files in the folder of temporary files.

use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use howdah_monitor::Receiver;
use howdah_pool::User;
use multer::{Multipart, parse_boundary};
use serde::{Serialize, Serializer};
use tempfile::{NamedTempFile, TempDir, TempPath};

use crate::form::{ConflictError, Tree, Value};

/// Bytes of a body that are read at a time.
const PIECE: usize = 64 << 10;

/// `UPLOAD_ERR_…` of PHP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum UploadStatus {
    Ok = 0,
    NoFolder = 6,
    CannotWrite = 7,
    Forbidden = 8,
}

impl Serialize for UploadStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(*self as u8)
    }
}

/// An uploaded file.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Upload {
    name: String,
    mime: String,
    size: u64,
    error: UploadStatus,
    tmp_name: String,
}

impl Value for Upload {
    fn is_empty(&self) -> bool {
        false
    }

    const LAST: bool = false;
}

/// A form with files.
#[derive(Debug)]
pub(crate) struct Form {
    /// JSON of the fields.
    pub fields: String,
    /// JSON of the files.
    pub uploads: String,
    /// The files are removed when this is dropped.
    pub files: Vec<TempPath>,
}

/// Where files are stored.
#[derive(Debug, Clone, Default)]
pub(crate) struct UploadOptions {
    /// Endings of names that are refused, with a dot, in lower case.
    pub forbidden: Vec<String>,
    /// Files of another user; `None`: of this process's, in the folder of temporary files.
    pub folder: Option<Arc<UploadFolder>>,
}

/// A folder for the files of a pool with a separate user. The user can move files out of it, and this process can
/// remove the rest, which it could not in a shared folder. It is removed with its last clone.
#[derive(Debug)]
pub(crate) struct UploadFolder {
    folder: TempDir,
    descriptor: File,
    receiver: Receiver,
}

impl UploadFolder {
    pub(crate) fn create(user: &User) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("howdah-uploads-")
            .tempdir()?;
        // Others cannot list it, and the names are random. A umask would apply to a mode at its creation.
        std::fs::set_permissions(&folder, Permissions::from_mode(0o733))?;
        Ok(Self {
            descriptor: File::open(&folder)?,
            folder,
            receiver: user.receiver(),
        })
    }

    fn file(&self) -> io::Result<NamedTempFile> {
        named().make_in(&self.folder, |path| {
            let name = path.file_name().unwrap_or_default();
            howdah_monitor::fs::create_for(&self.descriptor, name, self.receiver)
        })
    }
}

fn named() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("upload");
    builder
}

/// A form that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FormError {
    /// It is not a form.
    #[error("the form cannot be read: {0}")]
    Multipart(#[from] multer::Error),
    /// Two fields contradict each other.
    #[error(transparent)]
    Conflict(#[from] ConflictError),
    /// The body cannot be read.
    #[error("the request body cannot be read: {0}")]
    Body(#[from] io::Error),
}

/// A request body of a form.
#[derive(Debug)]
pub(crate) enum Source {
    Memory(Bytes),
    File(File),
}

/// Pieces of a body that has arrived completely.
struct Pieces(Source);

impl multer_stream::Stream for Pieces {
    type Item = io::Result<Bytes>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Self::Item>> {
        Poll::Ready(match &mut self.0 {
            Source::Memory(bytes) => {
                let size = bytes.len().min(PIECE);
                (size > 0).then(|| Ok(bytes.split_to(size)))
            }
            Source::File(file) => {
                let mut piece = vec![0; PIECE];
                match file.read(&mut piece) {
                    Ok(0) => None,
                    Ok(size) => {
                        piece.truncate(size);
                        Some(Ok(piece.into()))
                    }
                    Err(error) => Some(Err(error)),
                }
            }
        })
    }
}

/// The stream that `multer` reads.
mod multer_stream {
    pub(super) use futures_core::Stream;
}

/// Reads a form with files. Blocks while files are written.
///
/// # Errors
/// It is not a form, or cannot be read. Files that cannot be written are reported to the application.
pub(crate) fn read(
    content_type: &str,
    body: Source,
    options: &UploadOptions,
) -> Result<Form, FormError> {
    let boundary = parse_boundary(content_type)?;
    let read = pin!(parts(Multipart::new(Pieces(body), boundary), options));
    // The body has arrived completely, so nothing waits.
    match read.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(io::Error::from(io::ErrorKind::WouldBlock).into()),
    }
}

async fn parts(mut form: Multipart<'_>, options: &UploadOptions) -> Result<Form, FormError> {
    let (mut fields, mut uploads, mut files) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(mut field) = form.next_field().await? {
        let name = field.name().unwrap_or_default().to_owned();
        // A browser sends an input without a chosen file with an empty name: a field without a value, as in RoadRunner.
        let file_name = field.file_name().filter(|name| !name.is_empty());
        let Some(file_name) = file_name.map(base_name) else {
            let mut value = Vec::new();
            while let Some(piece) = field.chunk().await? {
                value.extend_from_slice(&piece);
            }
            fields.push((name, String::from_utf8_lossy(&value).into_owned()));
            continue;
        };
        let mut upload = Upload {
            name: file_name,
            mime: field
                .content_type()
                .map(ToString::to_string)
                .unwrap_or_default(),
            size: 0,
            error: UploadStatus::Ok,
            tmp_name: String::new(),
        };
        let mut file = match options.create(&upload.name) {
            Ok(file) => Some(file),
            Err(status) => {
                upload.error = status;
                None
            }
        };
        while let Some(piece) = field.chunk().await? {
            if let Some(open) = &mut file {
                if open.write_all(&piece).is_err() {
                    upload.error = UploadStatus::CannotWrite;
                    file = None;
                    continue;
                }
                upload.size += piece.len() as u64;
            }
        }
        if let Some(file) = file {
            let path = file.into_temp_path();
            upload.tmp_name = path.to_string_lossy().into_owned();
            files.push(path);
        }
        uploads.push((name, upload));
    }
    let tree = Tree::new(fields)?;
    let json = |error: serde_json::Error| FormError::Body(error.into());
    Ok(Form {
        fields: serde_json::to_string(&tree).map_err(json)?,
        uploads: serde_json::to_string(&Tree::new(uploads)?).map_err(json)?,
        files,
    })
}

impl UploadOptions {
    fn create(&self, name: &str) -> Result<NamedTempFile, UploadStatus> {
        let lower = name.to_lowercase();
        let ending = lower.rfind('.').map(|at| &lower[at..]);
        if ending.is_some_and(|ending| self.forbidden.iter().any(|own| own == ending)) {
            return Err(UploadStatus::Forbidden);
        }
        let file = match &self.folder {
            Some(folder) => folder.file(),
            None => named().tempfile(),
        };
        file.map_err(|error| {
            tracing::error!(target: "howdah::php", %error, "an uploaded file cannot be stored");
            UploadStatus::NoFolder
        })
    }
}

/// Removes the folders that some clients send.
fn base_name(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=xx";

    fn body(parts: &[(&str, &str)]) -> Bytes {
        let parts = parts
            .iter()
            .map(|(head, body)| format!("--xx\r\n{head}\r\n\r\n{body}\r\n"));
        format!("{}--xx--\r\n", parts.collect::<String>()).into()
    }

    fn options() -> UploadOptions {
        UploadOptions {
            forbidden: vec![".php".into()],
            folder: None,
        }
    }

    fn form(parts: &[(&str, &str)]) -> (Form, Json, Json) {
        let form = read(TYPE, Source::Memory(body(parts)), &options()).expect("a form");
        let parse = |text: &str| serde_json::from_str(text).expect("JSON");
        let fields = parse(&form.fields);
        let uploads = parse(&form.uploads);
        (form, fields, uploads)
    }

    #[test]
    fn fields_and_files() {
        let (form, fields, uploads) = form(&[
            ("Content-Disposition: form-data; name=\"a[x]\"", "1"),
            ("Content-Disposition: form-data; name=\"a[y][]\"", "2"),
            (
                "Content-Disposition: form-data; name=\"f\"; filename=\"C:\\\\dir\\\\one.txt\"\r\nContent-Type: text/plain",
                "hello",
            ),
            (
                "Content-Disposition: form-data; name=\"l[]\"; filename=\"EVIL.PHP\"",
                "<?php",
            ),
            (
                "Content-Disposition: form-data; name=\"l[]\"; filename=\"two\"",
                "",
            ),
        ]);
        assert_eq!(fields, json!({"a": {"x": "1", "y": ["2"]}}));
        let paths: Vec<_> = form.files.iter().map(|file| file.to_path_buf()).collect();
        let expected = json!({
            "f": {"name": "one.txt", "mime": "text/plain", "size": 5, "error": 0, "tmpName": paths[0]},
            "l": [
                {"name": "EVIL.PHP", "mime": "", "size": 0, "error": 8, "tmpName": ""},
                {"name": "two", "mime": "", "size": 0, "error": 0, "tmpName": paths[1]},
            ],
        });
        assert_eq!(uploads, expected);
        assert_eq!(std::fs::read(&paths[0]).expect("it is there"), b"hello");
        drop(form);
        assert!(!paths[0].exists() && !paths[1].exists());
    }

    #[test]
    fn an_input_without_a_chosen_file_is_an_empty_field() {
        let head = "Content-Disposition: form-data; name=\"f\"; filename=\"\"\r\n\
                    Content-Type: application/octet-stream";
        let (form, fields, uploads) = form(&[(head, "")]);
        assert_eq!((fields, uploads), (json!({"f": ""}), json!({})));
        assert!(form.files.is_empty());
    }

    #[test]
    fn a_form_without_fields_is_an_empty_object() {
        let (form, ..) = form(&[]);
        assert_eq!((form.fields.as_str(), form.uploads.as_str()), ("{}", "{}"));
    }

    #[test]
    fn a_large_body_is_read_from_its_file() {
        let text = "x".repeat(300_000);
        let head = "Content-Disposition: form-data; name=\"f\"; filename=\"a\"";
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(&body(&[(head, &text)])).expect("written");
        io::Seek::rewind(&mut file).expect("a file");
        let form = read(TYPE, Source::File(file), &options()).expect("a form");
        assert_eq!(std::fs::read_to_string(&form.files[0]).expect("text"), text);
    }

    #[test]
    fn invalid_forms() {
        for (kind, text) in [
            ("multipart/form-data", "--xx--\r\n"),
            (TYPE, ""),
            (TYPE, "--xx\r\n"),
            (
                TYPE,
                "--xx\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\ncut off",
            ),
            (TYPE, "garbage"),
        ] {
            let source = Source::Memory(Bytes::from_static(text.as_bytes()));
            assert!(read(kind, source, &options()).is_err(), "{kind}: {text}");
        }
    }
}
