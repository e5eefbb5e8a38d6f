//! A line in which everybody waits for their turn.

use super::bell::Bell;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// First come, first served. Leaving the line is always possible, and moves nobody ahead of whoever is being served.
#[derive(Debug, Default)]
pub struct Queue {
    line: RefCell<VecDeque<u64>>,
    last_ticket: Cell<u64>,
    bell: Bell,
}

/// A place in a [`Queue`], given up when dropped.
#[derive(Debug)]
pub struct Ticket<'a> {
    queue: &'a Queue,
    number: u64,
}

impl Queue {
    /// Joins the end of the line.
    pub fn enter(&self) -> Ticket<'_> {
        let number = self.last_ticket.get() + 1;
        self.last_ticket.set(number);
        self.line.borrow_mut().push_back(number);
        Ticket {
            queue: self,
            number,
        }
    }
}

impl Ticket<'_> {
    /// Waits for the turn, which lasts until the ticket is dropped.
    pub async fn turn(&self) {
        let is_first = || (self.queue.line.borrow().front() == Some(&self.number)).then_some(());
        self.queue.bell.until(is_first).await;
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.queue
            .line
            .borrow_mut()
            .retain(|number| *number != self.number);
        self.queue.bell.ring();
    }
}
