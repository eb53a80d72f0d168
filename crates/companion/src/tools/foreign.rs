//! Tools of other agents, which they call themselves once they may: commands are judged as those that run
//! here, changes of files are shown as a diff, and of everything else a person sees the parameters.

use super::texts;
use countersign_approvals::question::Question;
use countersign_policy::beyond::through_proc;
use countersign_policy::calls::tools::{CHANGES, COMMANDS, FETCHERS, READERS, is_known_to_act};
use countersign_policy::calls::{CallFacts, CallNature, names_a_secret};
use countersign_protocol::question::Via;
use countersign_protocol::socket::ExecRequest;
use countersign_questions::tools as questions;
use countersign_tools::tool::Tool;
use countersign_tools::{files, tool::Call};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use url::Url;

/// What a call is, as far as it is known.
pub(super) enum Foreign {
    /// A command.
    Command(Box<ExecRequest>),
    /// A change of files: a tool of ours that would do the same, and its call.
    Change(Arc<dyn Tool>, Box<Call>),
    /// Something else.
    Other(Parameters),
}

/// A call that a person sees the parameters of.
pub(super) struct Parameters {
    /// Texts that a shell may get to read.
    pub(super) commands: Vec<String>,
    /// What rules about the tool may say of it.
    pub(super) nature: CallNature,
    /// Hosts that it may fetch from.
    pub(super) hosts: Vec<String>,
    /// Files and folders that it names.
    pub(super) named: Vec<String>,
}

impl Parameters {
    /// What a person is asked.
    pub(super) fn question(self, call: &Call) -> Question {
        let Self { commands, nature, hosts, named } = self;
        questions::of_arguments(
            call,
            commands,
            CallFacts { nature, hosts, named, ..CallFacts::default() },
            Via::Hook,
        )
    }

    /// Whether files may be others after the call.
    pub(super) fn may_change_files(&self) -> bool {
        self.nature.may_change_files()
    }
}

/// Recognises a call by its tool's name and parameters. A name alone proves nothing: parameters that do not
/// fit make it unknown.
pub(super) fn recognise(call: &Call, home: &Path) -> Foreign {
    let name = call.tool.as_str();
    let other = || Foreign::Other(parameters(call, home));
    if COMMANDS.contains(&name) {
        return command(call).map_or_else(other, |exec| Foreign::Command(Box::new(exec)));
    }
    let found = CHANGES.iter().find(|(names, ..)| names.contains(&name));
    let Some((_, ours, params)) = found else { return other() };
    let patch = patch_as_command(call);
    let Some(mut params) = patch.or_else(|| known(&call.params, params)) else { return other() };
    // The agent's own folder, and not that of this program, is behind such a name.
    for name in ["file_path", "path"] {
        if let Some(Value::String(path)) = params.get_mut(name)
            && let Some(there) = through_proc(Path::new(path.as_str()), &call.workspace).to_str()
        {
            *path = there.to_owned();
        }
    }
    let tool = files::all().into_iter().find(|tool| tool.declaration().name == *ours);
    let Some(tool) = tool else { return other() };
    let mut same = call.clone();
    same.tool = (*ours).to_owned();
    // Such an agent is confined to its folder by nobody here: what it names is looked at where it is.
    if let Some(folder) = folder_of(&params, &call.workspace) {
        same.workspace = folder;
    }
    same.params = params;
    Foreign::Change(tool, Box::new(same))
}

/// A patch that the tool for patches gets as its command, as Codex tells its hooks.
fn patch_as_command(call: &Call) -> Option<Map<String, Value>> {
    let text = known(&call.params, &["command"])?.get("command")?.as_str()?.to_owned();
    let is_patch = call.tool == "apply_patch" && text.trim_start().starts_with("*** Begin Patch");
    is_patch.then(|| Map::from_iter([("input".to_owned(), Value::String(text))]))
}

/// A call as its parameters show it. Which of these a shell gets to read nobody knows, so that they may be
/// commands is enough for rules that refuse, and never for one that allows.
pub(super) fn parameters(call: &Call, home: &Path) -> Parameters {
    let mut texts = texts::of(&call.params);
    let is_change = CHANGES.iter().any(|(names, ..)| names.contains(&call.tool.as_str()));
    let is_looked_at = READERS.contains(&call.tool.as_str());
    // Neither what is written nor what is looked for is fetched.
    let mut hosts: Vec<String> = match is_change || is_looked_at {
        true => Vec::new(),
        false => texts.iter().flat_map(|text| hosts_with_scheme(&text.text)).collect(),
    };
    texts.retain(|text| !text.is_prose());
    let commands: Vec<String> = match is_looked_at {
        true => Vec::new(),
        false => texts.iter().map(|text| text.text.clone()).collect(),
    };
    let is_told = texts.iter().any(texts::Text::is_command);
    // Where a command goes and what it writes is told by what it does, and not by any word of it.
    if COMMANDS.contains(&call.tool.as_str()) && command(call).is_some() {
        return Parameters { commands, nature: CallNature::Acts, hosts: Vec::new(), named: Vec::new() };
    }
    let fetched = fetched(call);
    match &fetched {
        Some(host) => hosts = vec![host.clone()],
        None if is_change || is_looked_at => {}
        None => hosts.extend(texts.iter().flat_map(|text| hosts_alone(&text.text))),
    }
    let nature = if is_told { CallNature::Acts } else { nature(call, fetched.is_some(), home) };
    let roots: Vec<PathBuf> = texts.iter().filter_map(|text| text.root(&call.workspace, home)).collect();
    let here = texts.iter().flat_map(|text| text.places(&call.workspace, home, false));
    let there = roots.iter().flat_map(|root| texts.iter().flat_map(|text| text.places(root, home, true)));
    let named = here.chain(there).collect();
    Parameters { commands, nature, hosts, named }
}

/// What a tool without commands does, as far as its name and parameters tell.
fn nature(call: &Call, fetches: bool, home: &Path) -> CallNature {
    let name = call.tool.as_str();
    let params = || call.params.values();
    // One that fetches and says otherwise than is understood what may do anything.
    let acts = is_known_to_act(name) || (FETCHERS.contains(&name) && !fetches);
    let is_secret = || params().any(|value| names_a_secret(value, home.to_str(), call.workspace.to_str()));
    if acts || is_secret() {
        CallNature::Acts
    } else if fetches {
        CallNature::Fetches
    } else if READERS.contains(&name) {
        CallNature::Reads
    } else if says_it_reads(name) {
        CallNature::SaysItReads
    } else {
        CallNature::Unknown
    }
}

/// The host of a call that fetches one address, and nothing else.
fn fetched(call: &Call) -> Option<String> {
    if !FETCHERS.contains(&call.tool.as_str()) {
        return None;
    }
    host_of(known(&call.params, FETCH_PARAMS)?.get("url")?.as_str()?)
}

/// The host of an address of the web that is written so that every program reads the same host from it:
/// scheme, two slashes, a name of letters, digits, dashes and dots. None for any other one, whatever a
/// browser would make of it, and with a port of its own or a password: such an address leads to something
/// else than its host's name says.
fn host_of(text: &str) -> Option<String> {
    let (scheme, behind) = text.split_once("://")?;
    let port = match scheme.to_ascii_lowercase().as_str() {
        "http" => ":80",
        "https" => ":443",
        _ => return None,
    };
    let (written, rest) = behind.split_at(behind.find(['/', '?', '#']).unwrap_or(behind.len()));
    let written = written.strip_suffix(port).unwrap_or(written).to_ascii_lowercase();
    let is_plain = !written.is_empty()
        && written.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
        && !rest.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\');
    // A name that a parser knows as another one, such as a number for an address.
    let address = Url::parse(text).ok().filter(|address| address.host_str() == Some(written.as_str()));
    (is_plain && address.is_some()).then(|| written.trim_end_matches('.').to_owned())
}

/// Every host that an address anywhere in a text names, whatever its scheme.
fn hosts_with_scheme(text: &str) -> Vec<String> {
    let text = text.to_ascii_lowercase();
    let hosts = text.split(ends_an_address).filter_map(|word| {
        let rest = word.get(word.find("//")?..)?;
        host_named(&format!("https:{}", rest.replace('\\', "/")))
    });
    hosts.collect()
}

/// Hosts that words of a text may name without a scheme.
fn hosts_alone(text: &str) -> Vec<String> {
    let text = text.to_ascii_lowercase();
    let words = text.split(ends_an_address).filter(|word| word.contains('.') && !word.contains("//"));
    words.filter_map(|word| host_named(&format!("https://{word}"))).collect()
}

/// The host of an address, as rules name it.
fn host_named(address: &str) -> Option<String> {
    let address = Url::parse(address).ok()?;
    Some(address.host_str()?.trim_end_matches('.').trim_matches(['[', ']']).to_owned())
}

/// What stands around an address in a text.
fn ends_an_address(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>' | '(' | ')' | ',' | ';' | '|' | '`' | '{' | '}')
}

/// Whether a tool of an MCP server has a name as such have that look at something: a person may believe
/// it for a session.
fn says_it_reads(name: &str) -> bool {
    let Some((_, tool)) = name.rsplit_once("__").filter(|_| name.starts_with("mcp__")) else { return false };
    SAY_THEY_READ.iter().any(|verb| tool.strip_prefix(verb).is_some_and(|rest| rest.starts_with(['_', '-'])))
}

/// Only parameters that are understood: one that is not might mean anything.
fn known(params: &Map<String, Value>, names: &[&str]) -> Option<Map<String, Value>> {
    params.keys().all(|name| names.contains(&name.as_str())).then(|| params.clone())
}

/// The folder of a single absolute path that is not in the workspace.
fn folder_of(params: &Map<String, Value>, workspace: &Path) -> Option<PathBuf> {
    let path = ["file_path", "path"].iter().find_map(|name| params.get(*name)?.as_str())?;
    let path = Path::new(path);
    let is_elsewhere = path.is_absolute() && !path.starts_with(workspace);
    // The nearest folder that is there: what is to be made may be below folders that are to be made too.
    is_elsewhere.then(|| path.ancestors().skip(1).find(|folder| folder.is_dir()).map(Path::to_owned))?
}

fn command(call: &Call) -> Option<ExecRequest> {
    let params = &call.params;
    let folder = ["workdir", "directory", "cwd", "dir_path"].iter().find_map(|name| params.get(*name));
    let folder = match folder {
        None | Some(Value::Null) => call.workspace.clone(),
        Some(folder) => call.workspace.join(folder.as_str()?),
    };
    let argv = match params.get("command").or_else(|| params.get("cmd"))? {
        // Which shell it will be is the agent's business: what is understood of a text means
        // the same to each.
        Value::String(text) if !text.trim().is_empty() => {
            vec!["sh".to_owned(), "-c".to_owned(), text.clone()]
        }
        Value::Array(words) if !words.is_empty() => {
            words.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?
        }
        _ => return None,
    };
    Some(ExecRequest {
        command: argv,
        cwd: Some(folder.to_str()?.to_owned()),
        agent_id: Some(call.caller.agent.clone().into()),
        session_key: call.caller.session.clone().map(Into::into),
        approval_timeout_ms: call.caller.approval_wait.and_then(|wait| u64::try_from(wait.as_millis()).ok()),
        ..ExecRequest::default()
    })
}

/// What these are told besides the address, and that changes only what comes back of it.
const FETCH_PARAMS: &[&str] = &["format", "max_length", "prompt", "raw", "start_index", "timeout", "url"];

/// How names of tools begin that look at something.
const SAY_THEY_READ: &[&str] =
    &["describe", "find", "get", "list", "lookup", "read", "search", "show", "view"];
