//! The contract in `wit/`, and what the bundled components make of it. The imports of a component are its permissions, so they stand here
//! one by one: a new one has to be seen.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how a test fails"
)]

use dsh_host::{CTX_VERSION, LoadedComponent, bundled};
use dsh_tests::hosts::{COMPLETION, HISTORY, SYMBOLS, host};
use std::collections::BTreeSet;
use std::path::Path;
use wit_component::DecodedWasm;
use wit_parser::{Docs, Resolve, TypeDef, TypeDefKind, World, WorldItem, WorldKey};

/// The largest component, in bytes.
const MAX_SIZE: usize = 600_000;
/// The largest completion component, which every agent has.
const MAX_COMPLETION_SIZE: usize = 500_000;

/// One bundled component.
struct Expected {
    name: &'static str,
    world: &'static str,
    /// What it may do, without `dsh:ctx/` and the version.
    imports: &'static [&'static str],
    /// What it offers, likewise.
    exports: &'static [&'static str],
    /// What the standard library of its target imports on top of [`WASI`].
    more_wasi: &'static [&'static str],
}

/// What the standard library imports into every component, without `wasi:` and the version.
const WASI: &[&str] = &[
    "cli/environment",
    "cli/exit",
    "cli/stderr",
    "cli/stdin",
    "cli/stdout",
    "cli/terminal-input",
    "cli/terminal-output",
    "cli/terminal-stderr",
    "cli/terminal-stdin",
    "cli/terminal-stdout",
    "io/error",
    "io/poll",
    "io/streams",
];

const EXPECTED: [Expected; 3] = [
    Expected {
        name: HISTORY,
        world: "context-proxy",
        imports: &[
            "abort",
            "call",
            "logger",
            "session-query",
            "spill",
            "subprocess",
            "types",
        ],
        exports: &["lifecycle", "tool-provider"],
        more_wasi: &[],
    },
    Expected {
        name: COMPLETION,
        world: "file-reference-local",
        imports: &["abort", "logger", "tools", "types", "workspace"],
        exports: &[
            "agent-events",
            "file-references",
            "lifecycle",
            "prompt-sections",
        ],
        more_wasi: &["random/insecure-seed"],
    },
    Expected {
        name: SYMBOLS,
        world: "workspace-intelligence",
        imports: &[
            "abort",
            "call",
            "fs",
            "logger",
            "subprocess",
            "timers",
            "types",
        ],
        exports: &["lifecycle", "tool-provider"],
        more_wasi: &["clocks/monotonic-clock", "clocks/wall-clock"],
    },
];

fn contract() -> Resolve {
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
    resolve.push_dir(wit).unwrap();
    resolve
}

/// Items without a text, by their path.
#[derive(Default)]
struct Undocumented {
    seen: usize,
    bare: Vec<String>,
}

impl Undocumented {
    fn check(&mut self, item: &str, docs: &Docs) {
        self.seen += 1;
        if docs
            .contents
            .as_deref()
            .is_none_or(|text| text.trim().is_empty())
        {
            self.bare.push(item.to_owned());
        }
    }

    fn check_type(&mut self, path: &str, definition: &TypeDef) {
        // What a `use` brings in is documented where it comes from.
        if let TypeDefKind::Type(wit_parser::Type::Id(_)) = definition.kind {
            return;
        }
        self.check(path, &definition.docs);
        let mut member = |name: &str, docs: &Docs| self.check(&format!("{path}.{name}"), docs);
        match &definition.kind {
            TypeDefKind::Record(record) => {
                for field in &record.fields {
                    member(&field.name, &field.docs);
                }
            }
            TypeDefKind::Variant(variant) => {
                for case in &variant.cases {
                    member(&case.name, &case.docs);
                }
            }
            TypeDefKind::Enum(kinds) => {
                for case in &kinds.cases {
                    member(&case.name, &case.docs);
                }
            }
            TypeDefKind::Flags(flags) => {
                for flag in &flags.flags {
                    member(&flag.name, &flag.docs);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn everything_in_the_contract_is_documented() {
    let contract = contract();
    let mut found = Undocumented::default();
    for (_, interface) in &contract.interfaces {
        let name = interface.name.as_deref().expect("no nameless interfaces");
        found.check(name, &interface.docs);
        for (function, definition) in &interface.functions {
            found.check(&format!("{name}/{function}"), &definition.docs);
        }
        for (type_name, id) in &interface.types {
            found.check_type(&format!("{name}/{type_name}"), &contract.types[*id]);
        }
    }
    for (_, world) in &contract.worlds {
        found.check(&world.name, &world.docs);
    }
    assert!(
        found.bare.is_empty(),
        "without documentation: {:?}",
        found.bare
    );
    assert!(found.seen > 100, "only {} items were seen", found.seen);
}

#[test]
fn the_package_has_the_version_that_the_host_implements() {
    for (_, package) in &contract().packages {
        let version = package.name.version.as_ref().unwrap().to_string();
        assert_eq!(
            (package.name.namespace.as_str(), package.name.name.as_str()),
            ("dsh", "ctx")
        );
        assert_eq!(version, CTX_VERSION);
    }
}

/// Names of interfaces under `package/`, sorted, without it and the version.
fn short<'a>(package: &str, names: impl IntoIterator<Item = &'a String>) -> BTreeSet<&'a str> {
    names
        .into_iter()
        .filter_map(|name| name.strip_prefix(package)?.split('@').next())
        .collect()
}

fn set<'a>(names: &[&'a str]) -> BTreeSet<&'a str> {
    names.iter().copied().collect()
}

#[test]
fn components_import_and_export_exactly_this() {
    let host = host();
    assert_eq!(
        bundled::ALL.map(|bundled| bundled.name),
        EXPECTED.map(|e| e.name)
    );
    for (bundled, expected) in bundled::ALL.iter().zip(EXPECTED) {
        let name = expected.name;
        let component = LoadedComponent::new(host.engine(), bundled.bytes).unwrap();
        let (imports, exports) = decode(bundled.bytes);
        let sorted = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
        assert_eq!(
            sorted(component.imports()),
            imports,
            "{name}: the host sees all"
        );
        assert_eq!(
            sorted(component.exports()),
            exports,
            "{name}: the host sees all"
        );
        assert_eq!(component.world(), Some(expected.world), "{name}");

        let own = set(expected.imports);
        let wasi: BTreeSet<&str> = WASI.iter().chain(expected.more_wasi).copied().collect();
        assert_eq!(short("dsh:ctx/", &imports), own, "{name}");
        assert_eq!(short("wasi:", &imports), wasi, "{name}");
        assert_eq!(
            imports.len(),
            own.len() + wasi.len(),
            "{name}: of no other package"
        );
        assert_eq!(short("dsh:ctx/", &exports), set(expected.exports), "{name}");
        assert_eq!(exports.len(), expected.exports.len(), "{name}");
    }
}

#[test]
fn components_fit_their_worlds() {
    let contract = contract();
    assert_eq!(contract.worlds.len(), EXPECTED.len());
    for expected in EXPECTED {
        let found = contract
            .worlds
            .iter()
            .find(|(_, world)| world.name == expected.world);
        let (_, world) = found.expect(expected.world);
        let (imports, exports) = world_items(&contract, world);
        let exported = short("dsh:ctx/", &exports);
        assert_eq!(exported, set(expected.exports), "{}", expected.world);
        // A world names what its components may import; what is not used is left out when one is built.
        let allowed = short("dsh:ctx/", &imports);
        let unused: Vec<_> = allowed
            .symmetric_difference(&set(expected.imports))
            .copied()
            .collect();
        assert_eq!(unused, Vec::<&str>::new(), "{}", expected.world);
    }
}

#[test]
fn components_are_small() {
    for bundled in bundled::ALL {
        let limit = match bundled.name {
            COMPLETION => MAX_COMPLETION_SIZE,
            _ => MAX_SIZE,
        };
        let size = bundled.bytes.len();
        assert!(
            size <= limit,
            "{} has {size} bytes, more than {limit}",
            bundled.name
        );
    }
}

/// Imports and exports of a component, as the tools of the component model read them.
fn decode(bytes: &[u8]) -> (BTreeSet<String>, BTreeSet<String>) {
    match wit_component::decode(bytes).unwrap() {
        DecodedWasm::Component(resolve, world) => world_items(&resolve, &resolve.worlds[world]),
        DecodedWasm::WitPackage(..) => panic!("a package of WIT, not a component"),
    }
}

fn world_items(resolve: &Resolve, world: &World) -> (BTreeSet<String>, BTreeSet<String>) {
    let name = |(key, item): (&WorldKey, &WorldItem)| {
        assert!(
            matches!(item, WorldItem::Interface { .. }),
            "whole interfaces only"
        );
        resolve.name_world_key(key)
    };
    let imports = world.imports.iter().map(name).collect();
    (imports, world.exports.iter().map(name).collect())
}
