//! Invalid usage figures. A reply counts as far as its figures can be read, and the rest is reported as a problem.

use crate::JsonView;

/// Returns the problem of usage figures: they are not an object, or one of these fields is not a number. `null` counts
/// as missing.
pub fn usage_figure_problem(of: &str, figures: Option<JsonView<'_>>, names: &[&str]) -> Option<String> {
    let figures = figures?;
    if !figures.is_object() {
        return Some(format!("the tokens of {of} are no figures"));
    }
    let figures = figures.as_object();
    let bad = names.iter().find(|name| figures.get(name).is_some_and(|figure| figure.as_u64().is_none()))?;
    Some(format!("{bad} of {of} is not a number"))
}

#[cfg(test)]
mod tests {
    use super::usage_figure_problem;
    use crate::JsonView;

    #[test]
    fn what_is_no_number_is_told() {
        let wrong = |figures: &str| usage_figure_problem("a reply", JsonView::parse(figures), &["input", "output"]);
        for fine in ["{}", r#"{"input":7,"output":null,"total":"x"}"#, r#"{"input":3.0}"#] {
            assert_eq!(wrong(fine), None, "{fine}");
        }
        for bad in ["-5", "\"7\"", "{}", "1.5", "true"] {
            let told = wrong(&format!(r#"{{"input":1,"output":{bad}}}"#));
            assert_eq!(told.as_deref(), Some("output of a reply is not a number"), "{bad}");
        }
        for bad in ["[]", "7", "\"x\""] {
            assert_eq!(wrong(bad).as_deref(), Some("the tokens of a reply are no figures"), "{bad}");
        }
        assert_eq!(usage_figure_problem("a reply", None, &["input"]), None);
    }
}
