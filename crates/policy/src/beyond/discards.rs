//! What loses work that cannot be put back.

use super::Cause::Discards;
use super::line::{Line, Seen, line};
use super::place::Place;
use super::walk::find_starts;
use countersign_protocol::rules::PlaceAccess;

pub(super) const LINES: &[Line] = &[
    line(Discards, "git", "reset", "git reset -q --hard HEAD~1", "git reset --soft HEAD~1").with("--hard --merge"),
    line(Discards, "git", "clean", "git clean -xfd", "git clean -nd").with("--force -f -i --interactive"),
    line(Discards, "git", "checkout|restore|switch|checkout-index|read-tree", "git checkout -- .", "git checkout main").when(checks_out_everything),
    line(Discards, "git", "branch", "git branch -D topic", "git branch -d topic").with("-D"),
    line(Discards, "git", "branch", "git branch --delete --force topic", "git branch --list").with("--delete -d").when(|seen| seen.has("--force -f")),
    line(Discards, "git", "stash drop|stash clear", "git stash drop stash@{0}", "git stash pop"),
    line(Discards, "git", "reflog expire|reflog delete|reflog drop|prune|filter-branch|filter-repo|replay|update-ref", "git reflog expire --expire=now --all", "git reflog"),
    line(Discards, "git", "gc", "git gc --prune=now", "git gc --auto").with("--prune --aggressive"),
    line(Discards, "git", "tag|worktree remove|worktree prune|submodule deinit|notes remove", "git worktree remove --force ../x", "git worktree list").with("--delete -d --force -f"),
    line(Discards, "bfg git-filter-repo", "", "bfg --delete-files x", "bfgx"),
    line(Discards, "jj hg svn fossil", "abandon|op abandon|purge|strip|revert|update|op restore", "jj abandon @", "jj log"),
    line(Discards, "rm unlink rmdir shred srm wipe trash trash-put gio rip rimraf del rd erase remove-item ri", "", "rm -rf /data/x", "rm -rf dist node_modules").when(removes_out_of_reach),
    line(Discards, "shred srm wipe", "", "shred -u notes.txt", "shredder notes.txt"),
    line(Discards, "find gfind fd fdfind", "", "find /data -name x -delete", "find . -name '*.pyc' -delete").when(deletes_found),
    line(Discards, "mv rename move move-item", "", "mv .git /tmp/old", "mv src/a src/b").when(moves_precious),
    line(Discards, "psql mysql mariadb sqlite3 mongosh mongo mongodb redis-cli cqlsh clickhouse-client duckdb turso usql", "", "psql -c 'drop table users'", "psql -c 'select 1'").when(is_sql_loss),
    line(Discards, "dropdb dropuser mysqladmin", "", "dropdb shop", "createdb shop").when(|seen| seen.invoked.name.as_str() != "mysqladmin" || seen.operands().any(|word| word == "drop")),
    line(Discards, "prisma drizzle-kit knex sequelize typeorm alembic rails rake artisan diesel sqlx supabase atlas dbmate flyway liquibase", "migrate reset|db push|db reset|db drop|drop|migrate:rollback|db:drop|db:reset|db:migrate:undo:all|schema:drop|downgrade|migrate:fresh|migrate:reset|database reset|database drop|schema clean|clean|drop-all", "prisma migrate reset --force", "prisma migrate dev"),
    line(Discards, "manage.py django-admin", "flush|reset_db|sqlflush", "django-admin flush", "django-admin check"),
    line(Discards, "python python3", "manage.py flush|manage.py reset_db|manage.py sqlflush", "python3 manage.py flush --no-input", "python3 manage.py test"),
    line(Discards, "restic borg duplicity btrfs zfs lvremove", "forget|prune|delete|destroy|subvolume delete|rollback|remove-all-but-n-full", "zfs destroy tank/x", "zfs list"),
];

/// All changes of the work tree, or whatever stands in the way.
fn checks_out_everything(seen: &Seen<'_>) -> bool {
    let everything = || {
        seen.verbs().iter().skip(1).any(|word| matches!(*word, "." | "./" | "*" | ":/" | ":(top)" | ":/*"))
    };
    let verb = seen.verbs().first().copied().unwrap_or_default();
    match verb {
        "checkout" => seen.has("--force -f") || everything(),
        "restore" => everything() && (!seen.has("--staged -S") || seen.has("--worktree -W")),
        "switch" => seen.has("--force -f --discard-changes"),
        "checkout-index" => seen.has("--force -f") && seen.has("--all -a"),
        _ => seen.has("--reset"),
    }
}

/// Something outside, the folder itself, or what git keeps of it. A `..` may lead through a link, and what a
/// person opened for writing is the person's own also where a box has else its own.
fn removes_out_of_reach(seen: &Seen<'_>) -> bool {
    seen.operands().any(|word| match seen.ground.place(word) {
        Place::Whole | Place::History | Place::System | Place::HomeDot | Place::Outside => true,
        Place::Own => seen.is_opened(word, PlaceAccess::Write),
        Place::Inside => word.split('/').any(|part| part == ".."),
    })
}

/// What a search finds outside, or everything.
fn deletes_found(seen: &Seen<'_>) -> bool {
    let deletes = seen.arguments.contains(&"-delete");
    let picks = seen.arguments.iter().any(|word| PICKS.iter().any(|pick| word.starts_with(pick)));
    let starts = find_starts(&seen.invoked.name, &seen.arguments);
    deletes
        && starts.iter().any(|start| match seen.ground.place(start) {
            Place::History | Place::System | Place::HomeDot | Place::Outside => true,
            Place::Whole => !picks,
            Place::Own if seen.is_opened(start, PlaceAccess::Write) => true,
            Place::Own | Place::Inside => start.split('/').any(|part| part == ".."),
        })
}

/// What git keeps, or all of a folder, under another name.
fn moves_precious(seen: &Seen<'_>) -> bool {
    let operands: Vec<&str> = seen.operands().collect();
    let moved = operands.split_last().map_or(&[][..], |(_, moved)| moved);
    moved.iter().any(|word| matches!(seen.ground.place(word), Place::History | Place::Whole))
}

/// Tables, databases, or rows without number.
fn is_sql_loss(seen: &Seen<'_>) -> bool {
    let texts = seen.arguments.iter().copied().chain(seen.invoked.text.as_deref());
    let mut lower = texts.map(str::to_ascii_lowercase);
    lower.any(|text| LOSSES.iter().any(|loss| text.contains(loss)))
}

/// Tests of `find` that pick something.
const PICKS: &[&str] =
    &["-empty", "-i", "-m", "-name", "-newer", "-path", "-perm", "-regex", "-size", "-user", "-wholename"];

/// Orders in the languages of databases.
const LOSSES: &[&str] = &[
    "delete from",
    "deletemany",
    "drop database",
    "drop index",
    "drop role",
    "drop schema",
    "drop table",
    "drop user",
    "drop view",
    "dropdatabase",
    ".drop(",
    "flushall",
    "flushdb",
    "truncate ",
];
