//! An app that only answers questions about tools, as a story wants: for what the command line does
//! with its answers.

use crate::home::Home;
use crate::process::PATIENCE;
use anyhow::{Context, Result};
use countersign_protocol::control::{ControlRequest, ControlResponse};
use countersign_protocol::tools::{Permission, ToolCall};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// What it does with a question.
#[derive(Clone, Debug)]
pub enum Script {
    /// Says yes or no.
    Permits(Permission),
    /// Says these bytes and closes the connection.
    Says(Vec<u8>),
    /// Says nothing until the asker is gone.
    Waits,
}

/// The app, on the control socket of a home. It serves until the story's process ends.
#[derive(Debug)]
pub struct ScriptedApp {
    asked: Receiver<ToolCall>,
    gone: Receiver<()>,
}

impl ScriptedApp {
    /// Starts it.
    pub fn start(home: &Home, script: Script) -> Result<Self> {
        let listener = UnixListener::bind(home.control_socket())?;
        let (asked_to, asked) = channel();
        let (gone_to, gone) = channel();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // A story hears of what went wrong by what the command says, or by hearing nothing.
                let _ = serve(stream, &script, &asked_to, &gone_to);
            }
        });
        Ok(Self { asked, gone })
    }

    /// The next question.
    pub fn asked(&self) -> Result<ToolCall> {
        self.asked.recv_timeout(PATIENCE).context("the app was not asked")
    }

    /// Whether there was a question that nobody took.
    pub fn was_asked(&self) -> bool {
        self.asked.try_recv().is_ok()
    }

    /// Waits until an asker is gone that was left waiting.
    pub fn wait_until_taken_back(&self) -> Result<()> {
        self.gone.recv_timeout(PATIENCE).context("the question was not taken back")
    }
}

fn serve(stream: UnixStream, script: &Script, asked: &Sender<ToolCall>, gone: &Sender<()>) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let ControlRequest::PermitTool { call, .. } = serde_json::from_str(&line)? else {
        anyhow::bail!("expected a question about a tool, got {line:?}");
    };
    asked.send(*call)?;
    let mut writer = stream;
    match script {
        Script::Permits(permission) => {
            let response = ControlResponse::Permitted { permission: permission.clone(), events: Vec::new() };
            writeln!(writer, "{}", serde_json::to_string(&response)?)?;
        }
        Script::Says(bytes) => writer.write_all(bytes)?,
        Script::Waits => {
            let _ = reader.read(&mut [0; 1])?;
            gone.send(())?;
        }
    }
    Ok(())
}
