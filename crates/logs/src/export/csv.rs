//! Flat JSON objects as CSV, as RFC 4180 has it: a row of names, the same columns in every row, lines that end with CR LF.
//! What is null or missing is an empty field, a text is quoted where it must be, and what is an object or a list is JSON.

use serde_json::{Map, Value};

/// The row of names.
#[must_use]
pub fn header(columns: &[String]) -> String {
    row(columns.iter().map(|column| field(column)))
}

/// One object as a row. Nothing if it is none.
#[must_use]
pub fn object(columns: &[String], json: &[u8]) -> Option<String> {
    let object: Map<String, Value> = serde_json::from_slice(json).ok()?;
    Some(row(columns.iter().map(|column| object.get(column).map_or_else(String::new, value))))
}

fn value(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => field(text),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => field(&value.to_string()),
    }
}

/// A text. An empty one is quoted, which tells it from nothing.
fn field(text: &str) -> String {
    let is_trimmed = text.trim() == text;
    let text = inert(text);
    let plain = !text.is_empty() && !text.contains(['"', ',', '\r', '\n']) && is_trimmed;
    if plain { text } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

/// A text that a spreadsheet takes for a text. One that it would take for a formula gets an apostrophe before it, as
/// OWASP recommends, and control characters, which many programs stumble over, are shown.
pub(crate) fn inert(text: &str) -> String {
    let shown: String = text
        .chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' => c,
            '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
            '\x7f' => '\u{2421}',
            '\u{80}'..='\u{9f}' => '\u{fffd}',
            c => c,
        })
        .collect();
    let first = shown.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\''));
    let is_formula = first.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    if is_formula || shown.starts_with(['\t', '\r', '\n']) { format!("'{shown}") } else { shown }
}

fn row(fields: impl Iterator<Item = String>) -> String {
    let mut row = fields.collect::<Vec<_>>().join(",");
    row.push_str("\r\n");
    row
}

#[cfg(test)]
mod tests {
    use super::{header, object};

    #[test]
    fn a_spreadsheet_takes_texts_for_texts_and_numbers_for_numbers() {
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
            assert_eq!(object(&["a".to_owned()], json.as_bytes()).unwrap(), format!("{written}\r\n"), "{given}");
        }
    }

    #[test]
    fn rows_have_the_columns_of_the_header() {
        let columns = ["a", "b", "c", "d", "e", "f"].map(str::to_owned);
        assert_eq!(header(&columns), "a,b,c,d,e,f\r\n");
        let json = br#"{"f":"x\u0000","b":null,"c":"say \"hi\",\r\nthere","a":1.5,"d":{"x":[1]},"z":0,"e":""}"#;
        let expected = "1.5,,\"say \"\"hi\"\",\r\nthere\",\"{\"\"x\"\":[1]}\",\"\",x\u{2400}\r\n";
        assert_eq!(object(&columns, json).as_deref(), Some(expected));
        assert_eq!(object(&columns, b"[1]"), None);
    }
}
