//! Names of models: vendors, resellers and agents use different names for the same model.

/// Suffixes of variants with the same price.
const VARIANT_SUFFIXES: &[&str] =
    &["latest", "preview", "exp", "thinking", "minimal", "low", "medium", "high", "xhigh", "customtools"];

/// Suffixes that the table may have and agents omit.
const OPTIONAL_SUFFIXES: &[&str] = &["preview", "latest"];

/// Normalizes a name as in the table: lowercase, without dots.
pub fn normalize_name(name: &str) -> String {
    name.trim().to_lowercase().replace('.', "-")
}

/// Returns all names under which a model may be in the table, most specific first.
pub fn candidate_names(model: &str) -> Vec<String> {
    let mut forms = vec![normalize_name(model)];
    let name = strip_provider(model.trim());
    let mut name = name.split('@').next().unwrap_or(name);
    // A free variant has no price, whatever the model costs elsewhere.
    if !name.ends_with(":free") {
        name = name.split([':', '[']).next().unwrap_or(name);
    }
    let mut name = normalize_name(name);
    forms.push(name.clone());
    forms.extend(OPTIONAL_SUFFIXES.iter().map(|end| format!("{name}-{end}")));
    while let Some(shorter) = strip_variant(&name) {
        forms.push(shorter.clone());
        name = shorter;
    }
    forms
}

/// Strips the prefix of `provider/model`, and of `region.provider.model` if the first parts are words.
fn strip_provider(name: &str) -> &str {
    let mut name = name.rsplit('/').next().unwrap_or(name);
    while let Some((word, rest)) = name.split_once('.') {
        if word.is_empty() || !word.chars().all(|c| c.is_ascii_alphabetic()) {
            break;
        }
        name = rest;
    }
    name
}

/// Strips one date, reseller version or variant from the end.
fn strip_variant(name: &str) -> Option<String> {
    let (front, end) = name.rsplit_once('-')?;
    let is_date = end.len() == 8 && end.starts_with("20") && end.bytes().all(|byte| byte.is_ascii_digit());
    let is_version =
        end.strip_prefix('v').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()));
    if is_date || is_version || VARIANT_SUFFIXES.contains(&end) {
        return Some(front.to_owned());
    }
    strip_dashed_date(name).map(str::to_owned)
}

/// Strips a date such as `-2026-11-16` from the end.
fn strip_dashed_date(name: &str) -> Option<&str> {
    let (front, date) = name.split_at_checked(name.len().checked_sub(11)?)?;
    let shape = |(at, byte): (usize, u8)| if [0, 5, 8].contains(&at) { byte == b'-' } else { byte.is_ascii_digit() };
    (!front.is_empty() && date.bytes().enumerate().all(shape)).then_some(front)
}

#[cfg(test)]
mod tests {
    use super::candidate_names;

    fn check_candidate(model: &str, expected: &str) {
        let forms = candidate_names(model);
        assert!(forms.iter().any(|form| form == expected), "{model}: {forms:?}");
    }

    #[test]
    fn names_lose_sellers_dates_and_variants() {
        check_candidate("Maker-Big-4.5", "maker-big-4-5");
        check_candidate("seller/maker/big-4", "big-4");
        check_candidate("big-4-20260101", "big-4");
        check_candidate("big-4-2026-01-01", "big-4");
        check_candidate("big-4@20260101", "big-4");
        check_candidate("big-4-latest", "big-4");
        check_candidate("big-4[1m]", "big-4");
        check_candidate("big-4-20260101[1m]", "big-4");
        check_candidate("us.maker.big-4-20260101-v1:0", "big-4");
        check_candidate("big-4.1-codes-high", "big-4-1-codes");
        check_candidate("big-4:thinking", "big-4");
        check_candidate("big-4", "big-4-preview");
    }

    #[test]
    fn another_model_is_not_the_same() {
        for model in ["big-4-mini", "big-4:free", "big-4-free", "big-40", "big-4-0613", "big-4-max"] {
            assert!(!candidate_names(model).iter().any(|form| form == "big-4"), "{model}");
        }
    }
}
