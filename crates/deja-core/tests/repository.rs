//! The repository is all that building and testing it needs, and its documents are about it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed step is a failed test")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use deja_core::audit::ACTIONS;

/// Whoever clones the repository has nothing that lies beside it.
#[test]
fn no_file_refers_to_what_lies_beside_the_repository() {
    // In pieces, for this file is searched as well.
    let beside = [["../", "shared"].concat(), ["shared", "/data"].concat()];
    let mut search = Command::new("git");
    search.current_dir(root()).args(["grep", "--line-number", "--fixed-strings", "-I"]);
    for text in &beside {
        search.args(["-e", text]);
    }
    let found = search.output().unwrap();
    let (lines, error) = (String::from_utf8_lossy(&found.stdout), String::from_utf8_lossy(&found.stderr));
    // 0 is found, 1 is not found, more is an error.
    assert_eq!(found.status.code(), Some(1), "{lines}{error}");
}

/// What reads and writes is behind the ports of deja-core.
#[test]
fn deja_core_depends_on_no_driver() {
    let manifest = read("crates/deja-core/Cargo.toml");
    let (_, dependencies) = manifest.split_once("[dependencies]").unwrap();
    let (dependencies, _) = dependencies.split_once("\n[").unwrap();
    assert!(dependencies.contains("deja-guard"), "{dependencies}");
    for driver in [
        "axum", "deja-embed", "deja-providers", "deja-store", "hyper", "reqwest", "rusqlite",
        "tokio-postgres",
    ] {
        assert!(!dependencies.contains(driver), "{driver}");
    }
    for feature in ["\"fs\"", "\"net\"", "\"process\"", "\"full\""] {
        assert!(!dependencies.contains(feature), "{feature}");
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What git knows, below the root.
fn tracked(pattern: &str) -> Vec<PathBuf> {
    let listed = Command::new("git").current_dir(root()).args(["ls-files", pattern]).output().unwrap();
    let files: Vec<_> = String::from_utf8(listed.stdout).unwrap().lines().map(PathBuf::from).collect();
    assert!(!files.is_empty(), "{pattern}");
    files
}

fn read(file: impl AsRef<Path>) -> String {
    let file = root().join(file);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// A page without its blocks of code.
fn prose(file: &Path) -> String {
    let page = read(file);
    page.split("```").step_by(2).collect()
}

/// Targets of the links of a page, those on the web left out.
fn links(prose: &str) -> impl Iterator<Item = &str> {
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    targets.filter(|target| !target.starts_with("http"))
}

/// What a heading is called in a link to it: as GitHub names it.
fn anchor(heading: &str) -> String {
    // Of a link its text.
    let text: String = heading.split("](").enumerate().fold(String::new(), |text, (number, part)| {
        text + if number == 0 { part } else { part.split_once(')').map_or("", |(_, rest)| rest) }
    });
    let kept = text.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn links_of_documents_lead_somewhere() {
    let (mut seen, mut dead) = (0, Vec::new());
    for page in tracked("*.md") {
        let text = prose(&page);
        for link in links(&text) {
            seen += 1;
            let (file, section) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            let there = root().join(&target).exists();
            let headings = |text: &str| {
                text.lines()
                    .any(|line| line.starts_with('#') && anchor(line.trim_start_matches('#')) == section)
            };
            if !there || !section.is_empty() && !headings(&prose(&target)) {
                dead.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(seen > 100 && dead.is_empty(), "of {seen} links these lead nowhere: {dead:#?}");
}

#[test]
fn every_picture_is_shown_by_a_document() {
    let documents: String = tracked("*.md").iter().map(|page| prose(page)).collect();
    let name = |picture: &PathBuf| format!("images/{})", picture.file_name().unwrap().display());
    let unseen: Vec<_> =
        tracked("docs/images/*").into_iter().filter(|picture| !documents.contains(&name(picture))).collect();
    assert!(unseen.is_empty(), "{unseen:?}");
}

/// Whoever looks for the place of a change finds it.
#[test]
fn the_map_of_the_code_names_what_is_there() {
    let page = read("CONTRIBUTING.md");
    let (_, map) = page.split_once("## Where to begin").unwrap();
    let rows = map.lines().filter(|line| line.starts_with("| ")).count();
    let names: Vec<_> = map.split('`').skip(1).step_by(2).filter(|name| !name.starts_with("make ")).collect();
    let gone: Vec<_> = names.iter().filter(|name| !root().join(name).exists()).collect();
    assert!(rows > 10 && names.len() > 20 && gone.is_empty(), "{rows} rows name what is not there: {gone:?}");
}

#[test]
fn the_architecture_names_files_that_are_there_and_no_other_has_that_name() {
    let page = prose(Path::new("ARCHITECTURE.md"));
    let all = tracked(".");
    let is_file = |name: &&str| [".rs", ".py", ".js"].iter().any(|end| name.ends_with(end));
    let names: Vec<_> = page.split('`').skip(1).step_by(2).filter(is_file).collect();
    let files = |name: &str| all.iter().filter(|file| file.ends_with(name)).count();
    let vague: Vec<_> = names.iter().filter(|name| files(name) != 1).collect();
    assert!(names.len() > 100 && vague.is_empty(), "no file, or several: {vague:?}");
}

#[test]
fn the_picture_of_the_crates_is_that_of_their_manifests() {
    let page = read("ARCHITECTURE.md");
    let mut drawn: Vec<_> = page
        .lines()
        .filter_map(|line| line.trim().split_once(" --> "))
        .filter(|(from, _)| from.starts_with("deja-"))
        .collect();
    let manifests: Vec<_> = tracked("crates/*/Cargo.toml").iter().map(read).collect();
    let mut named = Vec::new();
    for manifest in &manifests {
        let mut section = "";
        let mut name = "";
        for line in manifest.lines() {
            match line.split_once([' ', '.']) {
                _ if line.starts_with('[') => section = line,
                Some(("name", value)) if section == "[package]" => name = value.trim_matches(['=', ' ', '"']),
                Some((on, _)) if section == "[dependencies]" && on.starts_with("deja-") => {
                    named.push((name, on));
                }
                _ => {}
            }
        }
        assert!(page.contains(&format!("    {name}[\"{name}<br/>")), "the picture has no {name}");
    }
    drawn.sort_unstable();
    named.sort_unstable();
    assert_eq!(drawn, named);
}

#[test]
fn commands_of_the_first_pages_are_run_and_the_readme_is_short() {
    for page in tracked("docs/start/*.md") {
        let text = read(&page);
        let lines: Vec<_> = text.lines().collect();
        let opened = lines.iter().enumerate().filter(|(_, line)| line.len() > 3 && line.starts_with("```"));
        for (number, line) in opened {
            let before = lines[number - 1];
            assert!(
                before.starts_with("<!-- clients/run: "),
                "{}: nobody runs {line} after {before}",
                page.display()
            );
        }
    }
    let readme = read("README.md");
    assert!(readme.lines().count() <= 150, "{} lines", readme.lines().count());
    let screen: Vec<_> = readme.lines().take(15).collect();
    assert!(screen.join(" ").contains("**256 tokens**"), "{screen:?}");
}

#[test]
fn causes_of_errors_that_are_documented_are_said_somewhere() {
    let page = read("docs/reference/errors.md");
    let code: String = tracked("crates/*/src/*.rs").iter().map(read).collect();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let causes: Vec<_> =
        rows.flat_map(|row| row.split(['`', ',', ' '])).filter(|cause| !cause.is_empty()).collect();
    let gone: Vec<_> = causes.iter().filter(|cause| !code.contains(&format!("\"{cause}\""))).collect();
    assert!(causes.len() > 20 && gone.is_empty(), "no code says {gone:?} of {causes:?}");
}

/// The filters of the audit log offer this list, and refuse what is not in it.
#[test]
fn the_list_of_actions_has_all_that_the_code_writes_and_no_other() {
    let of = |folder: &str| tracked(&format!("crates/deja-core/src/{folder}"));
    let files = ["admin/*.rs", "engine/*.rs"].into_iter().flat_map(of);
    let code: String = files.map(read).chain([read("crates/deja-core/src/audit.rs")]).collect();
    let (list, _) = code.split_once("pub const ACTIONS").unwrap().1.split_once("];").unwrap();
    let code = code.replace(list, "");
    let nouns: BTreeSet<_> = ACTIONS.iter().map(|action| action.split_once('.').unwrap().0).collect();
    let is_action = |text: &&str| {
        let (noun, verb) = text.split_once('.').unwrap_or_default();
        nouns.contains(noun) && verb.bytes().all(|b| b.is_ascii_lowercase() || b"_-".contains(&b))
    };
    // A change may have a new noun.
    let changes = code.split("change(\"").skip(1).filter_map(|rest| rest.split('"').next());
    let written: BTreeSet<_> = code.split('"').filter(is_action).chain(changes).collect();
    assert_eq!(written, ACTIONS.into_iter().collect());
    assert!(ACTIONS.is_sorted());
}
