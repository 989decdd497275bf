//! Table of secrets with a recognizable shape. If only a part of a match is secret, the pattern names that group `s`,
//! and the rest stays as context.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError};

use super::{heuristics, named_values};

/// The shape of a kind of secret.
pub struct SecretPattern {
    /// Label in the replacement text.
    pub name: &'static str,
    /// Every match contains one of these strings, ignoring case. Without any, the pattern runs on every text.
    pub marks: &'static [&'static str],
    pub pattern: &'static str,
    /// Confirms that a match is a secret.
    pub is_secret: fn(&PatternMatch<'_>) -> bool,
}

/// A possible secret.
pub struct PatternMatch<'a> {
    /// The name of the value, if the pattern has a group `k`.
    pub key: &'a str,
    pub value: &'a str,
}

const fn secret_pattern(name: &'static str, marks: &'static [&'static str], pattern: &'static str) -> SecretPattern {
    SecretPattern { name, marks, pattern, is_secret: |_| true }
}

/// All patterns. Those with a fixed prefix come first, those for commands last.
pub const SECRET_PATTERNS: &[SecretPattern] = &[
    secret_pattern(
        "private-key",
        &["-----begin"],
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?P<s>(?s:.*?))-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
    ),
    // Truncated: everything that still looks like a key.
    secret_pattern(
        "private-key",
        &["-----begin"],
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?P<s>(?:[\s+>|→\-]*(?:Proc-Type|DEK-Info|Version|Comment):[^\n]*\n)*(?:(?:[\s+>|→\-]|\\+[nrt]|[0-9]{1,5}[→\t:|])*[A-Za-z0-9+/=]{16,})+(?:[\s+>|→]+[A-Za-z0-9+/]{1,63}={1,2})?)",
    ),
    // The beginning is missing.
    secret_pattern(
        "private-key",
        &["-----end"],
        r"(?P<s>[A-Za-z0-9+/=]{16,}(?:(?:[\s+>|→]|\\+[nrt]|[0-9]{1,5}[→\t:|])+[A-Za-z0-9+/=]+)*)[\s+>|→]*(?:\\+[nrt])?[\s+>|→]*-----END (?:[A-Z0-9]+ )*PRIVATE KEY",
    ),
    secret_pattern("private-key", &["age-secret-key-"], r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
    // Model providers.
    secret_pattern(
        "api-key",
        &["sk-"],
        r"(?-u:\b)sk-(?:ant|proj|svcacct|admin|or-v1|or|lf|live|test)-[A-Za-z0-9_-]{16,}",
    ),
    secret_pattern("api-key", &["sk-"], r"(?-u:\b)sk-[A-Za-z0-9]{32,}"),
    secret_pattern("api-key", &["aiza"], r"(?-u:\b)AIza[0-9A-Za-z_-]{35}"),
    secret_pattern(
        "api-key",
        &["xai-", "gsk_", "pplx-", "r8_", "hf_", "nvapi-", "fw_", "csk-", "tgp_v1_"],
        r"(?-u:\b)(?:xai-|gsk_|pplx-|r8_|hf_|nvapi-|fw_|csk-|tgp_v1_)[A-Za-z0-9_-]{30,}",
    ),
    // Cloud providers.
    secret_pattern(
        "aws-key",
        &["akia", "asia", "abia", "acca"],
        r"(?-u:\b)(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?-u:\b)",
    ),
    // The secret key has no shape of its own. It occurs next to its ID or its name.
    SecretPattern {
        name: "aws-secret",
        marks: &["akia", "asia"],
        pattern: r#"(?-u:\b)(?:AKIA|ASIA)[A-Z0-9]{16}(?-u:\b)[^A-Za-z0-9+/]{1,8}(?:(?:aws|secret|access|key|and|the|is)[^A-Za-z0-9+/]{1,6}){0,8}(?P<s>[A-Za-z0-9+/]{40})(?:$|[^A-Za-z0-9+/=])"#,
        is_secret: |found| heuristics::is_aws_secret(found.value),
    },
    SecretPattern {
        name: "aws-secret",
        marks: &["akia", "asia"],
        pattern: r#"(?:^|[^A-Za-z0-9+/])(?P<s>[A-Za-z0-9+/]{40})[^A-Za-z0-9+/]{1,8}(?:AKIA|ASIA)[A-Z0-9]{16}(?-u:\b)"#,
        is_secret: |found| heuristics::is_aws_secret(found.value),
    },
    SecretPattern {
        name: "aws-secret",
        marks: &["secret"],
        pattern: r#"(?i)(?:aws[^\n]{0,20}secret|secret[ _-]?access[ _-]?key|secretaccesskey)(?:[^\nA-Za-z0-9+/]{1,6}(?:aws|access|key|is|was|for|the)){0,6}[^\nA-Za-z0-9+/]{1,6}(?P<s>[A-Za-z0-9+/]{40})(?:$|[^A-Za-z0-9+/=])"#,
        is_secret: |found| heuristics::is_aws_secret(found.value),
    },
    secret_pattern(
        "google-token",
        &["ya29.", "1//0", "gocspx-"],
        r"(?-u:\b)(?:ya29\.[0-9A-Za-z_-]{20,}|1//0[0-9A-Za-z_-]{30,}|GOCSPX-[0-9A-Za-z_-]{20,})",
    ),
    secret_pattern(
        "azure-key",
        &["accountkey=", "sharedaccesskey="],
        r"(?-u:\b)(?:AccountKey|SharedAccessKey)=(?P<s>[A-Za-z0-9+/=]{40,})",
    ),
    secret_pattern("azure-signature", &["sig="], r"[?&]sig=(?P<s>[A-Za-z0-9%+/=_-]{30,})"),
    secret_pattern(
        "cloud-token",
        &["o_v1_", "p_v1_", "r_v1_", "dapi", "hvs.", "hvb.", "hvr."],
        r"(?-u:\b)(?:do[opr]_v1_[a-f0-9]{60,}|dapi[0-9a-f]{32}|hv[sbr]\.[A-Za-z0-9_-]{20,})",
    ),
    secret_pattern("cloud-token", &[".atlasv1."], r"(?-u:\b)[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,}"),
    // Code hosting and package registries.
    secret_pattern(
        "github-token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{40,})",
    ),
    secret_pattern(
        "gitlab-token",
        &["glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glsoat-", "gloas-", "glcbt-", "glimt-", "glagent-"],
        r"(?-u:\b)gl(?:pat|dt|rt|ptt|ft|soat|oas|cbt|imt|agent)-[A-Za-z0-9_.-]{20,}",
    ),
    secret_pattern(
        "package-token",
        &["npm_", "pypi-", "dckr_pat_"],
        r"(?-u:\b)(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}|dckr_pat_[A-Za-z0-9_-]{20,})",
    ),
    secret_pattern(
        "package-token",
        &["cio", "rubygems_"],
        r"(?-u:\b)(?:cio[A-Za-z0-9]{32}(?-u:\b)|rubygems_[a-f0-9]{40,})",
    ),
    // Services.
    secret_pattern(
        "slack-token",
        &["xox", "xapp-"],
        r"(?-u:\b)(?:xox[abeopsr]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-f0-9]{30,})",
    ),
    secret_pattern(
        "webhook",
        &["hooks.slack.com"],
        r"hooks\.slack\.com/services/(?P<s>T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{16,})",
    ),
    secret_pattern(
        "webhook",
        &["/api/webhooks/"],
        r"discord(?:app)?\.com/api/webhooks/[0-9]+/(?P<s>[A-Za-z0-9_-]{40,})",
    ),
    // In a URL, it directly follows `bot`.
    secret_pattern("bot-token", &[":aa"], r"(?-u:\b)(?:bot)?(?P<s>[0-9]{8,10}:AA[A-Za-z0-9_-]{33})(?-u:\b)"),
    secret_pattern(
        "bot-token",
        &["api.telegram.org/"],
        r"api\.telegram\.org/(?:file/)?bot(?P<s>[0-9]+:[A-Za-z0-9_-]{20,})",
    ),
    secret_pattern("bot-token", &[], r"[MNO][A-Za-z0-9]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?-u:\b)"),
    secret_pattern(
        "stripe-key",
        &["k_live_", "k_test_", "whsec_"],
        r"(?-u:\b)(?:[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,})",
    ),
    secret_pattern("square-key", &["sq0atp-", "sq0csp-"], r"(?-u:\b)sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}"),
    // Only as a separate word: the same letters occur within base64.
    secret_pattern(
        "square-key",
        &["eaaa"],
        r#"(?:^|[\s"'`=:,;(<>\[])(?P<s>EAAA[A-Za-z0-9_-]{60})(?:$|[\s"'`,;)<>\]\\])"#,
    ),
    secret_pattern("service-key", &["sg."], r"(?-u:\b)SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
    secret_pattern("service-key", &["sk", "key-"], r"(?-u:\b)(?:SK[0-9a-f]{32}|key-[0-9a-f]{32})(?-u:\b)"),
    secret_pattern(
        "service-key",
        &["shpat_", "shpca_", "shppa_", "shpss_", "lin_api_", "lin_oauth_"],
        r"(?-u:\b)(?:shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|lin_(?:api|oauth)_[A-Za-z0-9]{32,})",
    ),
    secret_pattern(
        "service-key",
        &["secret_", "ntn_", "atatt3"],
        r"(?-u:\b)(?:secret_[A-Za-z0-9]{43}|ntn_[A-Za-z0-9]{40,}|ATATT3[A-Za-z0-9_=-]{50,})",
    ),
    secret_pattern(
        "service-key",
        &["secret_", "ntn_", "atatt3"],
        r"(?-u:\b)(?:sbp_[a-f0-9]{40}|sb_secret_[A-Za-z0-9_-]{20,}|figd_[A-Za-z0-9_-]{30,})",
    ),
    secret_pattern(
        "service-key",
        &["glsa_", "glc_", "nrak-", "pmak-"],
        r"(?-u:\b)(?:glsa_[A-Za-z0-9_]{30,}|glc_[A-Za-z0-9+/=]{30,}|NRAK-[A-Z0-9]{27}|PMAK-[A-Za-z0-9-]{50,})",
    ),
    secret_pattern(
        "service-key",
        &["sntry", "dp.", "fm2_"],
        r"(?-u:\b)(?:sntry[su]_[A-Za-z0-9+/=_-]{30,}|dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9]{40,}|fm2_[A-Za-z0-9+/=]{40,})",
    ),
    // Common formats.
    secret_pattern("jwt", &["eyj"], r"(?-u:\b)eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    SecretPattern {
        name: "password",
        marks: &["://"],
        pattern: r#"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@"'<>\\`]*:(?P<s>[^\s/@"'<>\\`]+)@"#,
        is_secret: |found| !heuristics::is_placeholder(found.value),
    },
    SecretPattern {
        name: "bearer-token",
        marks: &["bearer"],
        pattern: r"(?i)(?-u:\b)bearer[ \t]+(?P<s>[A-Za-z0-9._~+/=-]{12,})",
        is_secret: |found| heuristics::is_random(found.value),
    },
    SecretPattern {
        name: "authorization",
        marks: &["authorization"],
        pattern: r#"(?i)(?-u:\b)authorization["'\\]{0,3}[ \t]*[:=][ \t]*["'\\]{0,3}(?:basic|token|apikey|digest)[ \t]+(?P<s>[^\s"'\\,;]{6,})"#,
        is_secret: |found| !heuristics::is_placeholder(found.value),
    },
    SecretPattern {
        name: "password",
        marks: &["-u"],
        pattern: r#"(?-u:\b)(?:curl|wget|http)(?-u:\b)[^\n|;&]*?[ \t](?:-u|--user)[ =]?["']?[^\s:"']+:(?P<s>[^\s"'\\]+)"#,
        is_secret: |found| !heuristics::is_placeholder(found.value),
    },
    SecretPattern {
        name: "password",
        marks: &["sshpass"],
        pattern: r#"(?-u:\b)sshpass[ \t]+-p[ \t]*["']?(?P<s>[^\s"'\\]+)"#,
        is_secret: |found| !heuristics::is_placeholder(found.value),
    },
    SecretPattern {
        name: "password",
        marks: &["mysql", "mariadb"],
        pattern: r#"(?-u:\b)(?:mysql|mariadb)[a-z-]*(?-u:\b)[^\n|;&]*?[ \t]-p["']?(?P<s>[^\s"'\\]+)"#,
        is_secret: |found| heuristics::is_password_argument(found.value),
    },
    SecretPattern {
        name: "password",
        marks: &["redis-cli"],
        pattern: r#"(?-u:\b)redis-cli(?-u:\b)[^\n|;&]*?[ \t]-a[ \t]+["']?(?P<s>[^\s"'\\]+)"#,
        is_secret: |found| heuristics::is_password_argument(found.value),
    },
    SecretPattern {
        name: "password",
        marks: &["login"],
        pattern: r#"(?-u:\b)(?:docker|podman|nerdctl|helm[ \t]+registry|az|oc)[ \t]+login(?-u:\b)[^\n|;&]*?[ \t]-p[ \t=]+["']?(?P<s>[^\s"'\\]+)"#,
        is_secret: |found| heuristics::is_password_argument(found.value),
    },
    // The format of `.netrc`.
    SecretPattern {
        name: "password",
        marks: &["login"],
        pattern: r#"(?-u:\b)(?:(?P<k>machine[ \t]+\S+|default)\s+)?login\s+[^\s"'\\]+\s+password\s+(?P<s>[^\s"'\\]{3,})"#,
        is_secret: |found| heuristics::is_netrc_password(found.key, found.value),
    },
];

pub struct RedactionPrefilter {
    all: AhoCorasick,
    /// The pattern or name that each search string belongs to.
    of: Vec<MarkTarget>,
    /// Patterns without a fixed string, which always run.
    always: [bool; SECRET_PATTERNS.len()],
}

#[derive(Clone, Copy)]
enum MarkTarget {
    Rule(usize),
    Name,
    Cookie,
}

pub struct PrefilterMatches {
    rules: [bool; SECRET_PATTERNS.len()],
    has_mark: bool,
    /// Positions of words of secret names.
    pub words: Vec<Range<usize>>,
    /// Positions of `cookie`.
    pub cookies: Vec<Range<usize>>,
}

impl RedactionPrefilter {
    /// Builds the automaton for all patterns and names.
    pub fn new() -> Result<Self, BuildError> {
        let rules = SECRET_PATTERNS
            .iter()
            .enumerate()
            .flat_map(|(number, rule)| rule.marks.iter().map(move |mark| (*mark, MarkTarget::Rule(number))));
        let words = named_values::secret_words().map(|word| (word, MarkTarget::Name));
        let (marks, of): (Vec<&str>, Vec<MarkTarget>) =
            rules.chain(words).chain([("cookie", MarkTarget::Cookie)]).unzip();
        let mut always = [false; SECRET_PATTERNS.len()];
        always.iter_mut().zip(SECRET_PATTERNS).for_each(|(always, rule)| *always = rule.marks.is_empty());
        // The fastest kind, at the cost of memory.
        let kind = Some(AhoCorasickKind::DFA);
        let all = AhoCorasick::builder().kind(kind).ascii_case_insensitive(true).build(marks)?;
        Ok(Self { all, of, always })
    }

    /// Returns whether the text contains any search string.
    pub fn has_any(&self, text: &str) -> bool {
        self.all.is_match(text)
    }

    pub fn find_marks(&self, text: &str) -> PrefilterMatches {
        let mut met = PrefilterMatches { rules: self.always, has_mark: false, words: Vec::new(), cookies: Vec::new() };
        for found in self.all.find_overlapping_iter(text) {
            match self.of.get(found.pattern().as_usize()) {
                Some(MarkTarget::Rule(number)) => met.mark_pattern(*number),
                Some(MarkTarget::Name) => met.words.push(found.range()),
                Some(MarkTarget::Cookie) => met.cookies.push(found.range()),
                None => {}
            }
        }
        met
    }
}

impl PrefilterMatches {
    fn mark_pattern(&mut self, number: usize) {
        self.has_mark = true;
        self.rules.iter_mut().skip(number).take(1).for_each(|rule| *rule = true);
    }

    /// Returns whether the pattern can match.
    pub fn may_match_pattern(&self, number: usize) -> bool {
        self.rules.get(number).is_some_and(|has| *has)
    }

    /// Returns whether the fixed string of any pattern was found.
    pub fn has_pattern_mark(&self) -> bool {
        self.has_mark
    }
}
