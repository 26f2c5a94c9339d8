//! Directives that report on the server.

use super::reject_extra;
use super::scope::Scope;
use crate::error::Error;
use crate::model::{Handler, Template};
use crate::table::template::{EvaluationTime, literal, template, template_at};
use crate::table::{Call, Context, Entry, Item, Table, bad_value};

/// Names of the block of `metrics`.
pub(crate) const METRICS: Table<bool> = Table {
    kind: "subdirective of `metrics`",
    items: &[Item::Supported(
        Entry {
            name: "disable_openmetrics",
            syntax: "disable_openmetrics",
            default: "off",
            about: "Serves Prometheus' older text format only.",
            differs: "",
            example: "disable_openmetrics",
        },
        |_, call, openmetrics| {
            call.arguments(0, 0)?;
            *openmetrics = false;
            Ok(())
        },
    )],
};

/// `metrics [MATCHER] [{ … }]`.
pub(super) fn metrics(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (matcher, rest) = scope.matcher(call.arguments)?;
    reject_extra(call, rest)?;
    let mut openmetrics = true;
    cx.read(&METRICS, call.block.unwrap_or_default(), &mut openmetrics);
    cx.metrics = true;
    scope.push(matcher, Handler::Metrics { openmetrics });
    Ok(())
}

/// `readiness [MATCHER]`.
pub(super) fn readiness(_: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    call.no_block()?;
    let (matcher, rest) = scope.matcher(call.arguments)?;
    reject_extra(call, rest)?;
    scope.push(matcher, Handler::Readiness);
    Ok(())
}

/// `log_skip [MATCHER]`.
pub(super) fn log_skip(_: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    call.no_block()?;
    let (matcher, rest) = scope.matcher(call.arguments)?;
    reject_extra(call, rest)?;
    scope.push(matcher, Handler::LogSkip);
    Ok(())
}

/// `log_append [MATCHER] NAME VALUE`.
pub(super) fn log_append(_: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    call.arguments(2, 3)?;
    let (matcher, rest) = scope.matcher(call.arguments)?;
    let [name, value] = rest else {
        return Err(bad_value(
            &call.name.position,
            "`log_append` takes a name and a value".into(),
            format!("write `{}`", call.entry.syntax),
        ));
    };
    let value = template_at(value, EvaluationTime::Response)?;
    let handler = Handler::LogAppend(literal(name, "the name of a field")?, value);
    scope.push(matcher, handler);
    Ok(())
}

/// Names of the block of `tracing`.
pub(crate) const TRACING: Table<Option<Template>> = Table {
    kind: "subdirective of `tracing`",
    items: &[
        Item::Supported(
            Entry {
                name: "span",
                syntax: "span NAME",
                default: "the method",
                about: "The name of the request's span.",
                differs: "",
                example: "span shop",
            },
            |_, call, name| {
                *name = Some(template(call.one()?)?);
                Ok(())
            },
        ),
        Item::Unsupported(
            "span_attributes",
            "the attributes are those of OpenTelemetry's conventions",
        ),
    ],
};

/// `tracing [MATCHER] [{ … }]`.
pub(super) fn tracing(cx: &mut Context, call: &Call<'_>, scope: &mut Scope) -> Result<(), Error> {
    let (matcher, rest) = scope.matcher(call.arguments)?;
    reject_extra(call, rest)?;
    let mut span = None;
    cx.read(&TRACING, call.block.unwrap_or_default(), &mut span);
    cx.tracing = true;
    scope.push(matcher, Handler::Tracing(span.unwrap_or_default()));
    Ok(())
}
