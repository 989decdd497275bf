//! Verifies that HTML is safe, independently of the renderer: only known tags, attributes, classes and schemes,
//! balanced tags, and no hidden characters.

/// The allowed tags, and their attributes besides `class`.
const ALLOWED_TAGS: &[(&str, &[&str])] = &[
    ("p", &[]),
    ("h1", &[]),
    ("h2", &[]),
    ("h3", &[]),
    ("h4", &[]),
    ("h5", &[]),
    ("h6", &[]),
    ("ul", &[]),
    ("ol", &["start"]),
    ("li", &[]),
    ("blockquote", &[]),
    ("pre", &[]),
    ("code", &[]),
    ("em", &[]),
    ("strong", &[]),
    ("del", &[]),
    ("a", &["href", "rel", "target"]),
    ("table", &[]),
    ("thead", &[]),
    ("tbody", &[]),
    ("tr", &[]),
    ("th", &[]),
    ("td", &[]),
    ("hr", &[]),
    ("br", &[]),
    ("span", &[]),
    ("div", &[]),
    ("details", &[]),
    ("summary", &[]),
    ("input", &["type", "disabled", "checked"]),
    ("img", &["src", "alt", "loading"]),
];

/// Tags without an end tag.
const VOID_TAGS: &[&str] = &["hr", "br", "input", "img"];

const ALLOWED_CLASSES: &str = "hl-keyword hl-string hl-comment hl-number hl-function hl-type hl-constant hl-operator hl-variable \
    hl-tag hl-attribute hl-inserted hl-deleted diff diff-side diff-inline diff-file hunk add del ctx gap num a-bold a-dim \
    a-italic a-underline a-inverse ctl cut term code plan step-pending step-running step-completed step-failed note kv lang";

#[track_caller]
pub fn check(html: &str) {
    if let Err(why) = safe(html) {
        let shown: String = html.chars().take(2_000).collect();
        panic!("{why} in {shown:?}");
    }
}

/// Returns an error that describes why the HTML is not safe.
pub fn safe(html: &str) -> Result<(), String> {
    let mut open = Vec::new();
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let (text, tag) = rest.split_at(at);
        check_text(text)?;
        let end = tag.find('>').ok_or("a tag without an end")?;
        let (tag, behind) = tag.split_at(end);
        check_tag(tag.strip_prefix('<').unwrap_or(tag), &mut open)?;
        rest = behind.strip_prefix('>').unwrap_or(behind);
    }
    check_text(rest)?;
    if open.is_empty() { Ok(()) } else { Err(format!("{open:?} left open")) }
}

fn check_text(text: &str) -> Result<(), String> {
    if text.contains('>') {
        return Err("a bare >".to_owned());
    }
    let mut rest = text;
    while let Some((_, entity)) = rest.split_once('&') {
        let name = entity.split_once(';').map_or("", |(name, _)| name);
        if !["amp", "lt", "gt", "quot", "#39", "nbsp"].contains(&name) {
            return Err(format!("the entity {name:?}"));
        }
        rest = entity;
    }
    let hidden = |c: &char| {
        c.is_control() && !matches!(c, '\n' | '\t') || "\u{202e}\u{2066}\u{200b}\u{feff}\u{200f}".contains(*c)
    };
    text.chars().find(hidden).map_or(Ok(()), |c| Err(format!("{c:?} hides")))
}

fn check_tag(tag: &str, open: &mut Vec<String>) -> Result<(), String> {
    if let Some(name) = tag.strip_prefix('/') {
        return if open.pop().as_deref() == Some(name) {
            Ok(())
        } else {
            Err(format!("</{name}> ends something else"))
        };
    }
    let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    let Some((_, allowed)) = ALLOWED_TAGS.iter().find(|(known, _)| *known == name) else {
        return Err(format!("<{name}>"));
    };
    if !VOID_TAGS.contains(&name) {
        open.push(name.to_owned());
    }
    let mut rest = attributes;
    while !rest.is_empty() {
        let (attribute, behind) = rest.split_once("=\"").ok_or_else(|| format!("the attributes {attributes:?}"))?;
        let (value, behind) = behind.split_once('"').ok_or("a value without an end")?;
        check_attribute(name, attribute, value, allowed)?;
        rest = behind.trim_start();
    }
    let has = |attribute: &str| attributes.contains(attribute);
    match name {
        "a" if !has("rel=\"noopener noreferrer nofollow\"") || !has("target=\"_blank\"") => {
            Err("a link without rel".into())
        }
        "input" if !has("type=\"checkbox\"") || !has("disabled=") => Err("an input that takes something".into()),
        _ => Ok(()),
    }
}

fn check_attribute(tag: &str, name: &str, value: &str, allowed: &[&str]) -> Result<(), String> {
    let wrong = Err(format!("<{tag} {name}={value:?}>"));
    if value.contains(['<', '>', '\n', '\t', '\r']) || value.chars().any(char::is_control) {
        return wrong;
    }
    let is_colour = |class: &str| {
        let number = class.strip_prefix("a-").or_else(|| class.strip_prefix("b-"));
        number.and_then(|number| number.parse::<u8>().ok()).is_some_and(|number| number < 16)
    };
    let fine = match name {
        "class" => value
            .split(' ')
            .all(|class| is_colour(class) || ALLOWED_CLASSES.split_whitespace().any(|known| known == class)),
        _ if !allowed.contains(&name) => false,
        "href" => ["http://", "https://", "mailto:"].iter().any(|scheme| value.to_lowercase().starts_with(scheme)),
        "src" => value.starts_with('/') && !value.starts_with("//"),
        "start" => value.parse::<u32>().is_ok(),
        _ => true,
    };
    if fine { Ok(()) } else { wrong }
}

#[test]
fn the_checker_sees_what_is_wrong() {
    for html in [
        "<script>alert(1)</script>",
        "<p onclick=\"x\">a</p>",
        "<a href=\"javascript:x\" rel=\"noopener noreferrer nofollow\" target=\"_blank\">a</a>",
        "<a href=\"https://x\">a</a>",
        "<p class=\"evil\">a</p>",
        "<p style=\"x\">a</p>",
        "<p>a",
        "</p>",
        "<p>a</em>",
        "a > b",
        "&evil;",
        "a\u{202e}b",
        "<img src=\"//evil\">",
        "<img src=\"https://evil\">",
        "<p a",
        "<input type=\"text\">",
    ] {
        assert!(safe(html).is_err(), "{html}");
    }
    assert_eq!(safe("<p class=\"note\">a &lt; b<br></p><img src=\"/api/x\" alt=\"\">"), Ok(()));
}
