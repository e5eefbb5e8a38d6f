//! The orderly end of a process (SPEC 18).

use super::instance::{Ending, Instance};
use super::ports::{Host, Level, Process, within};
use std::rc::Rc;

impl<H: Host> Instance<H> {
    /// Ends the process and everything that it started, and waits for that. There is one end: whoever asks for it waits for the same.
    ///
    /// An error means that something is left.
    pub async fn end(self: &Rc<Self>) -> Result<(), String> {
        if *self.ending.borrow() == Ending::NotBegun {
            *self.ending.borrow_mut() = Ending::Running;
            // In a task of its own: it must be finished even when the call that began it is gone.
            self.host.start_task(self.clone().run_end());
        }
        self.bell
            .until(|| match &*self.ending.borrow() {
                Ending::Over(outcome) => Some(outcome.clone()),
                _ => None,
            })
            .await
    }

    async fn run_end(self: Rc<Self>) {
        let budget = u64::from(self.server.config.shutdown_timeout_ms);
        within(&*self.host, budget, self.ask_to_end()).await;
        self.process.terminate();
        let exited = self.bell.until(|| self.exited.get().then_some(()));
        let (gone, ()) = futures::future::join(self.process.wait_for_exit(), exited).await;
        let outcome = if gone {
            Ok(())
        } else {
            let message = format!(
                "language server {:?} left processes behind",
                self.server.config.id
            );
            self.host.log(Level::Warn, &message);
            Err(message)
        };
        *self.ending.borrow_mut() = Ending::Over(outcome);
        self.bell.ring();
    }

    /// `shutdown`, `exit`, and the end of the process, as far as the server plays along.
    async fn ask_to_end(&self) {
        let may_comply = {
            let mut machine = self.machine.borrow_mut();
            machine.drain();
            machine.loss().is_none() && machine.is_initialize_answered()
        };
        self.bell.ring();
        if !may_comply {
            return;
        }
        self.bell
            .until(|| (!self.machine.borrow().is_shutting_down()).then_some(()))
            .await;
        self.machine.borrow_mut().exit();
        self.bell.ring();
        let gone = || (self.exited.get() || self.machine.borrow().loss().is_some()).then_some(());
        self.bell.until(gone).await;
    }
}
