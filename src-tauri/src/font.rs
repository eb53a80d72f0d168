//! The desktop's font, for pages. WebKitGTK does not know it under the name `system-ui`: that stands for
//! whatever fontconfig holds to be one, often nothing, and then the search through all fonts is done again
//! under the next name, for each size and weight on a page and before its first picture.

use gtk::pango::FontDescription;
use gtk::prelude::*;

/// Names the font to a page before anything in that runs.
pub(crate) fn script() -> String {
    let set = gtk::Settings::default().and_then(|settings| settings.gtk_font_name());
    let family = set.as_deref().and_then(family).map_or("sans-serif".to_owned(), |name| format!("'{name}'"));
    format!("document.documentElement.style.setProperty('--font-desktop', {family:?});")
}

/// The family that the desktop chose. `set` is as GTK has it: families, perhaps a style, a size. A name that
/// could end the string it is put into is none.
fn family(set: &str) -> Option<String> {
    let families = FontDescription::from_string(set).family()?;
    let first = families.split(',').next()?.trim();
    let is_name = !first.is_empty() && first.chars().all(|c| c.is_alphanumeric() || " -_.+".contains(c));
    let is_generic = ["sans", "sans serif", "sans-serif"].contains(&first.to_lowercase().as_str());
    (is_name && !is_generic).then(|| first.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_family_is_what_the_desktop_chose() {
        let check = |set: &str, expected: Option<&str>| assert_eq!(family(set).as_deref(), expected, "{set}");
        check("Cantarell 11", Some("Cantarell"));
        check("Noto Sans Bold 10", Some("Noto Sans"));
        check("Noto Sans CJK KR 10", Some("Noto Sans CJK KR"));
        check("나눔고딕 10", Some("나눔고딕"));
        check("Open Sans, Sans 10", Some("Open Sans"));
        check("Sans 10", None);
        check("sans-serif 11", None);
        check("10", None);
        check("", None);
        check("It's 10", None);
        check("a\\ 10", None);
    }
}
