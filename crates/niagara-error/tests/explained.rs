//! Errors as they are made, asked and told.

use std::io;

use anyhow::{Context as _, Result, anyhow};
use niagara_error::{Explain as _, Explanation, Problem, Remedy as _, bail, problem};

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("server {0} was lost")]
struct Lost(u8);

niagara_error::remedied!(Lost, |lost| Explanation::new(lost.to_string())
    .remedy("look at its log"));

#[derive(Debug, thiserror::Error)]
#[error("the file is wrong")]
struct Wrong;

niagara_error::remedied!(Wrong, |_| Explanation::of_several([
    Explanation::new("x:1: no").remedy("say yes"),
    Explanation::new("x:2: none").remedy("say one"),
]));

fn told(error: &anyhow::Error) -> String {
    error.explain().to_string()
}

#[test]
fn causes_come_before_remedies() {
    let failed: io::Result<()> = Err(io::Error::other("No such file"));
    let error = failed.context("cannot read x").remedy("name a file");
    let error = error.context("no study").expect_err("an error");
    assert_eq!(
        told(&error),
        "no study: cannot read x: No such file\nremedy: name a file"
    );
    assert_eq!(
        format!("{error:#}"),
        "no study: cannot read x: No such file"
    );
    assert_eq!(told(&anyhow!("no")), "no");
    let wrapped = io::Error::other(problem!("no"; remedy: "say yes"));
    assert_eq!(told(&anyhow!(wrapped)), "no\nremedy: say yes");
}

#[test]
fn remedies_of_a_chain_add_up() {
    let inner = problem!("no {}", "room"; remedy: "make {}", "room"; remedy: "or go");
    let error = Problem::new("cannot write").because(inner);
    let error = error.detail("log: x").remedy("wait");
    let error = Problem::of(error).remedy("hope").into();
    assert_eq!(
        told(&error),
        "cannot write: no room\nlog: x\nremedy: hope\nremedy: wait\nremedy: make room\nremedy: or go"
    );
    assert_eq!(format!("{error:#}"), "cannot write: no room");
}

#[test]
fn registered_types_tell_their_remedy_unless_another_is_told() {
    let error = anyhow!(Lost(1)).context("no load");
    assert_eq!(
        told(&error),
        "no load: server 1 was lost\nremedy: look at its log"
    );
    let error = Problem::of(error).remedy("start it").into();
    assert_eq!(told(&error), "no load: server 1 was lost\nremedy: start it");
}

#[test]
fn each_mistake_of_several_has_its_remedy() {
    assert_eq!(
        told(&anyhow!(Wrong).context("no study")),
        "no study: x:1: no\nremedy: say yes\nx:2: none\nremedy: say one"
    );
}

#[test]
fn types_are_found_below_remedies_and_contexts() {
    let error: Result<()> = Err(Lost(2)).context("a").remedy("b");
    let error = error.context(Lost(3)).remedy("c").expect_err("an error");
    assert_eq!(error.find::<Lost>(), Some(&Lost(3)));
    let error: Result<()> = Err(Lost(2)).remedy("b");
    let error = error.context("a").remedy("c").expect_err("an error");
    assert!(error.has::<Lost>() && !error.has::<Wrong>());
}

#[test]
fn bail_takes_remedies_or_none() {
    fn fails(how: u8) -> Result<()> {
        match how {
            0 => bail!("plain {how}"),
            1 => bail!(Lost(how)),
            _ => bail!(
                "no {how}";
                remedy: "take {}", how - 1
            ),
        }
    }
    let of = |how| fails(how).expect_err("an error").explain();
    assert_eq!(of(0), Explanation::new("plain 0"));
    assert_eq!(of(1).remedies, ["look at its log"]);
    assert_eq!(of(2), Explanation::new("no 2").remedy("take 1"));
}

#[test]
fn json_has_cause_and_remedies_apart() {
    let plain = Explanation::new("no");
    let json = |told: &Explanation| serde_json::to_value(told).expect("JSON");
    assert_eq!(json(&plain), serde_json::json!({ "cause": "no" }));
    let told = plain.remedy("say yes");
    let expected = serde_json::json!({ "cause": "no", "remedies": ["say yes"] });
    assert_eq!(json(&told), expected);
    let read: Explanation = serde_json::from_value(expected).expect("read");
    assert_eq!(read, told);
}
