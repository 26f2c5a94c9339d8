//! A parser of event streams by the HTML standard. It is stricter than a browser, which ignores
//! errors.

/// An event with all of its fields.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Event {
    pub(crate) kind: String,
    pub(crate) id: String,
    pub(crate) retry: Option<u64>,
    pub(crate) data: String,
}

/// Parses the events of a stream that ends after an event.
pub(crate) fn parse(text: &str) -> Vec<Event> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut events = Vec::new();
    let mut event = Event::default();
    let mut data: Vec<&str> = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for line in text.split_terminator('\n') {
        if line.is_empty() {
            assert!(!data.is_empty(), "an event without data is not dispatched");
            event.data = data.join("\n");
            events.push(std::mem::take(&mut event));
            data.clear();
            seen.clear();
            continue;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        assert!(name == "data" || !seen.contains(&name), "{name} twice");
        match name {
            // A comment.
            "" => continue,
            "data" => data.push(value),
            "event" => value.clone_into(&mut event.kind),
            "id" => value.clone_into(&mut event.id),
            "retry" => event.retry = Some(value.parse().expect("a number")),
            other => panic!("a field `{other}`"),
        }
        seen.push(name);
    }
    assert!(seen.is_empty(), "an event without its end");
    events
}
