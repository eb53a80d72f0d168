//! Where a run takes place, and what holds there.

use super::*;
use pretty_assertions::assert_eq;

#[tokio::test(flavor = "multi_thread")]
async fn on_this_machine_a_wish_hardens_the_document_and_never_loosens_it() {
    let wish = |security, ask| Requested { security, ask };
    let (full, off) = (Some(Security::Full), Some(Ask::Off));
    for (name, document, policy, ran, asked) in [
        ("nothing asked for", ("full", "off", "deny"), wish(None, None), true, false),
        ("denied", ("full", "off", "deny"), wish(Some(Security::Deny), None), false, false),
        ("missed", ("full", "off", "deny"), wish(Some(Security::Allowlist), None), false, false),
        ("asked", ("full", "off", "deny"), wish(None, Some(Ask::Always)), true, true),
        ("not looser than deny", ("deny", "off", "deny"), wish(full, off), false, false),
        ("not looser than always", ("full", "always", "deny"), wish(full, off), true, true),
        ("not looser than the list", ("allowlist", "on-miss", "deny"), wish(full, off), true, true),
    ] {
        let (security, ask, fallback) = document;
        let rig = Rig::new(&super::policy(security, ask, fallback, &[]), ForwardedGrants::Never).await;
        let (came, record) = rig.send_to(Placement::Here { policy }, echo(), YES).await;
        assert_eq!(matches!(came, Came::Ran(_)), ran, "{name}: {came:?}");
        assert_eq!(record.is_some(), asked, "{name}: whether a person was asked");
    }
}
