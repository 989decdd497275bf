//! stub until merged
#[derive(Clone)]
pub struct Client;
pub enum SseEvent {
    Opened,
    Data(Vec<u8>),
    Closed(String),
}
impl Client {
    pub fn new(_: &str, _: Option<String>) -> Result<Self, String> {
        Err("x".into())
    }
    pub async fn request(&self, _: &str, _: &str, _: Option<Vec<u8>>) -> Result<(u16, Vec<u8>), String> {
        Err("x".into())
    }
    pub fn listen(&self, _: String) -> tokio::sync::mpsc::Receiver<SseEvent> {
        tokio::sync::mpsc::channel(1).1
    }
}
