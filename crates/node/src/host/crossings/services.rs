//! Services of this machine that a box sees on its own loopback, so that programs which know no proxy find
//! them: those that are known for what they are, and those that a rule is about. Whoever connects is
//! judged like any other.

use super::super::own_rules::OwnRules;
use countersign_gate::{by_name, listening};
use std::collections::BTreeSet;
use std::net::SocketAddr;

/// Where a box is to listen for services that are there now. Blocking, a few system calls.
pub(super) fn found(own: &OwnRules) -> Vec<SocketAddr> {
    let ports: BTreeSet<u16> = KNOWN.iter().copied().chain(own.ports_of_this_machine()).collect();
    let there = listening();
    // By name: whichever address a program takes, it gets to where the service is.
    let is_there = |port: &u16| by_name(*port).iter().any(|at| there.contains(at));
    ports.into_iter().filter(is_there).flat_map(by_name).collect()
}

/// Ports that nothing else is usually found at: a box's own server can have every other one,
/// whatever runs here.
const KNOWN: &[u16] = &[
    1_025,  // mail while developing
    1_433,  // SQL Server
    1_521,  // Oracle
    1_883,  // MQTT
    2_181,  // ZooKeeper
    2_379,  // etcd
    3_306,  // MySQL
    4_222,  // NATS
    5_432,  // PostgreSQL
    5_672,  // RabbitMQ
    5_984,  // CouchDB
    6_379,  // Redis
    7_687,  // Neo4j
    8_086,  // InfluxDB
    8_123,  // ClickHouse
    9_042,  // Cassandra
    9_092,  // Kafka
    9_200,  // Elasticsearch
    11_211, // Memcached
    11_434, // Ollama
    26_257, // CockroachDB
    27_017, // MongoDB
];
