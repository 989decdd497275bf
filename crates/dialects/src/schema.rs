//! JSON Schema generation. The schemas are strict: unknown values are omitted, never `null`.

use schemars::{
    Schema, SchemaGenerator,
    generate::SchemaSettings,
    transform::{Transform, transform_subschemas},
};
use serde_json::Value;

/// Returns a schema generator for types that omit unknown values.
pub fn schema_generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().for_serialize().with_transform(NeverNull).into_generator()
}

/// Removes `null` from the schemas of optional fields.
#[derive(Clone)]
struct NeverNull;

impl Transform for NeverNull {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::Array(types)) = schema.get_mut("type") {
            types.retain(|name| name != "null");
            if let [one] = types.as_slice() {
                let one = one.clone();
                schema.insert("type".to_owned(), one);
            }
        }
        if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
            choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
        }
        transform_subschemas(self, schema);
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Serialize;
    use serde_json::json;

    use super::schema_generator;

    #[derive(Serialize, JsonSchema)]
    struct Inner {
        /// Always there.
        number: u8,
    }

    #[derive(Serialize, JsonSchema)]
    struct Outer {
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        inner: Option<Inner>,
    }

    #[test]
    fn what_is_optional_is_never_null() {
        let schema = schema_generator().into_root_schema_for::<Outer>();
        let validator = jsonschema::validator_for(schema.as_value()).unwrap();
        for (message, valid) in [
            (json!({}), true),
            (json!({"text": "a", "inner": {"number": 1}}), true),
            (json!({"text": null}), false),
            (json!({"inner": null}), false),
            (json!({"inner": {}}), false),
        ] {
            assert_eq!(validator.is_valid(&message), valid, "{message}");
        }
    }
}
