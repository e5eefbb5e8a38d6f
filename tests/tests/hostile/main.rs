//! Every limit of the host, proven by a plugin that breaks it: the exact failure, the others unharmed, and the next call served.

mod crowding;
mod handles;
mod limits;
mod loading;
mod mounting;
mod programs;
mod reading;
mod recovery;
