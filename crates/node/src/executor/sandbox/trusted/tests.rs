//! What is taken for programs' own, and what is left to boxes.

use super::*;
use proptest::prelude::*;
use std::os::unix::fs::symlink;

fn grounds(home: &Path, environment: &[(&str, String)]) -> Grounds {
    let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    Grounds {
        home: home.to_owned(),
        openclaw: home.join(".openclaw"),
        environs: Environs::of(&environment),
        ..Grounds::default()
    }
}

/// What is wrong with a box that is around a place, and with one that writes it besides.
fn wrong(place: &Path, grounds: &Grounds) -> (Option<&'static str>, Option<&'static str>) {
    let own = programs_own(place, grounds);
    (own, own.or_else(|| obeyed(place, grounds)))
}

#[track_caller]
fn check(place: &str, expected: Option<&str>) {
    let found = programs_own(Path::new(place), &grounds(Path::new("/home/ann"), &[]));
    assert_eq!(found, expected, "{place}");
}

#[test]
fn whatever_begins_with_a_dot_in_a_home_is_programs_own() {
    for name in [".nvm", ".pyenv", ".gdbinit", ".curlrc", ".never-heard-of", ".local/share/x", ".config/x/y"]
    {
        check(&format!("/home/ann/{name}"), Some(DOTTED));
        check(&format!("/home/bob/{name}"), Some(DOTTED));
        check(&format!("/root/{name}"), Some(DOTTED));
    }
    for name in [".cache", ".cache/x", ".cargo/registry/src", ".gradle/init.d", ".bun", "go", "go/pkg/mod"] {
        check(&format!("/home/ann/{name}"), Some(CACHE));
    }
    for name in [".ssh", ".claude/hooks", ".config", ".cargo", "Mail", "_netrc"] {
        check(&format!("/home/ann/{name}"), Some(HIDDEN_THERE));
    }
    for place in ["/var/log/x", "/var/spool/cron", "/var/lib/docker"] {
        check(place, Some(HIDDEN_THERE));
    }
}

#[test]
fn what_has_no_dot_is_programs_own_by_its_name_alone() {
    for name in ["bin", "bin/x", "go/bin", "Desktop", "Desktop/x.desktop", "R", "R/x86_64-library/y", "snap"]
    {
        check(&format!("/home/ann/{name}"), Some(RUN));
    }
    for name in [
        "src/app",
        "src/app/.cache/x",
        "src/app/.claude",
        "src/.ssh",
        "go/src/example.com/app",
        "Desktop/app",
        "R/app",
        "binary",
        "Documents",
        "library",
        "notes.txt",
    ] {
        check(&format!("/home/ann/{name}"), None);
        check(&format!("/home/bob/{name}"), None);
    }
    for place in ["/srv/.work", "/work", "/opt/x/bin", "/tmp/.x/y", "/var/lib/jenkins"] {
        check(place, None);
    }
}

#[test]
fn a_home_below_a_dotted_folder_is_a_home() {
    let home = Path::new("/home/ann/.tmp/x");
    assert_eq!(programs_own(&home.join("src"), &grounds(home, &[])), None);
    assert_eq!(programs_own(&home.join(".x"), &grounds(home, &[])), Some(DOTTED));
    assert_eq!(programs_own(Path::new("/home/ann/.x"), &grounds(home, &[])), Some(DOTTED));
}

#[test]
fn what_the_environment_names_is_programs_own() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let home = fs::canonicalize(folder.path()).unwrap();
    for name in [
        "kit/tools",
        "settings/fish",
        "editor/plugins",
        "work/sub",
        "elsewhere",
        "src/run",
        "loaded",
        "served",
    ] {
        fs::create_dir_all(home.join(name)).unwrap();
    }
    fs::write(home.join("src/run/tool"), "").unwrap();
    symlink("../src/run/tool", home.join("elsewhere/tool")).unwrap();
    symlink("kit", home.join("link")).unwrap();
    let at = |name: &str| home.join(name).display().to_string();
    let grounds = grounds(
        &home,
        &[
            ("PATH", format!("/usr/bin::{}:bin:{}:{}", at("link/tools"), at("elsewhere"), home.display())),
            ("XDG_CONFIG_HOME", at("settings")),
            ("ANY_NAME", at("editor")),
            ("OPTIONS", format!("--quiet --require={} file://{}", at("loaded/x.js"), at("served"))),
            ("PROXY", "http://proxy.example:8080/srv".to_owned()),
            ("PWD", at("work")),
            ("HOME", home.display().to_string()),
            ("NOT_A_PATH", "work".to_owned()),
        ],
    );
    for (name, open, written) in [
        ("kit", Some(ON_PATH), Some(ON_PATH)),
        ("kit/tools", Some(ON_PATH), Some(ON_PATH)),
        ("kit/tools/x", None, Some(ON_PATH)),
        ("elsewhere", Some(ON_PATH), Some(ON_PATH)),
        ("settings", Some(BASE), Some(BASE)),
        ("settings/fish", Some(BASE), Some(BASE)),
        ("editor", None, Some(NAMED)),
        ("editor/plugins", None, Some(NAMED)),
        ("loaded", None, Some(NAMED)),
        ("served/x", None, Some(NAMED)),
        ("src", None, Some(LINKED)),
        ("src/run/tool", None, Some(LINKED)),
        ("work", None, None),
        ("work/sub", None, None),
    ] {
        assert_eq!(wrong(&home.join(name), &grounds), (open, written), "{name}");
    }
}

#[test]
fn what_a_link_behind_a_dot_leads_to_is_programs_own() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let home = fs::canonicalize(folder.path()).unwrap();
    for name in ["dotfiles/vim/plugin", "work/app", "vim-settings", "set", ".config", ".local/bin"] {
        fs::create_dir_all(home.join(name)).unwrap();
    }
    fs::write(home.join("dotfiles/bashrc"), "").unwrap();
    for (link, to) in [
        (".bashrc", "dotfiles/bashrc"),
        (".vimrc", "vim-settings"),
        (".config/editor", "../set"),
        (".itself", "."),
        (".nowhere", "gone"),
        ("shortcut", "work"),
        (".local/bin/app", "../../work/app"),
    ] {
        symlink(to, home.join(link)).unwrap();
    }
    for environment in [vec![], vec![("XDG_CONFIG_HOME", home.join(".config").display().to_string())]] {
        let grounds = grounds(&home, &environment);
        for name in ["dotfiles", "dotfiles/bashrc", "vim-settings", "vim-settings/x", "set", "set/x"] {
            assert_eq!(programs_own(&home.join(name), &grounds), Some(BEHIND_DOT), "{name}");
        }
        for name in ["dotfiles/vim", "dotfiles/vim/plugin", "work", "work/app", "gone"] {
            assert_eq!(programs_own(&home.join(name), &grounds), None, "{name}");
        }
    }
}

#[test]
fn t22_no_box_writes_programs_of_a_home_besides() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let home = fs::canonicalize(folder.path()).unwrap();
    let grounds = grounds(&home, &[]);
    for name in ["scripts", "kit/v1/bin", "synced", "src/tool/.git", "src/tool/bin", "src/tool/x"] {
        fs::create_dir_all(home.join(name)).unwrap();
    }
    let runs = |name: &str, text: &str| {
        fs::write(home.join(name), text).unwrap();
        fs::set_permissions(home.join(name), fs::Permissions::from_mode(0o700)).unwrap();
    };
    runs("scripts/backup", "#!/bin/sh\n");
    runs("kit/v1/bin/cc", "\u{7f}ELF\n");
    runs("synced/letter.pdf", "%PDF\n");
    runs("src/tool/bin/run", "#!/bin/sh\n");
    runs("src/tool/run", "#!/bin/sh\n");
    for (name, expected) in [
        ("scripts/backup", Some(PROGRAM)),
        ("scripts", Some(PROGRAMS)),
        ("kit", Some(PROGRAMS)),
        ("kit/v1", Some(PROGRAMS)),
        ("kit/v1/bin", Some(RUN)),
        ("src/other/bin", Some(RUN)),
        ("kit/Sbin/x", Some(RUN)),
        ("synced", None),
        ("synced/letter.pdf", Some(PROGRAM)),
        ("src", None),
        ("src/tool", None),
        ("src/tool/x", None),
        ("src/binary", None),
        ("notes/x.txt", None),
    ] {
        assert_eq!(obeyed(&home.join(name), &grounds), expected, "{name}");
    }
}

#[test]
fn t22_no_box_writes_a_file_that_programs_look_for_or_have_by_another_name() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let home = fs::canonicalize(folder.path()).unwrap();
    let grounds = grounds(&home, &[]);
    fs::create_dir(home.join("work")).unwrap();
    for (name, expected) in [
        ("Makefile", Some(LOOKED_FOR)),
        ("package.json", Some(LOOKED_FOR)),
        ("CLAUDE.md", Some(LOOKED_FOR)),
        ("Cargo.toml", Some(LOOKED_FOR)),
        ("notes.md", None),
        ("todo.txt", None),
        ("work/package.json", None),
    ] {
        fs::write(home.join(name), "").unwrap();
        assert_eq!(obeyed(&home.join(name), &grounds), expected, "{name}");
    }
    fs::write(home.join(".profile"), "").unwrap();
    fs::hard_link(home.join(".profile"), home.join("work/twin.txt")).unwrap();
    assert_eq!(obeyed(&home.join("work/twin.txt"), &grounds), Some(OTHER_NAMES));
}

proptest! {
    #[test]
    fn no_name_with_a_dot_in_front_is_anybodys_work(
        name in "\\.[^/\\x00]{1,12}", below in "(/[a-zA-Z.]{1,6}){0,3}", home in "/(home|srv|var/x)/[a-z]{1,4}(/[a-z]{1,4})?",
    ) {
        prop_assume!(name != "..");
        let place = PathBuf::from(format!("{home}/{name}{below}"));
        prop_assert!(programs_own(&place, &grounds(Path::new(&home), &[])).is_some(), "{}", place.display());
    }
}
