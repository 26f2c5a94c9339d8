--TEST--
Howdah\spawn() and its family where a request is alone: everything works, one after the other
--FILE--
<?php
use Howdah\Channel;
use function Howdah\{all, await, race, spawn, timeout};
$say = static function (callable $try) {
    try { $try(); } catch (Throwable $e) { echo get_class($e), ': ', $e->getMessage(), "\n"; }
};
$c = spawn(static fn (int $a, int $b) => $a * $b, 21, b: 2);
var_dump($c->isDone(), await($c), $c->await(0.5));
echo json_encode(all(['x' => static fn () => 1, 5 => static fn () => 2])), "\n";
$say(static fn () => all([static fn () => throw new DomainException('first'), static fn () => print 'never']));
var_dump(race([static fn () => 'fastest', static fn () => print 'never']), timeout(1, static fn () => 'in time'));
$say(static fn () => race([]));
$say(static fn () => all(['no callable at all']));
$say(static fn () => await($c, -1));
$say(static fn () => new Howdah\Coroutine());
$say(static fn () => clone $c);
$channel = new Channel(2);
$channel->send('a');
$channel->send('b');
$say(static fn () => $channel->send('c', 0));
$say(static fn () => $channel->send('c'));
echo count($channel), ' ', $channel->receive(), "\n";
$channel->close();
foreach ($channel as $key => $value) {
    echo "$key: $value\n";
}
var_dump($channel->isClosed());
$say(static fn () => $channel->receive());
$say(static fn () => $channel->send('d'));
$say(static fn () => new Channel(-1));
$say(static fn () => (new Channel())->receive(0));
$say(static fn () => spawn('await', 1));
spawn(static fn () => throw new LogicException('nobody looks'));
spawn(static function () { echo "bye\n"; exit(3); });
echo 'not reached';
--INI--
html_errors=0
--HOWDAH--
show end
run
stop
--EXPECTF--
bool(true)
int(42)
int(42)
{"x":1,"5":2}
DomainException: first
string(7) "fastest"
string(7) "in time"
ValueError: Howdah\race(): Argument #1 ($work) must not be empty
TypeError: Howdah\all(): Argument #1 ($work) must hold callables and Howdah\Coroutine objects only: function "no callable at all" not found or invalid function name
ValueError: Howdah\await(): Argument #2 ($timeout) must be a number of seconds, 0 or more, or null
Error: Howdah\Coroutine cannot be made with new, use Howdah\spawn()
Error: Trying to clone an uncloneable object of class Howdah\Coroutine
Howdah\TimeoutException: The channel has had no room within the time
Error: Howdah\Channel::send(): nothing can be waited for here, as this worker runs one request at a time
2 a
0: b
bool(true)
Howdah\ChannelClosedException: The channel is closed and empty
Howdah\ChannelClosedException: The channel is closed, nothing can be sent
ValueError: Howdah\Channel::__construct(): Argument #1 ($capacity) must be between 0 and 16777216
Howdah\TimeoutException: Nothing was sent through the channel within the time
TypeError: Howdah\spawn(): Argument #1 ($callback) must be a valid callback, function "await" not found or invalid function name

Warning: Uncaught LogicException: nobody looks in %stest.php:%d
Stack trace:
#0 [internal function]: {closure%S}()
#1 %stest.php(%d): Howdah\spawn(%S)
#2 {main}
  thrown in %stest.php on line %d
bye

[end exit=0 status=3]
