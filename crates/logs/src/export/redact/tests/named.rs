//! Values with secret names: secrets of any shape, and harmless look-alikes.

use super::{REDACTOR, redact_sample};

/// Secrets are enclosed in `«` and `»`.
const SECRET_CASES: &[&str] = &[
    // Environment variables.
    "PASSWORD=«correcthorse»",
    "PASSWORD=«correcthorsebatterystaple»",
    "PASSWORD=«Tr0ub4dor&3»",
    "PASSWORD=«a,b;c|d» next",
    "PASSWORD=«123456»",
    "DB_PASS=«swordfish»",
    "TOKEN=«abcdefghijkl»",
    "export FOO_TOKEN=«abc123def»",
    "export FOO_TOKEN=«abc123def»; ls",
    "export PASSWORD='«my pass word 1»'",
    "PASSWORD=\"«it's \\\"me\\\"»\" run",
    "SECRET_KEY_BASE=«deadbeefdeadbeefdeadbeef»",
    "AWS_SECRET_ACCESS_KEY=«abcd/efgh»",
    "PAGE_ACCESS_TOKEN=«qwertz» TYPEFORM_TOKEN=«uiopas»",
    "docker run -e API_KEY=«zzzyyyxxx» image",
    "TOKEN=«abc»&&ls",
    // JSON, also within text that is quoted.
    r#"{"api_key": "«zzzyyyxxx1»"}"#,
    r#"{"token":"«qqqwwweee»"}"#,
    r#"then {\"token\":\"«qqqwwweee»\"} came"#,
    r#"then {\\\"password\\\":\\\"«a,b}c»\\\"} came"#,
    r#"{'client_secret': '«horse-battery»'}"#,
    // Headers and URLs.
    "Cookie: session=«abcdef123456»",
    "Cookie: a=1; session=«Zm9vYmFyYmF6MTIz»",
    "cookie: theme=dark; sid=«abcdefgh»; lang=en",
    "Set-Cookie: remember_me=«abcdef»; Path=/; Max-Age=3600",
    "curl --cookie 'auth=«abcdefg»' https://example.org",
    "X-Api-Key: «abcdefghijkl»",
    "Authorization: Token «abcdefgh»",
    "https://x/?api_key=«abcdef123456»&x=1",
    "https://x/?a=1&access_token=«abcdefgh»#top",
    // Commands.
    "run --token «abcdef123456»",
    "run --token «abcdefghijkl» --verbose",
    "run --password=«correcthorse» now",
    "run --api-key «abcdefghijkl»",
    "mysql -uroot -p«secretpw» shop",
    "mysqldump -h db -p'«secretpw»' shop",
    "redis-cli -h cache -a «secretpw» ping",
    "docker login -u me -p «secretpw» registry.example",
    // Settings.
    "password = «correcthorse»",
    "password=«correcthorse»",
    "  password: «correct-horse»\n  user: me",
    "token = «abc123def»",
    "const password = \"«hunter»\";",
    "config[\"password\"] = '«hunter»'",
];

const HARMLESS_CASES: &[&str] = &[
    // Empty values, examples, variables.
    "PASSWORD= TOKEN='' \"password\": \"\"",
    "PASSWORD=*** TOKEN=<token> TOKEN=$TOKEN TOKEN=${TOKEN} TOKEN=$(cat token) TOKEN=xxx PASSWORD=%PASSWORD%",
    "PASSWORD=[redacted:secret] \"token\": \"[redacted:github-token]\" password: [redacted:secret]",
    "\"password\": null, \"token\": true, secret: false, token=None, password: required",
    "run --token TOKEN, --password=PASSWORD or --api-key <KEY>",
    "token: \"{token}\" password: '{{ password }}' api_key: \"prefix-${KEY}\"",
    // Token counts.
    "\"max_tokens\": 4096, \"inputTokens\": 123456, token_count=12345678, tokens: 99, MAX_TOKENS=4096",
    "{\"tokens\":{\"input\":12345},\"total_token\":\"12345678\",\"tokens_output\":5}",
    "used 4096 tokens: 1024 in, 3072 out; tokens=12345678",
    // Code.
    "token: String, password: &str, secret: &'static str, token: Option<Token>, api_key: str = None",
    "def f(password): return token = get_token()",
    "let token = lexer.next(); let password = read_line()?; self.token = token;",
    "login(password=password, token=tok, secret=config.secret)",
    "{ token: authToken, password: userPassword }",
    "Token::Secret => \"secret\", Kind::Password => write(out)",
    "if token == \"identifier\" { secret::take(token) }",
    "token = *tok; password = &input; token = @token",
    "interface A { password: string; token?: string }",
    "type=\"password\" name=\"token\" id=\"x\"",
    "PASSWORD_FILE=/run/secrets/db TOKEN_URL=https://example.org/oauth PWD=/home/me/app",
    "secrets: inherit, credentials: 'include', nextPageToken: \"abcdefgh\"",
    "let tokenizer = \"wordpiece\"; secretary: \"Miss Moneypenny\"",
    // Commands.
    "docker run --name mysql -p3306:3306 -p 8080:80 mysql -p$PASSWORD; docker login -p \"$TOKEN\" x",
    "ssh login.example.org -p 2222",
    // Sentences.
    "the password is checked here, and the token: it is not",
    "use --token to log in, --password is required; --secret, too",
    "\"password\": \"The password of the user\", \"token\": \"what lets you in\"",
    "password: wrong\ntoken: invalid",
    "a cookie: theme=dark; lang=en-US; Path=/",
    "cookies are set; the cookie banner = annoying",
];

/// Returns the text with its secrets, and its expected redaction.
fn parse_case(case: &str) -> (String, String) {
    let given = case.replace(['«', '»'], "");
    let (mut shown, mut rest) = (String::new(), case);
    while let Some((before, (_, after))) = rest.split_once('«').and_then(|(a, b)| Some((a, b.split_once('»')?))) {
        shown.push_str(before);
        shown.push('§');
        rest = after;
    }
    (given, shown + rest)
}

/// Replaces every redaction mark by `§`, whatever its label.
fn normalize_marks(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, (_, after))) =
        rest.split_once("[redacted:").and_then(|(a, b)| Some((a, b.split_once(']')?)))
    {
        out.push_str(before);
        out.push('§');
        rest = after;
    }
    out + rest
}

#[test]
fn a_telling_name_is_enough() {
    let wrong = SECRET_CASES.iter().map(|case| parse_case(case)).filter(|(given, shown)| {
        let once = redact_sample(given);
        normalize_marks(&once) != *shown || redact_sample(&once) != once
    });
    let wrong: Vec<_> = wrong.map(|(given, _)| redact_sample(&given)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_plainly_no_secret_stays() {
    let wrong: Vec<_> = HARMLESS_CASES
        .iter()
        .map(|text| redact_sample(text))
        .filter(|shown| !HARMLESS_CASES.contains(&shown.as_str()))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn json_stays_json_whatever_goes() {
    for case in SECRET_CASES {
        let (given, shown) = parse_case(case);
        let mut json = serde_json::json!({ "text": given, "list": [given] }).to_string();
        for _ in 0..3 {
            let clean = REDACTOR.redact_json(&json).into_owned();
            let value: serde_json::Value = serde_json::from_str(&clean).unwrap();
            if let Some(text) = value["text"].as_str() {
                assert_eq!(normalize_marks(text), shown, "{json}");
            }
            assert!(clean.contains("[redacted:"), "{clean}");
            json = serde_json::json!({ "arguments": json }).to_string();
        }
    }
}

#[test]
fn names_in_json_are_as_telling_as_in_text() {
    for (given, shown) in [
        (r#"{"password":"open\u0020sesame"}"#, r#"{"password":"§"}"#),
        (r#"{"headers":{"Cookie":"a=1; session=abcdef12"}}"#, r#"{"headers":{"Cookie":"a=1; session=§"}}"#),
        (r#"{"Authorization":"Bearer abcdef"}"#, r#"{"Authorization":"§"}"#),
        (r#"["cli","--token","abcdef","x"]"#, r#"["cli","--token","§","x"]"#),
        (r#"["cli","--verbose","abcdef"]"#, r#"["cli","--verbose","abcdef"]"#),
        (r#"{"max_tokens":4096,"token_type":"bearer"}"#, r#"{"max_tokens":4096,"token_type":"bearer"}"#),
        (r#"{"a":"TOKEN=abcdef"}"#, r#"{"a":"TOKEN=§"}"#),
    ] {
        assert_eq!(normalize_marks(&REDACTOR.redact_json(given)), shown, "{given}");
    }
}
