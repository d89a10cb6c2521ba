mod common;
#[test]
fn show() {
    let dir = tempfile::tempdir().unwrap();
    for log in common::logs(".log") {
        let out = dir.path().join("x.capture");
        let summary = common::import_all(&[log.clone()], &out).unwrap();
        println!("=== {} {summary:#?}", log.display());
        for line in common::lines(&out) {
            println!("{line}");
        }
    }
}
