//! The driver's ports, over the world.

use super::server::{Output, Process, Server, StdinPipe};
use super::world::{Outside, Timer};
use dsh_workspace_intelligence::driver::ports::{Child, Host, Level, NodeKind, SpawnSpec, Spawned};
use futures::channel::oneshot;
use futures::task::LocalSpawnExt;
use std::collections::BTreeMap;
use std::future::Future;

/// `pathToFileURL` for the characters that the tests use.
pub fn file_url(path: &str) -> String {
    let mut url = "file://".to_owned();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._!$&'()*+,;=:@/".contains(&byte) {
            url.push(char::from(byte));
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
    url
}

impl Host for Outside {
    type Target = String;
    type Process = Process;
    type Input = StdinPipe;
    type Output = Output;

    fn now_ms(&self) -> u64 {
        self.0.now.get()
    }

    async fn sleep(&self, milliseconds: u64) {
        let (wake, woken) = oneshot::channel();
        let number = self.0.timer_count.get() + 1;
        self.0.timer_count.set(number);
        let at = self.0.now.get() + milliseconds;
        self.0.timers.borrow_mut().push(Timer { at, number, wake });
        woken.await.ok();
    }

    fn start_task(&self, task: impl Future<Output = ()> + 'static) {
        self.0
            .spawner
            .spawn_local(task)
            .expect("the pool lives as long as the test");
    }

    fn log(&self, level: Level, message: &str) {
        self.0.log.borrow_mut().push((level, message.to_owned()));
    }

    async fn resolve_executable(
        &self,
        command: &str,
        env: &[(String, String)],
    ) -> Result<String, String> {
        self.0
            .lookups
            .borrow_mut()
            .push((command.to_owned(), env.to_vec()));
        if self.0.programs.borrow().contains_key(command) {
            Ok(format!("/bin/{command}"))
        } else {
            Err(format!("{command:?} was not found on PATH"))
        }
    }

    async fn spawn(&self, spec: SpawnSpec) -> Result<Spawned<Self>, String> {
        if self.0.spawn_delay.get() > 0 {
            self.sleep(self.0.spawn_delay.get()).await;
        }
        if let Some(reason) = self.0.spawn_errors.borrow_mut().pop() {
            return Err(reason);
        }
        let program = spec.argv[0].trim_start_matches("/bin/").to_owned();
        let count = self.servers_of(&program).len();
        let factory = self
            .0
            .programs
            .borrow()
            .get(&program)
            .expect("only installed programs are started")
            .clone();
        let server = Server::start(self.clone(), program, spec, factory(count));
        self.0.servers.borrow_mut().push(server.clone());
        Ok(server.pipes())
    }

    async fn resolve(&self, path: &str, cwd: Option<&str>) -> Result<String, String> {
        self.file_call().await;
        let absolute = match cwd {
            Some(cwd) if !path.starts_with('/') => format!("{cwd}/{path}"),
            _ => path.to_owned(),
        };
        if absolute.contains("/loop") {
            return Err(format!("{absolute}: too many levels of symbolic links"));
        }
        Ok(self.real_path(&absolute))
    }

    async fn kind(&self, target: &String) -> Result<Option<NodeKind>, String> {
        self.file_call().await;
        if target.contains("/locked") {
            return Err(format!("{target}: permission denied"));
        }
        Ok(self.kind_of(target))
    }

    fn key(&self, target: &String) -> String {
        format!("key of {target}")
    }

    fn process_path(&self, target: &String) -> String {
        target.clone()
    }

    fn file_url(&self, target: &String) -> String {
        file_url(target)
    }

    fn contains(&self, parent: &String, child: &String) -> bool {
        parent == child || child.starts_with(&format!("{parent}/"))
    }

    async fn list(&self, target: &String) -> Result<Vec<Child>, String> {
        self.file_call().await;
        let prefix = format!("{target}/");
        let mut children = BTreeMap::new();
        for file in self
            .0
            .files
            .borrow()
            .keys()
            .filter_map(|path| path.strip_prefix(&prefix))
        {
            match file.split_once('/') {
                Some((name, _)) => children.insert(name.to_owned(), NodeKind::Directory),
                None => children.insert(file.to_owned(), NodeKind::File),
            };
        }
        for link in self
            .0
            .links
            .borrow()
            .keys()
            .filter_map(|path| path.strip_prefix(&prefix))
        {
            children.insert(link.to_owned(), NodeKind::Other);
        }
        Ok(children
            .into_iter()
            .map(|(name, kind)| Child { name, kind })
            .collect())
    }

    async fn read_text(&self, target: &String, max_bytes: u64) -> Result<String, String> {
        self.file_call().await;
        match self.0.files.borrow().get(target) {
            Some(text) if text.len() as u64 > max_bytes => Err(format!("{target}: is too large")),
            Some(text) => Ok(text.clone()),
            None => Err(format!("{target}: is not a regular file")),
        }
    }
}
