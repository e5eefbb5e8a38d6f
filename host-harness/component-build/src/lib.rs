//! Builds WebAssembly components of this workspace from another crate's build script, so that `cargo run` and `cargo test` need no step before
//! them. The host uses it for the plugins that it embeds, the tests for their hostile guests.

use std::env;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target that components are compiled for.
pub const TARGET: &str = "wasm32-wasip2";

/// The cargo profile that components are compiled with.
const PROFILE: &str = "guest";

/// Variables that cargo sets for a build script or a wrapper of the outer build, and that would change what the inner build does.
const OUTER_BUILD_ONLY: &[&str] = &[
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "CLIPPY_ARGS",
    "DEBUG",
    "HOST",
    "NUM_JOBS",
    "OPT_LEVEL",
    "PROFILE",
    "RUSTC",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
    "TARGET",
];

/// Prefixes of such variables.
const OUTER_BUILD_PREFIXES: &[&str] = &[
    "CARGO_CFG_",
    "CARGO_PKG_",
    "CARGO_PROFILE_",
    "CARGO_FEATURE_",
    "DEP_",
];

/// Builds the packages `packages` of the workspace, whose folder is the parent of the crate being built, copies each `.wasm` file into `OUT_DIR`, and sets the environment
/// variable `<NAME>_WASM` for the crate being built to its path, where `<NAME>` is the package's name in capitals.
/// `sources` are the folders, relative to the workspace, whose change calls for a new build.
///
/// # Errors
/// One text for people: what failed, and what to do about it.
pub fn build(packages: &[&str], sources: &[&str]) -> Result<(), String> {
    // Asked for at run time: a build script that another checkout left in a shared target directory must not build that checkout's sources.
    let workspace = &PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("..");
    for source in sources.iter().chain(&[
        "wit",
        "Cargo.toml",
        "Cargo.lock",
        ".cargo/config.toml",
        "rust-toolchain.toml",
    ]) {
        println!(
            "cargo::rerun-if-changed={}",
            workspace.join(source).display()
        );
    }
    let out = PathBuf::from(variable("OUT_DIR")?);
    ensure_target(workspace)?;
    // <target>/<profile>/build/<package>-<hash>/out: one folder for the guests of every outer profile, of clippy and of the tests.
    let target_dir = out
        .ancestors()
        .nth(4)
        .ok_or("OUT_DIR lies in no target directory")?
        .join("guests");
    for package in packages {
        // Only with the one crate type that a component needs does cargo optimise across crates: the plain library that the tests use has to
        // stay linkable.
        let mut cargo = command(workspace, variable("CARGO")?);
        cargo.args([
            "rustc",
            "--lib",
            "--crate-type",
            "cdylib",
            "--profile",
            PROFILE,
            "--target",
            TARGET,
        ]);
        cargo.args(["-p", package, "--target-dir"]).arg(&target_dir);
        let output = cargo.output().map_err(|error| {
            format!("cargo could not be started to build the components: {error}")
        })?;
        if !output.status.success() {
            return Err(format!(
                "building {package} failed:\n{}",
                String::from_utf8_lossy(&output.stderr)
            ));
        }
    }
    for package in packages {
        let file = format!("{}.wasm", package.replace('-', "_"));
        let built = target_dir.join(TARGET).join(PROFILE).join(&file);
        let kept = out.join(&file);
        std::fs::copy(&built, &kept)
            .map_err(|error| format!("{} could not be copied: {error}", built.display()))?;
        let name = package.replace('-', "_").to_uppercase();
        println!("cargo::rustc-env={name}_WASM={}", kept.display());
    }
    Ok(())
}

/// Reports the error of a build script the way cargo shows it best, and ends the script.
pub fn fail(message: &str) -> ! {
    for line in message.lines() {
        println!("cargo::error={line}");
    }
    std::process::exit(1)
}

/// Makes sure that the compiler has the component target, through rustup when it is missing.
fn ensure_target(workspace: &Path) -> Result<(), String> {
    if has_target(workspace)? {
        return Ok(());
    }
    let attempt = command(workspace, "rustup".into())
        .args(["target", "add", TARGET])
        .output();
    if has_target(workspace)? {
        return Ok(());
    }
    let mut message = format!(
        "the Rust target {TARGET} is missing, and the components cannot be built without it.\n"
    );
    match attempt {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said
                .lines()
                .rev()
                .find(|line| !line.trim().is_empty())
                .unwrap_or("no reason given");
            let _ = writeln!(
                message,
                "`rustup target add {TARGET}` was tried and failed: {last}"
            );
        }
        Err(error) => {
            let _ = writeln!(
                message,
                "`rustup target add {TARGET}` could not be run: {error}"
            );
        }
    }
    let _ = write!(
        message,
        "Install the target with rustup, or with your system's packages for the same compiler version, and build again."
    );
    Err(message)
}

/// Whether the compiler's sysroot holds a standard library for the target.
fn has_target(workspace: &Path) -> Result<bool, String> {
    let output = command(
        workspace,
        variable("RUSTC").unwrap_or_else(|_| "rustc".into()),
    )
    .args(["--print", "target-libdir", "--target", TARGET])
    .output()
    .map_err(|error| format!("rustc could not be started: {error}"))?;
    let directory = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Ok(false);
    };
    Ok(entries
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-")))
}

/// A command that runs in the workspace without the outer build's variables.
fn command(workspace: &Path, program: OsString) -> Command {
    let mut command = Command::new(program);
    command.current_dir(workspace);
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if OUTER_BUILD_ONLY.contains(&&*name)
            || OUTER_BUILD_PREFIXES
                .iter()
                .any(|prefix| name.starts_with(prefix))
        {
            command.env_remove(name);
        }
    }
    command
}

/// A variable that cargo sets for every build script.
fn variable(name: &str) -> Result<OsString, String> {
    env::var_os(name)
        .ok_or_else(|| format!("{name} is not set: this runs in a cargo build script only"))
}
