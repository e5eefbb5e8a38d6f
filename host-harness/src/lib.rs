mod bindings;
mod ctx { pub mod abort { pub struct AbortSignal; } pub mod call { pub struct Caller; } pub mod fs { pub struct Target; } pub mod subprocess { pub struct Process; } pub mod workspace { pub struct Directory; } }
