//! Files that are hidden, or there to read only; caches.

use super::{Attempt, by, by_roots, deeply};
use crate::executor::sandbox::workspace::Wall;

const HIDDEN: &[Wall] = &[Wall::Hidden];
const READ_ONLY: &[Wall] = &[Wall::ReadOnly];
const SECRETS: &[Wall] = &[Wall::Secrets];
const CACHES: &[Wall] = &[Wall::Caches, Wall::ReadOnly];

pub(super) const READ: &[Attempt] = &[
    by("read a key", HIDDEN, "cat ~/.ssh/id_ed25519"),
    by("read a file of passwords", HIDDEN, "cat ~/.netrc"),
    by("read what was typed", HIDDEN, "cat ~/.bash_history"),
    by("read a registry's password", HIDDEN, "cat ~/.docker/config.json"),
    by("read a browser's passwords", HIDDEN, "cat ~/.mozilla/logins.json"),
    by("read a token beside a toolchain", HIDDEN, "cat ~/.cargo/credentials.toml"),
    by("read a forge's token", HIDDEN, "cat ~/.config/gh/hosts.yml"),
    by("read what a hidden link leads to", HIDDEN, "cat ~/dotfiles/aws/credentials"),
    by("read through a hidden link", HIDDEN, "cat ~/.aws/credentials"),
    by("read a browser's cache", HIDDEN, "cat ~/.cache/mozilla/pages"),
    by("read another workspace", HIDDEN, "cat $OTHER/notes"),
    by("read names of keys", HIDDEN, "ls ~/.ssh | grep ."),
    by("read whatever there is", HIDDEN, "grep -rs '^secret' ~"),
    by("read through a link in the workspace", HIDDEN, "ln -s ~/.ssh way && cat way/id_ed25519"),
    by("read through two links", HIDDEN, "ln -s ~ a && ln -s a/.ssh b && cat b/id_ed25519"),
    by("read through the parent", HIDDEN, "cat ../home/.ssh/id_ed25519"),
    by("read through many parents", HIDDEN, "cat ../../../../../../../..$HOME/.ssh/id_ed25519"),
    by("read through the root of itself", HIDDEN, "cat /proc/self/root$HOME/.ssh/id_ed25519"),
    by("read through the root of a thread", HIDDEN, "cat /proc/thread-self/root$HOME/.ssh/id_ed25519"),
    by("read through the folder of itself", HIDDEN, "cat /proc/self/cwd/../home/.ssh/id_ed25519"),
    by("read through a descriptor", HIDDEN, "exec 9< \"$HOME\" && cat /proc/self/fd/9/.ssh/id_ed25519"),
    by(
        "read through a folder that is open",
        HIDDEN,
        "python3 -c 'import os
home = os.open(os.environ[\"HOME\"], os.O_PATH)
os.read(os.open(\".ssh/id_ed25519\", 0, dir_fd=home), 9)'",
    ),
    by("read by another interpreter", HIDDEN, "perl -e 'open(F, \"$ENV{HOME}/.netrc\") or die; print <F>'"),
    by("read by the compiler", HIDDEN, "printf '#include \"%s/.netrc\"' \"$HOME\" | cc -E - | grep secret"),
    by("read into an archive", HIDDEN, "tar cf x.tar -C ~ .ssh/id_ed25519"),
    by("read by git", HIDDEN, "git hash-object -w ~/.netrc"),
    by("read with a hidden folder as home", HIDDEN, "HOME=$HOME/.ssh && cd && cat id_ed25519"),
    by_roots("read the passwords of the system", HIDDEN, "grep : /etc/shadow"),
    by("read folders of ours", &[Wall::Hidden, Wall::Scratch], "ls \"$CACHES\" | grep ."),
    by("read what lies in the machine's scratch", &[Wall::Scratch], "ls \"$SCRATCH\" | grep state"),
    by("read a secret of the workspace", SECRETS, "grep secret .env"),
    by("read a key of the workspace", SECRETS, "grep secret key.pem"),
    by("read a secret after allowing it", SECRETS, "chmod 644 .env; grep secret .env"),
    by("read a secret under another name", SECRETS, "mv .env x; grep secret x .env"),
    by("read a secret through a hard link", SECRETS, "ln .env x && grep secret x"),
    by("read a secret through git", SECRETS, "git add -f .env && git show :.env | grep secret"),
    by("read a secret after unmounting", SECRETS, "umount -l .env; grep secret .env"),
    by("read a secret in a copy", SECRETS, "cp -r . /tmp/copy; grep secret /tmp/copy/.env"),
    by("read a secret through the root of itself", SECRETS, "grep secret /proc/self/root$PWD/.env"),
    deeply("read through a twin of case", "cat ~/.SSH/id_ed25519"),
    deeply("read through a hard link", "ln ~/.netrc x && cat x"),
    deeply("read through the first process", "cat /proc/1/root$HOME/.ssh/id_ed25519"),
    deeply("read through a process outside", "cat /proc/$PID/root$HOME/.ssh/id_ed25519"),
    deeply("read through the folder of a process outside", "cat /proc/$PID/cwd/Cargo.toml"),
    deeply("read through what bubblewrap left", "ls /oldroot /newroot"),
    deeply(
        "read through what is still open",
        "for fd in /proc/self/fd/* /proc/1/fd/*; do cat \"$fd/../home/.netrc\" \"$fd/.netrc\" && exit; done; exit 1",
    ),
    deeply("read the machine's disks", "cat /dev/vda /dev/sda /dev/nvme0n1 | head -c 1 | grep -c ."),
    deeply("read memory", "head -c 1 /dev/mem || head -c 1 /proc/kcore"),
];

pub(super) const WRITE: &[Attempt] = &[
    by("write a new file", READ_ONLY, "echo x > $OUT/new"),
    by("write to a file", READ_ONLY, "echo x >> $OUT/file"),
    by("write through a link", READ_ONLY, "ln -s $OUT way && echo x > way/new"),
    by("write through a link to a file", READ_ONLY, "ln -s $OUT/file way && echo x > way"),
    by("write through the root of itself", READ_ONLY, "echo x > /proc/self/root$OUT/new"),
    by("write through a descriptor", READ_ONLY, "exec 9< $OUT && echo x > /proc/self/fd/9/new"),
    by("write by opening again", READ_ONLY, "exec 9< $OUT/file && echo x > /proc/self/fd/9"),
    by("write by removing", READ_ONLY, "rm $OUT/file"),
    by("write by moving away", READ_ONLY, "mv $OUT/file x"),
    by("write by moving there", READ_ONLY, "echo x > x && mv x $OUT/file"),
    by("write by truncating", READ_ONLY, "truncate -s 0 $OUT/file"),
    by("write by another mode", READ_ONLY, "chmod 777 $OUT/file"),
    by("write by another time", READ_ONLY, "touch -d 2001-01-01 $OUT/file"),
    by("write a folder", READ_ONLY, "mkdir $OUT/folder"),
    by("write a link", READ_ONLY, "ln -s /etc $OUT/link"),
    by("write a pipe", READ_ONLY, "mkfifo $OUT/pipe"),
    by("write in place", READ_ONLY, "sed -i s/plain/evil/ $OUT/file"),
    by("write a repository", READ_ONLY, "git -C $OUT init --quiet"),
    by("write from an archive", READ_ONLY, "tar cf x.tar main.c && tar xf x.tar -C $OUT"),
    by("write a program of a toolchain", READ_ONLY, "cp /bin/true ~/.cargo/bin/tool"),
    by("write a program beside a toolchain", READ_ONLY, "cp /bin/true ~/.cargo/bin/ls"),
    by("write what a shell reads", READ_ONLY, "echo evil >> ~/.bashrc"),
    by("write what a login reads", READ_ONLY, "echo evil >> ~/.profile"),
    by("write a unit of the person", READ_ONLY, "mkdir -p ~/.config/systemd/user"),
    by("write what starts with the desktop", READ_ONLY, "mkdir -p ~/.config/autostart"),
    by("write programs that are found first", READ_ONLY, "mkdir -p ~/.local/bin"),
    by("write an authorized key", READ_ONLY, "mkdir -p ~/.ssh2"),
    by(
        "write a file that had no name",
        READ_ONLY,
        "python3 -c 'import os
out = os.environ[\"OUT\"]
file = os.open(out, os.O_TMPFILE | os.O_RDWR)
os.link(f\"/proc/self/fd/{file}\", out + \"/new\", src_dir_fd=0, follow_symlinks=True)'",
    ),
    by(
        "write through memory",
        READ_ONLY,
        "python3 -c 'import mmap, os
file = open(os.environ[\"OUT\"] + \"/file\", \"r+b\")
mmap.mmap(file.fileno(), 0)[0:1] = b\"X\"'",
    ),
    by(
        "write an attribute",
        READ_ONLY,
        "python3 -c 'import os; os.setxattr(os.environ[\"OUT\"] + \"/file\", \"user.x\", b\"1\")'",
    ),
    by_roots("write to the system", READ_ONLY, "f=$(mktemp /usr/countersign.XXXXXXXX) && rm $f"),
    by_roots("write to settings of the system", READ_ONLY, "f=$(mktemp /etc/countersign.XXXXXXXX) && rm $f"),
    by_roots("write names of machines", READ_ONLY, "test -w /etc/hosts"),
    by_roots("write the program that runs", READ_ONLY, "test -w /usr/bin/env"),
    by_roots("write what runs every hour", READ_ONLY, "test -w /etc/cron.d || test -w /etc/crontab"),
    deeply("write to the root", "echo x > /new"),
    deeply("write to another workspace", "echo x > $OTHER/new"),
    deeply("write through a hard link", "ln $OUT/file x && echo x > x"),
    deeply("write after mounting again", "mount -o remount,rw $OUT && echo x > $OUT/new"),
    deeply("write after unmounting", "umount -l ~ && echo x > $OUT/new"),
    deeply("write through the first process", "echo x > /proc/1/root$OUT/new"),
    deeply("write through a process outside", "echo x > /proc/$PID/root$OUT/new"),
    deeply("write to what is run by time", "echo '* * * * * evil' | crontab -"),
    deeply("write to a unit", "systemd-run --user touch $OUT/new"),
    deeply(
        "write by exchanging",
        "echo x > x; python3 -c 'import ctypes, os
c = ctypes.CDLL(None)
raise SystemExit(c.renameat2(-100, b\"x\", -100, (os.environ[\"OUT\"] + \"/file\").encode(), 2) != 0)'",
    ),
];

pub(super) const CACHE: &[Attempt] = &[
    by("cache that is written over", CACHES, "echo evil > ~/.cache/pkg/wheel; exit 1"),
    by("cache that is added to", CACHES, "echo evil > ~/.npm/evil; exit 1"),
    by("cache that is removed", CACHES, "rm ~/.npm/index; exit 1"),
    by("cache with another mode", CACHES, "chmod 777 ~/.cache/pkg/wheel; exit 1"),
    by("cache through a hard link", CACHES, "ln ~/.cache/pkg/wheel ~/.cache/w && echo evil > ~/.cache/w; exit 1"),
    by("cache that is moved", CACHES, "mv ~/.cache/pkg ~/.cache/p; exit 1"),
    by("cache that leads out", READ_ONLY, "ln -s $OUT ~/.cache/out && echo x > ~/.cache/out/new"),
    by("cache with a hidden folder moved", HIDDEN, "mv ~/.cache/mozilla ~/.cache/m; cat ~/.cache/m/pages || cat ~/.cache/mozilla/pages"),
    deeply("cache of another name", "mv ~/.npm ~/.npm2"),
    deeply("cache that was not there", "mkdir -p ~/.cargo/registry/src && echo x > ~/.cargo/registry/src/x; exit 1"),
    deeply(
        "cache that is led to something hidden",
        "mkdir ~/.npm/way; python3 -c 'import os
os.setxattr(os.environ[\"HOME\"] + \"/.npm/way\", \"user.overlay.redirect\", b\"/../.ssh\")'; cat ~/.npm/way/id_ed25519",
    ),
    deeply("cache folders by their own path", "echo x > $CACHES/x"),
];
