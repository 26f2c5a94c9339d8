-- Prints the figures of a run as one line of JSON, times in microseconds.
-- No request() or response() here: a Lua call per request would slow wrk itself down.
done = function(summary, latency, requests)
    local format = '@howdah {"requests":%d,"duration_us":%d,"bytes":%d,'
        .. '"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d,'
        .. '"mean":%.3f,"stdev":%.3f,"min":%d,"p50":%d,"p75":%d,"p90":%d,"p99":%d,"max":%d}\n'
    local errors = summary.errors
    io.write(string.format(format,
        summary.requests, summary.duration, summary.bytes,
        errors.connect, errors.read, errors.write, errors.status, errors.timeout,
        latency.mean, latency.stdev, latency.min,
        latency:percentile(50), latency:percentile(75), latency:percentile(90),
        latency:percentile(99), latency.max))
end
