//! Selects the routes that a profile shows.

/// `/api/*`, or with a method: `POST /api/*`. A `*` stands for any text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutePattern(String);

impl RoutePattern {
    /// `text` as the user wrote it. Every text is a valid pattern.
    pub fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Whether it matches a route, which is a method, a space and a path.
    pub fn matches(&self, route: &str) -> bool {
        let path = route.split_once(' ').map_or(route, |(_, path)| path);
        let subject = if self.0.contains(' ') { route } else { path };
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = subject.strip_prefix(first) else {
            return false;
        };
        let mut last = None;
        for part in parts {
            if let Some(between) = last.replace(part) {
                match rest.find(between) {
                    Some(at) => rest = &rest[at + between.len()..],
                    None => return false,
                }
            }
        }
        last.map_or(rest.is_empty(), |last| rest.ends_with(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        let table = [
            ("/", "GET /", true),
            ("/", "GET /a", false),
            ("/a/*", "GET /a/b/c", true),
            ("/a/*", "GET /a", false),
            ("*", "GET /a", true),
            ("*/edit", "GET /a/{id}/edit", true),
            ("/a/*/edit", "POST /a/{id}/edit", true),
            ("/a/*/edit", "POST /a/edit", false),
            ("/a*b*c", "GET /axbxbxc", true),
            ("/a*b*c", "GET /axcxb", false),
            ("POST /a", "POST /a", true),
            ("POST /a", "GET /a", false),
            ("POST *", "POST /a", true),
            ("/a", "(other routes)", false),
        ];
        for (pattern, route, expected) in table {
            let found = RoutePattern::new(pattern).matches(route);
            assert_eq!(found, expected, "{pattern} {route}");
        }
    }
}
