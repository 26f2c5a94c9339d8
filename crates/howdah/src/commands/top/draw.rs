//! Draws the state on the screen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph, Sparkline, Wrap};

use super::app::{App, Focus};
use super::snapshot::Latency;
use super::tab::{TABS, Tab};
use super::table::{ColumnKind, Table, padded};
use crate::commands::report::{micros, printable, size};

const ACCENT: Color = Color::Cyan;
const HELP: &[(&str, &str)] = &[
    ("1 to 9, 0, Tab, ← →", "choose a tab"),
    ("↑ ↓, j k, PgUp PgDn", "choose a row"),
    ("Enter", "details of the row"),
    ("s, o", "sort by the next column, reverse the order"),
    ("/", "filter; Esc clears it"),
    ("p", "pause"),
    ("r", "reload configuration and PHP"),
    ("q", "quit"),
];

pub(super) fn draw(frame: &mut Frame<'_>, app: &App) {
    let [title, tabs, body, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Min(0),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    draw_title(frame, app, title);
    draw_tabs(frame, app, tabs);
    let body = match &app.problem {
        Some(problem) => {
            let text = format!("no response: {}", printable(problem));
            let length = text.chars().count().div_ceil(body.width.max(1).into());
            // Words are not divided, which takes space.
            let lines = if length > 1 { length + 1 } else { 1 };
            let lines = u16::try_from(lines).unwrap_or(u16::MAX);
            let [banner, rest] =
                Layout::vertical([Constraint::Max(lines), Constraint::Min(0)]).areas(body);
            let text = Paragraph::new(text).wrap(Wrap { trim: true });
            frame.render_widget(text.fg(Color::White).bg(Color::Red), banner);
            rest
        }
        None => body,
    };
    let table = if app.tab == Tab::Overview {
        draw_overview(frame, app, body)
    } else {
        body
    };
    draw_table(frame, app, table);
    draw_keys(frame, app, keys);
    match app.focus {
        Focus::Help => draw_help(frame),
        Focus::Reload => draw_question(frame),
        Focus::Table | Focus::Filter => {}
    }
}

fn draw_title(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let status = &app.snapshot.status;
    let (state, color) = if app.is_paused {
        ("paused", Color::Yellow)
    } else if app.problem.is_some() {
        ("not connected", Color::Red)
    } else if status.stopping {
        ("stopping", Color::Red)
    } else if app.is_reloading || status.pools.iter().any(|pool| pool.reloading) {
        ("reloading", Color::Yellow)
    } else {
        ("live", Color::Green)
    };
    let line = Line::from(vec![
        Span::from("howdah ").bold(),
        Span::from(format!(
            "{}, process {}, PHP {} ",
            status.version, status.pid, status.php
        )),
        Span::styled(format!("● {state}"), Style::new().fg(color)),
    ]);
    frame.render_widget(line, area);
}

fn draw_tabs(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let activity = &app.snapshot.activity;
    let leaks = app.snapshot.status.pools.iter();
    let leaks = leaks.map(|pool| pool.leaks.findings.len()).sum();
    // Eighty columns have space for the titles, and neither for their keys nor for the numbers of what they show.
    let has_counts = area.width >= 112;
    let has_keys = area.width >= 98;
    let is_narrow = area.width < 78;
    let mut spans = Vec::new();
    for (index, tab) in TABS.into_iter().enumerate() {
        let count = match tab {
            Tab::Requests => app.snapshot.requests.len(),
            Tab::Slow => activity.slow.len(),
            Tab::Leaks => leaks,
            _ => 0,
        };
        let mut text = String::new();
        if has_keys || is_narrow {
            text = format!(" {}", (index + 1) % TABS.len());
        }
        if !is_narrow || tab == app.tab {
            text = format!("{text} {}", tab.title());
        }
        if count > 0 && has_counts {
            text = format!("{text} {count}");
        }
        text.push(' ');
        let style = if tab == app.tab {
            Style::new().fg(Color::Black).bg(ACCENT)
        } else {
            Style::new()
        };
        spans.push(Span::styled(text, style));
    }
    frame.render_widget(Line::from(spans), area);
}

/// Figures and a chart; returns the remaining area.
fn draw_overview(frame: &mut Frame<'_>, app: &App, area: Rect) -> Rect {
    let [figures, charts, rest] = Layout::vertical([
        Constraint::Length(4),
        Constraint::Length(6),
        Constraint::Min(0),
    ])
    .areas(area);
    frame.render_widget(Paragraph::new(figure_lines(app)), figures);
    let [left, right] =
        Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(charts);
    let seconds = &app.snapshot.activity.seconds;
    let block = Block::bordered().title("requests per second");
    let inside = usize::from(block.inner(left).width);
    let skipped = seconds.len().saturating_sub(inside);
    let values: Vec<u64> = (seconds.iter().skip(skipped))
        .map(|second| second.requests)
        .collect();
    let sparkline = Sparkline::default().data(values).fg(ACCENT).block(block);
    frame.render_widget(sparkline, left);
    draw_latency(frame, &app.snapshot.activity.latency, right);
    rest
}

fn figure_lines(app: &App) -> Vec<Line<'static>> {
    let (status, activity) = (&app.snapshot.status, &app.snapshot.activity);
    let pools = &status.pools;
    let workers = pools.iter().map(|pool| pool.workers.len()).sum::<usize>();
    let busy: usize = pools.iter().map(|pool| pool.busy).sum();
    let queue: usize = pools.iter().map(|pool| pool.queue).sum();
    let memory = pools.iter().map(super::snapshot::Pool::memory).sum();
    let rate = activity.seconds.last().map_or(0, |second| second.requests);
    let minute = activity.seconds.iter().rev().take(60);
    let errors: u64 = minute.map(|second| second.server_errors).sum();
    let latency = &activity.latency;
    let figure = |name: &'static str, value: String, color: Option<Color>| {
        let style = color.map_or(Style::new(), |color| Style::new().fg(color));
        [
            Span::from(name).dim(),
            Span::styled(value, style.add_modifier(Modifier::BOLD)),
            Span::from("   "),
        ]
    };
    let line = |figures: Vec<[Span<'static>; 3]>| Line::from(figures.concat());
    let mut lines = vec![
        line(vec![
            figure("requests/s ", rate.to_string(), None),
            figure("in flight ", status.front.in_flight.to_string(), None),
            figure("connections ", status.front.connections.to_string(), None),
            figure("since the start ", status.front.requests.to_string(), None),
        ]),
        line(vec![
            figure("p50 ", micros(latency.p50_us), None),
            figure("p95 ", micros(latency.p95_us), None),
            figure("p99 ", micros(latency.p99_us), None),
            figure(
                "5xx in the last minute ",
                errors.to_string(),
                (errors > 0).then_some(Color::Red),
            ),
        ]),
        line(vec![
            figure("busy ", format!("{busy} of {workers}"), None),
            figure(
                "queue ",
                queue.to_string(),
                (queue > 0).then_some(Color::Yellow),
            ),
            figure("memory ", size(memory), None),
        ]),
    ];
    lines.push(match &status.opcache {
        None => Line::from("OPcache is off").dim(),
        Some(opcache) => {
            let lookups = opcache.hits.saturating_add(opcache.misses).max(1);
            let rate = u128::from(opcache.hits) * 100 / u128::from(lookups);
            let mut figures = vec![
                figure(
                    "OPcache ",
                    format!("{} used, {} free", size(opcache.used), size(opcache.free)),
                    None,
                ),
                figure("wasted ", size(opcache.wasted), None),
                figure("hits ", format!("{rate} %"), None),
            ];
            if let Some(advice) = opcache.advice.first() {
                figures.push(figure("! ", printable(advice), Some(Color::Yellow)));
            }
            line(figures)
        }
    });
    lines
}

/// A bar for each range of times.
fn draw_latency(frame: &mut Frame<'_>, latency: &Latency, area: Rect) {
    let title = format!("{} responses, last minute", latency.requests);
    let block = Block::bordered().title(title);
    let inside = block.inner(area);
    frame.render_widget(block, area);
    // Ranges are combined to four lines of the box.
    let limits = [10_000, 100_000, 1_000_000, u64::MAX];
    let names = ["≤ 10 ms", "≤ 100 ms", "≤ 1 s", "> 1 s"];
    let mut sums = [0; 4];
    for (index, count) in latency.counts.iter().enumerate() {
        let bound = latency.bounds_us.get(index).copied().unwrap_or(u64::MAX);
        let range = limits.iter().position(|limit| bound <= *limit);
        sums[range.unwrap_or(3)] += count;
    }
    let all: u64 = sums.iter().sum();
    let room = usize::from(inside.width).saturating_sub(18);
    let lines = names.iter().zip(sums).map(|(name, count)| {
        let share = count.saturating_mul(room as u64).checked_div(all);
        let mut width = share.unwrap_or(0) as usize;
        if count > 0 {
            width = width.max(1);
        }
        Line::from(vec![
            Span::from(format!("{name:>8} ")).dim(),
            Span::styled("█".repeat(width), Style::new().fg(ACCENT)),
            Span::from(format!(" {count}")),
        ])
    });
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), inside);
}

fn draw_table(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let table = app.table();
    let chosen = app.chosen.min(table.rows.len().saturating_sub(1));
    let details = table.rows.get(chosen).filter(|_| app.shows_details);
    let area = match details {
        Some(row) => {
            let height = u16::try_from(row.details.len() + 2).unwrap_or(u16::MAX);
            let height = height.min(area.height / 2);
            let [table, below] =
                Layout::vertical([Constraint::Min(0), Constraint::Length(height)]).areas(area);
            let lines: Vec<Line<'_>> = row.details.iter().map(|line| Line::from(&**line)).collect();
            let text = Paragraph::new(lines).wrap(Wrap { trim: false });
            frame.render_widget(text.block(Block::bordered().title("details")), below);
            table
        }
        None => area,
    };
    if table.rows.is_empty() {
        let text = if app.filter.is_empty() {
            &table.empty
        } else {
            "Nothing matches the filter."
        };
        let text = Paragraph::new(text).dim().wrap(Wrap { trim: true });
        frame.render_widget(text, area);
        return;
    }
    let lines = table_lines(app, &table, chosen, area);
    frame.render_widget(Paragraph::new(lines), area);
}

fn table_lines<'s>(app: &App, table: &'s Table, chosen: usize, area: Rect) -> Vec<Line<'s>> {
    let widths = table.widths(area.width.into());
    let sort = app.sort();
    let head = widths.iter().map(|&(index, width)| {
        let column = &table.columns[index];
        let mark = match sort.filter(|sort| sort.column == index) {
            Some(sort) if sort.down => "↓",
            Some(_) => "↑",
            None => "",
        };
        let title = padded(&format!("{}{mark}", column.title), width, column.kind);
        Span::styled(title, Style::new().fg(ACCENT).add_modifier(Modifier::BOLD))
    });
    let mut lines = vec![spaced(head.collect())];
    let visible = usize::from(area.height).saturating_sub(1);
    let first = (chosen + 1).saturating_sub(visible);
    for (at, row) in table.rows.iter().enumerate().skip(first).take(visible) {
        let cells = widths.iter().map(|&(index, width)| {
            let cell = &row.cells[index];
            let text = padded(&cell.text, width, table.columns[index].kind);
            let style = cell
                .color
                .map_or(Style::new(), |color| Style::new().fg(color));
            Span::styled(text, style)
        });
        let mut line = spaced(cells.collect());
        if at == chosen {
            line = line.patch_style(Style::new().add_modifier(Modifier::REVERSED));
        }
        lines.push(line);
    }
    lines
}

fn spaced(cells: Vec<Span<'static>>) -> Line<'static> {
    let mut spans = Vec::with_capacity(cells.len() * 2);
    for (index, cell) in cells.into_iter().enumerate() {
        if index > 0 {
            spans.push(Span::from("  "));
        }
        spans.push(cell);
    }
    Line::from(spans)
}

fn draw_keys(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let line = if app.focus == Focus::Filter {
        Line::from(format!("/{}▏", app.filter))
    } else if let Some(note) = &app.note {
        let color = if note.is_bad {
            Color::Red
        } else {
            Color::Green
        };
        let first = note.text.lines().next().unwrap_or_default();
        Line::from(printable(first)).fg(color)
    } else {
        let mut text =
            "q quit  ? help  ←→ tab  ↑↓ row  ⏎ details  s sort  o order  / filter  p pause  r reload"
                .to_owned();
        if !app.filter.is_empty() {
            text = format!("filter: {}  (Esc clears it)", app.filter);
        }
        Line::from(padded(&text, area.width.into(), ColumnKind::Text)).dim()
    };
    frame.render_widget(line, area);
}

fn draw_help(frame: &mut Frame<'_>) {
    let lines: Vec<Line<'_>> = HELP
        .iter()
        .map(|(keys, what)| {
            Line::from(vec![
                Span::from(format!("{keys:<21}")).bold(),
                (*what).into(),
            ])
        })
        .collect();
    let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
    popup(frame, "keys", lines, (68, height));
}

fn draw_question(frame: &mut Frame<'_>) {
    let lines = vec![
        Line::from("Reload the configuration and restart PHP?"),
        Line::from("Requests in flight finish."),
        Line::from(vec!["y".bold(), " reload, any other key does not".into()]),
    ];
    popup(frame, "reload", lines, (54, 5));
}

/// A box in the middle of the screen.
fn popup(frame: &mut Frame<'_>, title: &str, lines: Vec<Line<'_>>, (width, height): (u16, u16)) {
    let all = frame.area();
    let (width, height) = (width.min(all.width), height.min(all.height));
    let area = Rect {
        x: all.x + (all.width - width) / 2,
        y: all.y + (all.height - height) / 2,
        width,
        height,
    };
    frame.render_widget(Clear, area);
    let block = Block::bordered().title(title.to_owned()).fg(ACCENT);
    frame.render_widget(Paragraph::new(lines).fg(Color::Reset).block(block), area);
}
