//! `browse`: the list of a folder, as HTML or JSON.

use std::fmt::Write as _;
use std::os::fd::AsRawFd;
use std::time::{Duration, UNIX_EPOCH};

use howdah_config::model::{Browse, BrowseOrder};
use howdah_observe::access::rfc3339;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};

use super::conditional::date;
use super::links::Links;
use super::open::descriptor;
use super::request::FileRequest;
use crate::answer::files::job::FileJob;
use crate::message::page::{self, escape};
use crate::message::path;
use crate::message::path::{from_disk, on_disk, readable};
use crate::message::reply;
use crate::message::response::Content;

struct Entry {
    name: String,
    is_directory: bool,
    is_symlink: bool,
    size: u64,
    /// Seconds since 1970.
    modified: u64,
}

/// Lists the folder `full`, which ends in a slash.
pub(super) async fn list(
    job: &FileJob,
    browse: Browse,
    full: String,
    file_request: FileRequest<'_>,
) -> Response<Content> {
    let FileRequest { parts, links, .. } = file_request;
    let query = parts.uri.query().unwrap_or("").to_owned();
    let json = parts
        .headers
        .get_all(ACCEPT)
        .iter()
        .any(|value| value.as_bytes().starts_with(b"application/json"));
    // A `FileJob` cannot move to another thread, so hidden names are filtered here and metadata is
    // read there.
    let folder = full.clone();
    let (policy, root) = (links.policy.clone(), links.root);
    let read = tokio::task::spawn_blocking(move || {
        let policy = &policy;
        read(&folder, browse.limit, Links { policy, root })
    })
    .await;
    let mut entries = match read {
        Ok(Ok(entries)) => entries,
        Ok(Err(error)) => {
            tracing::error!(path = &*readable(&full), %error, "a folder cannot be listed");
            return reply::plain(StatusCode::FORBIDDEN);
        }
        Err(_) => return reply::plain(StatusCode::INTERNAL_SERVER_ERROR),
    };
    let prefix = job.root.prefix();
    entries.retain(|entry| {
        let path = format!("{}{}", &full[prefix.len()..], entry.name);
        !job.options.hides(prefix, &path)
    });
    let entries = select(&mut entries, browse, &query);
    let (kind, text) = if json {
        ("application/json", as_json(entries))
    } else {
        let shown = if job.path.ends_with('/') {
            job.path.clone()
        } else {
            format!("{}/", job.path)
        };
        ("text/html; charset=utf-8", as_html(&shown, entries))
    };
    let mut response = reply::text(StatusCode::OK, text.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(http::header::VARY, HeaderValue::from_static("Accept"));
    response
}

fn read(folder: &str, limit: usize, links: Links<'_>) -> std::io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    // Through the descriptor, whose path was checked.
    let checked = (!links.policy.follows_all()).then(|| descriptor(folder, links));
    let checked = checked.transpose()?;
    let by_descriptor = checked
        .as_ref()
        .map(|folder| format!("/proc/self/fd/{}", folder.as_raw_fd()));
    let folder = on_disk(by_descriptor.as_deref().unwrap_or(folder));
    for entry in std::fs::read_dir(&*folder)?.take(limit) {
        let entry = entry?;
        let is_symlink = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if is_symlink && !links.policy.follows(&entry.path()) {
            continue;
        }
        // A dangling link cannot be opened.
        let Ok(metadata) = std::fs::metadata(entry.path()) else {
            continue;
        };
        let modified = metadata
            .modified()
            .ok()
            .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        entries.push(Entry {
            name: from_disk(&entry.file_name()).into_owned(),
            is_directory: metadata.is_dir(),
            is_symlink,
            size: metadata.len(),
            modified: modified.map_or(0, |time| time.as_secs()),
        });
    }
    Ok(entries)
}

/// The entries that the query selects, in its order.
fn select<'e>(entries: &'e mut [Entry], browse: Browse, query: &str) -> &'e [Entry] {
    let value = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    };
    let order = value("sort").and_then(BrowseOrder::named);
    let by_name = |entry: &Entry| entry.name.to_lowercase();
    let by_kind = |entry: &Entry| (!entry.is_directory, by_name(entry));
    match order.unwrap_or(browse.order) {
        BrowseOrder::Size => entries.sort_by_key(|entry| (entry.size, by_kind(entry))),
        BrowseOrder::Time => entries.sort_by_key(|entry| (entry.modified, by_kind(entry))),
        BrowseOrder::Name => entries.sort_by_cached_key(by_name),
        BrowseOrder::NameDirectoriesFirst => entries.sort_by_cached_key(by_kind),
    }
    let is_descending = match value("order") {
        Some("desc") => true,
        Some("asc") => false,
        _ => browse.is_descending,
    };
    if is_descending {
        entries.reverse();
    }
    let number = |name| value(name).and_then(|value| value.parse().ok());
    let from = number("offset").unwrap_or(0).min(entries.len());
    let to = number("limit").map_or(entries.len(), |limit: usize| from.saturating_add(limit));
    &entries[from..to.min(entries.len())]
}

const STYLE: &str = "\
main{max-width:60rem;margin:0 auto;padding:clamp(1rem,4vw,3rem)}\
h1{margin:0 0 1.25rem;font-size:clamp(1.1rem,4vw,1.5rem);overflow-wrap:anywhere}\
table{width:100%;border-collapse:collapse}\
th,td{padding:.45rem .5rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}\
th{font-size:.85rem;font-weight:600}td{color:var(--quiet);font-variant-numeric:tabular-nums}\
th:first-child,td:first-child{text-align:left;padding-left:0;width:100%;white-space:normal;overflow-wrap:anywhere}\
td+td+td,th+th+th{padding-right:0}\
@media(max-width:40rem){td+td+td,th+th+th{display:none}}";

fn as_html(shown: &str, entries: &[Entry]) -> String {
    let title = escape(&readable(shown));
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n<title>{title}</title>\n\
         <style>{}{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{}</h1>\n<table>\n\
         <tr><th><a href=\"?sort=name\">Name</a></th><th><a href=\"?sort=size\">Size</a></th>\
         <th><a href=\"?sort=time\">Modified</a></th></tr>\n",
        page::STYLE,
        breadcrumbs(shown)
    );
    if shown != "/" {
        page.push_str("<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n");
    }
    for entry in entries {
        let slash = if entry.is_directory { "/" } else { "" };
        // `./`: a name with a colon would be read as a scheme.
        let link = escape(&path::encode(&entry.name));
        let name = escape(&readable(&entry.name));
        let (size, bytes) = if entry.is_directory {
            (String::new(), String::new())
        } else {
            (
                size_text(entry.size),
                format!(" title=\"{} bytes\"", entry.size),
            )
        };
        let time = i64::try_from(entry.modified).ok().and_then(date);
        let time = time.unwrap_or_default();
        // Writing to a `String` cannot fail.
        let _ = writeln!(
            page,
            "<tr><td><a href=\"./{link}{slash}\">{name}{slash}</a></td><td{bytes}>{size}</td><td>{time}</td></tr>"
        );
    }
    page.push_str("</table>\n</main>\n</body>\n</html>\n");
    page
}

/// The folders of a path, each but the last with a link.
fn breadcrumbs(shown: &str) -> String {
    let folders: Vec<&str> = shown.split_inclusive('/').collect();
    let mut text = String::new();
    for (index, folder) in folders.iter().enumerate() {
        let above = folders.len() - index - 1;
        let name = escape(&readable(folder));
        if above == 0 {
            text.push_str(&name);
        } else {
            let _ = write!(text, "<a href=\"{}\">{name}</a>", "../".repeat(above));
        }
    }
    text
}

/// A size in its largest unit: `1.5 MiB`.
fn size_text(size: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if size < 1024 {
        return format!("{size} B");
    }
    let mut unit = 0;
    // In tenths.
    let mut rest = u128::from(size) * 10 / 1024;
    while rest >= 10_240 && unit + 1 < UNITS.len() {
        rest /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", rest / 10, rest % 10, UNITS[unit])
}

fn as_json(entries: &[Entry]) -> String {
    let mut text = String::from("[");
    for (index, entry) in entries.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let name = json_text(&readable(&entry.name));
        let url = json_text(&path::encode(&entry.name));
        let slash = if entry.is_directory { "/" } else { "" };
        let time = UNIX_EPOCH.checked_add(Duration::from_secs(entry.modified));
        let time = rfc3339(time.unwrap_or(UNIX_EPOCH));
        let _ = write!(
            text,
            "{comma}{{\"name\":\"{name}{slash}\",\"size\":{},\"url\":\"./{url}{slash}\",\
             \"mod_time\":\"{time}\",\"is_dir\":{},\"is_symlink\":{}}}",
            entry.size, entry.is_directory, entry.is_symlink
        );
    }
    text.push_str("]\n");
    text
}

fn json_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '"' | '\\' => escaped.extend(['\\', char]),
            _ if char.is_control() => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(char));
            }
            _ => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        for (size, expected) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (5 << 30, "5.0 GiB"),
            (u64::MAX, "16383.9 PiB"),
        ] {
            assert_eq!(size_text(size), expected);
        }
    }

    #[test]
    fn folders_above_are_links() {
        assert_eq!(breadcrumbs("/"), "/");
        assert_eq!(
            breadcrumbs("/a&b/c/"),
            "<a href=\"../../\">/</a><a href=\"../\">a&amp;b/</a>c/"
        );
    }

    #[test]
    fn a_file_may_be_of_any_time() {
        for (modified, shown) in [
            (0, "<td>Thu, 01 Jan 1970 00:00:00 GMT</td>"),
            (253_402_300_799, "<td>Fri, 31 Dec 9999 23:59:59 GMT</td>"),
            (253_402_300_800, ">7 B</td><td></td>"),
            (u64::MAX, ">7 B</td><td></td>"),
        ] {
            let entry = Entry {
                name: "a".into(),
                is_directory: false,
                is_symlink: false,
                size: 7,
                modified,
            };
            let page = as_html("/", &[entry]);
            assert!(page.contains(shown), "{modified}: {page}");
        }
    }
}
