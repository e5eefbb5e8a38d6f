//! A plugin that misbehaves as it is told: by its configuration while it is mounted and unmounted, by the arguments of its tools while it is
//! called. It shares no code with the real plugins, so that it can break the contract wherever the contract can be broken.
#![cfg(target_family = "wasm")]

mod bindings {
    #![allow(missing_docs, unsafe_code, clippy::all)]
    wit_bindgen::generate!({
        path: "../../../wit",
        inline: "
            package dsh:hostile;
            world hostile {
                import dsh:ctx/abort@0.1.0;
                import dsh:ctx/call@0.1.0;
                import dsh:ctx/fs@0.1.0;
                import dsh:ctx/logger@0.1.0;
                import dsh:ctx/session-query@0.1.0;
                import dsh:ctx/spill@0.1.0;
                import dsh:ctx/subprocess@0.1.0;
                import dsh:ctx/timers@0.1.0;
                import dsh:ctx/tools@0.1.0;
                import dsh:ctx/workspace@0.1.0;
                export dsh:ctx/lifecycle@0.1.0;
                export dsh:ctx/tool-provider@0.1.0;
                export dsh:ctx/agent-events@0.1.0;
                export dsh:ctx/file-references@0.1.0;
                export dsh:ctx/prompt-sections@0.1.0;
            }
        ",
        world: "dsh:hostile/hostile",
        generate_all,
    });
    use super::Component;
    export!(Component);
}

mod files;
mod handles;
mod lifecycle;
mod machine;
mod misdeeds;
mod tools;

struct Component;
