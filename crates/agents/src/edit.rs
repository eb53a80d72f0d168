//! One change of one file of settings, worked out on its text.

use crate::entry;
use crate::error::{ConnectError, Unfit};
use crate::json::hooks::{self, Hooks};
use crate::json::members::{self, Place};
use crate::json::{self, Comments};
use crate::table::{Agent, File, Hook, HookWish, Mcp, SERVER, Syntax, Way};
use crate::toml;
use serde_json::Value;

/// A change of one file.
#[derive(Clone)]
pub(crate) struct Edit {
    agent: &'static Agent,
    pub(crate) file: &'static File,
    what: What,
}

#[derive(Clone)]
enum What {
    PutHook { hook: &'static Hook, event: &'static str, group: Value },
    TakeHook(&'static Hook),
    PutServer { mcp: &'static Mcp, server: Value },
    TakeServer(&'static Mcp),
    List { way: &'static [&'static str], entry: &'static str },
    Unlist { way: &'static [&'static str], entry: &'static str },
}

impl Edit {
    /// What puts hook and server in.
    pub(crate) fn putting_in(
        agent: &'static Agent,
        hook: Option<&HookWish>,
        mcp: Option<&[String]>,
    ) -> Result<Vec<Self>, ConnectError> {
        let mut edits = Vec::new();
        let lacking = |what| ConnectError::NoWay { agent: agent.title, what };
        if let Some(wish) = hook {
            let hook = agent.hook.as_ref().ok_or(lacking("hook"))?;
            let event = hook.event_name(wish.event).ok_or(lacking("hook where it asks the person"))?;
            let group = hook.group(&wish.words, wish.patience);
            edits.push(Self { agent, file: &hook.file, what: What::PutHook { hook, event, group } });
        }
        if let Some(words) = mcp {
            let mcp = agent.mcp.as_ref().ok_or(lacking("settings for MCP servers"))?;
            let server = mcp.server(words);
            edits.push(Self { agent, file: &mcp.file, what: What::PutServer { mcp, server } });
            if let Some(listed) = &mcp.listed {
                let what = What::List { way: listed.way, entry: listed.entry };
                edits.push(Self { agent, file: &listed.file, what });
            }
        }
        Ok(edits)
    }

    /// What takes all of ours out.
    pub(crate) fn taking_out(agent: &'static Agent) -> Vec<Self> {
        let hook = agent.hook.iter().map(|hook| (&hook.file, What::TakeHook(hook)));
        let server = agent.mcp.iter().map(|mcp| (&mcp.file, What::TakeServer(mcp)));
        let listed = agent.mcp.iter().filter_map(|mcp| mcp.listed.as_ref());
        let listed =
            listed.map(|listed| (&listed.file, What::Unlist { way: listed.way, entry: listed.entry }));
        hook.chain(server).chain(listed).map(|(file, what)| Self { agent, file, what }).collect()
    }

    /// What it is about.
    pub(crate) const fn way(&self) -> Way {
        match self.what {
            What::PutHook { .. } | What::TakeHook(_) => Way::Hook,
            _ => Way::Mcp,
        }
    }

    /// Whether it takes something out.
    pub(crate) const fn is_taking(&self) -> bool {
        matches!(self.what, What::TakeHook(_) | What::TakeServer(_) | What::Unlist { .. })
    }

    /// Whether it is about hook or server itself, and not about what goes with it.
    pub(crate) const fn is_main(&self) -> bool {
        !matches!(self.what, What::List { .. } | What::Unlist { .. })
    }

    /// The text with this change, whole and understood.
    pub(crate) fn applied(&self, text: Option<&str>) -> Result<Option<String>, Unfit> {
        let Some(text) = text else {
            return Ok(self.by_hand());
        };
        let after = self.changed(text)?;
        self.file.syntax.check(&after)?;
        Ok(Some(after))
    }

    fn changed(&self, text: &str) -> Result<String, Unfit> {
        let comments = self.file.syntax.comments();
        let is_toml = self.file.syntax == Syntax::Toml;
        let is_ours = |command: &str| entry::is_our_hook(command, self.agent);
        let hooks = |events| Hooks { comments, events, is_ours: &is_ours };
        match &self.what {
            What::PutHook { hook, event, group } => hooks(&hook.event_names()).put(text, event, group),
            What::TakeHook(hook) => hooks(&hook.event_names()).take_out(text),
            What::PutServer { mcp, server } => {
                if let Some(Err(got)) = mcp.there(text)?.map(|there| entry::our_server(&there)) {
                    let place = [mcp.way, &[SERVER]].concat().join(".");
                    return Err(Unfit::Taken { place, got });
                }
                if is_toml {
                    return toml::put(text, mcp.way, SERVER, server);
                }
                Place { comments, way: mcp.way }.put(text, SERVER, server)
            }
            What::TakeServer(mcp) => {
                // Somebody else's of the same name stays.
                if !matches!(mcp.there(text)?.map(|there| entry::our_server(&there)), Some(Ok(_))) {
                    return Ok(text.to_owned());
                }
                if is_toml {
                    return toml::take_out(text, mcp.way, SERVER);
                }
                Place { comments, way: mcp.way }.take_out(text, SERVER)
            }
            What::List { way, entry } => Place { comments, way }.list(text, entry),
            What::Unlist { way, entry } => Place { comments, way }.unlist(text, entry),
        }
    }

    /// A file that has nothing else; `None` where nothing is put in.
    pub(crate) fn by_hand(&self) -> Option<String> {
        Some(match &self.what {
            What::PutHook { event, group, .. } => hooks::fresh(event, group),
            What::PutServer { mcp, server } if mcp.file.syntax == Syntax::Toml => {
                toml::put("", mcp.way, SERVER, server).ok()?
            }
            What::PutServer { mcp, server } => members::fresh(mcp.way, SERVER, server),
            What::List { way, entry } => members::fresh_list(way, entry),
            What::TakeHook(_) | What::TakeServer(_) | What::Unlist { .. } => return None,
        })
    }
}

impl Mcp {
    /// What is called like our server in a text.
    pub(crate) fn there(&self, text: &str) -> Result<Option<Value>, Unfit> {
        match self.file.syntax {
            Syntax::Toml => toml::get(text, &[self.way, &[SERVER]].concat()),
            syntax => Place { comments: syntax.comments(), way: self.way }.get(text, SERVER),
        }
    }
}

impl Syntax {
    pub(crate) const fn comments(self) -> Comments {
        match self {
            Self::JsonWithComments => Comments::Taken,
            Self::Json | Self::Toml => Comments::Refused,
        }
    }

    /// Whether a text can be read at all.
    fn check(self, text: &str) -> Result<(), Unfit> {
        let read = match self {
            Self::Json | Self::JsonWithComments => json::parse(text, self.comments()).map(|_| ()),
            Self::Toml => toml::parse(text).map(|_| ()),
        };
        read.map_err(|_| Unfit::Tangled)
    }
}
