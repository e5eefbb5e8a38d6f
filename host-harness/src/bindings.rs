//! Rust types of `dsh:ctx`, generated from `wit/`.

wasmtime::component::bindgen!({
    path: "../wit",
    inline: "
        package dsh:host;
        world everything {
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
    world: "dsh:host/everything",
    imports: {
        "dsh:ctx/subprocess.[method]process.write-stdin": store | trappable,
        "dsh:ctx/subprocess.[method]process.take-stdout": store | trappable,
        default: trappable,
    },
    exports: { default: async | store },
    with: {
        "dsh:ctx/abort.abort-signal": crate::abort::AbortSignal,
        "dsh:ctx/call.caller": crate::ctx::call::Caller,
        "dsh:ctx/fs.target": crate::ctx::fs::Target,
        "dsh:ctx/subprocess.process": crate::ctx::subprocess::Process,
        "dsh:ctx/workspace.directory": crate::ctx::workspace::Directory,
    },
    require_store_data_send: true,
});
