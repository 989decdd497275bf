//! Figures that are none. A reply counts as far as its figures can be read, and what cannot be read is told.

use crate::Json;

/// What is wrong with the figures of something: they are no object, or one of these is no number. `null` is none at all.
pub fn wrong_figures(of: &str, figures: Option<Json<'_>>, names: &[&str]) -> Option<String> {
    let figures = figures?;
    if !figures.is_object() {
        return Some(format!("the tokens of {of} are no figures"));
    }
    let figures = figures.object();
    let bad = names.iter().find(|name| figures.get(name).is_some_and(|figure| figure.u64().is_none()))?;
    Some(format!("{bad} of {of} is not a number"))
}

#[cfg(test)]
mod tests {
    use super::wrong_figures;
    use crate::Json;

    #[test]
    fn what_is_no_number_is_told() {
        let wrong = |figures: &str| wrong_figures("a reply", Json::parse(figures), &["input", "output"]);
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
        assert_eq!(wrong_figures("a reply", None, &["input"]), None);
    }
}
