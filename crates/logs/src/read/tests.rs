//! All file forms, complete and damaged.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::Path,
};

use rusqlite::Connection;
use switchboard_agents::{HostAccess, LogFormat, RecordFile, RowQuery, ScanDepth, SessionQueries};

use super::{AgentDatabase, list_database_sessions, read_records};

const QUERIES: SessionQueries = SessionQueries {
    sessions: &[
        &[
            "SELECT id, changed, missing FROM talk ORDER BY id",
            "SELECT id, changed FROM talk ORDER BY id",
            "SELECT 'another is not asked', changed FROM talk",
        ],
        &["SELECT id, changed FROM talk_of_tomorrow"],
    ],
    rows: &[
        RowQuery { table: "talk", query: "SELECT * FROM talk WHERE id = ?1", each: &[], counting: &[], long: &[] },
        RowQuery {
            table: "tomorrow",
            query: "SELECT * FROM tomorrow WHERE id = ?1",
            each: &[],
            counting: &[],
            long: &[],
        },
        RowQuery {
            table: "line",
            query: "SELECT * FROM line WHERE talk = ?1 ORDER BY id",
            each: &[RowQuery {
                table: "word",
                query: "SELECT * FROM word WHERE line = ?1",
                each: &[],
                counting: &["["],
                long: &[],
            }],
            counting: &[],
            long: &["big"],
        },
    ],
};

const DATABASE: LogFormat = LogFormat::Database(&QUERIES);

fn read_all(path: &Path, form: &LogFormat, part: Option<&str>, from: u64) -> (Vec<(u64, String)>, io::Result<u64>) {
    let mut given = Vec::new();
    let end = read_records(path, form, part, from, ScanDepth::All, &mut |at, record| {
        given.push((at, String::from_utf8(record.to_vec()).unwrap()));
    });
    (given, end)
}

fn record_texts(path: &Path, form: &LogFormat, part: Option<&str>) -> Vec<String> {
    let (given, end) = read_all(path, form, part, 0);
    end.unwrap();
    given.into_iter().map(|(_, text)| text).collect()
}

fn write_compressed(bytes: &[u8], path: &Path) -> usize {
    let bytes = zstd::encode_all(bytes, 3).unwrap();
    fs::write(path, &bytes).unwrap();
    bytes.len()
}

#[test]
fn compressed_lines_are_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.zst");
    write_compressed(b"{\"a\":1}\n{\"b\":2}\n", &path);
    let (whole, end) = read_all(&path, &LogFormat::Compressed, None, 0);
    assert_eq!(whole, [(0, r#"{"a":1}"#.to_owned()), (8, r#"{"b":2}"#.to_owned())]);
    assert_eq!(end.unwrap(), 16);
    assert_eq!(read_all(&path, &LogFormat::Compressed, None, 8).0, [(8, r#"{"b":2}"#.to_owned())]);
}

#[test]
fn of_a_torn_compressed_file_what_is_there_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.zst");
    // Enough distinct lines to need several zstd blocks.
    let lines: String =
        (0..40_000_u64).map(|n| format!("{{\"n\":{}}}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let length = write_compressed(lines.as_bytes(), &path);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..length * 3 / 4]).unwrap();
    let (given, end) = read_all(&path, &LogFormat::Compressed, None, 0);
    assert!(given.len() > 10_000 && given.len() < 40_000, "{}", given.len());
    assert!(given.iter().all(|(_, line)| line.ends_with('}')));
    assert!(end.is_err());
}

fn split_elements(text: &str) -> Vec<String> {
    text.trim_matches(['[', ']']).split(',').map(str::to_owned).collect()
}

#[test]
fn a_document_is_read_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.json");
    fs::write(&path, b"\xef\xbb\xbf[1,2,3]\n\0\0").unwrap();
    assert_eq!(record_texts(&path, &LogFormat::Document(split_elements), None), ["1", "2", "3"]);
    let (rest, end) = read_all(&path, &LogFormat::Document(split_elements), None, 2);
    assert_eq!((rest, end.unwrap()), (vec![(2, "3".to_owned())], 3));
    fs::write(&path, b"[1,2,\"to").unwrap();
    let (torn, end) = read_all(&path, &LogFormat::Document(split_elements), None, 0);
    assert_eq!(torn.len(), 3);
    assert_eq!(end.unwrap_err().kind(), io::ErrorKind::InvalidData);
}

fn list_pieces(host: &dyn HostAccess, path: &Path) -> Vec<RecordFile> {
    let beside = host.list_dir(&path.with_extension("d")).into_iter().map(|path| RecordFile { table: "piece", path });
    [RecordFile { table: "talk", path: path.to_owned() }].into_iter().chain(beside).collect()
}

#[test]
fn a_tree_is_read_piece_by_piece() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.json");
    fs::write(&path, "{\"id\": 1}\n").unwrap();
    fs::create_dir(folder.path().join("talk.d")).unwrap();
    fs::write(folder.path().join("talk.d/b.json"), "{}").unwrap();
    fs::write(folder.path().join("talk.d/a.json"), "torn {").unwrap();
    let expected =
        [r#"{"table":"talk","row":{"id": 1}}"#, r#"{"table":"piece","row":torn {}"#, r#"{"table":"piece","row":{}}"#];
    assert_eq!(record_texts(&path, &LogFormat::Tree(list_pieces), None), expected);
    assert!(read_all(&folder.path().join("none.json"), &LogFormat::Tree(list_pieces), None, 0).1.is_err());
}

/// Creates a database as agents do, and returns the open connection.
fn create_database(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0;
             CREATE TABLE talk (id TEXT, changed INTEGER, cost REAL, note TEXT);
             CREATE TABLE line (id TEXT, talk TEXT, data TEXT);
             CREATE TABLE word (line TEXT, data TEXT, bytes BLOB);
             INSERT INTO talk VALUES ('a', 1, 0.5, 'x \"y\"'), ('b', 2, 1e300, NULL);
             INSERT INTO line VALUES ('1', 'a', '{\"big\":12345678901234567890, \"s\":1.10}'), ('2', 'a', 'no json');
             INSERT INTO word VALUES ('1', '[ ]', x'68c3a4'), ('2', NULL, NULL);",
        )
        .unwrap();
    connection
}

const SESSION_A_RECORDS: [&str; 5] = [
    r#"{"table":"talk","row":{"id":"a","changed":1,"cost":0.5,"note":"x \"y\""}}"#,
    r#"{"table":"line","row":{"id":"1","talk":"a","data":{"big":12345678901234567890, "s":1.10}}}"#,
    r#"{"table":"word","row":{"line":"1","data":[ ],"bytes":"hä"}}"#,
    r#"{"table":"line","row":{"id":"2","talk":"a","data":"no json"}}"#,
    r#"{"table":"word","row":{"line":"2","data":null,"bytes":null}}"#,
];

/// Returns the names of all files in a directory.
fn file_names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn whatever_a_row_holds_is_json_on_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talks.db");
    let owner = create_database(&path);
    owner
        .execute_batch(
            r#"DELETE FROM line; UPDATE talk SET changed = -9223372036854775808, cost = 9e999, note = char(10);
               INSERT INTO line VALUES ('1', 'a', '{' || char(13, 10) || '"s":' || char(10) || '["\n"]}');
               INSERT INTO line VALUES ('2', 'a', CAST(x'22ff22' AS TEXT)), ('3', 'a', 'torn {' || char(10));
               INSERT INTO line VALUES ('4', 'a', CAST('{"a":1}' AS BLOB)), ('5', 'a', 7), ('6', 'a', NULL);
               DELETE FROM word;"#,
        )
        .unwrap();
    let expected = [
        r#"{"table":"talk","row":{"id":"a","changed":-9223372036854775808,"cost":"inf","note":"\n"}}"#,
        r#"{"table":"line","row":{"id":"1","talk":"a","data":{  "s": ["\n"]}}}"#,
        "{\"table\":\"line\",\"row\":{\"id\":\"2\",\"talk\":\"a\",\"data\":\"\u{fffd}\"}}",
        r#"{"table":"line","row":{"id":"3","talk":"a","data":"torn {\n"}}"#,
        r#"{"table":"line","row":{"id":"4","talk":"a","data":{"a":1}}}"#,
        r#"{"table":"line","row":{"id":"5","talk":"a","data":7}}"#,
        r#"{"table":"line","row":{"id":"6","talk":"a","data":null}}"#,
    ];
    assert_eq!(record_texts(&path, &DATABASE, Some("a")), expected);
}

#[test]
fn a_database_is_read_beside_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talks # 100%.db");
    let owner = create_database(&path);
    let seen = [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "2".to_owned())];
    assert_eq!(list_database_sessions(&path, &QUERIES).unwrap(), seen);
    assert_eq!(record_texts(&path, &DATABASE, Some("a")), SESSION_A_RECORDS);
    // During a transaction, the previous state is read.
    owner.execute_batch("BEGIN IMMEDIATE; DELETE FROM line; UPDATE talk SET changed = 3").unwrap();
    assert_eq!(record_texts(&path, &DATABASE, Some("a")), SESSION_A_RECORDS);
    owner.execute_batch("COMMIT").unwrap();
    assert_eq!(list_database_sessions(&path, &QUERIES).unwrap()[0].1, "3");
    assert_eq!(record_texts(&path, &DATABASE, Some("a")).len(), 1);
    assert_eq!(read_all(&path, &DATABASE, Some("b"), 1).1.unwrap(), 1);
}

#[test]
fn for_tokens_what_does_not_matter_is_left_out_and_rows_have_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talks.db");
    drop(create_database(&path));
    let mut seen = Vec::new();
    let mut each = |at, record: &[u8]| seen.push((at, String::from_utf8(record.to_vec()).unwrap()));
    let end = read_records(&path, &DATABASE, Some("a"), 0, ScanDepth::Tokens, &mut each);
    let [talk, _, word, other, _] = SESSION_A_RECORDS;
    let line = r#"{"table":"line","row":{"id":"1","talk":"a","data":{"big":0,"s":1.10}}}"#;
    let expected = (0..).zip([talk, line, word, other, ""].map(str::to_owned)).collect::<Vec<_>>();
    assert_eq!((seen, end.unwrap()), (expected, 5));
}

#[test]
fn one_snapshot_is_read_whatever_happens_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talks.db");
    let owner = create_database(&path);
    let mut seen = Vec::new();
    let reader = AgentDatabase::open(&path).unwrap();
    reader
        .read_records(&QUERIES, "a", 0, ScanDepth::All, &mut |_, record| {
            owner.execute_batch("DELETE FROM line; DELETE FROM word").unwrap();
            seen.push(String::from_utf8(record.to_vec()).unwrap());
        })
        .unwrap();
    assert_eq!(seen, SESSION_A_RECORDS);
}

#[test]
fn reading_a_database_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talks.db");
    drop(create_database(&path));
    let (files, bytes) = (file_names(folder.path()), fs::read(&path).unwrap());
    assert_eq!(record_texts(&path, &DATABASE, Some("a")), SESSION_A_RECORDS);
    assert_eq!((file_names(folder.path()), fs::read(&path).unwrap()), (files, bytes));
}

#[test]
fn a_copy_of_an_open_database_is_read_with_what_is_only_in_its_log() {
    let (folder, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("talks.db");
    let _owner = create_database(&path);
    for name in ["talks.db", "talks.db-wal"] {
        fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
    }
    let files = file_names(copy.path());
    assert_eq!(record_texts(&copy.path().join("talks.db"), &DATABASE, Some("a")), SESSION_A_RECORDS);
    assert_eq!(file_names(copy.path()), files);
}

#[test]
fn a_folder_that_nobody_may_write_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talks.db");
    drop(create_database(&path));
    let mode = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o500);
    let read = record_texts(&path, &DATABASE, Some("a"));
    mode(0o700);
    assert_eq!(read, SESSION_A_RECORDS);
}

#[test]
fn what_is_no_database_is_an_error_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talks.db");
    assert_eq!(list_database_sessions(&path, &QUERIES).unwrap_err().kind(), io::ErrorKind::NotFound);
    let mut file = fs::File::create(&path).unwrap();
    file.write_all(&[b'x'; 5000]).unwrap();
    let error = list_database_sessions(&path, &QUERIES).unwrap_err();
    assert!(error.to_string().contains("not a database"), "{error}");
    fs::write(&path, b"").unwrap();
    assert_eq!(list_database_sessions(&path, &QUERIES).unwrap(), []);
}

#[test]
fn what_may_not_be_read_is_an_error() {
    // Root may read anything.
    if rustix::process::geteuid().is_root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.jsonl");
    fs::write(&path, "{}\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let error = read_all(&path, &LogFormat::Lines, None, 0).1.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
}
