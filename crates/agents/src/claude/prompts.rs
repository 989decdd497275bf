//! Prompts as Claude Code's `user` messages.

use serde_json::{Value, json};

use crate::{AgentPrompt, PromptImage};

/// Builds the message of a prompt. An id allows it to be cancelled while it is queued, and identifies it on disk.
pub fn prompt_message(prompt: &AgentPrompt, id: Option<&str>) -> Value {
    let mut message = json!({
        "type": "user",
        "message": { "role": "user", "content": prompt_content(prompt) },
        "parent_tool_use_id": null,
        "session_id": "",
    });
    if let (Some(id), Some(fields)) = (id, message.as_object_mut()) {
        fields.insert("uuid".to_owned(), id.into());
    }
    message
}

fn prompt_content(prompt: &AgentPrompt) -> Value {
    if prompt.images.is_empty() {
        return prompt.text.clone().into();
    }
    // The API rejects empty text.
    let text = (!prompt.text.is_empty()).then(|| json!({ "type": "text", "text": prompt.text }));
    text.into_iter().chain(prompt.images.iter().map(image_block)).collect()
}

fn image_block(image: &PromptImage) -> Value {
    let source = json!({ "type": "base64", "media_type": image.media_type, "data": image.data });
    json!({ "type": "image", "source": source })
}

/// Ids for prompts: UUIDs, as Claude Code requires. Another process of the same conversation must not generate the same
/// ones, so they are derived from a secret of this one.
pub struct PromptIds {
    seed: u128,
    given: u128,
}

impl PromptIds {
    /// Derives ids from a secret without revealing it.
    pub fn new(secret: &str) -> Self {
        // FNV-1a with 128 bits.
        let mix = |seed: u128, byte: u8| (seed ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        Self { seed: secret.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, mix), given: 0 }
    }

    /// Returns a new id.
    pub fn next(&mut self) -> String {
        self.given += 1;
        let id =
            (self.seed.wrapping_add(self.given) & !(0xf000 << 64) & !(0xc000 << 48)) | (0x4000 << 64) | (0x8000 << 48);
        let part = |shift: u32, bits: u32| (id >> shift) & ((1 << bits) - 1);
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            part(96, 32),
            part(80, 16),
            part(64, 16),
            part(48, 16),
            part(0, 48)
        )
    }
}

#[cfg(test)]
mod tests {

    use super::PromptIds;

    #[test]
    fn ids_are_uuids_and_never_twice_the_same() {
        let (mut one, mut other) = (PromptIds::new("a secret"), PromptIds::new("another"));
        let ids = [one.next(), one.next(), other.next()];
        for id in &ids {
            let parts: Vec<_> = id.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12], "{id}");
            assert!(id.chars().nth(14) == Some('4') && id.chars().nth(19).is_some_and(|c| "89ab".contains(c)), "{id}");
        }
        assert!(ids[0] != ids[1] && ids[0] != ids[2] && ids[1] != ids[2]);
    }
}
