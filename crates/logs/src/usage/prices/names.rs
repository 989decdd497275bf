//! Names of models: one model is called differently by its maker, by those who sell it and by agents.

/// What a variant of the same price has behind the name.
const VARIANTS: &[&str] =
    &["latest", "preview", "exp", "thinking", "minimal", "low", "medium", "high", "xhigh", "customtools"];

/// What the table may have behind a name that is used without.
const LONGER: &[&str] = &["preview", "latest"];

/// A name as the table has it: small letters, and no dots.
pub fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace('.', "-")
}

/// All names under which a model may be in the table, the most exact first.
pub fn forms(model: &str) -> Vec<String> {
    let mut forms = vec![plain(model)];
    let name = without_seller(model.trim());
    let mut name = name.split('@').next().unwrap_or(name);
    // What is given away has no price, whatever the same model costs elsewhere.
    if !name.ends_with(":free") {
        name = name.split([':', '[']).next().unwrap_or(name);
    }
    let mut name = plain(name);
    forms.push(name.clone());
    forms.extend(LONGER.iter().map(|end| format!("{name}-{end}")));
    while let Some(shorter) = shorter(&name) {
        forms.push(shorter.clone());
        name = shorter;
    }
    forms
}

/// `provider/model`, and `region.provider.model` where the first parts are words.
fn without_seller(name: &str) -> &str {
    let mut name = name.rsplit('/').next().unwrap_or(name);
    while let Some((word, rest)) = name.split_once('.') {
        if word.is_empty() || !word.chars().all(|c| c.is_ascii_alphabetic()) {
            break;
        }
        name = rest;
    }
    name
}

/// Without one date, version of a reseller or variant at its end.
fn shorter(name: &str) -> Option<String> {
    let (front, end) = name.rsplit_once('-')?;
    let is_date = end.len() == 8 && end.starts_with("20") && end.bytes().all(|byte| byte.is_ascii_digit());
    let is_version =
        end.strip_prefix('v').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()));
    if is_date || is_version || VARIANTS.contains(&end) {
        return Some(front.to_owned());
    }
    dashed_date(name).map(str::to_owned)
}

/// Without `-2026-11-16` at its end.
fn dashed_date(name: &str) -> Option<&str> {
    let (front, date) = name.split_at_checked(name.len().checked_sub(11)?)?;
    let shape = |(at, byte): (usize, u8)| if [0, 5, 8].contains(&at) { byte == b'-' } else { byte.is_ascii_digit() };
    (!front.is_empty() && date.bytes().enumerate().all(shape)).then_some(front)
}

#[cfg(test)]
mod tests {
    use super::forms;

    fn check(model: &str, expected: &str) {
        let forms = forms(model);
        assert!(forms.iter().any(|form| form == expected), "{model}: {forms:?}");
    }

    #[test]
    fn names_lose_sellers_dates_and_variants() {
        check("Maker-Big-4.5", "maker-big-4-5");
        check("seller/maker/big-4", "big-4");
        check("big-4-20260101", "big-4");
        check("big-4-2026-01-01", "big-4");
        check("big-4@20260101", "big-4");
        check("big-4-latest", "big-4");
        check("big-4[1m]", "big-4");
        check("big-4-20260101[1m]", "big-4");
        check("us.maker.big-4-20260101-v1:0", "big-4");
        check("big-4.1-codes-high", "big-4-1-codes");
        check("big-4:thinking", "big-4");
        check("big-4", "big-4-preview");
    }

    #[test]
    fn another_model_is_not_the_same() {
        for model in ["big-4-mini", "big-4:free", "big-4-free", "big-40", "big-4-0613", "big-4-max"] {
            assert!(!forms(model).iter().any(|form| form == "big-4"), "{model}");
        }
    }
}
