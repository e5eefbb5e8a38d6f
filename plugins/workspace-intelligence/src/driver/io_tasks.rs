//! The three tasks that live as long as a process: one writes, one reads, one waits for its end (SPEC 16.3). They are apart so that a server
//! that does not read cannot keep its own messages from being read.

use super::instance::Instance;
use super::ports::{Host, Input, Output, Process, within};
use crate::failure::Loss;
use futures::future::{Either, select};
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;

/// A process that ends closes its pipes too, and either can be noticed first. For so long, in milliseconds, the other is waited for: the end
/// of the process explains more than a closed pipe, and its last messages still count.
const OTHER_SIGN_MS: u64 = 500;

impl<H: Host> Instance<H> {
    pub(super) async fn write_all_frames(self: Rc<Self>, mut input: H::Input) {
        loop {
            let next = self.bell.until(|| {
                if self.is_over() {
                    return Some(None);
                }
                self.machine.borrow_mut().take_outgoing().map(Some)
            });
            let Some(frame) = next.await else { return };
            match self.unless_over(input.write(frame)).await {
                Some(Ok(())) => {}
                Some(Err(reason)) => {
                    within(
                        &*self.host,
                        OTHER_SIGN_MS,
                        self.bell.until(|| self.exited.get().then_some(())),
                    )
                    .await;
                    if !self.exited.get() {
                        self.lose(Loss::InputFailed(reason));
                    }
                    return;
                }
                None => return,
            }
        }
    }

    pub(super) async fn read_all_messages(self: Rc<Self>, mut output: H::Output) {
        while let Some(chunk) = self.unless_over(output.read()).await {
            let Some(chunk) = chunk else {
                self.output_ended.set(true);
                self.bell.ring();
                within(
                    &*self.host,
                    OTHER_SIGN_MS,
                    self.bell.until(|| self.exited.get().then_some(())),
                )
                .await;
                if !self.exited.get() {
                    self.lose(Loss::OutputClosed);
                }
                return;
            };
            let broke_protocol = {
                let mut machine = self.machine.borrow_mut();
                machine.receive(&chunk, self.host.now_ms());
                matches!(machine.loss(), Some(Loss::Framing(_)))
            };
            if broke_protocol {
                self.process.terminate();
            }
            self.bell.ring();
            if broke_protocol {
                return;
            }
        }
    }

    pub(super) async fn watch_exit(self: Rc<Self>) {
        let how = self.process.done().await;
        self.exited.set(true);
        self.bell.ring();
        let drained = self
            .bell
            .until(|| (self.output_ended.get() || self.is_over()).then_some(()));
        within(&*self.host, OTHER_SIGN_MS, drained).await;
        let loss = self.exit_loss(how);
        self.lose(loss);
    }

    /// Gives up once the end of the process is complete: a helper that outlived it may hold the pipes open.
    async fn unless_over<F: Future>(&self, work: F) -> Option<F::Output> {
        let over = self.bell.until(|| self.is_over().then_some(()));
        match select(pin!(over), pin!(work)).await {
            Either::Left(_) => None,
            Either::Right((output, _)) => Some(output),
        }
    }
}
