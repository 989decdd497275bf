//! What secrets look like: a table, one row a shape. Where only a part of a match is the secret, the pattern calls that
//! part `s`, and the rest stays to say what was there.

use super::judge;

/// A shape of secrets.
pub struct Rule {
    /// What stands in its place says this.
    pub name: &'static str,
    /// What it looks like.
    pub pattern: &'static str,
    /// Whether what looks like one is one, given what was found and what follows it.
    pub is_secret: fn(&Found<'_>) -> bool,
}

/// Something that looks like a secret.
pub struct Found<'a> {
    /// The name that it was given, where the pattern has a part `k`.
    pub key: &'a str,
    /// What may be secret.
    pub value: &'a str,
    /// It stands in quotation marks.
    pub quoted: bool,
    /// What comes behind it.
    pub after: &'a str,
}

const fn shape(name: &'static str, pattern: &'static str) -> Rule {
    Rule { name, pattern, is_secret: |_| true }
}

/// All shapes. Those with a sure mark come first; the ones at the end look at the names of things.
pub const RULES: &[Rule] = &[
    shape(
        "private-key",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?P<s>(?s:.*?))-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
    ),
    // Cut off before its end: what follows as long as it looks like a key.
    shape(
        "private-key",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?P<s>(?:[\s+>|→\-]*(?:Proc-Type|DEK-Info|Version|Comment):[^\n]*\n)*(?:(?:[\s+>|→\-]|\\+[nrt]|[0-9]{1,5}[→\t:|])*[A-Za-z0-9+/=]{16,})+(?:[\s+>|→]+[A-Za-z0-9+/]{1,63}={1,2})?)",
    ),
    // Its beginning is cut off.
    shape(
        "private-key",
        r"(?P<s>[A-Za-z0-9+/=]{16,}(?:(?:[\s+>|→]|\\+[nrt]|[0-9]{1,5}[→\t:|])+[A-Za-z0-9+/=]+)*)[\s+>|→]*(?:\\+[nrt])?[\s+>|→]*-----END (?:[A-Z0-9]+ )*PRIVATE KEY",
    ),
    shape("private-key", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
    // Model providers.
    shape("api-key", r"(?-u:\b)sk-(?:ant|proj|svcacct|admin|or-v1|or|lf|live|test)-[A-Za-z0-9_-]{16,}"),
    shape("api-key", r"(?-u:\b)sk-[A-Za-z0-9]{32,}"),
    shape("api-key", r"(?-u:\b)AIza[0-9A-Za-z_-]{35}"),
    shape("api-key", r"(?-u:\b)(?:xai-|gsk_|pplx-|r8_|hf_|nvapi-|fw_|csk-|tgp_v1_)[A-Za-z0-9_-]{30,}"),
    // Clouds.
    shape("aws-key", r"(?-u:\b)(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?-u:\b)"),
    shape("google-token", r"(?-u:\b)(?:ya29\.[0-9A-Za-z_-]{20,}|1//0[0-9A-Za-z_-]{30,}|GOCSPX-[0-9A-Za-z_-]{20,})"),
    shape("azure-key", r"(?-u:\b)(?:AccountKey|SharedAccessKey)=(?P<s>[A-Za-z0-9+/=]{40,})"),
    shape("azure-signature", r"[?&]sig=(?P<s>[A-Za-z0-9%+/=_-]{30,})"),
    shape("cloud-token", r"(?-u:\b)(?:do[opr]_v1_[a-f0-9]{60,}|dapi[0-9a-f]{32}|hv[sbr]\.[A-Za-z0-9_-]{20,})"),
    shape("cloud-token", r"(?-u:\b)[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}"),
    // Where code lies and packages come from.
    shape("github-token", r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})"),
    shape("gitlab-token", r"(?-u:\b)gl(?:pat|dt|rt|ptt|ft|soat|oas|cbt|imt|agent)-[A-Za-z0-9_.-]{20,}"),
    shape("package-token", r"(?-u:\b)(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}|dckr_pat_[A-Za-z0-9_-]{20,})"),
    shape("package-token", r"(?-u:\b)(?:cio[A-Za-z0-9]{32}(?-u:\b)|rubygems_[a-f0-9]{40,})"),
    // Services.
    shape("slack-token", r"(?-u:\b)(?:xox[abeopsr]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-f0-9]{30,})"),
    shape("webhook", r"hooks\.slack\.com/services/(?P<s>T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{16,})"),
    shape("webhook", r"discord(?:app)?\.com/api/webhooks/[0-9]+/(?P<s>[A-Za-z0-9_-]{40,})"),
    shape("bot-token", r"(?-u:\b)[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?-u:\b)"),
    shape("bot-token", r"(?-u:\b)[MNO][A-Za-z0-9]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?-u:\b)"),
    shape("stripe-key", r"(?-u:\b)(?:[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,})"),
    shape("service-key", r"(?-u:\b)SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    shape("service-key", r"(?-u:\b)(?:SK[0-9a-f]{32}|key-[0-9a-f]{32})(?-u:\b)"),
    shape("service-key", r"(?-u:\b)(?:shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|lin_(?:api|oauth)_[A-Za-z0-9]{32,})"),
    shape("service-key", r"(?-u:\b)(?:secret_[A-Za-z0-9]{43}|ntn_[A-Za-z0-9]{40,}|ATATT3[A-Za-z0-9_=-]{50,})"),
    shape("service-key", r"(?-u:\b)(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,}|figd_[A-Za-z0-9_-]{30,})"),
    shape(
        "service-key",
        r"(?-u:\b)(?:glsa_[A-Za-z0-9_]{30,}|glc_[A-Za-z0-9+/=]{30,}|NRAK-[A-Z0-9]{27}|PMAK-[A-Za-z0-9-]{50,})",
    ),
    shape(
        "service-key",
        r"(?-u:\b)(?:sntry[su]_[A-Za-z0-9+/=_-]{30,}|dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9]{40,}|fm2_[A-Za-z0-9+/=]{40,})",
    ),
    // What is the same everywhere.
    shape("jwt", r"(?-u:\b)eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    Rule {
        name: "password",
        pattern: r#"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@"'<>\\`]*:(?P<s>[^\s/@"'<>\\`]+)@"#,
        is_secret: |found| !judge::is_placeholder(found.value),
    },
    Rule {
        name: "bearer-token",
        pattern: r"(?i)(?-u:\b)bearer[ \t]+(?P<s>[A-Za-z0-9._~+/=-]{12,})",
        is_secret: |found| judge::is_random(found.value),
    },
    Rule {
        name: "authorization",
        pattern: r#"(?i)(?-u:\b)authorization["'\\]{0,3}[ \t]*[:=][ \t]*["'\\]{0,3}(?:basic|token|apikey|digest)[ \t]+(?P<s>[^\s"'\\,;]{6,})"#,
        is_secret: |found| !judge::is_placeholder(found.value),
    },
    Rule {
        name: "cookie",
        pattern: r#"(?i)(?-u:\b)(?:set-)?cookie["'\\]{0,3}:[ \t]*["'\\]{0,3}[^\s=;"']+=(?P<s>[^\s"'\\;]{12,})"#,
        is_secret: |found| judge::is_random(found.value),
    },
    Rule {
        name: "password",
        pattern: r#"(?-u:\b)(?:curl|wget|http)(?-u:\b)[^\n|;&]*?[ \t](?:-u|--user)[ =]?["']?[^\s:"']+:(?P<s>[^\s"'\\]+)"#,
        is_secret: |found| !judge::is_placeholder(found.value),
    },
    Rule {
        name: "password",
        pattern: r#"(?-u:\b)sshpass[ \t]+-p[ \t]*["']?(?P<s>[^\s"'\\]+)"#,
        is_secret: |found| !judge::is_placeholder(found.value),
    },
    // As `.netrc` has it.
    Rule {
        name: "password",
        pattern: r#"(?-u:\b)(?:(?P<k>machine[ \t]+\S+|default)\s+)?login\s+[^\s"'\\]+\s+password\s+(?P<s>[^\s"'\\]{3,})"#,
        is_secret: judge::is_machines_password,
    },
    Rule {
        name: "secret",
        pattern: r#"--(?P<k>[a-z-]*(?:password|passwd|passphrase|token|api-?key|secret)[a-z-]*)[= ](?P<q>["']?)(?P<s>[^\s"'\\]{4,})"#,
        is_secret: judge::is_named_secret,
    },
    // `NAME=value`, `"name": "value"`, `name: value`, also within text that is itself quoted.
    Rule {
        name: "secret",
        pattern: r#"(?i)(?P<k>[A-Za-z0-9_.-]*(?:api[_-]?key|apikey|secret|passwd|password|passphrase|pwd|token|access[_-]?key|private[_-]?key|auth[_-]?key|credential|authorization)[A-Za-z0-9_-]*)[\\]{0,3}["']?[ \t]*(?::=|=>|[:=])[ \t]*(?P<q>[\\]{0,3}["'`]?)(?P<s>[^\s"'`\\,;&<>(){}\[\]]{4,})"#,
        is_secret: judge::is_named_secret,
    },
];
