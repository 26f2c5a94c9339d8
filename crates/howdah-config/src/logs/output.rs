//! `output` of a `log`.

use crate::error::Error;
use crate::model::{LogFile, LogOutput, Roll};
use crate::table::template::literal;
use crate::table::value::{duration, number, size};
use crate::table::{Call, Context, Entry, Item, Table, bad_value, unsupported};

/// A file and its rotation while they are read.
pub(crate) struct Draft {
    mode: u32,
    rolls: bool,
    roll: Roll,
}

/// Names of the block of `output file PATH`.
pub(crate) const FILE: Table<Draft> = Table {
    kind: "option of `output file`",
    items: &[
        Item::Supported(
            Entry {
                name: "mode",
                syntax: "mode MODE",
                default: "`0600`",
                about: "Permissions of new files, in octal digits.",
                differs: "No `from_file`.",
                example: "mode 0640",
            },
            |_, call, draft| {
                let word = call.one()?;
                let mode = u32::from_str_radix(&word.text, 8).ok();
                draft.mode = mode.filter(|mode| *mode <= 0o777).ok_or_else(|| {
                    let message = format!("`{}` are not valid permissions", word.text);
                    bad_value(&word.position, message, "write for example `mode 0640`")
                })?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "roll_disabled",
                syntax: "roll_disabled",
                default: "files are rolled",
                about: "Never rolls the file.",
                differs: "",
                example: "roll_disabled",
            },
            |_, call, draft| {
                call.arguments(0, 0)?;
                draft.rolls = false;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "roll_size",
                syntax: "roll_size SIZE",
                default: "`100MiB`",
                about: "Maximum size of a file: a line that does not fit starts a new one.",
                differs: "",
                example: "roll_size 10MiB",
            },
            |_, call, draft| {
                draft.roll.size = size(call)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "roll_uncompressed",
                syntax: "roll_uncompressed",
                default: "rolled files are compressed with gzip",
                about: "Does not compress rolled files.",
                differs: "",
                example: "roll_uncompressed",
            },
            |_, call, draft| {
                call.arguments(0, 0)?;
                draft.roll.gzip = false;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "roll_keep",
                syntax: "roll_keep NUMBER",
                default: "`10`",
                about: "Number of old files to keep; older ones are removed.",
                differs: "",
                example: "roll_keep 5",
            },
            |_, call, draft| {
                draft.roll.keep = number(call, 1)?;
                Ok(())
            },
        ),
        Item::Supported(
            Entry {
                name: "roll_keep_for",
                syntax: "roll_keep_for DURATION",
                default: "`90d`",
                about: "How long old files are kept.",
                differs: "",
                example: "roll_keep_for 30d",
            },
            |_, call, draft| {
                draft.roll.keep_for = duration(call)?;
                Ok(())
            },
        ),
        Item::Unsupported("dir_mode", "make the folder before the server starts"),
        Item::Unsupported("roll_interval", "use `roll_size`"),
        Item::Unsupported("roll_minutes", "use `roll_size`"),
        Item::Unsupported("roll_at", "use `roll_size`"),
        Item::Unsupported("backup_time_format", ""),
    ],
};

/// Reads `output`, of the server's own log or of a site's.
pub(crate) fn output(cx: &mut Context, call: &Call<'_>) -> Result<LogOutput, Error> {
    let hint = "outputs are `stderr`, `stdout`, `discard` and `file PATH`";
    let plain = |output| {
        call.one()?;
        call.no_block().map(|()| output)
    };
    match call.arguments.first().map(|word| word.text.as_str()) {
        Some("stderr") => plain(LogOutput::Stderr),
        Some("stdout") => plain(LogOutput::Stdout),
        Some("discard") => plain(LogOutput::Discard),
        Some("file") => file(cx, call),
        Some("net") => Err(unsupported(&call.arguments[0], hint)),
        _ => {
            let word = call.one()?;
            let message = format!("unknown log output `{}`", word.text);
            Err(bad_value(&word.position, message, hint))
        }
    }
}

fn file(cx: &mut Context, call: &Call<'_>) -> Result<LogOutput, Error> {
    let [_, path] = call.arguments else {
        return Err(bad_value(
            &call.name.position,
            "`output file` takes one path".into(),
            "write for example `output file /var/log/access.log`",
        ));
    };
    let text = literal(path, "the path of a log")?;
    if text.is_empty() || text.ends_with('/') || text.contains('\0') {
        return Err(bad_value(
            &path.position,
            format!("`{text}` is not the path of a file"),
            "write for example `output file /var/log/access.log`",
        ));
    }
    let mut draft = Draft {
        mode: 0o600,
        rolls: true,
        roll: Roll::default(),
    };
    cx.read(&FILE, call.block.unwrap_or_default(), &mut draft);
    Ok(LogOutput::File(LogFile {
        path: text.into(),
        mode: draft.mode,
        roll: draft.rolls.then_some(draft.roll),
    }))
}
