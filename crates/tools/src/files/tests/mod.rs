//! The tools on real files: what they do, what they refuse, and what happens when somebody else is
//! at the files too.

mod atomic;
mod drift;
mod escapes;
mod shown;
mod uses;

use super::*;
use crate::tool::{Call, Caller, Output, Plan, Preview, Tool as _, ToolError};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A workspace `ws`, and a folder `outside` beside it that nothing may change.
struct World {
    dir: TempDir,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("ws")).unwrap();
        fs::create_dir_all(dir.path().join("outside/folder")).unwrap();
        fs::write(dir.path().join("outside/secret.txt"), "secret\n").unwrap();
        Self { dir }
    }

    /// With files in the workspace.
    fn with(files: &[(&str, &str)]) -> Self {
        let world = Self::new();
        for (name, content) in files {
            fs::create_dir_all(world.ws(name).parent().unwrap()).unwrap();
            fs::write(world.ws(name), content).unwrap();
        }
        world
    }

    fn ws(&self, name: &str) -> PathBuf {
        self.real().join("ws").join(name)
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.real().join("outside").join(name)
    }

    /// A file of the workspace as it is.
    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.ws(name)).ok()
    }

    fn real(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    async fn plan(&self, tool: &FileTool, params: Value) -> Result<Plan, ToolError> {
        let call = Call {
            id: "1".to_owned(),
            run_id: None,
            tool: tool.declaration().name.clone(),
            params: params.as_object().unwrap().clone(),
            caller: Caller::default(),
            workspace: self.ws(""),
        };
        tool.plan(&call).await
    }

    /// Plans changes and gives what is shown of them, with the rest.
    async fn changes(&self, tool: &FileTool, params: Value) -> (Vec<FileChange>, Plan) {
        let plan = self.plan(tool, params).await.unwrap();
        let Preview::Changes(changes) = plan.preview.clone() else { panic!("{:?}", plan.preview) };
        (changes, plan)
    }

    async fn call(&self, tool: &FileTool, params: Value) -> Result<Output, ToolError> {
        run(self.plan(tool, params).await?).await
    }

    /// What a call fails with.
    async fn problem(&self, tool: &FileTool, params: Value) -> String {
        self.call(tool, params).await.expect_err("a refusal").to_string()
    }
}

async fn run(plan: Plan) -> Result<Output, ToolError> {
    let (progress, _reports) = tokio::sync::mpsc::channel(1);
    plan.act.run(progress, CancellationToken::new()).await
}

/// Everything below a folder: kind, permissions and content by path.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let about = fs::symlink_metadata(&path).unwrap();
            let content = if about.is_dir() {
                waiting.push(path.clone());
                Vec::new()
            } else if about.is_file() {
                fs::read(&path).unwrap()
            } else {
                fs::read_link(&path)
                    .map(|target| target.into_os_string().into_encoded_bytes())
                    .unwrap_or_default()
            };
            all.insert(path, (about.mode(), content));
        }
    }
    all
}

/// One of every change that can be made to the file at `path`, whose content is `content`.
fn all_changes(path: &str, content: &str) -> Vec<(FileTool, Value)> {
    let line = content.lines().next().unwrap_or_default();
    let patch =
        |body: String| (apply_patch(), json!({ "input": format!("*** Begin Patch\n{body}\n*** End Patch") }));
    vec![
        (write_file(), json!({ "path": path, "content": "written\n" })),
        (append_file(), json!({ "path": path, "content": "appended\n" })),
        (edit_file(), json!({ "path": path, "old_text": line, "new_text": "edited" })),
        patch(format!("*** Update File: {path}\n-{line}\n+patched")),
        patch(format!("*** Delete File: {path}")),
        patch(format!("*** Update File: {path}\n*** Move to: moved-{}.txt", path.len())),
        patch(format!("*** Update File: {path}\n*** Move to: moved/there.txt\n-{line}\n+patched")),
    ]
}

/// One of every change that puts a file where none is.
fn all_creations(path: &str) -> Vec<(FileTool, Value)> {
    let patch =
        |body: String| (apply_patch(), json!({ "input": format!("*** Begin Patch\n{body}\n*** End Patch") }));
    vec![
        (write_file(), json!({ "path": path, "content": "written\n" })),
        (append_file(), json!({ "path": path, "content": "appended\n" })),
        patch(format!("*** Add File: {path}\n+added")),
        patch(format!("*** Update File: source.txt\n*** Move to: {path}")),
    ]
}
