//! Frameworks whose application is created once and used by several requests at the same time.

use std::collections::BTreeMap;

use howdah_config::model::Statics;

use super::report::{Area, Report};

/// Advice if the application stores data of the request.
const PER_REQUEST: &str = "create the application in the callback, so that each request has a separate one, or \
    remove `concurrency`: worker mode with one request at a time is fine";

/// An additional option with Symfony.
const SYMFONY: &str = "give each request a copy of the kernel: `clone $kernel` in the callback, or howdah/runtime \
    with `env HOWDAH_KERNEL_PER_REQUEST 1` in the worker block; or remove `concurrency`";

/// Package, its display name, and what two requests share.
const SHARING: &[(&str, &str, &str)] = &[
    (
        "laravel/framework",
        "Laravel",
        "the application, router, auth and session managers keep the current request; Octane's sandbox gives them \
        the newest one, so concurrent requests would be mixed up",
    ),
    (
        "laravel/lumen-framework",
        "Lumen",
        "the application keeps the current request",
    ),
    (
        "symfony/framework-bundle",
        "Symfony",
        "the container's services keep the current request, user and unit of work (request_stack, \
         security.token_storage, EntityManager), and are reset between requests, not beside them",
    ),
    (
        "codeigniter4/framework",
        "CodeIgniter",
        "the application that its worker script makes at boot keeps the current request and response",
    ),
    (
        "drupal/core",
        "Drupal",
        "its container keeps the current request, user and route",
    ),
    (
        "yiisoft/yii2",
        "Yii 2",
        "Yii::$app keeps the current request, user and session",
    ),
    (
        "cakephp/cakephp",
        "CakePHP",
        "the router and the application keep the current request",
    ),
    (
        "nette/application",
        "Nette",
        "its container keeps the current request and presenter",
    ),
    (
        "typo3/cms-core",
        "TYPO3",
        "its container and singletons keep state of the request",
    ),
];

/// PSR-15 frameworks and what to watch for.
const STATELESS: &[(&str, &str, &str)] = &[
    (
        "slim/slim",
        "Slim",
        "Slim keeps a route's arguments in the route, which requests share: take them from \
         RouteContext::fromRequest($request)->getRoutingResults(), let no middleware between routing and handler \
         wait, or make the application in the callback",
    ),
    (
        "mezzio/mezzio",
        "Mezzio",
        "store data of a request in its attributes, not in properties of handlers and middleware",
    ),
    (
        "psr/http-server-handler",
        "PSR-15",
        "store data of a request in its attributes, not in properties of handlers and middleware",
    ),
];

/// Checks the frameworks among the application's packages. `per_request`: the worker script creates the application in
/// its callback.
pub(super) fn check(
    packages: &BTreeMap<String, String>,
    per_request: bool,
    statics: Statics,
    report: &mut Report,
) {
    let area = Area::Coroutines;
    let mut found = false;
    for (package, name, shared) in SHARING {
        let Some(version) = packages.get(*package) else {
            continue;
        };
        found = true;
        let name = with_version(name, version);
        if per_request && statics == Statics::Isolate {
            report.warning(
                area,
                format!("{name}: each request has a separate application"),
                "each request boots it; objects of the worker's boot must not store it",
            );
        } else {
            let advice = match *package {
                "symfony/framework-bundle" => SYMFONY,
                _ => PER_REQUEST,
            };
            report.error(area, format!("{name}: {shared}"), advice);
        }
    }
    let stateless = STATELESS.iter().find_map(|(package, name, advice)| {
        let version = packages.get(*package)?;
        Some((with_version(name, version), advice))
    });
    if let (false, Some((name, advice))) = (found, stateless) {
        found = true;
        report.warning(
            area,
            format!("{name}: suitable if handlers and middleware store nothing of a request"),
            *advice,
        );
    }
    if !found {
        report.ok(area, "no framework that is known to keep state of requests");
    }
}

/// The version is unknown if only the code names the framework.
fn with_version(name: &str, version: &str) -> String {
    format!("{name} {version}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::report::Level;
    use super::*;

    fn worst(packages: &[&str], per_request: bool, statics: Statics) -> Level {
        let packages = packages.iter().map(|name| ((*name).into(), "v1.0".into()));
        let mut report = Report::default();
        check(&packages.collect(), per_request, statics, &mut report);
        report.worst(None)
    }

    #[test]
    fn containers_of_the_boot_are_not_fit() {
        let isolate = Statics::Isolate;
        assert_eq!(worst(&[], false, isolate), Level::Ok);
        for package in [
            "laravel/framework",
            "symfony/framework-bundle",
            "codeigniter4/framework",
        ] {
            assert_eq!(worst(&[package], false, isolate), Level::Error);
            assert_eq!(worst(&[package], true, isolate), Level::Warning);
            assert_eq!(worst(&[package], true, Statics::Share), Level::Error);
        }
        let slim = ["slim/slim", "psr/http-server-handler"];
        assert_eq!(worst(&slim, false, isolate), Level::Warning);
    }
}
