//! The terminal: taken over at the start, and always restored at the end.

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use crossterm::event::{self, Event};
use howdah_observe::admin::Client;
use ratatui::DefaultTerminal;
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::termios::OptionalActions;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::app::{App, Effect};
use super::draw::draw;
use super::snapshot::Snapshot;
use super::source::{Source, SourceEvent};
use super::tab::Tab;
use crate::failure::{Failure, Outcome};

/// How long events and signals may wait for a key.
const TICK: Duration = Duration::from_millis(100);

/// Shows the server until `q` or a signal.
pub(super) fn run(client: Client, interval: Duration) -> Outcome {
    // Before the screen is taken: a missing server is reported in a line.
    let first = Snapshot::take(&client, 0, Tab::Overview)?;
    let log = first.activity.log.as_ref().map_or(0, |log| log.last);
    let app = App::new(first);
    let signal = Arc::new(AtomicUsize::new(0));
    for number in [SIGHUP, SIGINT, SIGTERM] {
        let number_shown = usize::try_from(number).unwrap_or(0);
        signal_hook::flag::register_usize(number, Arc::clone(&signal), number_shown)
            .map_err(|error| failed(&error))?;
    }
    // It also restores the terminal after a panic.
    let mut terminal = ratatui::try_init().map_err(|error| failed(&error))?;
    let (source, events) = Source::start(client, interval, log);
    let ended = show(&mut terminal, app, &source, &events, &signal);
    ratatui::try_restore().map_err(|error| failed(&error))?;
    ended.map_err(|error| failed(&error))?;
    Ok(match signal.load(Ordering::Relaxed) {
        0 => ExitCode::SUCCESS,
        // The exit status by which shells report that a signal ended a program.
        number => ExitCode::from(u8::try_from(128 + number).unwrap_or(u8::MAX)),
    })
}

fn show(
    terminal: &mut DefaultTerminal,
    mut app: App,
    source: &Source,
    events: &Receiver<SourceEvent>,
    signal: &AtomicUsize,
) -> io::Result<()> {
    let mut is_stale = true;
    while signal.load(Ordering::Relaxed) == 0 {
        while let Ok(events) = events.try_recv() {
            app.handle_event(events);
            is_stale = true;
        }
        if std::mem::take(&mut is_stale) {
            terminal.draw(|frame| draw(frame, &app))?;
        }
        match next_event() {
            Ok(true) => {}
            Ok(false) => continue,
            // A signal, which the loop checks.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        is_stale = true;
        let Event::Key(key) = event::read()? else {
            // A new size is drawn like any other change.
            continue;
        };
        match app.key(key) {
            Effect::None => {}
            Effect::Quit => return Ok(()),
            Effect::Reload => source.reload(),
            Effect::Pause(is_paused) => source.pause(is_paused),
        }
        source.show(app.tab);
    }
    Ok(())
}

/// Waits for a key or a new size of the terminal, at most for a tick. It does not use `event::poll`, which never
/// returns when the terminal is gone.
fn next_event() -> io::Result<bool> {
    let input = io::stdin();
    let mut terminal = [PollFd::new(&input, PollFlags::IN)];
    let tick = Timespec::try_from(TICK).map_err(io::Error::other)?;
    rustix::event::poll(&mut terminal, Some(&tick))?;
    if terminal[0]
        .revents()
        .intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL)
    {
        return Err(io::Error::other("the terminal was closed"));
    }
    let has_event = event::poll(Duration::ZERO)?;
    if has_event || !terminal[0].revents().contains(PollFlags::IN) {
        return Ok(has_event);
    }
    // crossterm waits for an edge, and forgets that of a key that comes together with a new size. Setting the terminal's
    // attributes, even unchanged, makes the kernel report it again.
    let attributes = rustix::termios::tcgetattr(&input)?;
    rustix::termios::tcsetattr(&input, OptionalActions::Now, &attributes)?;
    event::poll(Duration::ZERO)
}

fn failed(error: &io::Error) -> Failure {
    Failure::Runtime(format!(
        "the terminal cannot be used: {error}; `howdah top --once` prints a page of text"
    ))
}
