//! Folded stacks: a line for each, frames separated by semicolons, then a space and microseconds.

use std::fmt::Write as _;

use crate::profile::{Metric, Profile, label};

pub(crate) fn render(profile: &Profile, metric: Metric) -> String {
    let tree = &profile.tree;
    let labels: Vec<String> = tree
        .frames
        .iter()
        .map(|frame| escaped(&label(frame)))
        .collect();
    let mut lines: Vec<String> = Vec::new();
    for (number, node) in tree.nodes.iter().enumerate() {
        let micros = metric.of(node.own) / 1000;
        if micros == 0 {
            continue;
        }
        let stack = tree.stack(number);
        let frames: Vec<&str> = stack.iter().map(|frame| &*labels[*frame]).collect();
        let mut line = frames.join(";");
        // Writing to a `String` cannot fail.
        let _ = writeln!(line, " {micros}");
        lines.push(line);
    }
    lines.sort_unstable();
    lines.concat()
}

/// Removes characters that end a frame or a line.
fn escaped(text: &str) -> String {
    text.chars()
        .map(|char| match char {
            ';' => ',',
            char if char.is_control() => '\u{fffd}',
            char => char,
        })
        .collect()
}
