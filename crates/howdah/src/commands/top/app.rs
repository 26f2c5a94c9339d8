//! The state of the terminal interface, and how keys change it.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::snapshot::{Line, Snapshot};
use super::source::SourceEvent;
use super::tab::{TABS, Tab};
use super::table::{Sort, Table};
use super::tables::{table, usual_sort};

/// Lines of the log that are stored.
const LINES_MAX: usize = 1000;

/// The state of the screen.
#[derive(Debug)]
pub(super) struct App {
    pub(super) tab: Tab,
    /// For each tab; `None`: as received.
    sorts: [Option<Sort>; TABS.len()],
    pub(super) filter: String,
    /// What receives the keys.
    pub(super) focus: Focus,
    pub(super) is_paused: bool,
    /// Details of the selected row are shown.
    pub(super) shows_details: bool,
    pub(super) chosen: usize,
    pub(super) snapshot: Snapshot,
    lines: Vec<Line>,
    /// The server does not respond.
    pub(super) problem: Option<String>,
    /// The result of an order.
    pub(super) note: Option<Note>,
    pub(super) is_reloading: bool,
}

/// What receives the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Focus {
    Table,
    Filter,
    Help,
    /// The confirmation of a reload.
    Reload,
}

/// The result of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Note {
    pub(super) text: String,
    pub(super) is_bad: bool,
}

/// What the terminal does after a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    None,
    Quit,
    /// Order the server to reload.
    Reload,
    /// Pause or resume polling.
    Pause(bool),
}

impl App {
    pub(super) fn new(snapshot: Snapshot) -> Self {
        let mut app = Self {
            tab: Tab::Overview,
            sorts: TABS.map(usual_sort),
            filter: String::new(),
            focus: Focus::Table,
            is_paused: false,
            shows_details: false,
            chosen: 0,
            lines: Vec::new(),
            problem: None,
            note: None,
            is_reloading: false,
            snapshot: snapshot.clone(),
        };
        app.take(snapshot);
        app
    }

    /// Handles what the server has reported, or why it has not.
    pub(super) fn handle_event(&mut self, news: SourceEvent) {
        match news {
            SourceEvent::Snapshot(snapshot) => {
                self.problem = None;
                if !self.is_paused {
                    self.take(*snapshot);
                }
            }
            SourceEvent::Problem(problem) => self.problem = Some(problem),
            SourceEvent::Reloaded(outcome) => {
                self.is_reloading = false;
                let is_bad = outcome.is_err();
                let text = outcome.unwrap_or_else(|problem| format!("not reloaded: {problem}"));
                self.note = Some(Note { text, is_bad });
            }
        }
    }

    fn take(&mut self, mut snapshot: Snapshot) {
        if let Some(log) = &mut snapshot.activity.log {
            let known = self.lines.last().map_or(0, |line| line.number);
            // A new server starts its numbers again.
            if log.last < known {
                self.lines.clear();
            }
            self.lines.append(&mut log.lines);
            let excess = self.lines.len().saturating_sub(LINES_MAX);
            self.lines.drain(..excess);
        }
        self.snapshot = snapshot;
    }

    /// The table of the tab as shown.
    pub(super) fn table(&self) -> Table {
        let mut table = table(self.tab, &self.snapshot, &self.lines);
        table.arrange(&self.filter, self.sort());
        table
    }

    pub(super) fn sort(&self) -> Option<Sort> {
        self.sorts[self.tab.index()]
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Effect {
        if key.kind == KeyEventKind::Release {
            return Effect::None;
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && matches!(key.code, KeyCode::Char('c' | 'd')) {
            return Effect::Quit;
        }
        match self.focus {
            Focus::Table => self.key_in_table(key.code),
            Focus::Filter => {
                self.key_in_filter(key.code);
                Effect::None
            }
            Focus::Help => {
                self.focus = Focus::Table;
                Effect::None
            }
            Focus::Reload => {
                self.focus = Focus::Table;
                if key.code != KeyCode::Char('y') || self.is_reloading {
                    return Effect::None;
                }
                self.is_reloading = true;
                Effect::Reload
            }
        }
    }

    fn key_in_table(&mut self, code: KeyCode) -> Effect {
        const PAGE: usize = 10;
        let last = self.table().rows.len().saturating_sub(1);
        match code {
            KeyCode::Char('q') => return Effect::Quit,
            KeyCode::Char('p') => {
                self.is_paused = !self.is_paused;
                return Effect::Pause(self.is_paused);
            }
            KeyCode::Char('r') => self.focus = Focus::Reload,
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.focus = Focus::Help,
            KeyCode::Char('/') => self.focus = Focus::Filter,
            KeyCode::Char('s') => self.sort_by_next(),
            KeyCode::Char('o') => self.reverse(),
            KeyCode::Char(digit @ '0'..='9') => {
                // As on the keyboard, 0 is the last.
                self.open(TABS[(digit as usize - '0' as usize + 9) % 10]);
            }
            KeyCode::Tab | KeyCode::Right | KeyCode::Char('l') => self.open(self.tab.step(1)),
            KeyCode::BackTab | KeyCode::Left => self.open(self.tab.step(TABS.len() - 1)),
            KeyCode::Up | KeyCode::Char('k') => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.chosen += 1,
            KeyCode::PageUp => self.chosen = self.chosen.saturating_sub(PAGE),
            KeyCode::PageDown => self.chosen += PAGE,
            KeyCode::Home => self.chosen = 0,
            KeyCode::End => self.chosen = last,
            KeyCode::Enter | KeyCode::Char(' ') => self.shows_details = !self.shows_details,
            KeyCode::Esc => self.leave(),
            _ => {}
        }
        self.chosen = self.chosen.min(last);
        Effect::None
    }

    /// Closes what was opened last.
    fn leave(&mut self) {
        if self.note.take().is_some() {
            return;
        }
        if std::mem::take(&mut self.shows_details) {
            return;
        }
        self.filter.clear();
    }

    fn key_in_filter(&mut self, code: KeyCode) {
        match code {
            KeyCode::Enter => self.focus = Focus::Table,
            KeyCode::Esc => {
                self.filter.clear();
                self.focus = Focus::Table;
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(char) => self.filter.push(char),
            _ => {}
        }
        self.chosen = 0;
    }

    fn open(&mut self, tab: Tab) {
        self.tab = tab;
        self.chosen = 0;
        self.shows_details = false;
    }

    /// Sorts by the next column; after the last one as received.
    fn sort_by_next(&mut self) {
        let columns = self.table().columns.len();
        let sort = &mut self.sorts[self.tab.index()];
        *sort = match *sort {
            None => Some(Sort::default()),
            Some(Sort { column, .. }) if column + 1 >= columns => None,
            Some(Sort { column, down }) => Some(Sort {
                column: column + 1,
                down,
            }),
        };
    }

    fn reverse(&mut self) {
        if let Some(sort) = &mut self.sorts[self.tab.index()] {
            sort.down = !sort.down;
        }
    }
}

/// The delay before the server is polled again after so many consecutive failures.
pub(super) fn pause_after(failures: u32, interval: Duration) -> Duration {
    const MOST: Duration = Duration::from_secs(15);
    let factor = 2_u32.saturating_pow(failures.min(8));
    interval.saturating_mul(factor).min(MOST.max(interval))
}
