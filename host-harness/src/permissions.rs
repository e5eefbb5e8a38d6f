//! What a component may do, in words. Its imports are its permissions; this is their one description for people.

/// A permission that an import stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permission {
    /// The interface, without package and version.
    pub interface: &'static str,
    /// What it lets a plugin do.
    pub meaning: &'static str,
}

const KNOWN: &[Permission] = &[
    Permission {
        interface: "workspace",
        meaning: "see names under each agent's directory, no file content",
    },
    Permission {
        interface: "fs",
        meaning: "read files under each agent's directory",
    },
    Permission {
        interface: "subprocess",
        meaning: "run the programs granted to it, and no others",
    },
    Permission {
        interface: "session-query",
        meaning: "read the history of the calling session",
    },
    Permission {
        interface: "spill",
        meaning: "ask which spill files the calling session may search",
    },
    Permission {
        interface: "tools",
        meaning: "ask whether an agent has a tool",
    },
    Permission {
        interface: "call",
        meaning: "know who calls",
    },
    Permission {
        interface: "abort",
        meaning: "be cancelled",
    },
    Permission {
        interface: "timers",
        meaning: "wait",
    },
    Permission {
        interface: "logger",
        meaning: "write to the log, at a limited rate",
    },
];

/// The permissions among a component's imports, in a fixed order, most far-reaching first.
pub fn permissions(imports: &[String]) -> Vec<Permission> {
    let imported = |interface: &str| {
        imports.iter().any(|name| {
            name.strip_prefix("dsh:ctx/")
                .and_then(|name| name.split('@').next())
                .is_some_and(|name| name == interface)
        })
    };
    KNOWN
        .iter()
        .copied()
        .filter(|permission| imported(permission.interface))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_interface_that_can_be_imported_is_described() {
        let contract = [
            "abort",
            "call",
            "fs",
            "logger",
            "session-query",
            "spill",
            "subprocess",
            "timers",
            "tools",
            "workspace",
        ];
        let imports: Vec<String> = contract
            .iter()
            .map(|name| format!("dsh:ctx/{name}@0.1.0"))
            .collect();
        assert_eq!(permissions(&imports).len(), contract.len());
        assert_eq!(
            permissions(&["wasi:io/streams@0.2.0".into(), "dsh:ctx/types@0.1.0".into()]),
            []
        );
    }
}
