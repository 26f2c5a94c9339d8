//! The table of a tab: its contents, and how it is sorted, filtered and fitted to the screen.

use std::borrow::Cow;
use std::cmp::Ordering;

use ratatui::style::Color;

/// Columns and rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
    /// Shown if there are no rows.
    pub(super) empty: String,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) kind: ColumnKind,
    /// Columns of a higher rank are left out first on a narrow screen.
    pub(super) rank: u8,
}

pub(super) const fn column(title: &'static str, kind: ColumnKind, rank: u8) -> Column {
    Column { title, kind, rank }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    /// Aligned right.
    Number,
    Text,
    /// Gets the remaining space.
    Long,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Row {
    pub(super) cells: Vec<Cell>,
    /// Shown when the row is opened.
    pub(super) details: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    pub(super) text: String,
    /// `None`: sorted by its text.
    key: Option<f64>,
    pub(super) color: Option<Color>,
}

impl Cell {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            key: None,
            color: None,
        }
    }

    /// Shown as `text`, sorted by `key`.
    #[expect(clippy::cast_precision_loss, reason = "an order that people look at")]
    pub(super) fn number(key: u64, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            key: Some(key as f64),
            color: None,
        }
    }

    pub(super) fn count(count: u64) -> Self {
        Self::number(count, count.to_string())
    }

    pub(super) fn rate(rate: f64) -> Self {
        Self {
            text: format!("{rate:.1}"),
            key: Some(rate),
            color: None,
        }
    }

    pub(super) fn colored(mut self, color: Option<Color>) -> Self {
        self.color = color;
        self
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self.key, other.key) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => self.text.cmp(&other.text),
        }
    }
}

/// The order of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Sort {
    pub(super) column: usize,
    pub(super) down: bool,
}

/// Space between two columns.
const GAP: usize = 2;
/// Width of a long column that is preserved by leaving out others.
const LONG_MIN: usize = 24;
/// Its minimum width.
const LONG_LEAST: usize = 8;

impl Table {
    pub(super) fn new(
        columns: &[Column],
        rows: impl Iterator<Item = Row>,
        empty: impl Into<String>,
    ) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: rows.collect(),
            empty: empty.into(),
        }
    }

    /// Removes rows without the text in any cell, and sorts the rest; equal rows keep their order.
    pub(super) fn arrange(&mut self, filter: &str, sort: Option<Sort>) {
        let needle = filter.to_lowercase();
        if !needle.is_empty() {
            let fits = |cell: &Cell| cell.text.to_lowercase().contains(&needle);
            self.rows.retain(|row| row.cells.iter().any(fits));
        }
        let Some(sort) = sort.filter(|sort| sort.column < self.columns.len()) else {
            return;
        };
        self.rows.sort_by(|a, b| {
            let order = a.cells[sort.column].compare(&b.cells[sort.column]);
            if sort.down { order.reverse() } else { order }
        });
    }

    /// The columns that fit, with their widths.
    pub(super) fn widths(&self, screen: usize) -> Vec<(usize, usize)> {
        let natural = |index: usize| {
            let cells = self
                .rows
                .iter()
                .map(|row| row.cells[index].text.chars().count());
            // The mark of the order follows the title.
            let title = self.columns[index].title.chars().count() + 1;
            cells.max().unwrap_or(0).max(title)
        };
        let mut shown: Vec<(usize, usize)> = (0..self.columns.len())
            .map(|index| match self.columns[index].kind {
                ColumnKind::Long => (index, LONG_MIN),
                _ => (index, natural(index)),
            })
            .collect();
        let sum = |shown: &[(usize, usize)]| {
            let widths: usize = shown.iter().map(|(_, width)| width).sum();
            widths + GAP * shown.len().saturating_sub(1)
        };
        let is_long = |index: usize| self.columns[index].kind == ColumnKind::Long;
        while sum(&shown) > screen {
            let last = (0..shown.len()).max_by_key(|at| (self.columns[shown[*at].0].rank, *at));
            match last.filter(|at| self.columns[shown[*at].0].rank > 0) {
                Some(at) => {
                    shown.remove(at);
                }
                None => break,
            }
        }
        // Even the columns of the lowest rank may be too wide.
        let excess = sum(&shown).saturating_sub(screen);
        for (_, width) in shown.iter_mut().filter(|(index, _)| is_long(*index)) {
            *width = width.saturating_sub(excess).max(LONG_LEAST);
        }
        while sum(&shown) > screen && shown.len() > 1 {
            shown.pop();
        }
        let left = screen.saturating_sub(sum(&shown));
        let longs = shown.iter().filter(|(index, _)| is_long(*index)).count();
        for (index, width) in &mut shown {
            if is_long(*index) {
                *width += left / longs;
            }
        }
        shown
    }
}

/// A text of exactly this width.
pub(super) fn padded(text: &str, width: usize, kind: ColumnKind) -> String {
    let text = cut(text, width);
    match kind {
        ColumnKind::Number => format!("{text:>width$}"),
        _ => format!("{text:<width$}"),
    }
}

/// A text of at most this width; what does not fit ends in an ellipsis.
pub(super) fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if text.chars().count() <= width {
        return Cow::Borrowed(text);
    }
    let mut cut: String = text.chars().take(width.saturating_sub(1)).collect();
    if width > 0 {
        cut.push('…');
    }
    Cow::Owned(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let column = |title, kind, rank| Column { title, kind, rank };
        let row = |age: u64, uri: &str| Row {
            cells: vec![
                Cell::number(age, format!("{age}ms")),
                Cell::text("php"),
                Cell::text(uri),
            ],
            details: Vec::new(),
        };
        Table {
            columns: vec![
                column("AGE", ColumnKind::Number, 0),
                column("PHASE", ColumnKind::Text, 1),
                column("URI", ColumnKind::Long, 0),
            ],
            rows: vec![row(9, "/b"), row(100, "/a"), row(20, "/Other")],
            empty: "nothing".into(),
        }
    }

    fn uris(table: &Table) -> Vec<&str> {
        table.rows.iter().map(|row| &*row.cells[2].text).collect()
    }

    #[test]
    fn numbers_are_sorted_as_numbers() {
        let mut own = table();
        own.arrange(
            "",
            Some(Sort {
                column: 0,
                down: true,
            }),
        );
        assert_eq!(uris(&own), ["/a", "/Other", "/b"]);
        own.arrange(
            "",
            Some(Sort {
                column: 2,
                down: false,
            }),
        );
        assert_eq!(uris(&own), ["/Other", "/a", "/b"]);
        own.arrange(
            "",
            Some(Sort {
                column: 9,
                down: false,
            }),
        );
        assert_eq!(uris(&own), ["/Other", "/a", "/b"]);
    }

    #[test]
    fn a_filter_looks_at_every_cell() {
        let mut own = table();
        own.arrange("oTHER", None);
        assert_eq!(uris(&own), ["/Other"]);
        own.arrange("nothing", None);
        assert!(own.rows.is_empty());
    }

    #[test]
    fn columns_are_cut_to_the_screen() {
        let own = table();
        assert_eq!(own.widths(80), [(0, 5), (1, 6), (2, 65)]);
        assert_eq!(own.widths(25), [(0, 5), (2, 18)]);
        assert_eq!(own.widths(5), [(0, 5)]);
        assert_eq!(padded("abc", 5, ColumnKind::Number), "  abc");
        assert_eq!(padded("abcdef", 4, ColumnKind::Text), "abc…");
    }
}
