//! Every limit of the host, proven by a plugin that breaks it: the exact failure, the others unharmed, and the next call served.

mod crowding;
mod limits;
mod mounting;
mod recovery;
