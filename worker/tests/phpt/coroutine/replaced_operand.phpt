--TEST--
Coroutines: a request that replaces what another one's operator is working on does not disturb it
--FILE--
<?php
class Shared
{
    public mixed $text = null;
    public ?string $typed = null;
    public array $list = [];
    public ?Shared $inner = null;
    public string $waits = '';
    public string $written = '';
}

class Text
{
    public function __construct(private Shared $shared, private string $step)
    {
    }

    public function __toString(): string
    {
        $this->shared->waits = $this->step;
        while ($this->shared->written !== $this->step) {
            usleep(100);
        }
        return "$this->step.";
    }
}

function text(): string
{
    return str_repeat('t', 3);
}

function inner(mixed $text): Shared
{
    $inner = new Shared();
    $inner->text = $text;
    $inner->inner = new Shared();
    $inner->inner->text = $text;
    $inner->inner->list = [text()];
    return $inner;
}

$shared = new Shared();
$shared->text = text();
$shared->typed = text();
$shared->list = ['a' => text(), 'b' => ['c' => text()]];
$shared->inner = inner('compare.');
$reference = text();
$other = text();
$object = inner('object.');

$steps = [
    'property' => fn () => [$shared->text .= new Text($shared, 'property'), $shared->text],
    'typed' => fn () => [$shared->typed .= new Text($shared, 'typed'), $shared->typed],
    'element' => fn () => [$shared->list['a'] .= new Text($shared, 'element'), count($shared->list)],
    'nested' => fn () => [$shared->list['b']['c'] .= new Text($shared, 'nested'), count($shared->list)],
    'reference' => function () use ($shared, &$reference) {
        return [$reference .= new Text($shared, 'reference'), $reference];
    },
    'concat' => function () use ($shared, &$other) {
        return [$other . new Text($shared, 'concat')];
    },
    'compare' => function () use ($shared) {
        $left = inner('compare.');
        $left->text = new Text($shared, 'compare');
        return [$left == $shared->inner, $shared->inner->text];
    },
    'object' => function () use ($shared, &$object) {
        $left = inner('object.');
        $left->inner->text = new Text($shared, 'object');
        return [$left == $object];
    },
];
$replacements = [
    'property' => fn () => $shared->text = 5,
    'typed' => fn () => $shared->typed = null,
    'element' => fn () => $shared->list = ['b' => ['c' => text()]] + range(1, 100),
    'nested' => fn () => $shared->list = range(1, 10),
    'reference' => function () use (&$reference) {
        $reference = 5;
    },
    'concat' => function () use (&$other) {
        $other = [];
    },
    'compare' => fn () => $shared->inner = inner('new'),
    'object' => function () use (&$object) {
        $object = inner('new');
    },
];

while (frankenphp_handle_request(function () use ($shared, $steps, $replacements) {
    if ($_GET['do'] === 'run') {
        foreach ($steps as $step => $run) {
            echo "$step: ", json_encode($run()), "\n";
        }
        return;
    }
    foreach ($replacements as $step => $replace) {
        while ($shared->waits !== $step) {
            usleep(100);
        }
        $replace();
        $made = array_fill(0, 1000, text()); /* takes the place of what was freed */
        $shared->written = $step;
    }
})) {
}
--HOWDAH--
show exit
option concurrency 4
worker {ROOT}/test.php
var QUERY_STRING do=run
push run
var QUERY_STRING do=replace
push replace
await all
stop
--EXPECT--
replace: 
run: property: ["tttproperty.","tttproperty."]
typed: ["ttttyped.","ttttyped."]
element: ["tttelement.",101]
nested: ["tttnested.",10]
reference: ["tttreference.","tttreference."]
concat: ["tttconcat."]
compare: [true,"new"]
object: [true]

[worker exited with status 0]
