-- Prints the figures of a run as one line of JSON, times in microseconds.
-- Arguments: METHOD BODY_FILE SLOW_PATH STATUS, all but the first may be empty.
-- No request() unless there is a slow path, and no response() unless an error is what is asked for:
-- a Lua call per request slows wrk itself down. wrk counts all errors alike, so that a 502 among
-- 404s can be found in no other way.
local threads = {}

function setup(thread)
    table.insert(threads, thread)
end

function init(args)
    wrk.method = args[1] or "GET"
    if args[2] and args[2] ~= "" then
        local file = assert(io.open(args[2], "rb"))
        wrk.body = file:read("*a")
        file:close()
    end
    if args[3] and args[3] ~= "" then
        local fast, slow, count = wrk.format(), wrk.format(nil, args[3]), 0
        request = function()
            count = count + 1
            return count % 100 == 0 and slow or fast
        end
    end
    local expected = tonumber(args[4])
    if expected then
        others = 0
        response = function(status)
            if status ~= expected then
                others = others + 1
            end
        end
    end
end

-- Answers with a wrong status.
local function wrong(errors)
    if threads[1]:get("others") == nil then
        return errors.status
    end
    local count = 0
    for _, thread in ipairs(threads) do
        count = count + thread:get("others")
    end
    return count
end

done = function(summary, latency, requests)
    local format = '@howdah {"requests":%d,"duration_us":%d,"bytes":%d,'
        .. '"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d,'
        .. '"mean":%.3f,"stdev":%.3f,"min":%d,"p50":%d,"p75":%d,"p90":%d,"p95":%d,"p99":%d,"max":%d}\n'
    local errors = summary.errors
    io.write(string.format(format,
        summary.requests, summary.duration, summary.bytes,
        errors.connect, errors.read, errors.write, wrong(errors), errors.timeout,
        -- Over no requests it is the least of all numbers.
        latency.mean, latency.stdev, summary.requests > 0 and latency.min or 0,
        latency:percentile(50), latency:percentile(75), latency:percentile(90),
        latency:percentile(95), latency:percentile(99), latency.max))
end
