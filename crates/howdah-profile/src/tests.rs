//! The same profile in each format, and names that try to break it.

use std::io::Read as _;
use std::time::{Duration, UNIX_EPOCH};

use howdah_shm::{FrameKind, ProfileFrame, ProfileNode, SampleCounts, WorkerProfile};
use proptest::prelude::*;
use prost::Message as _;
use serde_json::Value;

use crate::pprof::File;
use crate::{Format, Metric, Profile, ProfileSettings, RoutePattern};

fn settings(pools: &[&str], routes: Option<&str>) -> ProfileSettings {
    ProfileSettings {
        pools: pools.iter().map(|pool| (*pool).to_owned()).collect(),
        duration: Duration::from_secs(10),
        hz: 100,
        routes: routes.map(RoutePattern::new),
        began: UNIX_EPOCH + Duration::from_secs(1_000),
    }
}

fn frame(kind: FrameKind, name: &str, file: &str, line: u32) -> ProfileFrame {
    ProfileFrame {
        kind,
        name: name.into(),
        file: file.into(),
        line,
    }
}

fn node(parent: Option<usize>, frame: usize, samples: u64, cpu_ns: u64) -> ProfileNode {
    ProfileNode {
        parent,
        frame,
        samples,
        wall_ns: samples * 10_000_000,
        cpu_ns,
    }
}

/// `GET /` computes for 30 ms and sleeps for 20 ms, `GET /b` computes for 10 ms.
fn worker() -> WorkerProfile {
    WorkerProfile {
        counts: SampleCounts {
            due: 10,
            taken: 6,
            idle: 3,
            late: 1,
            ..SampleCounts::default()
        },
        frames: vec![
            frame(FrameKind::Route, "GET /", "", 0),
            frame(FrameKind::Function, "App::run", "/srv/app.php", 12),
            frame(FrameKind::Internal, "usleep", "", 0),
            frame(FrameKind::Wait, "[sleep]", "", 0),
            frame(FrameKind::Route, "GET /b", "", 0),
        ],
        nodes: vec![
            node(None, 0, 0, 0),
            node(Some(0), 1, 3, 29_000_000),
            node(Some(1), 2, 0, 0),
            node(Some(2), 3, 2, 0),
            node(None, 4, 0, 0),
            node(Some(4), 1, 1, 9_000_000),
        ],
    }
}

fn profile(workers: &[WorkerProfile], settings: ProfileSettings) -> Profile {
    let mut profile = Profile::new(settings);
    for worker in workers {
        profile.add("app", worker);
    }
    profile
}

fn render(profile: &Profile, format: Format, metric: Metric) -> Vec<u8> {
    format.render(profile, metric).expect("rendered")
}

fn text(profile: &Profile, format: Format, metric: Metric) -> String {
    String::from_utf8(render(profile, format, metric)).expect("UTF-8")
}

fn unpacked(bytes: &[u8]) -> File {
    let mut file = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(bytes);
    decoder.read_to_end(&mut file).expect("gzip");
    File::decode(&*file).expect("protobuf")
}

#[test]
fn folded_stacks_of_all_workers_are_merged() {
    let profile = profile(&[worker(), worker()], settings(&["app"], None));
    assert_eq!(
        text(&profile, Format::Folded, Metric::Wall),
        "GET /;App::run /srv/app.php:12 60000\n\
         GET /;App::run /srv/app.php:12;usleep;[sleep] 40000\n\
         GET /b;App::run /srv/app.php:12 20000\n"
    );
    assert_eq!(
        text(&profile, Format::Folded, Metric::Cpu),
        "GET /;App::run /srv/app.php:12 58000\nGET /b;App::run /srv/app.php:12 18000\n"
    );
}

#[test]
fn the_summary_counts_what_was_due() {
    let profile = profile(&[worker(), worker()], settings(&["app"], None));
    assert_eq!(
        profile.summary(),
        "2 workers, 10 s at 100 Hz: 20 samples due, 12 taken, 6 idle, 2 dropped (90.0 % seen); dropped: 2 late"
    );
}

#[test]
fn routes_can_be_chosen_and_pools_are_distinguished() {
    let chosen = profile(&[worker()], settings(&["app"], Some("/b")));
    let folded = text(&chosen, Format::Folded, Metric::Wall);
    assert_eq!(folded, "GET /b;App::run /srv/app.php:12 10000\n");
    assert!(chosen.summary().ends_with("; 1 in the chosen routes"));
    let none = profile(&[worker()], settings(&["app"], Some("/none")));
    assert!(none.summary().ends_with("; 0 in the chosen routes"));
    let all = profile(&[worker()], settings(&["php", "app"], None));
    let folded = text(&all, Format::Folded, Metric::Wall);
    assert!(folded.starts_with("pool app;GET /;App::run"), "{folded}");
}

#[test]
fn pprof_has_stacks_lines_and_three_values() {
    let profile = profile(&[worker()], settings(&["app"], None));
    let file = unpacked(&render(&profile, Format::Pprof, Metric::Cpu));
    let string = |index: i64| &*file.string_table[usize::try_from(index).expect("an index")];
    let types: Vec<_> = file
        .sample_type
        .iter()
        .map(|kind| string(kind.kind))
        .collect();
    assert_eq!(types, ["samples", "wall", "cpu"]);
    assert_eq!(string(file.default_sample_type), "cpu");
    assert_eq!(file.period, 10_000_000);
    assert_eq!(file.time_nanos, 1_000_000_000_000);
    let stacks: Vec<_> = file
        .sample
        .iter()
        .map(|sample| {
            let places = sample.location_id.iter().map(|id| {
                let location = file.location.iter().find(|location| location.id == *id);
                let line = location.expect("it exists").line[0];
                let function = file
                    .function
                    .iter()
                    .find(|known| known.id == line.function_id);
                (string(function.expect("it exists").name), line.line)
            });
            (
                places.collect::<Vec<_>>(),
                sample.value.clone(),
                string(sample.label[0].str),
            )
        })
        .collect();
    let (places, values, route) = &stacks[1];
    assert_eq!(
        *places,
        [
            ("[sleep]", 0),
            ("usleep", 0),
            ("App::run", 12),
            ("GET /", 0)
        ]
    );
    assert_eq!((&**values, *route), (&[2, 20_000_000, 0][..], "GET /"));
    assert_eq!(file.string_table[0], "");
}

#[test]
fn speedscope_has_both_times() {
    let profile = profile(&[worker()], settings(&["app"], None));
    let file: Value =
        serde_json::from_slice(&render(&profile, Format::Speedscope, Metric::Cpu)).expect("JSON");
    assert_eq!(file["activeProfileIndex"], 1);
    assert_eq!(file["shared"]["frames"][1]["line"], 12);
    let [wall, cpu] = [0, 1].map(|index| &file["profiles"][index]);
    assert_eq!(
        (&wall["endValue"], &cpu["endValue"]),
        (&60_000_000.into(), &38_000_000.into())
    );
    assert_eq!(wall["samples"][1], serde_json::json!([0, 1, 2, 3]));
    assert_eq!(wall["weights"][1], 20_000_000);
}

/// The text of a flame graph's boxes, and their widths.
fn boxes(svg: &str) -> Vec<(String, f64)> {
    let document = roxmltree::Document::parse(svg).expect("XML");
    let groups = document
        .descendants()
        .filter(|node| node.has_tag_name("title"));
    groups
        .map(|title| {
            let rect = title.next_sibling_element().expect("a box");
            let width = rect
                .attribute("width")
                .expect("a width")
                .parse()
                .expect("a number");
            (title.text().unwrap_or_default().to_owned(), width)
        })
        .collect()
}

#[test]
fn a_flame_graph_has_a_box_for_each_stack() {
    let profile = profile(&[worker()], settings(&["app"], None));
    let boxes = boxes(&text(&profile, Format::Svg, Metric::Wall));
    assert_eq!(boxes.len(), 6);
    assert_eq!(boxes[0].0, "GET / (50.00 ms, 83.33 %)");
    assert!((boxes[0].1 - 1180.0 * 5.0 / 6.0).abs() < 0.1, "{boxes:?}");
    assert_eq!(boxes[2].0, "App::run /srv/app.php:12 (50.00 ms, 83.33 %)");
    assert_eq!(boxes[5].0, "[sleep] (20.00 ms, 33.33 %)");
}

#[test]
fn an_empty_profile_is_a_profile() {
    let profile = profile(&[], settings(&["app"], None));
    for format in ["svg", "pprof", "speedscope", "folded"] {
        let format: Format = format.parse().expect("known");
        let bytes = render(&profile, format, Metric::Wall);
        assert_eq!(bytes.is_empty(), format == Format::Folded);
    }
    assert_eq!(boxes(&text(&profile, Format::Svg, Metric::Cpu)), []);
}

#[test]
fn a_tree_is_bounded() {
    let mut profile = Profile::new(settings(&["app"], None));
    for place in 0..10_u32 {
        let mut worker = WorkerProfile::default();
        for line in 0..30_000 {
            let number = place * 30_000 + line;
            worker
                .frames
                .push(frame(FrameKind::Route, &number.to_string(), "", 0));
            worker.nodes.push(node(None, line as usize, 1, 0));
        }
        worker.counts.due = 30_000;
        worker.counts.taken = 30_000;
        profile.add("app", &worker);
    }
    let counts = profile.counts();
    assert_eq!((counts.taken, counts.full), (200_000, 100_000));
    let svg = text(&profile, Format::Svg, Metric::Wall);
    assert!(boxes(&svg).len() <= 20_000);
}

#[test]
fn names_of_files_choose_the_format() {
    let table = [
        ("flame.svg", Some(Format::Svg)),
        ("/tmp/out.pprof", Some(Format::Pprof)),
        ("out.pb.gz", Some(Format::Pprof)),
        ("speedscope.json", Some(Format::Speedscope)),
        ("folded", Some(Format::Folded)),
        ("a.folded", Some(Format::Folded)),
        ("pprof", Some(Format::Pprof)),
        ("a.png", None),
        ("-", None),
    ];
    for (name, format) in table {
        assert_eq!(Format::of_file(name), format, "{name}");
    }
}

proptest! {
    #[test]
    fn hostile_names_break_no_format(
        name in "[\u{0}-\u{ffff}]{0,40}|.*</title><script>.*|.*;.*\n.*|.*\\]\\]>.*",
        file in any::<String>(),
        line in any::<u32>(),
    ) {
        let mut worker = worker();
        worker.frames[1] = frame(FrameKind::Function, &name, &file, line);
        worker.frames[0].name.clone_from(&file);
        let profile = profile(&[worker], settings(&["app"], None));
        prop_assert_eq!(boxes(&text(&profile, Format::Svg, Metric::Wall)).len(), 6);
        let folded = text(&profile, Format::Folded, Metric::Wall);
        prop_assert_eq!(folded.lines().count(), 3);
        for line in folded.lines() {
            let (stack, time) = line.rsplit_once(' ').expect("a time");
            prop_assert!(time.parse::<u64>().is_ok(), "{}", line);
            prop_assert!([1, 3].contains(&stack.matches(';').count()), "{}", line);
        }
        let json: Value = serde_json::from_slice(&render(&profile, Format::Speedscope, Metric::Wall)).expect("JSON");
        prop_assert_eq!(&json["shared"]["frames"][1]["name"], &Value::from(&*name));
        let pprof = unpacked(&render(&profile, Format::Pprof, Metric::Wall));
        prop_assert!(pprof.string_table.contains(&name));
    }
}
