//! Components that are refused before anything of them runs.

use dsh_host::{LoadError, LoadedComponent};
use dsh_tests::hostile::Stage;

/// A component that holds one core module with these sections, and nothing else.
fn component(sections: &[u8]) -> Vec<u8> {
    let module = [b"\0asm\x01\0\0\0", sections].concat();
    let length = u8::try_from(module.len()).unwrap();
    assert!(length < 128, "one byte of LEB128");
    [b"\0asm\x0d\0\x01\0\x01", &[length][..], &module].concat()
}

fn load(sections: &[u8]) -> LoadError {
    match LoadedComponent::new(Stage::new().host.engine(), &component(sections)) {
        Ok(_) => panic!("it was accepted"),
        Err(error) => error,
    }
}

#[test]
fn a_module_of_plain_webassembly_gets_as_far_as_its_exports() {
    // One function type, `() -> ()`; one memory of one page.
    for sections in [&b"\x01\x04\x01\x60\0\0"[..], b"\x05\x03\x01\0\x01"] {
        assert!(matches!(load(sections), LoadError::NoLifecycle));
    }
}

#[test]
fn what_no_plugin_needs_is_refused_by_the_validator() {
    for (what, sections) in [
        // An open function type: the comparison of two of them aborts wasmtime 48.0.8 (GHSA-rc4p-x33f-vpr2).
        ("a function subtype", &b"\x01\x06\x01\x50\0\x60\0\0"[..]),
        ("a struct", b"\x01\x03\x01\x5f\0"),
        ("an external reference", b"\x01\x05\x01\x60\x01\x6f\0"),
        (
            "a typed function reference",
            b"\x01\x09\x02\x60\0\0\x60\x01\x64\0\0",
        ),
        ("an exception tag", b"\x01\x04\x01\x60\0\0\x0d\x03\x01\0\0"),
        ("a shared memory", b"\x05\x04\x01\x03\x01\x01"),
        ("a memory of 64 bits", b"\x05\x03\x01\x04\x01"),
        ("two memories", b"\x05\x05\x02\0\x01\0\x01"),
    ] {
        match load(sections) {
            LoadError::Invalid(reason) => assert!(!reason.is_empty(), "{what}"),
            other => panic!("{what}: {other}"),
        }
    }
}

/// A component that imports an empty interface of this name, and nothing else.
fn importing(name: &str) -> Vec<u8> {
    let length = u8::try_from(name.len()).unwrap();
    assert!(length < 100, "one byte of LEB128");
    [
        b"\0asm\x0d\0\x01\0",
        // One type: an instance without exports.
        &b"\x07\x03\x01\x42\0"[..],
        // One import, an instance of that type.
        &[0x0a, length + 5, 1, 0, length],
        name.as_bytes(),
        b"\x05\0",
    ]
    .concat()
}

#[test]
fn an_interface_that_no_plugin_gets_is_refused_by_its_name() {
    let load = |name| match LoadedComponent::new(Stage::new().host.engine(), &importing(name)) {
        Ok(_) => panic!("{name} was accepted"),
        Err(error) => error,
    };
    for name in ["wasi:cli/environment@0.2.0", "wasi:io/poll@0.2.0"] {
        assert!(matches!(load(name), LoadError::NoLifecycle), "{name}");
    }
    for name in [
        "wasi:sockets/network@0.2.0",
        "wasi:sockets/instance-network@0.2.0",
        "wasi:sockets/ip-name-lookup@0.2.0",
        "wasi:sockets/tcp@0.2.0",
        "wasi:sockets/tcp-create-socket@0.2.0",
        "wasi:sockets/udp@0.2.0",
        "wasi:sockets/udp-create-socket@0.2.0",
        "wasi:sockets/types@0.3.0",
        "wasi:http/outgoing-handler@0.2.0",
        "wasi:keyvalue/store@0.2.0",
        "dsh:ctx/shell@0.1.0",
        "dsh:other/fs@0.1.0",
        "env",
    ] {
        match load(name) {
            LoadError::ForbiddenImport { interface } => assert_eq!(interface, name),
            other => panic!("{name}: {other}"),
        }
    }
}
