//! Which variables of whoever asks for a command reach it in a box. They count nowhere else: outside of a box
//! the app's own environment holds, and what a request sets is shown to the person who is asked.

use super::lists::lines;
use std::collections::BTreeMap;
use std::path::Path;

/// Of an asker's environment what its command gets in a box: names of the list, as many as fit. Pure.
pub fn variables_of(asker: impl IntoIterator<Item = (String, String)>) -> BTreeMap<String, String> {
    let mut left = MOST_BYTES;
    let wanted = asker.into_iter().filter(|(name, value)| is_listed(name) && !value.contains('\0'));
    let wanted = wanted.filter_map(|(name, value)| match name.as_str() {
        "PATH" => Some((name, absolute(&value)?)),
        _ => Some((name, value)),
    });
    // In the order of names, so that the same ones fit each time.
    let wanted: BTreeMap<String, String> = wanted.collect();
    let fits = |(name, value): &(String, String)| {
        let rest = left.checked_sub(name.len() + value.len());
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    wanted.into_iter().filter(fits).collect()
}

fn is_listed(name: &str) -> bool {
    lines(include_str!("variables.txt")).any(|line| match line.strip_suffix('*') {
        Some(beginning) => {
            name.strip_prefix(beginning).is_some_and(|rest| !rest.is_empty() && is_plain(rest))
        }
        None => name == line,
    })
}

fn is_plain(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// A search path without what is looked for from the folder that a program is in; `None` where
/// nothing is left of it.
fn absolute(path: &str) -> Option<String> {
    let folders: Vec<&str> = path.split(':').filter(|folder| Path::new(folder).is_absolute()).collect();
    (!folders.is_empty()).then(|| folders.join(":"))
}

/// All of them together, in bytes: a long search path takes a few thousand, and a request has to
/// fit into its line.
const MOST_BYTES: usize = 32 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use countersign_commands::environment::inherited;
    use pretty_assertions::assert_eq;
    use std::collections::BTreeSet;

    fn check(name: &str, value: &str, expected: Option<&str>) {
        let found = variables_of([(name.to_owned(), value.to_owned())]);
        assert_eq!(found.get(name).map(String::as_str), expected, "{name}={value}");
    }

    #[test]
    fn what_tools_go_by_reaches_a_box_and_what_says_who_somebody_is_does_not() {
        for name in ["NODE_PATH", "MAVEN_OPTS", "VIRTUAL_ENV", "CARGO_TERM_COLOR", "GOFLAGS", "LC_ALL"] {
            check(name, "a b", Some("a b"));
        }
        for name in [
            "GITHUB_TOKEN",
            "ANTHROPIC_API_KEY",
            "AWS_PROFILE",
            "SSH_AUTH_SOCK",
            "CARGO_REGISTRY_TOKEN",
            "CARGO_REGISTRIES_A_TOKEN",
            "NPM_CONFIG_REGISTRY",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "GLIBC_TUNABLES",
            "BASH_ENV",
            "ENV",
            "GIT_CONFIG_COUNT",
            "GIT_DIR",
            "HOME",
            "TMPDIR",
            "HTTPS_PROXY",
            "https_proxy",
            "JAVA_TOOL_OPTIONS",
            "CARGO_HOME",
            "COUNTERSIGN_STATE_DIR",
            "XDG_RUNTIME_DIR",
            "DBUS_SESSION_BUS_ADDRESS",
            "node_path",
            "NODE_PATH ",
            "LC_",
            "LC_A=B",
            "CMAKE_*",
            "",
        ] {
            check(name, "x", None);
        }
        check("CFLAGS", "a\0b", None);
    }

    #[test]
    fn a_search_path_has_no_folder_that_moves_with_the_program() {
        check("PATH", "/usr/bin:/bin", Some("/usr/bin:/bin"));
        check("PATH", ":/usr/bin::.:bin:./node_modules/.bin:/bin:", Some("/usr/bin:/bin"));
        check("PATH", ".:", None);
        check("PATH", "", None);
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_the_rest_is_there() {
        let long = "x".repeat(MOST_BYTES);
        let all = ["CFLAGS", "CXXFLAGS", "TERM"].map(|name| (name.to_owned(), "x".to_owned()));
        let found = variables_of(all.into_iter().chain([("GOFLAGS".to_owned(), long)]));
        assert_eq!(found.into_keys().collect::<Vec<_>>(), ["CFLAGS", "CXXFLAGS", "TERM"]);
    }

    #[test]
    fn each_line_of_the_list_is_a_name_or_a_beginning_and_stands_there_once() {
        let all: Vec<&str> = lines(include_str!("variables.txt")).collect();
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        for line in all {
            let name = line.strip_suffix('*').unwrap_or(line);
            assert!(!name.is_empty() && is_plain(name), "{line}");
            assert!(!["LD_", "GIT_", "COUNTERSIGN_", "DYLD_", "BASH_"].iter().any(|no| name.starts_with(no)));
            // The way out of a box is told by variables of its own, which these must not take the place of.
            let own = countersign_gate::environment(&countersign_gate::WayOut {
                proxy: std::net::SocketAddr::from(([127, 0, 0, 1], 1)),
                connect: Vec::new(),
                known_hosts: String::new(),
            });
            assert!(!own.keys().any(|own| is_listed(own)), "{line}");
        }
        // What a person's shell has anyway comes from the app too.
        assert!(!inherited([("PATH".to_owned(), "/bin".to_owned())]).is_empty());
    }
}
