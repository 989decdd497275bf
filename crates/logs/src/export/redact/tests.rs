//! Secrets of many shapes, and text that only resembles them. No string here is a real secret; they are assembled at
//! run time so that scanners do not report this file.

mod named;

use std::sync::LazyLock;

use super::{ESCAPE_PATTERN, Redactor, mask_escapes};

static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| Redactor::new().unwrap());

fn redact_sample(text: &str) -> String {
    REDACTOR.redact_text(text).into_owned()
}

/// Letters and digits, as in keys.
fn key_chars(length: usize) -> String {
    "a8Fk2LmQ9xZr7TbW4vYc1NdH6sJp3GeU5iKo0".chars().cycle().take(length).collect()
}

fn hex_chars(length: usize) -> String {
    "3f9a1c7be5d20486".chars().cycle().take(length).collect()
}

#[test]
fn keys_are_known_by_their_shape() {
    let upper = key_chars(60).to_uppercase();
    let of = |length: usize| key_chars(length);
    for (prefix, rest) in [
        ("sk-ant-api03-", of(90)),
        ("sk-ant-oat01-", of(90)),
        ("sk-proj-", of(100)),
        ("sk-svcacct-", of(60)),
        ("sk-or-v1-", hex_chars(64)),
        ("sk-", of(48)),
        ("AIza", of(35)),
        ("xai-", of(80)),
        ("gsk_", of(52)),
        ("pplx-", of(48)),
        ("hf_", of(34)),
        ("AKIA", upper.chars().take(16).collect()),
        ("ya29.", of(100)),
        ("1//0", of(60)),
        ("GOCSPX-", of(28)),
        ("dop_v1_", hex_chars(64)),
        ("hvs.", of(90)),
        ("ghp_", of(36)),
        ("gho_", of(36)),
        ("github_pat_", of(82)),
        ("glpat-", of(20)),
        ("npm_", of(36)),
        ("pypi-", of(120)),
        ("dckr_pat_", of(27)),
        ("xoxb-", format!("123456789012-{}", of(24))),
        ("sk_live_", of(24)),
        ("rk_test_", of(24)),
        ("whsec_", of(32)),
        ("SG.", format!("{}.{}", of(22), of(43))),
        ("lin_api_", of(40)),
        ("ATATT3", of(180)),
        ("dapi", hex_chars(32)),
        ("AGE-SECRET-KEY-1", upper.chars().take(58).collect()),
    ] {
        for around in [" ", "\"", "=", "`", "(", "\n", "日"] {
            let shown = redact_sample(&format!("before{around}{prefix}{rest}{around}after"));
            assert!(!shown.contains(&rest) && shown.contains("[redacted:"), "{prefix}{rest} → {shown}");
            assert!(shown.starts_with("before") && (shown.ends_with("after") || shown.ends_with(']')), "{shown}");
        }
    }
}

#[test]
fn private_keys_go_whole_or_cut_off() {
    let body: String = (0..4).map(|_| format!("{}\n", key_chars(64))).collect();
    for kind in ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "] {
        let [begin, end] = ["BEGIN", "END"].map(|word| format!("-----{word} {kind}PRIVATE KEY-----"));
        let whole = redact_sample(&format!("a {begin}\n{body}{end} b"));
        assert_eq!(whole, format!("a {begin}[redacted:private-key]{end} b"));
        let cut = redact_sample(&format!("{begin}\n{body}$ ls"));
        assert!(!cut.contains("a8Fk2") && cut.ends_with("$ ls"), "{cut}");
        let escaped = redact_sample(&format!("{begin}\\n{}", body.replace('\n', "\\n")));
        assert!(!escaped.contains("a8Fk2"), "{escaped}");
    }
    let public = format!("-----BEGIN PUBLIC KEY-----\n{body}-----END PUBLIC KEY-----");
    assert_eq!(redact_sample(&public), public);
    let said = "grep for -----BEGIN PRIVATE KEY----- in the repository";
    assert_eq!(redact_sample(said), said);
}

#[test]
fn headers_urls_and_options_lose_what_is_secret_in_them() {
    let key = key_chars(32);
    for (text, shown) in [
        (format!("Authorization: Bearer {key}"), "Authorization: Bearer [redacted:bearer-token]"),
        (format!("-H 'authorization: bearer {key}'"), "-H 'authorization: bearer [redacted:bearer-token]'"),
        ("Authorization: Basic dXNlcjpwYXNz".to_owned(), "Authorization: Basic [redacted:authorization]"),
        ("postgres://me:hunter2@db:5432/x".to_owned(), "postgres://me:[redacted:password]@db:5432/x"),
        ("redis://:s3cr3t@cache".to_owned(), "redis://:[redacted:password]@cache"),
        ("https://x:y%40z@example.org/a?b".to_owned(), "https://x:[redacted:password]@example.org/a?b"),
        ("curl -u me:hunter2 https://example.org".to_owned(), "curl -u me:[redacted:password] https://example.org"),
        ("sshpass -p hunter2 ssh host".to_owned(), "sshpass -p [redacted:password] ssh host"),
        ("mysql --password=hunter2 x".to_owned(), "mysql --password=[redacted:secret] x"),
        (format!("cli --api-key {key} run"), "cli --api-key [redacted:secret] run"),
        (format!("Set-Cookie: sid={key}; Path=/"), "Set-Cookie: sid=[redacted:cookie]; Path=/"),
        (
            format!("https://x.blob.example/c?sv=1&sig={key}%3D"),
            "https://x.blob.example/c?sv=1&sig=[redacted:azure-signature]",
        ),
    ] {
        assert_eq!(redact_sample(&text), shown);
    }
}

#[test]
fn keys_of_bots_and_shops_go() {
    let token = format!("123456789:AA{}", key_chars(33));
    let other = format!("42:{}", key_chars(35));
    let square = format!("EAAA{}", key_chars(60));
    for (text, shown) in [
        (
            format!("https://api.telegram.org/bot{token}/getMe"),
            "https://api.telegram.org/bot[redacted:bot-token]/getMe",
        ),
        (
            format!("https://api.telegram.org/file/bot{other}/a"),
            "https://api.telegram.org/file/bot[redacted:bot-token]/a",
        ),
        (format!("the bot is {token}."), "the bot is [redacted:bot-token]."),
        (format!("sq0atp-{}", key_chars(22)), "[redacted:square-key]"),
        (format!("app sq0csp-{} x", key_chars(43)), "app [redacted:square-key] x"),
        (format!("curl -d '{square}'"), "curl -d '[redacted:square-key]'"),
    ] {
        assert_eq!(redact_sample(&text), shown);
    }
    for text in [
        "https://api.telegram.org/bot<token>/getMe".to_owned(),
        "https://core.telegram.org/bots/api#getme".to_owned(),
        format!("sq0idp-{}", key_chars(22)),
        // In the middle of base64.
        format!("iVBORw0KGgo/EAAA{}/8AAAA", key_chars(60)),
        "EAAA is a prefix".to_owned(),
    ] {
        assert_eq!(redact_sample(&text), text);
    }
}

#[test]
fn secret_keys_of_aws_go_next_to_their_name_or_id() {
    let id = format!("AKIA{}", key_chars(16).to_uppercase());
    let secret: String = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYzExAmPlEkY".to_owned();
    let hash = hex_chars(40);
    for text in [
        format!("{id} {secret}"),
        format!("{id},{secret}\n"),
        format!("{secret},{id}"),
        format!("{id} and the secret key is {secret}"),
        format!("{{\"AccessKeyId\":\"{id}\",\"SecretAccessKey\":\"{secret}\"}}"),
        format!("aws secret: {secret}"),
        format!("AWS secret key {secret}"),
        format!("Secret access key\t{secret}"),
        format!("the secret access key is {secret}, I think"),
        format!("aws_secret_access_key={secret}"),
    ] {
        let shown = redact_sample(&text);
        assert!(!shown.contains(&secret) && !shown.contains("bPxRfi"), "{text} → {shown}");
    }
    for text in [
        format!("commit {hash}"),
        format!("secret access key rotation in {hash}"),
        format!("the aws secret is not in {hash}"),
        format!("blob {secret} alone"),
        "aws secrets manager".to_owned(),
    ] {
        assert_eq!(redact_sample(&text), text);
    }
    // The ID is removed; the hash next to it stays.
    assert!(redact_sample(&format!("{id} {hash}")).ends_with(&hash));
    assert!(redact_sample(&format!("{hash} {id}")).starts_with(&hash));
}

#[test]
fn values_are_known_by_their_names() {
    let key = key_chars(32);
    for (text, shown) in [
        (format!("export MY_API_KEY={key}"), "export MY_API_KEY=[redacted:secret]"),
        (format!("api_key: \"{key}\","), "api_key: \"[redacted:secret]\","),
        (format!("{{\\\"clientSecret\\\":\\\"{key}\\\"}}"), "{\\\"clientSecret\\\":\\\"[redacted:secret]\\\"}"),
        (format!("const token = '{key}';"), "const token = '[redacted:secret]';"),
        ("DB_PASSWORD=hunter2".to_owned(), "DB_PASSWORD=[redacted:secret]"),
        ("password: \"correct-horse\"".to_owned(), "password: \"[redacted:secret]\""),
        ("\"password\": \"swordfish\"".to_owned(), "\"password\": \"[redacted:secret]\""),
        (format!("aws_secret_access_key = {key}"), "aws_secret_access_key = [redacted:secret]"),
        (format!("x-api-key: {key}"), "x-api-key: [redacted:secret]"),
    ] {
        assert_eq!(redact_sample(&text), shown);
    }
}

#[test]
fn what_is_no_secret_stays() {
    for text in [
        "max_tokens: 4096, \"input_tokens\": 123456789012",
        "let token = self.lexer.next_token2();",
        "fn secret(token: TokenStream, password: Option<String>) -> Result<Token, Error>",
        "password: String, token: &str, secret: Vec<u8>",
        "token = parse(input)?; api_key = sha256(value)",
        "token: crate::auth::TokenProvider1",
        "API_KEY=$API_KEY TOKEN=${TOKEN} PASSWORD=<password> password=your-password",
        "api_key=process.env.MY_API_KEY_2 token: os.environ['TOKEN']",
        "password=********  token=xxxxxxxxxxxxxxxxxxxx",
        "https://user:$PASSWORD@example.org and https://example.org:8080/a@b",
        "the bearer authentication scheme, a bearer of news",
        "commit 3f9a1c7be5d204863f9a1c7be5d204863f9a1c7b",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "01a1e1f4-4385-7063-8dee-85f657829ba1",
        "task-0123456789abcdef0123456789abcdef0 risk-analysis-of-the-whole-system",
        "tokenizer: \"bpe-cl100k-base-2024\" token_type: access-2024-example-a1",
        "secret_name: prod-db-credentials-2024a token_expires_at: 2026-11-15T10:00:00Z",
        "session_token_url=https://example.org/oauth2/token12345678",
        "cookie: theme=dark",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
        "src/token.rs:12: secret: 1",
        "error: the password is wrong\nhint: set the token",
        "const PASSWORD_FIELD = 'password'",
        "git@github.com:owner/name.git ssh://git@host/x",
        "\u{202e}\0 not text",
    ] {
        assert_eq!(redact_sample(text), text);
    }
}

#[test]
fn doing_it_twice_changes_nothing() {
    let text = format!("TOKEN={} postgres://a:b1@c Bearer {}", key_chars(40), key_chars(30));
    let once = redact_sample(&text);
    assert_eq!(redact_sample(&once), once);
    assert_ne!(once, text);
}

#[test]
fn json_stays_as_it_is_but_for_the_secrets() {
    let redactor = Redactor::new().unwrap();
    let key = key_chars(40);
    for (json, shown) in [
        (
            format!(r#"{{"a": 1.50, "token" : "{key}", "n":12345678901234567890}}"#),
            r#"{"a": 1.50, "token" : "[redacted:secret]", "n":12345678901234567890}"#.to_owned(),
        ),
        (format!(r#"{{"password":1,"x":["{key}"]}}"#), format!(r#"{{"password":1,"x":["{key}"]}}"#)),
        (
            r#"{"password":"open\u0020sesame","q":"a\"b"}"#.to_owned(),
            r#"{"password":"[redacted:secret]","q":"a\"b"}"#.to_owned(),
        ),
        (
            format!(r#"{{"args":"{{\"api_key\":\"{key}\"}}"}}"#),
            r#"{"args":"{\"api_key\":\"[redacted:secret]\"}"}"#.to_owned(),
        ),
        (format!(r#"{{"text":"\ud800 gh\u0070_{key}"}}"#), format!(r#"{{"text":"\ud800 gh\u0070_{key}"}}"#)),
        (format!(r#"{{"text":"\ud800 ghp_{key}"}}"#), r#"{"text":"\ud800 [redacted:github-token]"}"#.to_owned()),
        (format!(r#"{{"text":"gh\u0070_{key}"}}"#), r#"{"text":"[redacted:github-token]"}"#.to_owned()),
        (r#"{"a":"unterminated"#.to_owned(), r#"{"a":"unterminated"#.to_owned()),
    ] {
        assert_eq!(redactor.redact_json(&json), shown);
    }
    assert_eq!(redactor.redaction_count(), 5);
}

/// One secret of each kind, with its usual prefix.
fn sample_secrets() -> Vec<(String, String)> {
    let plain = |prefix: &str, length: usize| (prefix.to_owned(), key_chars(length));
    let mut kinds = vec![
        plain("sk-ant-api03-", 90),
        plain("sk-proj-", 60),
        ("sk-or-v1-".to_owned(), hex_chars(64)),
        plain("ghp_", 36),
        plain("github_pat_", 70),
        plain("glpat-", 20),
        ("xoxb-123456789012-".to_owned(), key_chars(24)),
        plain("AIza", 35),
        plain("sk_live_", 24),
        plain("npm_", 36),
        plain("hf_", 34),
        plain("xai-", 80),
        plain("gsk_", 52),
        plain("pypi-", 80),
        plain("hvs.", 40),
        ("dop_v1_".to_owned(), hex_chars(64)),
        ("AKIA".to_owned(), key_chars(16).to_uppercase()),
        ("123456789:AA".to_owned(), key_chars(33)),
        (format!("SG.{}.", key_chars(22)), key_chars(43)),
        (format!("eyJ{}.eyJ{}.", key_chars(20), key_chars(30)), key_chars(40)),
        plain("Cookie: sid=", 24),
        ("curl -u me:".to_owned(), "hunter22x".to_owned()),
        ("sshpass -p ".to_owned(), "hunter22x".to_owned()),
        ("machine example.org login me password ".to_owned(), "hunterxyz".to_owned()),
        ("login me password ".to_owned(), "hunter22x".to_owned()),
        ("AccountKey=".to_owned(), key_chars(80)),
    ];
    kinds.push(("Authorization: Basic ".to_owned(), "dXNlcjpodW50ZXIyMg".to_owned()));
    kinds
}

#[test]
fn an_escape_is_a_boundary_however_often_it_is_escaped() {
    for (prefix, rest) in sample_secrets() {
        for line in ["\n", "\t", "\r\n", "\n\t", "\"", "\\", "\u{1}", "\x1b[32m", "é", "\n+", "\u{8}"] {
            let mut text = format!("cat > .env <<E{line}{prefix}{rest}{line}E");
            for depth in 0..4 {
                let shown = redact_sample(&text);
                assert!(!shown.contains(&rest), "{depth} {line:?}: {text} → {shown}");
                text = serde_json::to_string(&serde_json::json!({ "command": ["sh", text] })).unwrap();
                let shown = REDACTOR.redact_json(&text).into_owned();
                assert!(!shown.contains(&rest), "json, {depth} {line:?}: {text} → {shown}");
                assert!(serde_json::from_str::<serde_json::Value>(&shown).is_ok(), "{shown}");
            }
        }
        for before in ["\\u003c", "\\033[1m", "\\e[0m", "\\x0a", "%20", "q%3D", "\\\\n"] {
            let shown = redact_sample(&format!("a{before}{prefix}{rest} b"));
            assert!(!shown.contains(&rest), "{before}: {shown}");
        }
    }
}

#[test]
fn values_in_json_within_text_go_whole() {
    let redactor = Redactor::new().unwrap();
    let given = r#"{"arguments":"{\"password\":\"a1,b;c{d\",\"user\":\"me\"}"}"#;
    let shown = r#"{"arguments":"{\"password\":\"[redacted:secret]\",\"user\":\"me\"}"}"#;
    assert_eq!(redactor.redact_json(given), shown);
    let key = format!("ghp_{}", key_chars(36));
    assert_eq!(redactor.redact_json(&format!(r#"{{"{key}":1}}"#)), r#"{"[redacted:github-token]":1}"#);
}

#[test]
fn private_keys_go_whose_lines_stand_apart() {
    let [begin, end] = ["BEGIN", "END"].map(|word| format!("-----{word} RSA PRIVATE KEY-----"));
    let line = key_chars(64);
    let lines = |margin: &str| {
        let all = ["before", &begin, "Proc-Type: 4,ENCRYPTED", "", &line, &line, "q8w=", &end, "after", "words"];
        all.map(|line| format!("{margin}{line}"))
    };
    let redactor = Redactor::new().unwrap();
    for margin in ["", "+", "-", " ", "12\t", "  7→"] {
        let given = serde_json::json!({ "lines": lines(margin), "next": ["SGVsbG8gd29ybGQ"] });
        let nested = serde_json::json!({ "arguments": given.to_string() });
        for given in [given, nested] {
            let (before, shown) = (redactor.redaction_count(), redactor.redact_json(&given.to_string()).into_owned());
            assert!(!shown.contains("a8Fk2") && !shown.contains("q8w=") && !shown.contains("ENCRYPTED"), "{shown}");
            for kept in ["before", &begin, &end, "after", "words", "SGVsbG8gd29ybGQ"] {
                assert!(shown.contains(kept), "{kept}: {shown}");
            }
            assert_eq!(redactor.redaction_count() - before, 1);
        }
    }
    // A list of search patterns is not a key.
    let searched = serde_json::json!(["-e", begin, "in the repository", "here"]).to_string();
    assert_eq!(redactor.redact_json(&searched), searched);
}

#[test]
fn private_keys_go_of_which_one_end_is_left() {
    let [begin, end] = ["BEGIN", "END"].map(|word| format!("-----{word} PRIVATE KEY-----"));
    let body: String = (0..3).map(|_| format!("{}\n", key_chars(64))).collect();
    for text in [
        format!("{body}q8w=\n{end}\nafter"),
        format!("{begin}\nDEK-Info: AES-128-CBC,0123\n\n{body}q8w=\nafter"),
        format!("{body}{end}\nafter").replace('\n', "\\\\n"),
        format!("{begin}\n{body}after").replace('\n', "\\\\\\\\n"),
    ] {
        let shown = redact_sample(&text);
        assert!(!shown.contains("a8Fk2") && !shown.contains("q8w=") && shown.contains("after"), "{shown}");
    }
}

#[test]
fn a_piece_has_no_part_of_a_secret_at_its_ends() {
    let redactor = Redactor::new().unwrap();
    let piece = |text: &str| redactor.redact_excerpt(text);
    let token = format!("postgres://me:{}@db TOKEN={} and password: {}", key_chars(12), key_chars(40), key_chars(9));
    let text = format!("日本語 set {token} then Authorization: Bearer {} end of it", key_chars(30));
    let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
    let secret = key_chars(40);
    for &from in places.iter().step_by(4) {
        for &to in places.iter().step_by(13).filter(|to| **to > from) {
            let cut = text.get(from..to).unwrap().trim();
            let shown = piece(&format!("…{cut}…"));
            assert!(!(0..36).any(|at| shown.contains(secret.get(at..at + 4).unwrap())), "{cut} → {shown}");
        }
    }
    for (text, shown) in [
        ("export DB_PASSWORD=envSecretV…", "export DB_PASSWORD=…"),
        ("the aws_secret_access_key = wJalrXUtn/K…", "the aws_secret_access_key = …"),
        ("nothing is cut here", "nothing is cut here"),
        ("…ssword hunter22 for all", "… for all"),
        ("…lly words of a sentence and the fir…", "… words of a sentence and the …"),
        ("…/crates/logs/src/export and crates/logs/src/ex…", "…/crates/logs/src/export and crates/logs/src/…"),
        ("…漢字かな交じり文…", "…漢字かな交じり文…"),
    ] {
        assert_eq!(piece(text), shown);
    }
    let line = key_chars(64);
    assert!(!piece(&format!("…abc {line} {line} 0123…")).contains("a8Fk2"));
}

#[test]
fn a_login_in_a_sentence_is_none() {
    for text in ["login and password are required", "the login page password field", "login USER password PASSWORD"] {
        assert_eq!(redact_sample(text), text);
    }
}

#[test]
fn a_shadow_is_as_long_as_its_text() {
    let escapes = regex::Regex::new(ESCAPE_PATTERN).unwrap();
    for (text, shadow) in [
        (r"é\na", Some("é \na")),
        (r"a\\\\nb\tc", Some("a    \nb  c")),
        (r#"\"a\\"#, None),
        (r"\u0020a\u000ab", Some("      a     \nb")),
        ("\x1b[1;32mgreen\x1b[0m", Some("       green    ")),
        (r"\u001b[1mb", Some("         b")),
        ("a%3Db 5 % of", Some("a   b 5 % of")),
        ("plain", None),
    ] {
        assert_eq!(mask_escapes(text, &escapes).as_deref(), shadow, "{text}");
        assert!(shadow.is_none_or(|shadow| shadow.len() == text.len()));
    }
}
