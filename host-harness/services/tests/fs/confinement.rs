//! What is refused: places outside the grant, by whatever way, and everything that is no file.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use dsh_services::fs::{FileSystem, FsErrorCode, LocalFileSystem, NodeKind};

use crate::support::*;

#[tokio::test]
async fn nothing_outside_the_grant_can_be_named() {
    let fixture = fixture();
    let outside = fixture.outside.clone();
    symlink(&outside, fixture.root.join("out")).unwrap();
    symlink("../outside", fixture.root.join("out-relative")).unwrap();
    symlink("../outside/", fixture.root.join("out-slash")).unwrap();
    symlink(outside.join("secret.txt"), fixture.root.join("out-file")).unwrap();
    symlink(outside.join("absent"), fixture.root.join("out-dangling")).unwrap();
    let (secret, absent) = (outside.join("secret.txt"), outside.join("absent"));
    let through_file = outside.join("secret.txt/x");
    for path in [
        text(&secret),
        text(&absent),
        text(&through_file),
        text(&outside),
        "..",
        "/",
        "/etc/passwd",
        "/etc/passwd/x",
        "/no/such",
        "../outside/secret.txt",
        "../rootless",
        "out",
        "out/secret.txt",
        "out/absent",
        "out-relative/secret.txt",
        "out-slash",
        "out-slash/secret.txt",
        "out-file",
        "out-dangling",
    ] {
        assert_eq!(
            fixture.resolve_code(path).await,
            FsErrorCode::SandboxDenied,
            "{path}"
        );
    }
    for path in [
        "..",
        "/etc/passwd",
        "/no/such",
        text(&secret),
        text(&through_file),
        "out/secret.txt",
        "out/absent",
    ] {
        let error = fixture.files.lstat(path, None).await.unwrap_err();
        assert_eq!(error.code, FsErrorCode::SandboxDenied, "{path}");
    }
    // The link itself is inside.
    assert_eq!(
        fixture
            .files
            .lstat("out", None)
            .await
            .unwrap()
            .unwrap()
            .kind,
        NodeKind::Symlink
    );
}

#[tokio::test]
async fn nothing_can_be_read_without_a_grant() {
    let fixture = fixture();
    let ungranted = LocalFileSystem::new(fixture.root.clone()).unwrap();
    assert_eq!(
        ungranted.resolve("a.txt", None).await.unwrap_err().code,
        FsErrorCode::SandboxDenied
    );
    let foreign = fixture.target("a.txt").await;
    for code in [
        ungranted.read_bytes(&foreign, 10).await.unwrap_err().code,
        ungranted.stat(&foreign).await.unwrap_err().code,
        ungranted.list_dir(&foreign).await.unwrap_err().code,
    ] {
        assert_eq!(code, FsErrorCode::SandboxDenied);
    }
}

#[tokio::test]
async fn a_link_that_replaces_what_was_resolved_is_not_followed_out() {
    let fixture = fixture();
    fs::create_dir(fixture.root.join("d")).unwrap();
    fs::write(fixture.root.join("d/secret.txt"), "harmless").unwrap();
    let file = fixture.target("d/secret.txt").await;
    let directory = fixture.target("d").await;
    assert_eq!(
        fixture.files.read_text(&file, 10).await.unwrap(),
        "harmless"
    );
    for target in [
        fixture.outside.clone(),
        "../outside".into(),
        "../outside/".into(),
    ] {
        let _ = fs::remove_dir_all(fixture.root.join("d"));
        let _ = fs::remove_file(fixture.root.join("d"));
        symlink(&target, fixture.root.join("d")).unwrap();
        for code in [
            fixture.files.read_text(&file, 10).await.unwrap_err().code,
            fixture.files.stat(&file).await.unwrap_err().code,
            fixture.files.list_dir(&directory).await.unwrap_err().code,
        ] {
            assert_eq!(code, FsErrorCode::SandboxDenied, "{}", target.display());
        }
    }
}

#[tokio::test]
async fn a_directory_that_takes_the_place_of_the_granted_one_is_not_granted() {
    let fixture = fixture();
    let target = fixture.target("a.txt").await;
    fs::rename(&fixture.root, fixture.root.with_file_name("moved")).unwrap();
    symlink(&fixture.outside, &fixture.root).unwrap();
    fs::write(fixture.outside.join("a.txt"), "theirs").unwrap();
    assert_eq!(fixture.files.read_text(&target, 10).await.unwrap(), "alpha");
}

#[tokio::test]
async fn a_link_into_another_granted_directory_is_followed() {
    let fixture = fixture();
    symlink(
        fixture.outside.join("secret.txt"),
        fixture.root.join("link"),
    )
    .unwrap();
    symlink(fixture.root.join("a.txt"), fixture.root.join("absolute")).unwrap();
    assert_eq!(fixture.read("absolute").await.unwrap(), "alpha");
    assert_eq!(fixture.read("link").await, Err(FsErrorCode::SandboxDenied));
    fixture.files.grant(&fixture.outside).unwrap();
    assert_eq!(fixture.read("link").await.unwrap(), "secret");
}

#[tokio::test]
async fn a_directory_granted_through_a_link_is_readable_by_both_spellings() {
    let fixture = fixture();
    symlink(&fixture.outside, fixture.root.with_file_name("alias")).unwrap();
    let alias = fixture.root.with_file_name("alias");
    fixture.files.grant(&alias).unwrap();
    assert_eq!(
        fixture.read(text(&alias.join("secret.txt"))).await.unwrap(),
        "secret"
    );
    assert_eq!(
        fixture
            .read(text(&fixture.outside.join("secret.txt")))
            .await
            .unwrap(),
        "secret"
    );
}

#[tokio::test]
async fn a_wrong_grant_names_the_directory() {
    let fixture = fixture();
    for (path, code) in [
        ("relative", FsErrorCode::NotFound),
        ("/no/such/directory", FsErrorCode::NotFound),
        (text(&fixture.root.join("a.txt")), FsErrorCode::NotFound),
    ] {
        let error = fixture.files.grant(Path::new(path)).unwrap_err();
        assert_eq!(error.code, code);
        assert!(error.message.starts_with(path), "{error}");
    }
    assert!(LocalFileSystem::new("relative".into()).is_err());
}

#[tokio::test]
async fn what_is_not_a_regular_file_is_refused_without_blocking() {
    let fixture = fixture();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        fixture.root.join("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(fixture.root.join("socket")).unwrap();
    for name in ["fifo", "socket", "."] {
        assert_eq!(
            fixture.read(name).await,
            Err(FsErrorCode::NotRegularFile),
            "{name}"
        );
    }
    let kind = async |name: &str| fixture.files.lstat(name, None).await.unwrap().unwrap().kind;
    assert_eq!(kind("fifo").await, NodeKind::Other);
    assert_eq!(kind("socket").await, NodeKind::Other);
    let devices = LocalFileSystem::new("/".into()).unwrap();
    devices.grant(Path::new("/dev")).unwrap();
    let target = devices.resolve("/dev/zero", None).await.unwrap();
    let error = devices.read_bytes(&target, 10).await.unwrap_err();
    assert_eq!(error.code, FsErrorCode::NotRegularFile);
}

#[cfg(target_os = "linux")]
#[test]
fn a_fifo_that_takes_the_place_of_a_file_is_not_waited_for() {
    use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
    use std::sync::atomic::{AtomicBool, Ordering};

    let fixture = fixture();
    let (file, fifo) = (fixture.root.join("a.txt"), fixture.root.join("fifo"));
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let target = runtime.block_on(fixture.target("a.txt"));
    let done = AtomicBool::new(false);
    let (mut read, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                renameat_with(CWD, &file, CWD, &fifo, RenameFlags::EXCHANGE).unwrap();
            }
        });
        // The other thread has to end even when an assertion fails here.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            // Both sides of the race have to be seen, however the threads are scheduled.
            for round in 0..200_000 {
                if round >= 20_000 && read > 100 && refused > 100 {
                    break;
                }
                match runtime.block_on(fixture.files.read_text(&target, 10)) {
                    Ok(text) => {
                        assert_eq!(text, "alpha");
                        read += 1;
                    }
                    Err(error) => {
                        assert_eq!(error.code, FsErrorCode::NotRegularFile, "{error}");
                        refused += 1;
                    }
                }
            }
        }));
        done.store(true, Ordering::Relaxed);
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
    assert!(
        read > 100 && refused > 100,
        "{read} read, {refused} refused"
    );
}

#[tokio::test]
async fn a_loop_of_links_is_an_error_and_not_a_hang() {
    let fixture = fixture();
    symlink("b", fixture.root.join("a")).unwrap();
    symlink("a", fixture.root.join("b")).unwrap();
    symlink("c/x", fixture.root.join("c")).unwrap();
    for path in ["a", "a/x", "c", "c/y"] {
        assert_eq!(
            fixture.resolve_code(path).await,
            FsErrorCode::IoError,
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_grant_that_is_taken_back_covers_nothing_any_more() {
    let fixture = fixture();
    let (files, target) = (&fixture.files, fixture.target("a.txt").await);
    files.revoke(&fixture.outside);
    files.read_bytes(&target, 100).await.unwrap();
    files.revoke(&fixture.root.join("sub/.."));
    for code in [
        files.read_bytes(&target, 100).await.unwrap_err().code,
        files.read_text(&target, 100).await.unwrap_err().code,
        files.stat(&target).await.unwrap_err().code,
        files.list_dir(&target).await.unwrap_err().code,
        files.lstat("a.txt", None).await.unwrap_err().code,
        fixture.resolve_code("a.txt").await,
        fixture.resolve_code("absent").await,
    ] {
        assert_eq!(code, FsErrorCode::SandboxDenied);
    }
    files.grant(&fixture.root).unwrap();
    files.read_bytes(&target, 100).await.unwrap();
}
