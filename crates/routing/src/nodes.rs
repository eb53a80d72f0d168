//! Which node is meant (docs/protocol/nodes.md, "Which node is meant").
//!
//! What is matched was said by the nodes themselves; the errors quote it, so whoever shows them escapes them.

use super::{Release, is_space};
use countersign_protocol::ids::NodeId;
use icu_normalizer::ComposingNormalizerBorrowed;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// A node as far as choosing one goes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Candidate {
    /// Its id.
    pub id: NodeId,
    /// Its name.
    pub name: Option<String>,
    /// Where it connected from.
    pub remote_ip: Option<String>,
    /// The program that it is.
    pub client: Option<String>,
    /// What it runs on.
    pub platform: Option<String>,
    /// Whether it is connected now.
    pub connected: bool,
    /// Capabilities, if it told any.
    pub caps: Option<Vec<String>>,
    /// Commands that it takes.
    pub commands: Vec<String>,
}

/// Why no node was chosen, in the peers' words.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// No text to look for.
    #[error("node required")]
    Required,
    /// None is meant.
    #[error("unknown node: {query}{}", known_list(known))]
    Unknown {
        /// What was looked for.
        query: String,
        /// What there is.
        known: Vec<String>,
    },
    /// More than one is meant.
    #[error("ambiguous node: {query} (matches: {})", matches.join(", "))]
    Ambiguous {
        /// What was looked for.
        query: String,
        /// Which ones.
        matches: Vec<String>,
    },
    /// There is no node at all.
    #[error(
        "exec host=node requires a paired node (none available). This requires a companion app or node host."
    )]
    NonePaired,
    /// The run names one that does not exist, or more than one.
    #[error("requested node not found: {query} ({source})")]
    Requested {
        /// What it names.
        query: String,
        /// Why that is none.
        source: Box<NodeError>,
    },
    /// The run names another one than is set.
    #[error("exec node not allowed (bound to {bound}{})", resolved(requested.as_deref()))]
    Bound {
        /// The one that is set.
        bound: String,
        /// The one that the run names.
        requested: Option<String>,
    },
    /// The one that is meant is away or runs nothing.
    #[error(
        "exec host=node requires a connected node that supports system.run ({query} is not eligible; eligible node ids: {eligible})."
    )]
    NotEligible {
        /// The one that is meant.
        query: String,
        /// Ids of those that could run it.
        eligible: String,
    },
    /// None could run it.
    #[error(
        "exec host=node requires a connected node that supports system.run (none available). Start or reconnect the companion app or node host."
    )]
    NoneEligible,
    /// Several could, and none is set.
    #[error(
        "exec host=node requires a node when multiple executable nodes are connected: {eligible}. Set exec.node, tools.exec.node, or /exec node=..."
    )]
    SeveralEligible {
        /// Which ones.
        eligible: String,
    },
    /// Several nodes, and none is set (2026.2).
    #[error(
        "exec host=node requires a node id when multiple nodes are available (set tools.exec.node or exec.node)."
    )]
    Several,
    /// The one that is meant runs nothing (2026.2).
    #[error("exec host=node requires a node that supports system.run (companion app or node host).")]
    RunsNothing,
}

/// The node that `query` names.
pub fn find<'a>(nodes: &'a [Candidate], query: &str, release: Release) -> Result<&'a Candidate, NodeError> {
    let query = query.trim_matches(is_space);
    if query.is_empty() {
        return Err(NodeError::Required);
    }
    let all: Vec<&Candidate> = nodes.iter().collect();
    let strongest = match release {
        Release::Newest => best_tier(&all, query),
        Release::Early => all.into_iter().filter(|node| matches_early(node, query)).collect(),
    };
    if strongest.is_empty() {
        return Err(NodeError::Unknown { query: query.to_owned(), known: labels(nodes) });
    }
    if release == Release::Early && strongest.len() == 1 {
        return Ok(strongest[0]);
    }
    let connected: Vec<&Candidate> = strongest.iter().copied().filter(|node| node.connected).collect();
    let left = if connected.is_empty() { strongest } else { connected };
    if let [only] = left.as_slice() {
        return Ok(only);
    }
    if release == Release::Newest
        && let Some(current) = current_of_renamed(&left)
    {
        return Ok(current);
    }
    let matches = left.iter().map(|node| match release {
        Release::Newest => labelled(node),
        Release::Early => label(node).to_owned(),
    });
    Err(NodeError::Ambiguous { query: query.to_owned(), matches: matches.collect() })
}

/// The node for a run with `host=node`: the one that is set, or that the run names, or the only one
/// that can be meant.
pub fn choose<'a>(
    nodes: &'a [Candidate],
    bound: Option<&str>,
    requested: Option<&str>,
    release: Release,
) -> Result<&'a Candidate, NodeError> {
    match release {
        Release::Newest => choose_newest(nodes, bound, requested),
        Release::Early => choose_early(nodes, bound, requested),
    }
}

/// Whether a node can run a command now.
#[must_use]
pub fn is_eligible(node: &Candidate) -> bool {
    node.connected && runs(node)
}

fn runs(node: &Candidate) -> bool {
    node.commands.iter().any(|command| command == countersign_protocol::gateway::node::command::RUN)
}

fn choose_newest<'a>(
    nodes: &'a [Candidate],
    bound: Option<&str>,
    requested: Option<&str>,
) -> Result<&'a Candidate, NodeError> {
    if nodes.is_empty() {
        return Err(NodeError::NonePaired);
    }
    let bound = given(bound).map(|query| find(nodes, query, Release::Newest)).transpose()?;
    let requested =
        match given(requested) {
            None => None,
            Some(query) => Some(find(nodes, query, Release::Newest).map_err(|source| {
                NodeError::Requested { query: query.to_owned(), source: Box::new(source) }
            })?),
        };
    if let (Some(bound), Some(requested)) = (bound, requested)
        && bound.id != requested.id
    {
        return Err(NodeError::Bound {
            bound: bound.id.to_string(),
            requested: Some(requested.id.to_string()),
        });
    }
    let eligible: Vec<&Candidate> = nodes.iter().filter(|node| is_eligible(node)).collect();
    if let Some(meant) = bound.or(requested) {
        if is_eligible(meant) {
            return Ok(meant);
        }
        let mut ids: Vec<&str> = eligible.iter().map(|node| node.id.as_str()).collect();
        ids.sort_unstable();
        let eligible = if ids.is_empty() { "none".to_owned() } else { ids.join(", ") };
        return Err(NodeError::NotEligible { query: meant.id.to_string(), eligible });
    }
    match eligible.as_slice() {
        [] => Err(NodeError::NoneEligible),
        [only] => Ok(only),
        several => {
            let named = several.iter().map(|node| match &node.name {
                Some(name) if !name.is_empty() => format!("{} ({name})", node.id),
                _ => node.id.to_string(),
            });
            Err(NodeError::SeveralEligible { eligible: named.collect::<Vec<_>>().join(", ") })
        }
    }
}

fn choose_early<'a>(
    nodes: &'a [Candidate],
    bound: Option<&str>,
    requested: Option<&str>,
) -> Result<&'a Candidate, NodeError> {
    let (bound, requested) = (given(bound), given(requested));
    if let (Some(bound), Some(requested)) = (bound, requested)
        && bound != requested
    {
        return Err(NodeError::Bound { bound: bound.to_owned(), requested: None });
    }
    if nodes.is_empty() {
        return Err(NodeError::NonePaired);
    }
    let node = match bound.or(requested) {
        Some(query) => find(nodes, query, Release::Early)?,
        None => default_early(nodes).ok_or(NodeError::Several)?,
    };
    if runs(node) { Ok(node) } else { Err(NodeError::RunsNothing) }
}

/// What 2026.2 takes when nothing is named: by what a node can show, not by what it can run.
fn default_early(nodes: &[Candidate]) -> Option<&Candidate> {
    let shows = |node: &&Candidate| {
        node.caps.as_ref().is_none_or(|caps| caps.iter().any(|capability| capability == "canvas"))
    };
    let able: Vec<&Candidate> = nodes.iter().filter(shows).collect();
    let connected: Vec<&Candidate> = able.iter().copied().filter(|node| node.connected).collect();
    let left = if connected.is_empty() { able } else { connected };
    if let [only] = left.as_slice() {
        return Some(only);
    }
    let is_local_mac = |node: &&&Candidate| {
        let mac = node.platform.as_deref().is_some_and(|platform| platform.to_lowercase().starts_with("mac"));
        mac && node.id.as_str().starts_with("mac-")
    };
    let mut local = left.iter().filter(is_local_mac);
    match (local.next(), local.next()) {
        (Some(only), None) => Some(only),
        // The release then takes any; a run that nobody aimed is not started anywhere.
        _ => None,
    }
}

fn best_tier<'a>(nodes: &[&'a Candidate], query: &str) -> Vec<&'a Candidate> {
    let tier = |fits: &dyn Fn(&Candidate) -> bool| -> Vec<&'a Candidate> {
        nodes.iter().copied().filter(|node| fits(node)).collect()
    };
    let wanted = normal_name(query);
    let tiers: [&dyn Fn(&Candidate) -> bool; 4] = [
        &|node| node.id == query,
        &|node| node.remote_ip.as_deref() == Some(query),
        &|node| {
            let name = node.name.as_deref().map(normal_name).unwrap_or_default();
            !name.is_empty() && name == wanted
        },
        &|node| is_prefix(node, query),
    ];
    tiers.into_iter().map(tier).find(|found| !found.is_empty()).unwrap_or_default()
}

fn matches_early(node: &Candidate, query: &str) -> bool {
    let ascii = |text: &str| {
        let lower = text.to_lowercase();
        let words = lower.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit());
        words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
    };
    let named = node.name.as_deref().is_some_and(|name| !name.is_empty() && ascii(name) == ascii(query));
    node.id == query || node.remote_ip.as_deref() == Some(query) || named || is_prefix(node, query)
}

fn is_prefix(node: &Candidate, query: &str) -> bool {
    query.encode_utf16().count() >= MIN_PREFIX && node.id.as_str().starts_with(query)
}

/// A name as names are compared: composed, in lower case, with one `-` for everything between letters,
/// marks and digits.
fn normal_name(name: &str) -> String {
    let composed = ComposingNormalizerBorrowed::new_nfc().normalize(name);
    let mut normal = String::with_capacity(composed.len());
    let mut gap = false;
    let mut after_word = false;
    for c in composed.trim().to_lowercase().chars() {
        let group = c.general_category_group();
        // What only makes an emoji of the character before it is no part of a name.
        if matches!(c, '\u{20e3}' | '\u{fe0f}') {
            continue;
        }
        let word = match group {
            GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number => true,
            // A mark that stands on nothing is left out altogether.
            GeneralCategoryGroup::Mark if after_word => true,
            GeneralCategoryGroup::Mark => continue,
            _ => false,
        };
        if word {
            if gap && !normal.is_empty() {
                normal.push('-');
            }
            normal.push(c);
        }
        gap = !word;
        after_word = word;
    }
    normal
}

/// The one under the peers' present name, where the others are the same program under one of
/// its former names.
fn current_of_renamed<'a>(matches: &[&'a Candidate]) -> Option<&'a Candidate> {
    let client = |node: &Candidate| node.client.as_deref().unwrap_or_default().trim().to_lowercase();
    let mut current = matches.iter().filter(|node| client(node).starts_with("openclaw-"));
    let former = matches
        .iter()
        .filter(|node| ["clawdbot-", "moldbot-"].iter().any(|name| client(node).starts_with(name)))
        .count();
    match (current.next(), current.next()) {
        (Some(only), None) if former > 0 && former + 1 == matches.len() => Some(only),
        _ => None,
    }
}

fn given(text: Option<&str>) -> Option<&str> {
    text.map(|text| text.trim_matches(is_space)).filter(|text| !text.is_empty())
}

fn label(node: &Candidate) -> &str {
    let named = [node.name.as_deref(), node.remote_ip.as_deref()];
    named.into_iter().flatten().find(|text| !text.is_empty()).unwrap_or(node.id.as_str())
}

fn labelled(node: &Candidate) -> String {
    let client = node.client.as_deref().map(str::trim).filter(|client| !client.is_empty());
    let client = client.map(|client| format!(", client={client}")).unwrap_or_default();
    format!("{} [node={}{client}]", label(node), node.id)
}

fn labels(nodes: &[Candidate]) -> Vec<String> {
    nodes.iter().map(|node| label(node).to_owned()).filter(|label| !label.is_empty()).collect()
}

fn known_list(known: &[String]) -> String {
    if known.is_empty() { String::new() } else { format!(" (known: {})", known.join(", ")) }
}

fn resolved(requested: Option<&str>) -> String {
    requested.map(|requested| format!(", requested resolved to {requested}")).unwrap_or_default()
}

/// Shortest piece of an id that counts as one.
const MIN_PREFIX: usize = 6;

#[cfg(test)]
mod tests;
