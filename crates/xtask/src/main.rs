//! Development commands: `cargo xtask test|bench|soak`.

fn main() {}
