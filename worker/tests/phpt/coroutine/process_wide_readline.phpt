--TEST--
Coroutines: the history and the completion of readline are not changed for all requests
--EXTENSIONS--
readline
--FILE--
<?php
readline_add_history('boot');
while (frankenphp_handle_request(static function () {
    echo json_encode(readline_list_history()), ' ', json_encode([
        @readline_add_history('secret'), @readline_clear_history(), @readline_completion_function(static fn () => []),
        @readline_info('readline_name', 'mine'), @readline_read_history(__FILE__),
    ]);
    echo ' ', json_encode(error_get_last()['message']), ' ', json_encode(readline_list_history()), ' ';
    echo readline_info('readline_name') === 'mine' ? 'CHANGED' : 'unchanged';
})) {
}
--HOWDAH--
option concurrency 2
worker {ROOT}/test.php
push one
await one
push two
await two
stop
--EXPECTF--
one: ["boot"] [%s,%s,%s,%s,%s] "readline_read_history(): Affects all requests of the process, so it is not available with concurrency" ["boot"] unchanged
two: ["boot"] [%s,%s,%s,%s,%s] "readline_read_history(): Affects all requests of the process, so it is not available with concurrency" ["boot"] unchanged
