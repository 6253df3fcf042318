//! The repository is all that building and testing it needs.

use std::path::Path;
use std::process::Command;

/// Whoever clones the repository has nothing that lies beside it.
#[test]
fn no_file_refers_to_what_lies_beside_the_repository() {
    // In pieces, for this file is searched as well.
    let beside = [["../", "shared"].concat(), ["shared", "/data"].concat()];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut search = Command::new("git");
    search.current_dir(root).args(["grep", "--line-number", "--fixed-strings", "-I"]);
    for text in &beside {
        search.args(["-e", text]);
    }
    let found = search.output().unwrap();
    let (lines, error) = (String::from_utf8_lossy(&found.stdout), String::from_utf8_lossy(&found.stderr));
    // 0 is found, 1 is not found, more is an error.
    assert_eq!(found.status.code(), Some(1), "{lines}{error}");
}
