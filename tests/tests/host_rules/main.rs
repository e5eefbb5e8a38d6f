//! What the host promises beyond its limits: cancellation, order, unloading, what calls and answers must look like, who sees what.

mod aborts;
mod answers;
mod code_cache;
mod order;
mod unmounting;
mod visibility;
