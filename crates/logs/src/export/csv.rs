//! Flat JSON objects as CSV (RFC 4180): a header row, the same columns in every row, CRLF line endings. Null and
//! missing values are empty fields, strings are quoted where necessary, and objects and arrays are written as JSON.

use serde_json::{Map, Value};

#[must_use]
pub fn header_row(columns: &[String]) -> String {
    join_row(columns.iter().map(|column| quote_field(column)))
}

/// Formats one object as a row. Returns `None` if `json` is not an object.
#[must_use]
pub fn object_row(columns: &[String], json: &[u8]) -> Option<String> {
    let object: Map<String, Value> = serde_json::from_slice(json).ok()?;
    Some(join_row(columns.iter().map(|column| object.get(column).map_or_else(String::new, format_value))))
}

fn format_value(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => quote_field(text),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => quote_field(&value.to_string()),
    }
}

/// Formats a string field. The empty string is quoted to distinguish it from a missing value.
pub(crate) fn quote_field(text: &str) -> String {
    let is_trimmed = text.trim() == text;
    let text = escape_formula(text);
    let plain = !text.is_empty() && !text.contains(['"', ',', '\r', '\n']) && is_trimmed;
    if plain { text } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

/// Keeps spreadsheets from evaluating text as a formula: such text gets a leading apostrophe, as OWASP recommends. Control
/// characters other than line breaks and tabs, which break many programs, are replaced by visible symbols.
fn escape_formula(text: &str) -> String {
    let printable: String = text
        .chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' => c,
            '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
            '\x7f' => '\u{2421}',
            '\u{80}'..='\u{9f}' => '\u{fffd}',
            c => c,
        })
        .collect();
    let first = printable.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\''));
    let is_formula = first.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    if is_formula || printable.starts_with(['\t', '\r', '\n']) { format!("'{printable}") } else { printable }
}

pub(crate) fn join_row(fields: impl Iterator<Item = String>) -> String {
    let mut row = fields.collect::<Vec<_>>().join(",");
    row.push_str("\r\n");
    row
}

#[cfg(test)]
mod tests {
    use super::{header_row, object_row};

    #[test]
    fn formulas_and_control_characters_are_escaped() {
        for (given, written) in [
            (r#""=1+2""#, "'=1+2"),
            (r#""+1""#, "'+1"),
            (r#""-cmd""#, "'-cmd"),
            (r#""@SUM(A1)""#, "'@SUM(A1)"),
            (r#"" =1""#, "\"' =1\""),
            (r#""\t=1""#, "\"'\t=1\""),
            (r#""\r=1""#, "\"'\r=1\""),
            (r#""\"=1""#, "\"'\"\"=1\""),
            (r#""＝1""#, "'＝1"),
            (r#""a\u001b[31m\u0007""#, "a␛[31m␇"),
            ("-1.5", "-1.5"),
            ("-3", "-3"),
            (r#""a-b=c""#, "a-b=c"),
        ] {
            let json = format!("{{\"a\":{given}}}");
            assert_eq!(object_row(&["a".to_owned()], json.as_bytes()).unwrap(), format!("{written}\r\n"), "{given}");
        }
    }

    #[test]
    fn rows_have_the_columns_of_the_header() {
        let columns = ["a", "b", "c", "d", "e", "f"].map(str::to_owned);
        assert_eq!(header_row(&columns), "a,b,c,d,e,f\r\n");
        let json = br#"{"f":"x\u0000","b":null,"c":"say \"hi\",\r\nthere","a":1.5,"d":{"x":[1]},"z":0,"e":""}"#;
        let expected = "1.5,,\"say \"\"hi\"\",\r\nthere\",\"{\"\"x\"\":[1]}\",\"\",x\u{2400}\r\n";
        assert_eq!(object_row(&columns, json).as_deref(), Some(expected));
        assert_eq!(object_row(&columns, b"[1]"), None);
    }
}
