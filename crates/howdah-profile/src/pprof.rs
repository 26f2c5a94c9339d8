//! The protobuf of pprof, compressed: `profile.proto` of <https://github.com/google/pprof>, as far as it is used here.

use std::collections::HashMap;
use std::io::Write as _;
use std::time::UNIX_EPOCH;

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use crate::call_tree::CallTree;
use crate::profile::{Metric, Profile};
use crate::render_error::RenderError;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct File {
    #[prost(message, repeated, tag = "1")]
    pub(crate) sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) sample: Vec<Sample>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    pub(crate) string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    pub(crate) time_nanos: i64,
    #[prost(int64, tag = "10")]
    pub(crate) duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    pub(crate) period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    pub(crate) period: i64,
    #[prost(int64, repeated, tag = "13")]
    pub(crate) comment: Vec<i64>,
    #[prost(int64, tag = "14")]
    pub(crate) default_sample_type: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct ValueType {
    #[prost(int64, tag = "1")]
    pub(crate) kind: i64,
    #[prost(int64, tag = "2")]
    pub(crate) unit: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    pub(crate) location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub(crate) value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) label: Vec<Label>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Label {
    #[prost(int64, tag = "1")]
    pub(crate) key: i64,
    #[prost(int64, tag = "2")]
    pub(crate) str: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Location {
    #[prost(uint64, tag = "1")]
    pub(crate) id: u64,
    #[prost(message, repeated, tag = "4")]
    pub(crate) line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Line {
    #[prost(uint64, tag = "1")]
    pub(crate) function_id: u64,
    #[prost(int64, tag = "2")]
    pub(crate) line: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Function {
    #[prost(uint64, tag = "1")]
    pub(crate) id: u64,
    #[prost(int64, tag = "2")]
    pub(crate) name: i64,
    #[prost(int64, tag = "3")]
    pub(crate) system_name: i64,
    #[prost(int64, tag = "4")]
    pub(crate) filename: i64,
}

/// Strings by their index in the table, of which the first is empty.
struct Strings {
    table: Vec<String>,
    known: HashMap<String, i64>,
}

impl Strings {
    fn new() -> Self {
        Self {
            table: vec![String::new()],
            known: HashMap::from([(String::new(), 0)]),
        }
    }

    fn of(&mut self, text: &str) -> i64 {
        if let Some(known) = self.known.get(text) {
            return *known;
        }
        let number = i64::try_from(self.table.len()).unwrap_or(0);
        self.table.push(text.to_owned());
        self.known.insert(text.to_owned(), number);
        number
    }
}

pub(crate) fn render(profile: &Profile, metric: Metric) -> Result<Vec<u8>, RenderError> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(&file(profile, metric).encode_to_vec())
        .and_then(|()| encoder.finish())
        .map_err(|error| RenderError::Failed(error.to_string()))
}

fn file(profile: &Profile, metric: Metric) -> File {
    let (settings, tree) = (&profile.settings, &profile.tree);
    let mut strings = Strings::new();
    let mut value_type = |kind: &str, unit: &str| ValueType {
        kind: strings.of(kind),
        unit: strings.of(unit),
    };
    let samples = value_type("samples", "count");
    let wall = value_type("wall", "nanoseconds");
    let cpu = value_type("cpu", "nanoseconds");
    let mut file = File {
        sample_type: vec![samples, wall, cpu],
        period_type: Some(wall),
        period: signed(1_000_000_000 / u64::from(settings.hz.max(1))),
        default_sample_type: match metric {
            Metric::Wall => wall.kind,
            Metric::Cpu => cpu.kind,
        },
        comment: vec![strings.of(&profile.summary())],
        duration_nanos: i64::try_from(settings.duration.as_nanos()).unwrap_or(i64::MAX),
        time_nanos: settings
            .began
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| {
                i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
            }),
        ..File::default()
    };
    (file.function, file.location) = functions(tree, &mut strings);
    file.sample = stacks(profile, &mut strings);
    file.string_table = strings.table;
    file
}

/// The functions, each once, and a location for each frame.
fn functions(tree: &CallTree, strings: &mut Strings) -> (Vec<Function>, Vec<Location>) {
    let mut numbers: HashMap<(&str, &str), u64> = HashMap::new();
    let (mut functions, mut locations) = (Vec::new(), Vec::new());
    for (number, frame) in tree.frames.iter().enumerate() {
        let next = numbers.len() as u64 + 1;
        let id = *numbers.entry((&frame.name, &frame.file)).or_insert(next);
        if id == next {
            let name = strings.of(&frame.name);
            functions.push(Function {
                id,
                name,
                system_name: name,
                filename: strings.of(&frame.file),
            });
        }
        locations.push(Location {
            id: number as u64 + 1,
            line: vec![Line {
                function_id: id,
                line: i64::from(frame.line),
            }],
        });
    }
    (functions, locations)
}

/// A sample for each stack in which PHP was seen, labelled with the route.
fn stacks(profile: &Profile, strings: &mut Strings) -> Vec<Sample> {
    let tree = &profile.tree;
    let route = strings.of("route");
    // With several pools the outermost frame is the pool.
    let depth = usize::from(profile.settings.pools.len() > 1);
    let mut samples = Vec::new();
    for (number, node) in tree.nodes.iter().enumerate() {
        if node.own.samples == 0 {
            continue;
        }
        let stack = tree.stack(number);
        let label = stack.get(depth).map(|frame| Label {
            key: route,
            str: strings.of(&tree.frames[*frame].name),
        });
        samples.push(Sample {
            location_id: stack.iter().rev().map(|frame| *frame as u64 + 1).collect(),
            value: vec![
                signed(node.own.samples),
                signed(node.own.wall_ns),
                signed(node.own.cpu_ns),
            ],
            label: label.into_iter().collect(),
        });
    }
    samples
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
