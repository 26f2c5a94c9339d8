//! `crash_reports`.

use crate::error::Error;
use crate::model::CrashReports;
use crate::table::template::literal;
use crate::table::value::{number, size};
use crate::table::{Call, Context, Entry, Item, Table, bad_value};

/// The option of the global block.
pub(crate) const ENTRY: Entry = Entry {
    name: "crash_reports",
    syntax: "crash_reports off|[FOLDER] { … }",
    default: "in `crashes` below the folder that systemd provides (`StateDirectory`), else beside the \
              certificates (`storage`)",
    about: "Reports of PHP processes that a signal terminated: backtraces of PHP and C, the requests, versions, and the \
            last lines of the log. `howdah crashes` shows them. The folder belongs to root where a monitor runs. If \
            it cannot be made, the log says so and no reports are written.",
    differs: "Not in Caddy or FrankenPHP.",
    example: "crash_reports /var/log/howdah/crashes {\n\tkeep 50\n}",
};

/// Names of the block of `crash_reports`.
pub(crate) const CRASH_REPORTS: Table<CrashReports> = Table {
    kind: "option of `crash_reports`",
    items: &[
        Item::Supported(
            Entry {
                name: "keep",
                syntax: "keep NUMBER",
                default: "`100`",
                about: "Number of reports to keep; the oldest are removed.",
                differs: "",
                example: "keep 50",
            },
            |_, call, draft| {
                draft.keep = number(call, 1)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "max_size",
                syntax: "max_size SIZE",
                default: "`20MiB`",
                about: "Total size of the reports; the oldest are removed, and a report that is larger by itself is \
                        not written.",
                differs: "",
                example: "max_size 5MiB",
            },
            |_, call, draft| {
                draft.max_size = size(call)?;
                Ok(())
            },
        ),
    ],
};

/// Reads the option.
pub(crate) fn read(
    cx: &mut Context,
    call: &Call<'_>,
    draft: &mut CrashReports,
) -> Result<(), Error> {
    let words = call.count(0, 1)?;
    *draft = CrashReports::default();
    if let Some(word) = words.first() {
        if word.text == "off" {
            draft.on = false;
            return call.no_block();
        }
        let folder = literal(word, "the folder of crash reports")?;
        if folder.is_empty() || folder.contains('\0') {
            let message = format!("`{}` is not the path of a folder", word.text);
            let hint = "write for example `crash_reports /var/log/howdah/crashes`, or `off`";
            return Err(bad_value(&word.position, message, hint));
        }
        draft.folder = Some(folder.into());
    }
    cx.read(&CRASH_REPORTS, call.block.unwrap_or_default(), draft);
    Ok(())
}
