//! Settings that speak of the machine, the network or the duties of the original server: a private copy goes without
//! them, and says why.

use niagara_model::SettingReason;

use super::secret::is_secret;

/// What these settings have in common.
struct Class {
    /// Whole names.
    names: &'static [&'static str],
    /// Beginnings of names.
    beginnings: &'static [&'static str],
    /// Why a copy goes without.
    reason: SettingReason,
}

static CLASSES: [Class; 12] = [
    Class {
        names: &[
            "datadir",
            "basedir",
            "tmpdir",
            "lc_messages_dir",
            "language",
            "character_sets_dir",
            "plugin_dir",
            "secure_file_priv",
            "pid_file",
            "log_error",
            "log_bin_index",
            "innodb_data_home_dir",
        ],
        beginnings: &[],
        reason: SettingReason::OwnPath,
    },
    Class {
        names: &[
            "port",
            "socket",
            "bind_address",
            "skip_networking",
            "skip_bind_address",
            "extra_port",
            "extra_max_connections",
            "proxy_protocol_networks",
        ],
        beginnings: &["admin_", "mysqlx", "handlersocket", "daemon_memcached"],
        reason: SettingReason::OwnAddress,
    },
    Class {
        names: &["require_secure_transport", "ssl", "skip_ssl"],
        beginnings: &["ssl_", "sha256_password_", "caching_sha2_password_p"],
        reason: SettingReason::Unencrypted,
    },
    Class {
        names: &[
            "server_id",
            "read_only",
            "super_read_only",
            "skip_slave_start",
            "skip_replica_start",
            "binlog_do_db",
            "binlog_ignore_db",
        ],
        beginnings: &[
            "replicate_",
            "relay_",
            "master_",
            "slave_",
            "replica_",
            "rpl_",
            "report_",
            "wsrep",
            // Percona XtraDB Cluster's.
            "pxc_",
            "group_replication",
        ],
        reason: SettingReason::Replication,
    },
    Class {
        names: &["server_audit_output_type", "audit_log_handler"],
        beginnings: &["server_audit_syslog_", "audit_log_syslog_", "log_syslog"],
        reason: SettingReason::AuditLog,
    },
    Class {
        names: &["event_scheduler"],
        beginnings: &[],
        reason: SettingReason::Events,
    },
    Class {
        names: &[
            "early_plugin_load",
            "default_table_encryption",
            "aria_encrypt_tables",
            "binlog_encryption",
            "innodb_redo_log_encrypt",
            "innodb_undo_log_encrypt",
            "innodb_default_encryption_key_id",
            // Percona Server's.
            "innodb_parallel_dblwr_encrypt",
            "innodb_sys_tablespace_encrypt",
            "innodb_temp_tablespace_encrypt",
            "binlog_rotate_encryption_master_key_at_startup",
        ],
        beginnings: &[
            "innodb_encrypt",
            "encrypt_",
            "file_key_management",
            "hashicorp_key_management",
            "aws_key_management",
            "keyring",
        ],
        reason: SettingReason::Encryption,
    },
    Class {
        names: &[
            "user",
            "chroot",
            "daemonize",
            "console",
            "syslog",
            "init_file",
            "skip_grant_tables",
            "bootstrap",
            "feedback",
            "log_error_services",
            "persisted_globals_load",
            "offline_mode",
            "upgrade",
            "validate_config",
        ],
        beginnings: &["defaults_", "initialize"],
        reason: SettingReason::Process,
    },
    Class {
        names: &[
            "federated",
            "spider",
            "s3",
            "sphinx",
            "connect",
            "ndbcluster",
        ],
        beginnings: &["spider_", "s3_", "ndb_", "ndbinfo_"],
        reason: SettingReason::TablesElsewhere,
    },
    Class {
        names: &["memlock", "innodb_dedicated_server"],
        beginnings: &[],
        reason: SettingReason::Memory,
    },
    Class {
        names: &["large_pages", "super_large_pages"],
        beginnings: &[],
        reason: SettingReason::HugePages,
    },
    Class {
        names: &[
            "innodb_force_recovery",
            "innodb_force_load_corrupted",
            "innodb_read_only",
            "tc_heuristic_recover",
        ],
        beginnings: &[],
        reason: SettingReason::Distress,
    },
];

/// Why a copy goes without the setting `name`, where it does.
pub(crate) fn dropped_settings(name: &str, value: &str) -> Option<SettingReason> {
    let named = CLASSES.iter().find(|class| {
        class.names.contains(&name) || class.beginnings.iter().any(|word| name.starts_with(word))
    });
    let leads_out = is_foreign_path(value)
        || (FILE_LISTS.contains(&name) && value.split(';').any(is_foreign_path));
    match named {
        Some(class) => Some(class.reason.clone()),
        None if is_secret(name) => Some(SettingReason::Secret),
        None if leads_out => Some(SettingReason::ForeignPath),
        None => None,
    }
}

/// Variables whose values are lists of files or folders, apart by semicolons.
const FILE_LISTS: [&str; 3] = [
    "innodb_data_file_path",
    "innodb_temp_data_file_path",
    "innodb_directories",
];

/// Why a copy goes without a plugin of this library, where it does.
pub(super) fn neutralised_plugin(library: &str) -> Option<SettingReason> {
    dropped_settings(library.trim_end_matches(".so"), "")
}

/// Whether a value is a path that leads out of the data directory. A comment at the beginning of a statement is none.
fn is_foreign_path(value: &str) -> bool {
    (value.starts_with('/') && !value.starts_with("/*"))
        || value.starts_with("~/")
        || value.split('/').any(|part| part == "..")
}

/// The name of the binary log without its folder and ending: the copy writes one as the original does, beside its data.
pub(crate) fn log_name(value: &str) -> String {
    let name = value.rsplit('/').next().unwrap_or_default();
    name.split('.').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_about_speed_is_left_out() {
        for name in [
            "datadir",
            "replicate_do_db",
            "wsrep_on",
            "wsrep_provider",
            "innodb_temp_tablespace_encrypt",
            "extra_port",
            "pxc_strict_mode",
            "pxc_maint_transition_period",
            "ndb_connectstring",
            "event_scheduler",
            "ssl_key",
            "file_key_management_filename",
            "hashicorp_key_management_token",
            "server_audit_output_type",
            "rpl_semi_sync_master_enabled",
            "federated",
            "spider_remote_sql_log_off",
            "handlersocket_port",
            "s3_access_key",
            "authentication_ldap_simple_bind_root_pwd",
            "tc_heuristic_recover",
        ] {
            assert!(dropped_settings(name, "x").is_some(), "{name}");
        }
        for (name, value) in [
            ("innodb_buffer_pool_size", "1G"),
            ("sync_binlog", "1"),
            ("slow_query_log", "ON"),
            ("connect_timeout", "5"),
            ("init_connect", "/* app */ SET @a = 1"),
        ] {
            assert_eq!(dropped_settings(name, value), None, "{name}");
        }
        assert!(dropped_settings("slow_query_log_file", "/var/log/mysql/slow.log").is_some());
        let files = |value| dropped_settings("innodb_data_file_path", value);
        assert!(files("ibdata1:12M;/disk2/ibdata2:12M:autoextend").is_some());
        assert_eq!(files("ibdata1:12M;ibdata2:12M:autoextend"), None);
        assert!(neutralised_plugin("feedback.so").is_some());
        assert_eq!(neutralised_plugin("ha_rocksdb.so"), None);
        assert_eq!(log_name("/var/log/mysql/mysql-bin.log"), "mysql-bin");
        assert_eq!(log_name("binlog"), "binlog");
    }
}
