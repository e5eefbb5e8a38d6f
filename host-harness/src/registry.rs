//! `ctx.tools`: which tools exist, and who sees which.
//!
//! Tools live in layers: one global layer, and one for each agent that has tools of its own. An agent sees the tool of its own layer, else the
//! global one, less what its restrictions hide.

use crate::failure::Failure;
use crate::schema;
use crate::tool::{Tool, ToolDefinition};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Names that no tool may take: DSH's own code mode uses it.
const RESERVED: &[&str] = &["run_code"];

/// Where a tool is registered.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// For all agents.
    Global,
    /// For one agent, where it shadows a global tool of the same name.
    Agent(String),
}

/// Which inherited tools an agent may see. Restrictions of one agent add up.
#[derive(Clone, Debug, Default)]
pub struct Restriction {
    /// Only these, when given.
    pub allow: Option<Vec<String>>,
    /// None of these.
    pub deny: Vec<String>,
}

/// A registered tool.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) definition: Arc<ToolDefinition>,
    pub(crate) tool: Arc<dyn Tool>,
}

#[derive(Default)]
struct State {
    layers: BTreeMap<Scope, BTreeMap<String, (u64, Registered)>>,
    restrictions: BTreeMap<String, Vec<Restriction>>,
    /// What agents see elsewhere, when the tools of another registry count.
    foreign: BTreeMap<String, BTreeSet<String>>,
    next: u64,
}

/// The tools of one host.
#[derive(Default)]
pub struct ToolRegistry(RwLock<State>);

/// Tools registered together. Dropping it removes them; it removes nothing that was registered later under the same names.
pub struct Registration {
    registry: Arc<ToolRegistry>,
    scope: Scope,
    names: Vec<String>,
    ticket: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut state = self.registry.write();
        if let Some(layer) = state.layers.get_mut(&self.scope) {
            for name in &self.names {
                if layer
                    .get(name)
                    .is_some_and(|(ticket, _)| *ticket == self.ticket)
                {
                    layer.remove(name);
                }
            }
        }
    }
}

impl ToolRegistry {
    /// Registers all of `tools` or, when one cannot be, none.
    ///
    /// # Errors
    /// A reserved, empty or taken name, a deadline of zero, or a schema outside DSH's subset.
    pub fn register(
        self: &Arc<Self>,
        scope: Scope,
        tools: Vec<(ToolDefinition, Arc<dyn Tool>)>,
    ) -> Result<Registration, Failure> {
        for (definition, _) in &tools {
            check(definition)?;
        }
        let mut state = self.write();
        let layer = state.layers.get(&scope);
        for (index, (definition, _)) in tools.iter().enumerate() {
            let name = &definition.name;
            let within = tools[..index].iter().any(|(other, _)| other.name == *name);
            if within || layer.is_some_and(|layer| layer.contains_key(name)) {
                return Err(duplicate(name, &scope));
            }
        }
        state.next += 1;
        let ticket = state.next;
        let names = tools
            .iter()
            .map(|(definition, _)| definition.name.clone())
            .collect();
        let layer = state.layers.entry(scope.clone()).or_default();
        for (definition, tool) in tools {
            let registered = Registered {
                definition: Arc::new(definition),
                tool,
            };
            layer.insert(registered.definition.name.clone(), (ticket, registered));
        }
        drop(state);
        Ok(Registration {
            registry: self.clone(),
            scope,
            names,
            ticket,
        })
    }

    /// Narrows what an agent sees of the global tools.
    pub fn restrict(&self, agent: &str, restriction: Restriction) {
        self.write()
            .restrictions
            .entry(agent.into())
            .or_default()
            .push(restriction);
    }

    /// Forgets the layer and the restrictions of an agent that is gone.
    pub(crate) fn forget_agent(&self, agent: &str) {
        let mut state = self.write();
        state.layers.remove(&Scope::Agent(agent.into()));
        state.restrictions.remove(agent);
        state.foreign.remove(agent);
    }

    /// Says which tools an agent sees in the registry that counts, which is then another one: that of a DSH which this host serves.
    pub fn see(&self, agent: &str, names: BTreeSet<String>) {
        self.write().foreign.insert(agent.into(), names);
    }

    /// Whether the agent has an effective tool of this name; without an agent, whether there is a global one.
    pub fn is_visible(&self, name: &str, agent: Option<&str>) -> bool {
        if let Some(seen) = agent.and_then(|agent| self.read().foreign.get(agent).cloned()) {
            return seen.contains(name);
        }
        self.effective(name, agent).is_some()
    }

    /// The effective tools, ordered by name in UTF-16 code units.
    pub fn definitions(&self, agent: Option<&str>) -> Vec<Arc<ToolDefinition>> {
        let state = self.read();
        let own = agent.and_then(|agent| state.layers.get(&Scope::Agent(agent.into())));
        let global = state.layers.get(&Scope::Global);
        let mut names: Vec<&String> = own
            .into_iter()
            .chain(global)
            .flat_map(BTreeMap::keys)
            .collect();
        names.sort_by(|a, b| a.encode_utf16().cmp(b.encode_utf16()));
        names.dedup();
        names
            .into_iter()
            .filter_map(|name| state.find(name, agent))
            .map(|found| found.definition.clone())
            .collect()
    }

    pub(crate) fn effective(&self, name: &str, agent: Option<&str>) -> Option<Registered> {
        self.read().find(name, agent).cloned()
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn find(&self, name: &str, agent: Option<&str>) -> Option<&Registered> {
        let in_layer = |scope: &Scope| {
            self.layers
                .get(scope)
                .and_then(|layer| layer.get(name))
                .map(|(_, found)| found)
        };
        if let Some(agent) = agent {
            if let Some(found) = in_layer(&Scope::Agent(agent.into())) {
                return Some(found);
            }
            let hidden = |restriction: &Restriction| {
                let named = |names: &Vec<String>| names.iter().any(|other| other == name);
                named(&restriction.deny)
                    || restriction
                        .allow
                        .as_ref()
                        .is_some_and(|allowed| !named(allowed))
            };
            if self
                .restrictions
                .get(agent)
                .is_some_and(|all| all.iter().any(hidden))
            {
                return None;
            }
        }
        in_layer(&Scope::Global)
    }
}

fn check(definition: &ToolDefinition) -> Result<(), Failure> {
    let name = &definition.name;
    let refuse = |reason: String| {
        Err(Failure {
            name: Some("TypeError".into()),
            code: None,
            message: reason,
        })
    };
    if name.is_empty() {
        return refuse("a tool needs a name".into());
    }
    if RESERVED.contains(&name.as_str()) {
        return refuse(format!("tool name \"{name}\" is reserved"));
    }
    if definition.timeout_ms == Some(0) {
        return refuse(format!(
            "tool \"{name}\": timeoutMs must be a positive number"
        ));
    }
    for (what, schema) in [
        ("parameters", &definition.parameters),
        ("output.schema", &definition.output_schema),
    ] {
        schema::check_schema(schema).map_err(|failure| Failure {
            message: format!("tool \"{name}\": {what}: {}", failure.message),
            ..failure
        })?;
    }
    if definition
        .parameters
        .get("type")
        .and_then(|kind| kind.as_str())
        != Some("object")
    {
        return refuse(format!(
            "tool \"{name}\": parameters must be the schema of an object"
        ));
    }
    Ok(())
}

fn duplicate(name: &str, scope: &Scope) -> Failure {
    let message = match scope {
        Scope::Global => format!("tool \"{name}\" is already registered"),
        Scope::Agent(agent) => {
            format!("tool \"{name}\" is already registered in the scope of agent \"{agent}\"")
        }
    };
    Failure {
        name: None,
        code: None,
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::test_tool;

    fn register(
        registry: &Arc<ToolRegistry>,
        scope: Scope,
        names: &[&str],
    ) -> Result<Registration, Failure> {
        registry.register(scope, names.iter().map(|name| test_tool(name)).collect())
    }

    fn names(registry: &ToolRegistry, agent: Option<&str>) -> Vec<String> {
        registry
            .definitions(agent)
            .iter()
            .map(|definition| definition.name.clone())
            .collect()
    }

    #[test]
    fn a_duplicate_registers_nothing_and_names_its_layer() {
        let registry = Arc::new(ToolRegistry::default());
        let _first = register(&registry, Scope::Global, &["b"]).unwrap();
        let message =
            |result: Result<Registration, Failure>| result.err().map(|failure| failure.message);
        let global = message(register(&registry, Scope::Global, &["a", "b"]));
        assert_eq!(global.as_deref(), Some("tool \"b\" is already registered"));
        let twice = message(register(&registry, Scope::Global, &["c", "c"]));
        assert_eq!(twice.as_deref(), Some("tool \"c\" is already registered"));
        let _own = register(&registry, Scope::Agent("x".into()), &["b"]).unwrap();
        let scoped = message(register(&registry, Scope::Agent("x".into()), &["b"]));
        assert_eq!(
            scoped.as_deref(),
            Some("tool \"b\" is already registered in the scope of agent \"x\"")
        );
        assert_eq!(names(&registry, None), ["b"]);
    }

    #[test]
    fn a_dropped_registration_takes_only_its_own_tools_away() {
        let registry = Arc::new(ToolRegistry::default());
        let first = register(&registry, Scope::Global, &["a"]).unwrap();
        let second = register(&registry, Scope::Global, &["b"]).unwrap();
        drop(first);
        assert_eq!(names(&registry, None), ["b"]);
        let third = register(&registry, Scope::Global, &["a"]).unwrap();
        drop(second);
        assert_eq!(names(&registry, None), ["a"]);
        drop(third);
        assert_eq!(names(&registry, None), Vec::<String>::new());
    }

    #[test]
    fn an_agents_own_tool_shadows_and_restrictions_hide_inherited_ones_only() {
        let registry = Arc::new(ToolRegistry::default());
        let _global = register(&registry, Scope::Global, &["read", "write"]).unwrap();
        let _own = register(&registry, Scope::Agent("x".into()), &["write"]).unwrap();
        registry.restrict(
            "x",
            Restriction {
                allow: Some(vec!["write".into()]),
                deny: vec![],
            },
        );
        registry.restrict(
            "y",
            Restriction {
                allow: None,
                deny: vec!["read".into()],
            },
        );
        assert_eq!(names(&registry, Some("x")), ["write"]);
        assert!(!registry.is_visible("read", Some("x")));
        assert_eq!(names(&registry, Some("y")), ["write"]);
        assert_eq!(names(&registry, Some("z")), ["read", "write"]);
        registry.restrict(
            "x",
            Restriction {
                allow: None,
                deny: vec!["write".into()],
            },
        );
        assert!(
            registry.is_visible("write", Some("x")),
            "a restriction does not hide the agent's own tool"
        );
        registry.forget_agent("x");
        assert_eq!(names(&registry, Some("x")), ["read", "write"]);
    }

    #[test]
    fn what_another_registry_shows_an_agent_counts_alone() {
        let registry = Arc::new(ToolRegistry::default());
        let _global = register(&registry, Scope::Global, &["own"]).unwrap();
        registry.see("x", BTreeSet::from(["read".to_owned()]));
        assert!(registry.is_visible("read", Some("x")) && !registry.is_visible("own", Some("x")));
        assert!(!registry.is_visible("read", Some("y")) && registry.is_visible("own", None));
        registry.forget_agent("x");
        assert!(registry.is_visible("own", Some("x")) && !registry.is_visible("read", Some("x")));
    }

    #[test]
    fn unfit_definitions_are_refused() {
        let registry = Arc::new(ToolRegistry::default());
        assert!(register(&registry, Scope::Global, &["run_code"]).is_err());
        assert!(register(&registry, Scope::Global, &[""]).is_err());
        let (mut definition, tool) = test_tool("t");
        definition.timeout_ms = Some(0);
        let refused = registry
            .register(Scope::Global, vec![(definition, tool)])
            .err()
            .unwrap();
        assert_eq!(
            refused.message,
            "tool \"t\": timeoutMs must be a positive number"
        );
        let (mut definition, tool) = test_tool("t");
        definition.output_schema = serde_json::json!({"type": "string", "format": "uri"});
        let refused = registry
            .register(Scope::Global, vec![(definition, tool)])
            .err()
            .unwrap();
        assert!(refused.is("UNSUPPORTED_SCHEMA"), "{refused}");
        assert_eq!(names(&registry, None), Vec::<String>::new());
    }

    #[test]
    fn names_are_ordered_by_utf16_code_units() {
        let registry = Arc::new(ToolRegistry::default());
        let _tools = register(
            &registry,
            Scope::Global,
            &["b", "\u{ff5e}", "\u{1f600}", "B"],
        )
        .unwrap();
        assert_eq!(names(&registry, None), ["B", "b", "\u{1f600}", "\u{ff5e}"]);
    }
}
