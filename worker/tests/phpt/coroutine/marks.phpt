--TEST--
Coroutines: marks against recursion on a shared object are those of the request that is within it
--FILE--
<?php
final class Lazy
{
    private array $set = [];

    public function __get(string $name): mixed
    {
        $name = strtoupper($name); // the name that PHP has marked is not needed
        usleep(2000);
        return $name === 'INNER' ? 'inner of ' . $this->outer : "<$name>";
    }

    public function __isset(string $name): bool
    {
        usleep(2000);
        return true;
    }

    public function __set(string $name, mixed $value): void
    {
        usleep(2000);
        $this->set[$name] = $value;
    }

    public function __unset(string $name): void
    {
        usleep(2000);
        unset($this->set[$name]);
    }

    public function count(): int
    {
        return count($this->set);
    }
}

/** Its own access within __get() is to the property, also when others were there meanwhile. */
final class Own
{
    public function __get(string $name): mixed
    {
        usleep(1000);
        $inner = @$this->$name;
        usleep(1000);
        return $inner === null ? "once $name" : 'again';
    }
}

final class Value implements JsonSerializable, Stringable
{
    public ?stdClass $around = null;

    public function jsonSerialize(): mixed
    {
        usleep(2000);
        return 'json';
    }

    public function __toString(): string
    {
        usleep(2000);
        return 'text';
    }

    public function __debugInfo(): array
    {
        usleep(2000);
        return ['debug' => 1];
    }
}

$lazy = new Lazy();
$own = new Own();
$tree = new stdClass();
$tree->list = [['deep' => new Value()]];
$tree->value = new Value();
$other = new stdClass();
$other->list = [['deep' => 'text']];
$other->value = 'text';
while (frankenphp_handle_request(function () use ($lazy, $own, $tree, $other): void {
    switch ($_GET['do']) {
        case 'get':
            echo $lazy->mailer, ' ', $lazy->inner, ' ', $lazy->mailer ?? 'default';
            break;
        case 'isset':
            echo json_encode(isset($lazy->cache)), ' ', json_encode(empty($lazy->cache));
            break;
        case 'set':
            $lazy->{$_GET['n']} = 1;
            unset($lazy->other);
            echo 'set';
            break;
        case 'after':
            echo implode(' ', array_keys(get_object_vars($lazy))), ' ', $lazy->count();
            break;
        case 'own':
            echo $own->name, ' ', $own->name;
            break;
        case 'json':
            echo json_encode($tree), ' ', json_last_error_msg();
            break;
        case 'dump':
            var_dump($tree);
            print_r($tree);
            break;
        case 'compare':
            echo json_encode($tree == $other), ' ', json_encode($tree->list == $other->list);
            break;
    }
    echo "\n";
})) {
}
--HOWDAH--
worker {ROOT}/test.php
option concurrency 10
var QUERY_STRING do=get
push get1
push get2
push get3
await get1
await get2
await get3
var QUERY_STRING do=isset
push isset1
push isset2
await isset1
await isset2
var QUERY_STRING do=set&n=a
push set1
var QUERY_STRING do=set&n=b
push set2
var QUERY_STRING do=set&n=a
push set3
var QUERY_STRING do=get
push get4
await set1
await set2
await set3
await get4
var QUERY_STRING do=after
run
var QUERY_STRING do=own
push own1
push own2
await own1
await own2
var QUERY_STRING do=json
push json1
push json2
await json1
await json2
var QUERY_STRING do=dump
push dump1
push dump2
await dump1
await dump2
var QUERY_STRING do=compare
push compare1
push compare2
await compare1
await compare2
--EXPECT--
get1: <MAILER> inner of <OUTER> <MAILER>

get2: <MAILER> inner of <OUTER> <MAILER>

get3: <MAILER> inner of <OUTER> <MAILER>

isset1: true false

isset2: true false

set1: set

set2: set

set3: set

get4: <MAILER> inner of <OUTER> <MAILER>

 2

own1: once name once name

own2: once name once name

json1: {"list":[{"deep":"json"}],"value":"json"} No error

json2: {"list":[{"deep":"json"}],"value":"json"} No error

dump1: object(stdClass)#3 (2) {
  ["list"]=>
  array(1) {
    [0]=>
    array(1) {
      ["deep"]=>
      object(Value)#4 (1) {
        ["debug"]=>
        int(1)
      }
    }
  }
  ["value"]=>
  object(Value)#5 (1) {
    ["debug"]=>
    int(1)
  }
}
stdClass Object
(
    [list] => Array
        (
            [0] => Array
                (
                    [deep] => Value Object
                        (
                            [debug] => 1
                        )

                )

        )

    [value] => Value Object
        (
            [debug] => 1
        )

)


dump2: object(stdClass)#3 (2) {
  ["list"]=>
  array(1) {
    [0]=>
    array(1) {
      ["deep"]=>
      object(Value)#4 (1) {
        ["debug"]=>
        int(1)
      }
    }
  }
  ["value"]=>
  object(Value)#5 (1) {
    ["debug"]=>
    int(1)
  }
}
stdClass Object
(
    [list] => Array
        (
            [0] => Array
                (
                    [deep] => Value Object
                        (
                            [debug] => 1
                        )

                )

        )

    [value] => Value Object
        (
            [debug] => 1
        )

)


compare1: true true

compare2: true true
