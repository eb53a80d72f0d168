//! What makes programs of a box find the way out. Each variable has its reason beside it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

/// How programs of the box find the relay.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WayOut {
    /// Where the relay listens, on loopback of the box.
    pub proxy: SocketAddr,
    /// The command, with its arguments, that `ssh` starts to be connected: host and port are appended. It
    /// calls [`connect`](crate::connect()).
    pub connect: Vec<String>,
    /// Where public keys of hosts are for `ssh`, which finds no folder of its own.
    pub known_hosts: String,
}

/// Variables for a boxed run. They replace what the run inherited under these names.
///
/// Go, Rust's and Python's clients, curl, wget, git over HTTPS, apt, RubyGems, Composer, Hex, Deno, Bun and
/// .NET obey the common ones; the others are for programs that have names of their own for the same.
pub fn environment(way: &WayOut) -> BTreeMap<String, String> {
    let http = format!("http://{}", way.proxy);
    let mut variables = BTreeMap::new();
    let mut set = |name: &str, value: &str| {
        variables.insert(name.to_owned(), value.to_owned());
    };
    // Programs read one spelling or the other; curl reads http_proxy in lower case only.
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
        set(name, &http);
    }
    // For what is neither. Not SOCKS, though it is spoken here: Python's httpx and requests fail at every
    // start where this names a scheme that they have no extra package for.
    for name in ["ALL_PROXY", "all_proxy"] {
        set(name, &http);
    }
    // Servers of the box itself are reached directly.
    for name in ["NO_PROXY", "no_proxy", "npm_config_noproxy", "GLOBAL_AGENT_NO_PROXY"] {
        set(name, "localhost,127.0.0.1,::1");
    }
    // ssh reads no variable; git starts it with these words.
    let options = [
        format!("ProxyCommand={}", proxy_command(&way.connect)),
        format!("UserKnownHostsFile={}", way.known_hosts),
    ];
    let options = options.map(|option| format!(" -o {}", quoted(&option))).concat();
    set("GIT_SSH_COMMAND", &format!("ssh{options}"));
    // A project's `.npmrc` wins over the common variables, and these win over it.
    set("npm_config_proxy", &http);
    set("npm_config_https_proxy", &http);
    // Yarn from 2 on has its own names and ignores the others.
    set("YARN_HTTP_PROXY", &http);
    set("YARN_HTTPS_PROXY", &http);
    // Node's own `fetch` and `http` obey the common variables only when they are told to (22.21, 24.5).
    set("NODE_USE_ENV_PROXY", "1");
    // Programs with `global-agent`, and what Electron fetches of itself.
    set("GLOBAL_AGENT_HTTP_PROXY", &http);
    set("GLOBAL_AGENT_HTTPS_PROXY", &http);
    set("ELECTRON_GET_USE_PROXY", "1");
    // pip's file of settings would win over the common variables, and this one wins over the file.
    set("PIP_PROXY", &http);
    // Cargo's file of settings would win over the common variables, and this one wins over the file.
    set("CARGO_HTTP_PROXY", &http);
    // The JVM obeys properties only: Maven, Gradle, sbt, Kotlin.
    set("JAVA_TOOL_OPTIONS", &java(way.proxy));
    // Hex has names of its own beside the common ones.
    set("HEX_HTTP_PROXY", &http);
    set("HEX_HTTPS_PROXY", &http);
    // Proxies of gRPC: without it the C core takes the common variable, and with some versions only this one.
    set("grpc_proxy", &http);
    // wget and curl would find a proxy in files of the person's home, and ftp goes nowhere else.
    set("FTP_PROXY", &http);
    set("ftp_proxy", &http);
    // rsync over its own protocol reads HOST:PORT.
    set("RSYNC_PROXY", &way.proxy.to_string());
    // Clients of registries take a refusal for a fault that passes, and try again: pip for 8 s, uv for 7,
    // Cargo for 10, pnpm for 70. A second try at once is left to them for faults that do pass. pnpm reads one
    // spelling or, from 11 on, the other.
    for name in ["PIP_RETRIES", "UV_HTTP_RETRIES", "CARGO_NET_RETRY"] {
        set(name, "1");
    }
    for begin in ["npm_config", "pnpm_config"] {
        set(&format!("{begin}_fetch_retry_mintimeout"), "500");
        set(&format!("{begin}_fetch_retry_maxtimeout"), "2000");
    }
    variables
}

/// What stands after `ProxyCommand=`. `ssh` gives it to a shell, after it has put host and port in and
/// `exec` before it.
fn proxy_command(connect: &[String]) -> String {
    // A percent sign is one for ssh when it is doubled.
    let words: Vec<String> = connect.iter().map(|word| quoted(&word.replace('%', "%%"))).collect();
    format!("{} %h %p", words.join(" "))
}

/// One word for a POSIX shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.,:=@+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// What is not for a proxy is left as it is: loopback.
fn java(proxy: SocketAddr) -> String {
    let (host, port) = (proxy.ip(), proxy.port());
    ["http", "https"]
        .map(|scheme| format!("-D{scheme}.proxyHost={host} -D{scheme}.proxyPort={port}"))
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn way() -> WayOut {
        let connect = ["/opt/it's here/countersign", "gate-connect"].map(str::to_owned).to_vec();
        WayOut { proxy: "127.0.0.1:3128".parse().unwrap(), connect, known_hosts: "/run/hosts".to_owned() }
    }

    #[test]
    fn every_program_is_told_in_its_own_words() {
        const HTTP: &str = "http://127.0.0.1:3128";
        let found = environment(&way());
        let mut expected: BTreeMap<&str, &str> = [
            ("ALL_PROXY", HTTP),
            ("all_proxy", HTTP),
            ("NO_PROXY", "localhost,127.0.0.1,::1"),
            ("no_proxy", "localhost,127.0.0.1,::1"),
            ("npm_config_noproxy", "localhost,127.0.0.1,::1"),
            ("GLOBAL_AGENT_NO_PROXY", "localhost,127.0.0.1,::1"),
            ("ELECTRON_GET_USE_PROXY", "1"),
            ("NODE_USE_ENV_PROXY", "1"),
            ("RSYNC_PROXY", "127.0.0.1:3128"),
            ("PIP_RETRIES", "1"),
            ("UV_HTTP_RETRIES", "1"),
            ("CARGO_NET_RETRY", "1"),
            ("npm_config_fetch_retry_mintimeout", "500"),
            ("npm_config_fetch_retry_maxtimeout", "2000"),
            ("pnpm_config_fetch_retry_mintimeout", "500"),
            ("pnpm_config_fetch_retry_maxtimeout", "2000"),
            (
                "JAVA_TOOL_OPTIONS",
                "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=127.0.0.1 \
                 -Dhttps.proxyPort=3128",
            ),
            (
                "GIT_SSH_COMMAND",
                r"ssh -o 'ProxyCommand='\''/opt/it'\''\'\'''\''s here/countersign'\'' gate-connect %h %p' -o UserKnownHostsFile=/run/hosts",
            ),
        ]
        .into();
        for name in [
            "CARGO_HTTP_PROXY",
            "FTP_PROXY",
            "GLOBAL_AGENT_HTTPS_PROXY",
            "GLOBAL_AGENT_HTTP_PROXY",
            "HEX_HTTPS_PROXY",
            "HEX_HTTP_PROXY",
            "HTTPS_PROXY",
            "HTTP_PROXY",
            "PIP_PROXY",
            "YARN_HTTPS_PROXY",
            "YARN_HTTP_PROXY",
            "ftp_proxy",
            "grpc_proxy",
            "http_proxy",
            "https_proxy",
            "npm_config_https_proxy",
            "npm_config_proxy",
        ] {
            expected.insert(name, HTTP);
        }
        let found: BTreeMap<&str, &str> = found.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_percent_sign_in_a_path_is_none_of_ssh() {
        assert_eq!(proxy_command(&["/100%/it".to_owned(), "a b".to_owned()]), "/100%%/it 'a b' %h %p");
    }
}
