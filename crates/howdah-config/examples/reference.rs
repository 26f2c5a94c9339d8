//! Prints the reference page: `cargo run -p howdah-config --example reference >
//! docs/reference/caddyfile.md`.

fn main() {
    print!("{}", howdah_config::reference_markdown());
}
