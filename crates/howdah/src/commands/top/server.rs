//! The table of the server: certificates, upstreams, routes that crash, and the last reload.

use ratatui::style::Color;

use super::snapshot::{Certificate, Configuration, RouteCrashes, Snapshot, Upstream};
use super::table::{Cell, Column, ColumnKind, Row, Table, column};
use crate::commands::report::{printable, time};

use ColumnKind::{Long, Text};

const COLUMNS: &[Column] = &[
    column("WHAT", Text, 1),
    column("NAME", Long, 0),
    column("STATE", Text, 0),
    column("NUMBERS", Text, 2),
];

pub(super) fn table(snapshot: &Snapshot) -> Table {
    let activity = &snapshot.activity;
    let crashes = snapshot.status.pools.iter().flat_map(|pool| &pool.crashes);
    let rows = (activity.configuration.iter().map(configuration))
        .chain(crashes.map(route))
        .chain(activity.upstreams.iter().map(upstream))
        .chain((activity.certificates.iter()).map(|own| certificate(own, activity.now_ms)));
    Table::new(COLUMNS, rows, "The server reports nothing here.")
}

fn row(what: &str, name: &str, state: (String, Option<Color>), numbers: String) -> Row {
    let name = printable(name);
    let mut details = vec![name.clone(), state.0.clone(), numbers.clone()];
    details.retain(|line| !line.is_empty());
    Row {
        cells: vec![
            Cell::text(what),
            Cell::text(name),
            Cell::text(state.0).colored(state.1),
            Cell::text(numbers),
        ],
        details,
    }
}

fn configuration(own: &Configuration) -> Row {
    let state = if own.last_successful {
        ("accepted".to_owned(), Some(Color::Green))
    } else {
        ("rejected, see log".to_owned(), Some(Color::Red))
    };
    row("reload", "configuration", state, String::new())
}

fn route(own: &RouteCrashes) -> Row {
    let state = own.quarantine_ms.map_or((String::new(), None), |ms| {
        (format!("quarantine {}", time(ms)), Some(Color::Red))
    });
    row(
        "crashes",
        &own.route,
        state,
        format!("{} crashes", own.count),
    )
}

fn upstream(own: &Upstream) -> Row {
    let state = if own.healthy {
        ("healthy".to_owned(), Some(Color::Green))
    } else {
        ("unhealthy".to_owned(), Some(Color::Red))
    };
    let numbers = format!("{} in flight, {} failures", own.in_flight, own.failures);
    row(&own.handler, &own.address, state, numbers)
}

fn certificate(own: &Certificate, now_ms: u64) -> Row {
    let left = own.until.saturating_mul(1000).saturating_sub(now_ms);
    let state = match left {
        0 => "expired".to_owned(),
        left => format!("{} left", time(left)),
    };
    let deadline = own.renewal_deadline.unwrap_or(own.until);
    let is_overdue = deadline.saturating_mul(1000) <= now_ms;
    let color = is_overdue.then_some(Color::Red);
    let note = if is_overdue { "renewal overdue" } else { "" };
    row("certificate", &own.host, (state, color), note.to_owned())
}
