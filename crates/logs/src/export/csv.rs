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

/// A text. An empty one is quoted, which tells it from nothing; a NUL, which many programs stumble over, is shown.
fn field(text: &str) -> String {
    let text = text.replace('\0', "\u{2400}");
    let plain = !text.is_empty() && !text.contains(['"', ',', '\r', '\n']) && text.trim() == text;
    if plain { text } else { format!("\"{}\"", text.replace('"', "\"\"")) }
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
    fn rows_have_the_columns_of_the_header() {
        let columns = ["a", "b", "c", "d", "e", "f"].map(str::to_owned);
        assert_eq!(header(&columns), "a,b,c,d,e,f\r\n");
        let json = br#"{"f":"x\u0000","b":null,"c":"say \"hi\",\r\nthere","a":1.5,"d":{"x":[1]},"z":0,"e":""}"#;
        let expected = "1.5,,\"say \"\"hi\"\",\r\nthere\",\"{\"\"x\"\":[1]}\",\"\",x\u{2400}\r\n";
        assert_eq!(object(&columns, json).as_deref(), Some(expected));
        assert_eq!(object(&columns, b"[1]"), None);
    }
}
