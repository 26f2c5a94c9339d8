--TEST--
Preloading of files that only declare classes: the result for each kind of file, and for requests
--SKIPIF--
<?php
if (!extension_loaded('Zend OPcache')) {
    echo 'skip no OPcache';
}
--INI--
opcache.file_update_protection=0
--FILE plain.php--
<?php
class Plain
{
    public static int $count = 0;
    public const MODE = MODE_OF_THE_REQUEST;
    public function name(): string
    {
        static $calls = 0;
        return __CLASS__ . ++$calls;
    }
}
--FILE kinds.php--
<?php

declare(strict_types=1);

namespace App\Kinds;

use Stringable as Text;
use App\{Other, Another};

interface HasName {}
trait Names { public function names(): array { return [$this->name]; } }
enum Suit: string { case Hearts = 'h'; const Wild = self::Hearts; }
final class Named implements HasName, Text
{
    use Names;
    public function __construct(private string $name = 'named') {}
    public function __toString(): string { $f = function () { return new class {}; }; return $this->name; }
}
;
?>
--FILE blocks.php--
<?php
namespace App\First { class InBlock {} }
namespace App\Second { class InBlock extends \App\First\InBlock {} }
namespace { class InBlock extends App\Second\InBlock {} }
--FILE discovery.php--
<?php
namespace App;
class Discovery {}
// Help opcache.preload discover always-needed symbols
class_exists(Kinds\Named::class);
\interface_exists('App\Kinds\HasName', false);
--FILE call.php--
<?php
class WithCall {}
class_exists($_GET['name'] ?? 'Plain');
--FILE child.php--
<?php
class Child extends ParentOfChild {}
--FILE parent.php--
<?php
class ParentOfChild extends Plain implements App\Kinds\HasName {}
--FILE orphan.php--
<?php
class Orphan extends NotPreloaded {}
--FILE function.php--
<?php
class WithFunction {}
function with_function() {}
--FILE constant.php--
<?php
class WithConstant {}
const WITH_CONSTANT = 1;
--FILE define.php--
<?php
class WithDefine {}
define('WITH_DEFINE', 1);
--FILE guard.php--
<?php
defined('ABSPATH') || exit;
class Guarded {}
--FILE conditional.php--
<?php
if (!class_exists('Conditional', false)) {
    class Conditional {}
}
--FILE pluggable.php--
<?php
if (!function_exists('pluggable')) :
    function pluggable() {}
endif;
--FILE alias.php--
<?php
class Aliased {}
class_alias('Aliased', 'Alias');
--FILE returns.php--
<?php
return new class {};
--FILE config.php--
<?php
return ['a' => 1];
--FILE output.php--
<?php
class WithOutput {}
?>

--FILE ticks.php--
<?php
declare(ticks=1);
class WithTicks {}
--FILE halt.php--
<?php
class WithData {}
__halt_compiler();data
--FILE first.php--
<?php
class Twice {}
--FILE second.php--
<?php
class TWICE {}
--FILE internal.php--
<?php
class ArrayObject {}
--FILE syntax.php--
<?php
class Syntax {
--FILE deprecated.php--
<?php
class Dated { public function m($optional = 1, $required) {} }
--FILE tentative.php--
<?php
class Tentative implements Countable { public function count() { return 0; } }
--FILE fatal.php--
<?php
class Fatal { public function m() {} public function m() {} }
--FILE empty.php--
<?php
--FILE--
<?php
define('MODE_OF_THE_REQUEST', 'this');
echo json_encode(array_map(fn ($name) => class_exists($name, false) || interface_exists($name, false)
    || trait_exists($name, false), ['Plain', 'App\Kinds\Named', 'App\Kinds\HasName', 'App\Kinds\Names',
    'App\Kinds\Suit', 'InBlock', 'Child', 'Orphan', 'WithFunction', 'Guarded', 'Twice'])), "\n";
echo ++Plain::$count, (new Plain())->name(), (new Plain())->name(), Plain::MODE, new App\Kinds\Named(),
    App\Kinds\Suit::Wild->value, get_parent_class('Child'), "\n";
class NotPreloaded {}
// Whatever includes a preloaded file as well, may: its classes are there already.
require __DIR__ . '/plain.php';
require_once __DIR__ . '/kinds.php';
include __DIR__ . '/orphan.php';
include __DIR__ . '/deprecated.php';
require __DIR__ . '/function.php';
with_function();
echo get_parent_class('Orphan'), ' ', json_encode(array_map('basename', get_included_files())), "\n";
--HOWDAH--
preload auto {ROOT}/plain.php {ROOT}/kinds.php {ROOT}/blocks.php {ROOT}/discovery.php {ROOT}/call.php {ROOT}/child.php {ROOT}/parent.php {ROOT}/orphan.php {ROOT}/function.php {ROOT}/constant.php {ROOT}/define.php {ROOT}/guard.php {ROOT}/conditional.php {ROOT}/pluggable.php {ROOT}/alias.php {ROOT}/returns.php {ROOT}/config.php {ROOT}/output.php {ROOT}/ticks.php {ROOT}/halt.php {ROOT}/first.php {ROOT}/second.php {ROOT}/internal.php {ROOT}/syntax.php {ROOT}/deprecated.php {ROOT}/tentative.php {ROOT}/fatal.php {ROOT}/empty.php {ROOT}/nowhere.php
run
run
--EXPECTF--
[preload: done 1, foreign 0, 11 classes, 0 functions, memory some]
plain.php: loaded
kinds.php: loaded
blocks.php: loaded
discovery.php: loaded
call.php: code
child.php: loaded
parent.php: loaded
orphan.php: unlinked
function.php: function
constant.php: constant
define.php: code
guard.php: code
conditional.php: condition
pluggable.php: condition
alias.php: code
returns.php: code
config.php: code
output.php: code
ticks.php: code
halt.php: constant
first.php: duplicate
second.php: duplicate
internal.php: duplicate
syntax.php: syntax
deprecated.php: diagnostic
tentative.php: diagnostic
fatal.php: failed
empty.php: no class
nowhere.php: missing
[true,true,true,true,true,true,true,false,false,false,false]
1Plain1Plain2thisnamedhParentOfChild

Deprecated: %SOptional parameter $optional declared before required parameter $required is implicitly treated as a required parameter in {ROOT}/deprecated.php on line 2
NotPreloaded ["test.php","plain.php","kinds.php","orphan.php","deprecated.php","function.php"]

[true,true,true,true,true,true,true,false,false,false,false]
1Plain1Plain2thisnamedhParentOfChild
NotPreloaded ["test.php","plain.php","kinds.php","orphan.php","deprecated.php","function.php"]
