//! Kubernetes: a ConfigMap for plain images, and a patch for the family's operator.

use super::{DeployInput, Means, head, indented, left_out};
use crate::deploy::option_file;

pub(super) const CONFIG_MAP: &str = "configmap.yaml";
pub(super) const MARIADB_OPERATOR: &str = "mariadb-operator.yaml";
pub(super) const PERCONA_OPERATOR: &str = "percona-operator.yaml";

const PLAIN: &str = "For the images mariadb, mysql and percona without an operator, which read /etc/mysql/conf.d or /etc/my.cnf.d:
  kubectl apply -f configmap.yaml
and in the pod's template, which restarts it:
  volumes:
    - {name: niagara, configMap: {name: niagara}}
  volumeMounts:
    - {name: niagara, mountPath: /etc/mysql/conf.d/zz-niagara.cnf, subPath: zz-niagara.cnf}
percona: mountPath /etc/my.cnf.d/zz-niagara.cnf.";
const MARIADB: &str = "For a MariaDB of mariadb-operator, which restarts its pods in turn:
  kubectl patch mariadb NAME --type merge --patch-file mariadb-operator.yaml
It takes the place of the myCnf that is there: put its lines first where there are some.";
const PERCONA: &str = "For a cluster of Percona Operator for MySQL (ps), which restarts its pods in turn:
  kubectl patch ps NAME --type merge --patch-file percona-operator.yaml
For Percona XtraDB Cluster write pxc in place of both ps and mysql. It takes the place of the configuration that is there: put its
lines first where there are some.";

/// The files; none where no variable is set.
pub(super) fn files(input: &DeployInput) -> Vec<(&'static str, Option<String>)> {
    let Some(options) = option_file::options(input) else {
        return Vec::new();
    };
    let left_out = left_out(input, Means::Variables);
    let plain = format!(
        "{}apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: niagara\ndata:\n  zz-niagara.cnf: |\n{}",
        head(input, PLAIN, &left_out),
        indented(&options, 4)
    );
    let operator = match input.is_mariadb() {
        true => (
            MARIADB_OPERATOR,
            format!(
                "{}spec:\n  myCnf: |\n{}",
                head(input, MARIADB, &left_out),
                indented(&options, 4)
            ),
        ),
        false => (
            PERCONA_OPERATOR,
            format!(
                "{}spec:\n  mysql:\n    configuration: |\n{}",
                head(input, PERCONA, &left_out),
                indented(&options, 6)
            ),
        ),
    };
    vec![(CONFIG_MAP, Some(plain)), (operator.0, Some(operator.1))]
}
