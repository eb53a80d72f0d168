//! What the app's environment may not say. Libraries below the windows read variables that open the web view
//! to whoever knows a port, drive it as a person would, take its walls away, or have any file loaded as code.
//! They are meant for those who develop them, and outlive that in a shell's profile: then somebody else's
//! program could answer a prompt.
//!
//! A process cannot unread its environment, so one that finds such a variable begins again without it, before
//! its first thread and before any window. What `LD_PRELOAD` names has run by then: whoever can have it set
//! runs as this user already.

use countersign_node::executor::again::begin_again;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

/// Whether a driver may act in the windows when the environment asks for one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Automation {
    /// In a build that tests drive.
    Obeyed,
    /// In every other.
    Refused,
}

/// Makes sure that nothing in the environment is obeyed that must not be: begins this program again without
/// it, with its names behind `flag` as another argument. `already` are these names in the program that began
/// again. Belongs before the first thread.
pub fn settle(automation: Automation, flag: &str, already: &[String]) -> io::Result<()> {
    let place = own_folder()?;
    let judged = judge(std::env::vars_os(), automation, &|path| is_trusted(path, &place));
    if judged.ignored.is_empty() {
        return Ok(());
    }
    let names = judged.ignored.join(",");
    if !already.is_empty() {
        return Err(io::Error::other(format!("these variables come back when they are cleared: {names}")));
    }
    let failed = begin_again(&[format!("{flag}={names}")], judged.kept.into_iter());
    Err(io::Error::new(failed.kind(), format!("cannot begin again without {names}: {failed}")))
}

/// An environment, judged.
struct Judged {
    kept: Vec<(OsString, OsString)>,
    /// Names of variables that are not obeyed, or not in all that they say; in order, without what
    /// could not be a name.
    ignored: Vec<String>,
}

/// What becomes of a variable.
enum Verdict {
    Keeps,
    Goes,
    /// Only the trusted of its paths stay.
    Paths(&'static [u8]),
}

fn judge(
    env: impl Iterator<Item = (OsString, OsString)>,
    automation: Automation,
    trusted: &dyn Fn(&Path) -> bool,
) -> Judged {
    let env: Vec<(OsString, OsString)> = env.collect();
    let asks = env.iter().any(|(name, value)| name == ASKS_FOR_DRIVER && value == "true");
    let is_driven = asks && automation == Automation::Obeyed;
    let mut judged = Judged { kept: Vec::new(), ignored: Vec::new() };
    for (name, value) in env {
        let left = match verdict(&name, is_driven) {
            Verdict::Keeps => Some(value.clone()),
            Verdict::Goes => None,
            Verdict::Paths(separators) => trusted_of(&value, separators, trusted),
        };
        if left.as_ref() != Some(&value) {
            judged.ignored.push(plain(&name));
        }
        judged.kept.extend(left.map(|left| (name, left)));
    }
    judged.ignored.sort();
    judged.ignored.truncate(MOST_NAMES);
    judged
}

fn verdict(name: &OsStr, is_driven: bool) -> Verdict {
    let Some(name) = name.to_str() else { return Verdict::Keeps };
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if is_driven && DRIVEN_BY.contains(&name) {
        return Verdict::Keeps;
    }
    if PATHS.contains(&name) {
        return Verdict::Paths(b":");
    }
    if LIBRARIES.contains(&name) {
        return Verdict::Paths(b": ");
    }
    if HARMLESS.contains(&name) {
        return Verdict::Keeps;
    }
    if begins(PREFIXES) || NAMES.contains(&name) { Verdict::Goes } else { Verdict::Keeps }
}

/// The trusted ones of a list of paths; `None` when there is none.
fn trusted_of(value: &OsStr, separators: &[u8], trusted: &dyn Fn(&Path) -> bool) -> Option<OsString> {
    let bytes = value.as_bytes();
    let all = bytes.split(|byte| separators.contains(byte));
    let kept: Vec<&[u8]> = all.filter(|part| trusted(Path::new(OsStr::from_bytes(part)))).collect();
    let whole = bytes.split(|byte| separators.contains(byte)).count();
    match kept.len() {
        0 => None,
        // As it was written, whichever separator that was.
        count if count == whole => Some(value.to_owned()),
        _ => Some(OsString::from_vec(kept.join(&b':'))),
    }
}

/// A name as it can be said: of letters, digits and underscores, not too long.
fn plain(name: &OsStr) -> String {
    let letters = name.to_string_lossy();
    letters.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(MOST_LETTERS).collect()
}

/// Whether nobody but root, or who could replace this program itself, can change what a path names.
fn is_trusted(path: &Path, own: &Path) -> bool {
    let is_plain = path.is_absolute() && !path.components().any(|part| part == Component::ParentDir);
    let Some(real) = is_plain.then(|| path.canonicalize().ok()).flatten() else { return false };
    let is_roots = |path: &Path| {
        // Who may turn a link elsewhere is said by its folder.
        path.symlink_metadata()
            .is_ok_and(|found| found.uid() == 0 && (found.is_symlink() || found.mode() & OTHERS_WRITE == 0))
    };
    // As it is written and as it is: a link on the way could be turned elsewhere later.
    let both = [path, real.as_path()];
    both.iter().all(|path| path.starts_with(own)) || both.iter().all(|path| path.ancestors().all(is_roots))
}

/// Where this program was unpacked or installed: `…/usr` of `…/usr/bin/countersign-desktop`, as in a bundle
/// that brings its libraries.
fn own_folder() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?.canonicalize()?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    let is_bin = folder.file_name().is_some_and(|name| name == "bin");
    Ok(folder.parent().filter(|_| is_bin).unwrap_or(folder).to_owned())
}

/// Has Tauri let a driver in.
const ASKS_FOR_DRIVER: &str = "TAURI_WEBVIEW_AUTOMATION";

/// What a driver's program sets for the app that it drives.
const DRIVEN_BY: &[&str] = &[ASKS_FOR_DRIVER, "WEBKIT_INSPECTOR_SERVER"];

/// Variables of these libraries go unless they are known to be harmless: there is no list of
/// what else they obey.
const PREFIXES: &[&str] = &["JSC_", "LD_", "TAURI_", "WEBKIT_"];

/// How pages are drawn, which people set for the sake of a graphics card, and what only makes
/// loading stricter.
const HARMLESS: &[&str] = &[
    "LD_BIND_NOW",
    "WEBKIT_DISABLE_COMPOSITING_MODE",
    "WEBKIT_DISABLE_DMABUF_RENDERER",
    "WEBKIT_DMABUF_RENDERER_BUFFER_FORMAT",
    "WEBKIT_DMABUF_RENDERER_DISABLE_GBM",
    "WEBKIT_DMABUF_RENDERER_FORCE_SHM",
    "WEBKIT_FORCE_COMPOSITING_MODE",
    "WEBKIT_FORCE_DMABUF_RENDERER",
    "WEBKIT_FORCE_SANDBOX",
    "WEBKIT_SKIA_ENABLE_CPU_RENDERING",
    "WEBKIT_WEBGL_DISABLE_GBM",
];

/// Modules by name, and GTK's own inspector.
const NAMES: &[&str] = &["GTK3_MODULES", "GTK_DEBUG", "GTK_DEBUG_MODULES", "GTK_MODULES"];

/// Files and folders from which code is loaded, or that name such files.
const PATHS: &[&str] = &[
    "ENCHANT_CONFIG_DIR",
    "GBM_BACKENDS_PATH",
    "GCONV_PATH",
    "GDK_PIXBUF_MODULEDIR",
    "GDK_PIXBUF_MODULE_FILE",
    "GIO_EXTRA_MODULES",
    "GIO_MODULE_DIR",
    "GST_PLUGIN_PATH",
    "GST_PLUGIN_PATH_1_0",
    "GST_PLUGIN_SCANNER",
    "GST_PLUGIN_SCANNER_1_0",
    "GST_PLUGIN_SYSTEM_PATH",
    "GST_PLUGIN_SYSTEM_PATH_1_0",
    "GST_PTP_HELPER",
    "GST_PTP_HELPER_1_0",
    "GST_REGISTRY",
    "GST_REGISTRY_1_0",
    "GTK_DATA_PREFIX",
    "GTK_EXE_PREFIX",
    "GTK_IM_MODULE_FILE",
    "GTK_PATH",
    "LD_LIBRARY_PATH",
    "LIBGL_DRIVERS_DIR",
    "LIBGL_DRIVERS_PATH",
    "LIBVA_DRIVERS_PATH",
    "PX_MODULE_PATH",
    "VK_ADD_DRIVER_FILES",
    "VK_DRIVER_FILES",
    "VK_ICD_FILENAMES",
    "VK_LAYER_PATH",
    "__EGL_EXTERNAL_PLATFORM_CONFIG_DIRS",
    "__EGL_EXTERNAL_PLATFORM_CONFIG_FILENAMES",
    "__EGL_VENDOR_LIBRARY_DIRS",
    "__EGL_VENDOR_LIBRARY_FILENAMES",
];

/// Lists of libraries, with blanks or colons between them.
const LIBRARIES: &[&str] = &["LD_AUDIT", "LD_PRELOAD"];

/// Permission bits that let others write.
const OTHERS_WRITE: u32 = 0o022;

/// Names that are told, and letters of each: they become an argument.
const MOST_NAMES: usize = 64;
const MOST_LETTERS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    /// What is left of these variables, and which are not obeyed; paths below `/good` are trusted.
    fn judged(automation: Automation, env: &[(&str, &str)]) -> (Vec<(String, String)>, Vec<String>) {
        let env = env.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let judged = judge(env, automation, &|path| path.starts_with("/good"));
        let text = |text: OsString| text.into_string().unwrap();
        (judged.kept.into_iter().map(|(name, value)| (text(name), text(value))).collect(), judged.ignored)
    }

    #[test]
    fn what_opens_weakens_or_drives_the_web_view_is_not_obeyed() {
        for name in [
            "WEBKIT_INSPECTOR_HTTP_SERVER",
            "WEBKIT_INSPECTOR_SERVER",
            "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS",
            "WEBKIT_INJECTED_BUNDLE_PATH",
            "WEBKIT_OF_TOMORROW",
            "JSC_dumpOptions",
            "TAURI_WEBVIEW_AUTOMATION",
            "TAURI_AUTOMATION",
            "GTK_MODULES",
            "GTK3_MODULES",
            "GTK_DEBUG",
            "LD_DEBUG_OUTPUT",
            "LD_PRELOAD",
            "GIO_EXTRA_MODULES",
            "GDK_PIXBUF_MODULE_FILE",
        ] {
            assert_eq!(judged(Automation::Refused, &[(name, "true")]), (vec![], vec![name.to_owned()]));
        }
    }

    #[test]
    fn what_a_desktop_needs_stays() {
        for (name, value) in [
            ("PATH", "/home/u/bin:/usr/bin"),
            ("GTK_IM_MODULE", "fcitx"),
            ("GTK_THEME", "Adwaita:dark"),
            ("GDK_BACKEND", "x11"),
            ("GIO_LAUNCHED_DESKTOP_FILE", "/home/u/x.desktop"),
            ("WEBKIT_DISABLE_DMABUF_RENDERER", "1"),
            ("WEBKIT_DISABLE_COMPOSITING_MODE", "1"),
            ("XDG_DATA_DIRS", "/home/u/share:/usr/share"),
            ("LD_BIND_NOW", "1"),
            ("LD_LIBRARY_PATH", "/good/lib:/good/lib/x"),
            ("LD_PRELOAD", "/good/a.so /good/b.so"),
        ] {
            let kept = vec![(name.to_owned(), value.to_owned())];
            assert_eq!(judged(Automation::Refused, &[(name, value)]), (kept, vec![]));
        }
    }

    #[test]
    fn of_a_list_the_trusted_paths_stay() {
        let check = |name: &str, value: &str, left: Option<&str>| {
            let kept = left.map(|left| (name.to_owned(), left.to_owned())).into_iter().collect();
            assert_eq!(
                judged(Automation::Refused, &[(name, value)]),
                (kept, vec![name.to_owned()]),
                "{value}"
            );
        };
        check("LD_LIBRARY_PATH", "/home/u/lib:/good/lib", Some("/good/lib"));
        check("LD_LIBRARY_PATH", "/good/lib:", Some("/good/lib"));
        check("LD_LIBRARY_PATH", "", None);
        check("LD_PRELOAD", "/tmp/a.so /good/b.so:libc.so", Some("/good/b.so"));
        check("GTK_PATH", "/tmp", None);
    }

    #[test]
    fn a_driver_is_let_in_only_where_it_is_asked_for_in_a_build_for_tests() {
        let asked = [("TAURI_WEBVIEW_AUTOMATION", "true"), ("WEBKIT_INSPECTOR_SERVER", "127.0.0.1:1")];
        let names = || vec![asked[0].0.to_owned(), asked[1].0.to_owned()];
        assert_eq!(judged(Automation::Refused, &asked), (vec![], names()));
        assert_eq!(judged(Automation::Obeyed, &asked).1, Vec::<String>::new());
        assert_eq!(judged(Automation::Obeyed, &asked[1..]), (vec![], names()[1..].to_vec()));
        let http = [asked[0], ("WEBKIT_INSPECTOR_HTTP_SERVER", "127.0.0.1:1")];
        assert_eq!(judged(Automation::Obeyed, &http).1, ["WEBKIT_INSPECTOR_HTTP_SERVER"]);
    }

    #[test]
    fn a_path_is_trusted_that_only_root_or_who_owns_the_program_can_change() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        assert!(is_trusted(Path::new("/usr/bin"), Path::new("/opt/app")));
        assert!(!is_trusted(&real, Path::new("/opt/app")));
        assert!(is_trusted(&real, &real));
        std::fs::create_dir(real.join("usr")).unwrap();
        assert!(!is_trusted(&real, &real.join("usr")));
        assert!(!is_trusted(&real.join("usr/.."), &real.join("usr")));
        std::os::unix::fs::symlink("/usr/bin", real.join("link")).unwrap();
        assert!(!is_trusted(&real.join("link"), Path::new("/opt/app")));
        assert!(!is_trusted(Path::new("usr"), Path::new("/")));
        assert!(!is_trusted(&real.join("nothing"), &real));
    }

    #[test]
    fn a_name_that_is_told_is_nothing_but_a_name() {
        let (_, told) = judged(Automation::Refused, &[("WEBKIT_\n--hidden,x", "1")]);
        assert_eq!(told, ["WEBKIT_hiddenx"]);
    }
}
