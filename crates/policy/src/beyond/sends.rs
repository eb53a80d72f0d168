//! What other people get: pushes, releases, messages, merges, uploads. From the manuals of the programs.

use super::Cause::Sends;
use super::crossings::{hosts, is_loopback};
use super::line::{Line, Seen, line};
use crate::powers::is_known;

const DRY: &str = "--dry-run --help";

pub(super) const LINES: &[Line] = &[
    line(Sends, "git", "push", "git -C web push -u origin main", "git pull"),
    line(Sends, "git", "send-email|svn dcommit|p4 submit|lfs push|subtree push|imap-send", "git send-email x.patch", "git format-patch -1"),
    line(Sends, "hg jj svn", "push|git push|commit|ci|import", "jj git push", "jj status"),
    line(Sends, "gh glab hub tea", "", "gh pr comment 7 --body done", "gh pr view 7 --json state").when(orders_forge),
    line(Sends, "gh glab", "api", "gh api repos/o/r/issues -f title=x", "gh api repos/o/r/issues --jq .[].title").when(writes_api),
    line(Sends, "npm pnpm yarn yarnpkg bun", "publish|npm publish|unpublish|deprecate|login|adduser|logout|dist-tag add|dist-tag rm|owner add|owner rm|access|team|token create|token revoke|profile set|stage", "npm publish --tag next", "npm pack"),
    line(Sends, "cargo", "publish|yank|owner|login|logout|release|smart-release|dist", "cargo publish -p core", "cargo package"),
    line(Sends, "twine gem poetry uv hatch flit pdm maturin", "upload|push|publish|yank|owner", "twine upload dist/x.whl", "uv build"),
    line(Sends, "lerna changeset np release-it semantic-release goreleaser auto standard-version release-please cargo-release", "", "goreleaser release --clean", "goreleaser check").unless(DRY).when(|seen| !seen.says("check|build|init|status|add|version|diff|ls|list|run|exec")),
    line(Sends, "vsce ovsx jsr deno wasm-pack dotnet nuget mix pod rebar3", "publish|nuget push|push|hex.publish|trunk push|hex publish", "deno publish", "deno test"),
    line(Sends, "mvn mvnw gradle gradlew sbt", "", "mvn clean deploy", "mvn clean verify").when(publishes),
    line(Sends, "docker podman nerdctl buildah skopeo crane oras helm cosign", "push|image push|copy|compose push|manifest push|sign|delete", "podman push app", "podman images"),
    line(Sends, "vercel netlify wrangler fly flyctl heroku firebase serverless sls cdk cdktf sam eb amplify railway surge render supabase convex modal gh-pages now dokku cap kamal", "", "wrangler deploy", "wrangler dev").unless("--help --version").when(|seen| !seen.says("dev|build|--version|whoami|logs|list|ls|status|init|serve|emulators:start|test|types|help|local|synth|diff|validate|start|start-api")),
    line(Sends, "mkdocs mike", "gh-deploy|deploy", "mkdocs gh-deploy", "mkdocs build"),
    line(Sends, "npm pnpm yarn yarnpkg bun make gmake just task mise rake invoke nox tox mage turbo nx moon grunt gulp ant composer hatch pdm poe deno", "", "npm run deploy", "npm run build:release").when(is_release_task),
    line(Sends, "mail mailx sendmail mutt msmtp swaks ntfy telegram-send wall write slack slackcat notify-slack", "", "mail -s done a@b.example", "mailq"),
    line(Sends, "curl curlie wget http https xh httpie", "", "curl -d @report.json https://api.example/v1", "curl -d @x http://localhost:3000/v1").when(uploads),
    line(Sends, "*", "", "mytool push", "mytool pull").when(is_unknown_order),
];

/// A subcommand of a forge's tool that changes something there, or that nobody knows.
fn orders_forge(seen: &Seen<'_>) -> bool {
    let verbs = seen.verbs();
    match verbs.as_slice() {
        _ if seen.has("--help") => false,
        []
        | [
            "api" | "search" | "browse" | "help" | "version" | "completion" | "status" | "accessibility",
            ..,
        ] => false,
        [verb] => ALONE.contains(verb),
        [_, verb, ..] => !LOOKS.contains(verb),
    }
}

/// A call of a forge's interface that changes something there.
fn writes_api(seen: &Seen<'_>) -> bool {
    let methods = seen.values("-X --method");
    if !methods.is_empty() {
        return !methods.iter().all(|method| is_reading(method));
    }
    if seen.verbs().contains(&"graphql") {
        let unread = |word: &&str| {
            matches!(*word, "query=" | "") || word.starts_with("query=@") || word.starts_with("query=$")
        };
        return seen.has("--input")
            || seen.arguments.iter().any(|word| word.contains("mutation") || unread(word));
    }
    seen.has("-f -F --field --raw-field --input")
}

fn is_reading(method: &str) -> bool {
    matches!(method.to_ascii_uppercase().as_str(), "GET" | "HEAD" | "OPTIONS")
}

/// A goal of a build tool that gives results to others.
fn publishes(seen: &Seen<'_>) -> bool {
    let goals = seen.operands().map(|word| word.rsplit(':').next().unwrap_or(word).to_ascii_lowercase());
    let mut goals = goals.filter(|goal| !goal.contains("local"));
    goals.any(|goal| ["deploy", "publish", "upload", "perform"].iter().any(|order| goal.starts_with(order)))
}

/// A task that is called like one that gives something to others.
fn is_release_task(seen: &Seen<'_>) -> bool {
    let verbs = seen.verbs();
    let is_manager = MANAGERS.contains(&seen.invoked.name.as_str());
    let named: &[&str] = match verbs.as_slice() {
        ["run" | "run-script" | "task", task, ..] => std::slice::from_ref(task),
        [first, ..] if is_manager => std::slice::from_ref(first),
        all => all.get(..TASKS.min(all.len())).unwrap_or_default(),
    };
    named.iter().any(|task| gives_away(task))
}

/// A program of which nothing is known that is told to push, or a script that is called like that.
fn is_unknown_order(seen: &Seen<'_>) -> bool {
    let name = &seen.invoked.name;
    let runs_file = name.is_shell()
        || name.is_interpreter()
        || matches!(name.as_str(), "bun" | "deno" | "tsx" | "ts-node");
    if runs_file {
        let mut scripts = seen.operands().filter(|word| !matches!(*word, "run" | "x" | "exec"));
        let is_script = |word: &str| word.contains('.') && !word.contains(char::is_whitespace);
        return scripts.next().is_some_and(|script| is_script(script) && gives_away(base(script)));
    }
    let program = seen.invoked.words.first().map_or("", String::as_str);
    if program.contains('/') && gives_away(base(program)) {
        return true;
    }
    !is_known(name)
        && seen.operands().take(2).any(|word| matches!(word, "push" | "publish" | "deploy" | "upload"))
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether a name of a task or a script says that it gives something to others.
fn gives_away(name: &str) -> bool {
    let mut parts = name.split(|c: char| !c.is_ascii_alphabetic()).map(str::to_ascii_lowercase);
    let (mut gives, mut only_prepares) = (false, false);
    for part in parts.by_ref() {
        gives |= matches!(
            part.as_str(),
            "deploy" | "publish" | "release" | "upload" | "push" | "ship" | "promote"
        );
        only_prepares |= PREPARES.contains(&part.as_str());
    }
    gives && !only_prepares && !name.contains(char::is_whitespace)
}

/// Data for another machine than this one.
fn uploads(seen: &Seen<'_>) -> bool {
    let name = seen.invoked.name.as_str();
    let has_method = |word: &&str| matches!(*word, "POST" | "PUT" | "PATCH" | "DELETE");
    let ordered = seen.arguments.iter().any(has_method)
        || seen.values("-X --request --method").iter().any(|method| !is_reading(method));
    let gives = match name {
        "curl" | "curlie" => seen.has(CURL_DATA) && !seen.has("-G --get"),
        "wget" => seen.has("--post-data --post-file --body-data --body-file"),
        _ => seen.operands().skip(1).any(|word| word.contains(['=', '@']) && !word.contains("==")),
    };
    let hosts = hosts(&seen.arguments);
    (ordered || gives) && (hosts.is_empty() || !hosts.iter().all(|host| is_loopback(host)))
}

/// Words that only look, in any group of a forge's tool.
const LOOKS: &[&str] = &[
    "checkout",
    "checks",
    "clone",
    "co",
    "develop-list",
    "diff",
    "download",
    "get",
    "list",
    "logs",
    "ls",
    "ports",
    "show",
    "status",
    "token",
    "trace",
    "verify",
    "view",
    "watch",
];

/// Orders that stand alone.
const ALONE: &[&str] = &["create", "delete", "fork", "merge", "pull-request", "push", "release", "sync"];

/// Programs whose first word is a task unless it is a command of theirs.
const MANAGERS: &[&str] = &["bun", "composer", "deno", "npm", "pnpm", "yarn", "yarnpkg"];

/// Words of a command among which tasks are looked for.
const TASKS: usize = 4;

/// Parts of names that say that nothing leaves the machine.
const PREPARES: &[&str] =
    &["build", "check", "dev", "dry", "lint", "local", "notes", "preview", "spec", "test", "tests", "types"];

/// Flags of curl with which it sends something.
const CURL_DATA: &str = "-d --data --data-raw --data-binary --data-urlencode --data-ascii --json -F --form --form-string -T --upload-file";
