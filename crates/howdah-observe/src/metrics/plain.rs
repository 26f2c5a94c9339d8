//! The page in Prometheus' older text format: <https://prometheus.io/docs/instrumenting/exposition_formats/>.
//!
//! In `OpenMetrics` a counter's family is named without `_total`, its samples with it. In the older format both have
//! the same name; otherwise a reader would not find the type of the samples.

/// Converts metrics. `openmetrics` is a page as `prometheus-client` writes it: for each family the help, then the type,
/// then the samples.
pub(super) fn plain(openmetrics: &str) -> String {
    let mut text = String::with_capacity(openmetrics.len() + 2048);
    let mut help = None;
    for line in openmetrics.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("HELP"), Some(name), about) => {
                help = Some((name, about.unwrap_or_default()));
            }
            (Some("#"), Some("TYPE"), Some(name), kind) => {
                let (suffix, kind) = match kind {
                    Some("counter") => ("_total", "counter"),
                    Some(kind @ ("gauge" | "histogram" | "summary")) => ("", kind),
                    _ => ("", "untyped"),
                };
                // The help text of a different family.
                if let Some((_, about)) = help.take().filter(|(of, _)| *of == name) {
                    text.extend(["# HELP ", name, suffix, " ", about, "\n"]);
                }
                text.extend(["# TYPE ", name, suffix, " ", kind, "\n"]);
            }
            // `# UNIT` and `# EOF` do not exist in this format.
            (Some("#"), ..) => {}
            // Neither do exemplars.
            _ => text.extend([without_exemplar(line), "\n"]),
        }
    }
    text
}

/// A sample without its exemplar ` # {…} VALUE TIME`. Values of labels may contain the same characters: those come
/// before the value of the sample, and an exemplar after it.
fn without_exemplar(line: &str) -> &str {
    let mut quoted = false;
    let mut escaped = false;
    for (at, char) in line.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '#' if !quoted => return line[..at].trim_end(),
            _ => {}
        }
    }
    line
}
