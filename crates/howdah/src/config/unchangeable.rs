//! Settings that a running server cannot change. A configuration that changes them is rejected as a whole, with all
//! differences.

use howdah_config::model::{Admin, AdminAddress, Config};

use super::changes::{Setting, between, display_option};

/// A line for each difference, such as `front_threads changed from 1 to 2: this needs a restart`.
pub(crate) fn differences(old: &Config, new: &Config) -> Vec<String> {
    let changes = between(global(old), global(new));
    changes
        .map(|change| format!("{change}: this needs a restart"))
        .collect()
}

/// Settings of the whole server.
fn global(config: &Config) -> [Setting; 5] {
    let global = &config.global;
    let admin = match &global.admin {
        Admin::Off => "off".to_owned(),
        Admin::Default => AdminAddress::default().to_string(),
        Admin::On(address) => address.to_string(),
    };
    let (storage, redis) = (global.https.storage.as_ref(), &global.https.redis);
    [
        ("admin", admin),
        ("crash_reports", global.crash_reports.to_string()),
        (
            "front_threads",
            howdah_http::front_threads(config).to_string(),
        ),
        (
            "storage",
            match (redis, storage) {
                (Some(redis), None) => redis.to_string(),
                (Some(redis), Some(path)) => format!("{redis} with {}", path.display()),
                (None, None) => "the default".to_owned(),
                (None, Some(path)) => path.display().to_string(),
            },
        ),
        ("user", display_option(global.user.as_ref())),
    ]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[track_caller]
    fn finds(expected: &[&str], change: impl FnOnce(&mut Config)) {
        let mut new = Config::default();
        change(&mut new);
        assert_eq!(differences(&Config::default(), &new), expected);
    }

    #[test]
    fn settings_that_need_a_restart_are_named() {
        finds(
            &["admin changed from localhost:2019 to off: this needs a restart"],
            |config| config.global.admin = Admin::Off,
        );
        finds(
            &["storage changed from the default to /srv/keys: this needs a restart"],
            |config| config.global.https.storage = Some("/srv/keys".into()),
        );
    }

    #[test]
    fn all_else_may_change() {
        finds(&[], |config| {
            config.global.admin = Admin::On(AdminAddress::default());
            config.global.limits.max_header_size = 1 << 20;
            config.global.php.workers = Some(9);
            config.global.php.ini.php_ini = vec![("memory_limit".into(), "1G".into())];
            config.global.metrics = true;
            config.global.grace_period = Some(Duration::ZERO);
        });
    }
}
