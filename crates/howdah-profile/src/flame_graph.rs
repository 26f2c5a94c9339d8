//! A flame graph as SVG: a box for each stack, as wide as its share of the time, callers above callees.
//!
//! `flame_graph.js` within it zooms on click and searches, if the browser runs scripts; without it every box still has
//! its title.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "positions on a page, where the twelfth digit is invisible"
)]

use std::fmt::Write as _;

use howdah_shm::{FrameKind, ProfileFrame};

use crate::profile::{Metric, Profile, label};

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 10.0;
const ROW: f64 = 18.0;
const HEADER: f64 = 64.0;
/// Width of a letter of the font.
const LETTER: f64 = 6.6;
/// Narrower boxes are not drawn.
const LEAST: f64 = 0.4;
/// Maximum number of boxes that a browser can show.
const BOXES_MAX: usize = 20_000;

const STYLE: &str = include_str!("flame_graph.css");
const SCRIPT: &str = include_str!("flame_graph.js");

/// The box of a stack.
struct Rectangle {
    node: usize,
    x: f64,
    width: f64,
    depth: usize,
}

pub(crate) fn render(profile: &Profile, metric: Metric) -> String {
    let totals: Vec<u64> = profile
        .tree
        .totals()
        .into_iter()
        .map(|total| metric.of(total))
        .collect();
    let tree = &profile.tree;
    let outermost = (0..tree.nodes.len()).filter(|node| tree.nodes[*node].parent.is_none());
    let all = outermost.fold(0, |sum: u64, node| sum.saturating_add(totals[node]));
    let boxes = placed(profile, &totals, all);
    let rows = boxes.iter().map(|placed| placed.depth + 1).max();
    let height = HEADER + rows.unwrap_or(1) as f64 * ROW + MARGIN;
    let right = WIDTH - MARGIN;
    let mut svg = String::new();
    // Writing to a `String` cannot fail.
    let _ = write!(
        svg,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"11\">\n\
         <style>{STYLE}</style>\n\
         <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"title\" x=\"{MARGIN}\" y=\"22\">{}</text>\n\
         <text class=\"note\" x=\"{MARGIN}\" y=\"40\">{}</text>\n\
         <text class=\"note\" id=\"details\" x=\"{MARGIN}\" y=\"56\">{}</text>\n\
         <text id=\"search\" x=\"{right}\" y=\"22\" text-anchor=\"end\" style=\"display: none\">Search</text>\n\
         <text class=\"note\" id=\"found\" x=\"{right}\" y=\"40\" text-anchor=\"end\"/>\n",
        escaped(&format!(
            "PHP: {} of {}, {} in all",
            metric.title(),
            pools(profile),
            time(all)
        )),
        escaped(&profile.summary()),
        if all == 0 { "no PHP code ran" } else { "" },
    );
    svg.push_str("<g id=\"boxes\">\n");
    for placed in &boxes {
        draw(&mut svg, profile, placed, (totals[placed.node], all));
    }
    let _ = write!(
        svg,
        "</g>\n<script><![CDATA[\n{SCRIPT}]]></script>\n</svg>\n"
    );
    svg
}

fn pools(profile: &Profile) -> String {
    match &*profile.settings.pools {
        [pool] => format!("pool {pool}"),
        pools => format!("pools {}", pools.join(", ")),
    }
}

/// Wide ones first, so that narrow ones in the innermost rows are left out.
fn placed(profile: &Profile, totals: &[u64], all: u64) -> Vec<Rectangle> {
    let tree = &profile.tree;
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); tree.nodes.len()];
    let mut row = Vec::new();
    for (number, node) in tree.nodes.iter().enumerate() {
        match node.parent {
            Some(parent) => children[parent].push(number),
            None => row.push(number),
        }
    }
    let scale = (WIDTH - 2.0 * MARGIN) / all.max(1) as f64;
    let mut boxes: Vec<Rectangle> = Vec::new();
    let mut next = 0;
    place(&mut boxes, row, MARGIN, 0, (profile, totals, scale));
    while next < boxes.len() && boxes.len() < BOXES_MAX {
        let (node, x, depth) = (boxes[next].node, boxes[next].x, boxes[next].depth);
        let below = std::mem::take(&mut children[node]);
        place(&mut boxes, below, x, depth + 1, (profile, totals, scale));
        next += 1;
    }
    boxes
}

/// Places stacks side by side, sorted by name as is usual.
fn place(
    boxes: &mut Vec<Rectangle>,
    mut row: Vec<usize>,
    mut x: f64,
    depth: usize,
    (profile, totals, scale): (&Profile, &[u64], f64),
) {
    let tree = &profile.tree;
    let frame = |node: usize| &tree.frames[tree.nodes[node].frame];
    row.sort_by(|a, b| {
        let key = |node| (&frame(node).name, &frame(node).file, frame(node).line);
        key(*a).cmp(&key(*b))
    });
    for node in row {
        let width = totals[node] as f64 * scale;
        if width >= LEAST {
            boxes.push(Rectangle {
                node,
                x,
                width,
                depth,
            });
        }
        x += width;
    }
}

fn draw(svg: &mut String, profile: &Profile, placed: &Rectangle, (own, all): (u64, u64)) {
    let tree = &profile.tree;
    let frame = &tree.frames[tree.nodes[placed.node].frame];
    let text = label(frame);
    let share = own as f64 * 100.0 / all.max(1) as f64;
    let (x, width, y) = (placed.x, placed.width, HEADER + placed.depth as f64 * ROW);
    let tone = frame
        .name
        .bytes()
        .fold(0_u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte))
        % 5;
    let class = match frame.kind {
        FrameKind::Route => "route",
        FrameKind::Function => "code",
        FrameKind::Internal => "internal",
        FrameKind::Wait => "wait",
    };
    let _ = writeln!(
        svg,
        "<g class=\"{class} s{tone}\"><title>{} ({}, {share:.2} %)</title>\
         <rect x=\"{x:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{}\"/>\
         <text x=\"{:.2}\" y=\"{}\">{}</text></g>",
        escaped(&text),
        time(own),
        ROW - 1.0,
        x + 3.0,
        y + 13.0,
        escaped(&shortened(&text_of(frame), width)),
    );
}

/// The text of a box: the last part of a path, since the title has all of it.
fn text_of(frame: &ProfileFrame) -> String {
    let mut short = frame.clone();
    if let Some((_, name)) = frame.file.rsplit_once('/') {
        name.clone_into(&mut short.file);
    }
    label(&short)
}

/// The part that fits into a box: the start, which is the name.
fn shortened(text: &str, width: f64) -> String {
    let room = ((width - 6.0) / LETTER) as usize;
    if room < 3 {
        return String::new();
    }
    if text.chars().count() <= room {
        return text.to_owned();
    }
    text.chars().take(room - 2).chain("..".chars()).collect()
}

fn time(nanoseconds: u64) -> String {
    let seconds = nanoseconds as f64 / 1e9;
    if seconds >= 1.0 {
        format!("{seconds:.2} s")
    } else {
        format!("{:.2} ms", seconds * 1e3)
    }
}

/// Escapes text for XML, which does not allow all characters, even escaped; the file server has a
/// separate function for HTML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            char if char.is_control() => escaped.push('\u{fffd}'),
            char => escaped.push(char),
        }
    }
    escaped
}
