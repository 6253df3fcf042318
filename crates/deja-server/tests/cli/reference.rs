//! docs/reference says what the binary says: both pages are made here. `DEJA_WRITE_REFERENCE=1` writes them anew.

use std::fmt::Write as _;
use std::path::Path;

use super::Deja;

/// Compares a page with what it should be, or writes it.
#[track_caller]
fn current(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    if std::env::var_os("DEJA_WRITE_REFERENCE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    let again = "DEJA_WRITE_REFERENCE=1 cargo test -p deja-server --all-features --test cli reference";
    assert!(page == text, "docs/reference/{name} is not current; write it anew: {again}");
}

/// The commands that a help text lists: names stand two spaces in, and what they do further right.
fn commands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let named = lines.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("    "));
    let names = named.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names.map(str::to_owned).collect()
}

fn describe(deja: &Deja, command: &[&str], page: &mut String) {
    let help = deja.ok(&[command, &["--help"]].concat());
    let title = [&["deja"], command].concat().join(" ");
    // What every command has stands with the first one.
    let own = match help.split_once("\nSettings, for every command:\n") {
        Some((before, after)) if !command.is_empty() => {
            let (_, behind) = after.split_once("\n\n").unwrap_or_default();
            format!("{before}\n{behind}")
        }
        _ => help.clone(),
    };
    // No space at the end of a line.
    let lines: Vec<_> = own.trim_end().lines().map(str::trim_end).collect();
    write!(page, "\n## {title}\n\n```text\n{}\n```\n", lines.join("\n")).unwrap();
    for sub in commands(&help) {
        describe(deja, &[command, &[sub.as_str()]].concat(), page);
    }
}

#[test]
fn the_page_of_commands_is_current() {
    let mut page = String::from(
        "# The command line\n\nWhat `--help` says of each command. The settings for every command are under the first one, `deja`.\n",
    );
    describe(&Deja::new(), &[], &mut page);
    assert!(page.contains("\n## deja project set\n"), "{page}");
    current("cli.md", &page);
}

#[test]
fn the_page_of_settings_is_current() {
    let defaults = include_str!("../../../../config.default.toml");
    let mut page = String::from(
        "# Settings\n\nWrite a setting into `deja.toml` of the working directory (or the file that `--config` names), or into the environment. The environment wins:\n\n\
         ```\nlisten = \"0.0.0.0:8080\"      # in deja.toml\nDEJA_LISTEN=0.0.0.0:8080     # in the environment\n```\n\n\
         A flag such as `--listen` wins over both. deja reads its settings only when it starts: restart it after a change. SIGHUP ends it at once.\n\
         `deja config check` says whether the settings are valid. `deja config print` prints the settings in force. This page is made from\n\
         [config.default.toml](../../config.default.toml).\n\n\
         deja reads the accounts at LLM providers from the environment only:\n\n\
         | family | key | another address than the family's own |\n|---|---|---|\n\
         | OpenAI | `OPENAI_API_KEY` | `OPENAI_BASE_URL`, up to and with `/v1` |\n\
         | Anthropic | `ANTHROPIC_API_KEY` | `ANTHROPIC_BASE_URL`, without `/v1` |\n\
         | Google | `GEMINI_API_KEY` or `GOOGLE_API_KEY` | `GEMINI_BASE_URL`, without `/v1beta` |\n\n\
         deja does not ask a family without a key.\n",
    );
    let (mut about, mut settings) = (Vec::new(), 0);
    for line in defaults.lines() {
        if let Some(group) = line.strip_prefix("# --- ") {
            let group = group.trim_end_matches([' ', '-']);
            write!(
                page,
                "\n## {group}\n\n| setting | in the environment | default | what it is |\n|---|---|---|---|\n"
            )
            .unwrap();
            about.clear();
        } else if let Some(comment) = line.strip_prefix('#') {
            about.push(comment.trim());
        } else if let Some((name, default)) = line.split_once(" = ") {
            let text = about.join(" ");
            let (text, variable) = text.rsplit_once(' ').unwrap_or(("", &text));
            assert!(variable.starts_with("DEJA_"), "the comment of {name} ends with its variable: {about:?}");
            writeln!(page, "| `{name}` | `{variable}` | `{default}` | {} |", text.replace('|', "\\|"))
                .unwrap();
            settings += 1;
        } else {
            about.clear();
        }
    }
    let all = defaults.lines().filter(|line| !line.starts_with('#') && line.contains(" = ")).count();
    assert!(settings == all && settings > 30, "{settings} of {all}");
    current("settings.md", &page);
}
