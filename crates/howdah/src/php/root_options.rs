//! How a configuration has PHP started.

use std::time::Duration;

use howdah_config::model::Config;
use howdah_pool::RootOptions;

use crate::php_executable::executable;

/// PHP's modules and a preload script may take a while on a cold machine.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// How a configuration has PHP started, in a server with so many front threads.
pub(crate) fn root_options(config: &Config, fronts: usize) -> RootOptions {
    let settings = &config.global.php;
    RootOptions {
        executable: executable(settings.executable.as_ref()),
        withheld: settings.environment.withheld.iter().cloned().collect(),
        clear_env: settings.environment.clear,
        ini: settings.ini.all(),
        concurrent: config
            .workers
            .iter()
            .any(|pool| pool.options.is_concurrent()),
        booted: !config.workers.is_empty(),
        preload: None,
        fronts,
        start_timeout: START_TIMEOUT,
    }
}

/// Which environment variables PHP does not inherit, in words; `None`: it inherits all. Never their values: secrets
/// are what these variables are used for.
pub(crate) fn withheld_variables(config: &Config) -> Option<String> {
    let environment = &config.global.php.environment;
    let names: Vec<&str> = howdah_pool::withheld_from_php(&environment.withheld).collect();
    let names = names.join(", ");
    match (environment.clear, names.is_empty()) {
        (false, true) => None,
        (false, false) => Some(format!(
            "PHP does not inherit these environment variables, because the Caddyfile uses them: {names}"
        )),
        (true, true) => Some("PHP inherits no environment variables, because of clear_env".into()),
        (true, false) => Some(format!(
            "PHP inherits no environment variables, because of clear_env; the Caddyfile uses {names}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn withheld_variables_are_named_unless_php_always_inherits_them() {
        let mut config = Config::default();
        assert_eq!(withheld_variables(&config), None);
        let environment = &mut config.global.php.environment;
        environment.withheld = ["HOME", "LD_PRELOAD"].map(String::from).into();
        assert_eq!(withheld_variables(&config), None);
        let environment = &mut config.global.php.environment;
        environment
            .withheld
            .extend(["KEY", "DSN"].map(String::from));
        let text = withheld_variables(&config).expect("two");
        assert!(text.ends_with("uses them: DSN, KEY"), "{text}");
        config.global.php.environment.clear = true;
        let text = withheld_variables(&config).expect("all");
        assert!(
            text.ends_with("clear_env; the Caddyfile uses DSN, KEY"),
            "{text}"
        );
        config.global.php.environment.withheld.clear();
        let text = withheld_variables(&config).expect("all");
        assert!(text.ends_with("because of clear_env"), "{text}");
    }
}
